#include "capture/command.h"

#include "capture/listing.h"
#include "checks.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

/// ulp=N, rel=X or both, separated by a comma. False if it is something else.
bool readTolerance(std::string_view text, replay::Tolerance &tolerance) {
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (item.size() < 5) return false;
    const char *begin = item.data() + 4, *end = item.data() + item.size();
    const auto [stop, error] = item.starts_with("ulp=")
                                   ? std::from_chars(begin, end, tolerance.ulp)
                                   : std::from_chars(begin, end, tolerance.relative);
    if ((!item.starts_with("ulp=") && !item.starts_with("rel=")) || error != std::errc() ||
        stop != end || !(tolerance.relative >= 0))
      return false;
  }
  return true;
}

} // namespace

CLI::App *addCaptureCommand(CLI::App &app, CaptureOptions &options) {
  CLI::App *command = app.add_subcommand(
      "capture", "take dispatches away: code, arguments and memory, in a folder each");
  addVariable(*command, options.run, "-k,--kernels", "FADE_KERNELS", "REGEX");
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
  command
      ->add_option("-o,--output", options.output,
                   "the folder that the captures go into (default: .)")
      ->type_name("DIR");
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
  return runApplication(options.run, application);
}

CLI::App *addCapturesCommand(CLI::App &app, CapturesOptions &options) {
  CLI::App *command = app.add_subcommand("captures", "list captures: what is in them");
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
      complain(fmt::format("{}: there is no capture", folder));
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

CLI::App *addReplayCommand(CLI::App &app, ReplayOptions &options) {
  CLI::App *command = app.add_subcommand("replay", "run a captured dispatch again");
  replay::Options &replay = options.replay;
  command->add_option("folder", replay.folder, "a capture")->type_name("DIR")->required();
  command->add_flag("--check", replay.check,
                    "compare memory afterwards with that after the captured dispatch; exit code 0 "
                    "equal, 1 differs, 2 could not run");
  command
      ->add_option("--tolerance", options.tolerance,
                   "with --check: differences of floating-point numbers that do not count")
      ->type_name("ulp=N|rel=X");
  command->add_option("--iterations", replay.iterations, "run it N times (default: 1)")
      ->type_name("N")
      ->check(CLI::Range(1u, 1000000u));
  command->add_flag("!--no-recopy", replay.recopy,
                    "go on with the memory that the last iteration left");
  command
      ->add_option("-c,--code", replay.code,
                   "run the kernel of this code object instead of the captured one")
      ->type_name("FILE");
  command->add_flag("--minimise", replay.minimise,
                    "write the capture again, only with pages that the kernel touches");
  command->add_option("-o,--output", replay.output, "the folder for --minimise")->type_name("DIR");
  command
      ->add_option("--workers", replay.workers, "threads of the executor (default: one per core)")
      ->type_name("N")
      ->check(CLI::Range(1u, 256u));
  command->add_flag("--json", replay.json, "one JSON object per line");
  command->add_flag("--progress,!--no-progress", replay.progress,
                    "show a progress line on the terminal (default: on)");
  return command;
}

int runReplay(ReplayOptions options) {
  const auto mistake = [](const std::string &text) {
    complain(text);
    return replay::kCannotRun;
  };
  if (!readTolerance(options.tolerance, options.replay.tolerance))
    return mistake(
        fmt::format("--tolerance: '{}' is not of the form ulp=N or rel=X", options.tolerance));
  if (options.replay.minimise == options.replay.output.empty())
    return mistake(options.replay.minimise ? "--minimise needs -o DIR" : "-o is for --minimise");
  const std::vector<std::string> found = capturesIn(options.replay.folder);
  if (found.size() > 1)
    return mistake(fmt::format("{}: there are {} captures in it; give one of them, such as {}",
                               options.replay.folder, found.size(), found.front()));
  if (!found.empty()) options.replay.folder = found.front();
  const auto library = ownLibrary("libfadereplay.so");
  void *loaded = library ? dlopen(library->c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!loaded)
    return mistake(library ? dlerror()
                           : "libfadereplay.so is missing: it should be in ../lib or beside this "
                             "program");
  const auto entry = reinterpret_cast<FadeReplayEntry>(dlsym(loaded, FADE_REPLAY_ENTRY));
  if (!entry) return mistake(fmt::format("{} is a different version of FADE", *library));
  return entry(&options.replay);
}

} // namespace fade::cli
