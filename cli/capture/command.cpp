// fadeprobe capture and captures.
#include "capture/command.h"

#include "captures/listing.h"
#include "launch/application_run.h"

#include "base/child.h"
#include "capture/writer.h"

#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <unistd.h>

namespace fade::cli {

namespace fs = std::filesystem;

/// The exit code of an application that ended well, but of which nothing was captured.
constexpr int kNothingCaptured = 1;

/// The captures in a folder, and when each was written.
static std::map<std::string, fs::file_time_type> manifestTimes(const std::string &folder) {
  std::map<std::string, fs::file_time_type> times;
  std::error_code ignored;
  for (const std::string &path : capturesIn(folder))
    times[path] = fs::last_write_time(fs::path(path) / capture::kManifestFile, ignored);
  return times;
}

CLI::App *addCaptureCommand(CLI::App &app, CaptureOptions &options) {
  CLI::App *command = app.add_subcommand(
      "capture", "capture kernel dispatches: code, arguments and memory, in a folder each");
  addVariable(*command, options.run, "-k,--kernels", "FADE_KERNELS", "REGEX");
  addVariable(*command, options.run, "--library-filter", "FADE_LIBRARY_FILTER", "[!]REGEX");
  command
      ->add_option_function<std::string>(
          "-d,--dispatches",
          [&options](const std::string &value) {
            options.run.values.emplace_back("FADE_DISPATCHES", value);
            options.has_dispatches = true;
          },
          "all, random, random:N, N or A-B, for each kernel (default: 1)")
      ->type_name("all|random|1|N|A-B");
  addVariable(*command, options.run, "--seed", "FADE_SEED", "N");
  addVariable(*command, options.run, "--limit", "FADE_CAPTURE_LIMIT", "N");
  command->add_flag_callback(
      "--reachable", [&options] { options.run.values.emplace_back("FADE_CAPTURE_REACHABLE", "1"); },
      "capture only memory that pointers in the arguments and the code lead to");
  addVariable(*command, options.run, "--max-size", "FADE_CAPTURE_SIZE", "SIZE");
  command
      ->add_option(
          "-o,--output", options.output,
          "folder for the captures (default: .); if the name ends in /, each process has a "
          "subfolder in it")
      ->type_name("DIR");
  addVariable(*command, options.run, "--ranks", "FADE_RANKS", "N,N-N,...");
  addVariable(*command, options.run, "--patience", "FADE_PATIENCE", "N");
  addCaptureVariables(*command, options.run);
  return command;
}

int runCapture(CaptureOptions options, const std::vector<std::string> &application) {
  if (application.empty() && !options.run.env_dump) {
    complain("no application given: fadeprobe capture [options] -- application [arguments]");
    return kUsageError;
  }
  if (!options.has_dispatches) options.run.values.emplace_back("FADE_DISPATCHES", "1");
  options.run.values.emplace_back("FADE_CAPTURE", options.output);
  if (!options.run.env_dump) {
    std::error_code error;
    fs::create_directories(options.output, error);
    if (error || access(options.output.c_str(), W_OK) != 0) {
      complain(fmt::format("--output: cannot write into {}", options.output));
      return kUsageError;
    }
  }
  if (options.run.env_dump) return runApplication(options.run, application);
  const auto made = [&] { return manifestTimes(options.output); };
  const auto before = made();
  const auto [failure, end] = runAndWait(options.run, application);
  if (failure) return *failure;
  const bool is_fine = end.signal == 0 && end.exit_code == 0;
  if (made() != before || !is_fine || !isRankChosen(options.run.values)) endLike(end);
  // Why is said by the application's process, if it has used the GPU.
  complain(fmt::format("capture: no dispatch was captured into {}", options.output));
  return kNothingCaptured;
}

CLI::App *addCapturesCommand(CLI::App &app, CapturesOptions &options) {
  CLI::App *command = app.add_subcommand("captures", "list captures and their contents");
  command->add_option("folders", options.folders, "captures, or folders with captures in them")
      ->type_name("DIR...")
      ->required();
  command->add_flag("--json", options.json, "one JSON object per line");
  return command;
}

int runCaptures(const CapturesOptions &options) {
  bool all = true;
  std::vector<std::string> found;
  for (const std::string &folder : options.folders) {
    const std::vector<std::string> in = capturesIn(folder);
    if (in.empty()) {
      complain(fmt::format("{}: no capture found", folder));
      all = false;
    }
    found.insert(found.end(), in.begin(), in.end());
  }
  std::vector<CaptureLine> lines;
  for (const std::string &path : found) {
    auto line = describeCapture(path);
    if (line)
      lines.push_back(std::move(*line));
    else {
      complain(line.error().message());
      all = false;
    }
  }
  const std::string text = options.json ? capturesJson(lines) : capturesTable(lines);
  std::fputs(text.c_str(), stdout);
  return all && std::fflush(stdout) == 0 ? 0 : 1;
}

} // namespace fade::cli
