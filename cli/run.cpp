#include "run.h"

#include "base/diagnostics.h"
#include "base/settings.h"
#include "checks.h"
#include "gpu_choice.h"
#include "gpu_code.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char *kTools = "HSA_TOOLS_LIB";

/// An option that goes into a variable as it is.
void add_variable(CLI::App &app, RunOptions &options, const char *flags, const char *variable,
                  const char *placeholder) {
  const Variable *known = findVariable(variable);
  app.add_option_function<std::string>(
         flags,
         [&options, variable](const std::string &value) {
           options.values.emplace_back(variable, value);
         },
         std::string(known->help))
      ->type_name(placeholder)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void add_flag(CLI::App &app, std::optional<bool> &flag, const char *flags, const char *help) {
  app.add_flag_function(
      flags, [&flag](int64_t count) { flag = count > 0; }, help);
}

std::string absolute(const std::string &path) {
  std::error_code error;
  const fs::path result = fs::absolute(path, error);
  return error || path.empty() ? path : result.string();
}

/// The application may go to another directory before FADE opens a file.
std::string with_absolute_paths(const std::string &name, const std::string &value) {
  if (name == "FADE_RECORD" || (name == "FADE_LOG_LOCATION" && value != "console"))
    return absolute(value);
  std::string all;
  const auto add = [&](const std::string &item, const char *separator) {
    all += (all.empty() ? "" : separator) + item;
  };
  if (name == "FADE_KERNEL_CACHE") {
    Settings settings;
    (void)findVariable(name)->read(settings, value);
    for (const std::string &directory : settings.cache) add(absolute(directory), ":");
    return all;
  }
  if (name != "FADE_HANDLERS") return value;
  Settings chosen;
  chosen.handlers = parseHandlers(value);
  makePathsAbsolute(chosen);
  return joinHandlers(chosen.handlers);
}

/// Whether instrumented kernels will run, by an option or by the variable.
bool is_instrumented(const Variables &pairs) {
  Settings settings;
  (void)findVariable("FADE_INSTRUMENTED")->read(settings, value_of(pairs, "FADE_INSTRUMENTED"));
  return settings.instrumented;
}

/// A script may start many programs that report to the same file: it is emptied here, once, and
/// they add to it. Recordings have one process each: what is there from earlier runs goes, too.
void start_files(Variables &pairs) {
  // The application will have the process id that this program has now.
  const auto empty = [](const std::string &name) {
    const std::string path = expandPath(name);
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) (void)!truncate(path.c_str(), 0);
  };
  if (const std::string record = value_of(pairs, "FADE_RECORD"); !record.empty()) empty(record);
  Settings settings;
  const std::string location = value_of(pairs, "FADE_LOG_LOCATION");
  (void)findVariable("FADE_LOG_APPEND")->read(settings, value_of(pairs, "FADE_LOG_APPEND"));
  if (settings.log_append || location.empty() || location == "console") return;
  empty(location);
  pairs.emplace_back("FADE_LOG_APPEND", "true");
}

} // namespace

void complain(std::string_view text) {
  // That nobody hears it is no reason not to run the application.
  (void)writeAll(STDERR_FILENO, fmt::format("fadeprobe: {}\n", text));
}

std::string value_of(const Variables &variables, const char *name) {
  for (auto at = variables.rbegin(); at != variables.rend(); ++at)
    if (at->first == name) return at->second;
  const char *inherited = std::getenv(name);
  return inherited ? inherited : "";
}

std::string program_of(const std::string &word) {
  std::error_code ignored;
  if (word.find('/') != std::string::npos) return fs::is_regular_file(word, ignored) ? word : "";
  const char *path = std::getenv("PATH");
  for (std::string_view rest = path ? path : ""; !rest.empty();) {
    const auto colon = std::min(rest.find(':'), rest.size());
    const fs::path place = fs::path(rest.substr(0, colon)) / word;
    if (fs::is_regular_file(place, ignored) && access(place.c_str(), X_OK) == 0) return place;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return "";
}

std::optional<std::string> own_library(const std::string &file) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return std::nullopt;
  const fs::path prefix = program.parent_path().parent_path();
  for (const fs::path &place : {prefix / "lib" / file, prefix / "lib64" / file,
                                prefix / FADE_LIBDIR / file, program.parent_path() / file})
    if (fs::exists(place, error)) return place.string();
  return std::nullopt;
}

void add_report_options(CLI::App &app, RunOptions &options) {
  app.add_option(
         "-a,--analyzers", options.analyzers,
         "MessageLogger, Heatmap, MemoryAnalysis, BlockCounts, AccessPatterns, BlockFlow, or the "
         "path of a handler; "
         "NAME:key=value,... passes options")
      ->type_name("NAME|PATH");
  add_variable(app, options, "-l,--log-location", "FADE_LOG_LOCATION", "console|FILE");
  add_flag(app, options.log_append, "--log-append",
           "append to the log file instead of overwriting it");
  add_variable(app, options, "-t,--log-format", "FADE_LOG_FORMAT", "text|json|csv");
  add_flag(app, options.verbose, "-v,--verbose",
           "log what was seen, matched and replaced, and why not");
  add_flag(app, options.progress, "--progress,!--no-progress",
           "show a progress line on the terminal during long runs (default: on)");
  add_variable(app, options, "--workers", "FADE_WORKERS", "N");
  add_variable(app, options, "--patience", "FADE_PATIENCE", "N");
}

void add_run_options(CLI::App &app, RunOptions &options) {
  add_flag(app, options.instrumented, "-i,--instrumented,!--no-instrumented",
           "run instrumented kernels (default: off, durations only)");
  add_report_options(app, options);
  add_variable(app, options, "-k,--kernels", "FADE_KERNELS", "REGEX");
  add_variable(app, options, "-d,--dispatches", "FADE_DISPATCHES", "all|random|1|N|A-B");
  add_variable(app, options, "--seed", "FADE_SEED", "N");
  add_variable(app, options, "-c,--cache-location", "FADE_KERNEL_CACHE", "DIR");
  add_variable(app, options, "--workgroups", "FADE_WORKGROUPS", "x=A-B,y=A-B,z=A-B");
  add_variable(app, options, "--sample", "FADE_SAMPLE", "N");
  add_variable(app, options, "--sample-executions", "FADE_SAMPLE_EXECUTIONS", "N");
  add_variable(app, options, "--record", "FADE_RECORD", "FILE");
  add_variable(app, options, "--memory", "FADE_MEMORY", "SIZE");
  add_variable(app, options, "--transport", "FADE_TRANSPORT", "host|device");
  add_flag(app, options.lossy, "--lossy", "drop records instead of slowing kernels down");
  app.add_option("--gpu", options.gpu,
                 "auto: the real GPU if there is one, else the software GPU; real; or gfx90a, "
                 "gfx1030, ...: that software GPU")
      ->type_name("auto|real|gfx...");
  app.add_flag("-e,--env-dump", options.env_dump,
               "print the environment that would be set, and exit");
}

std::optional<Variables> environment_of(const RunOptions &options) {
  Variables pairs;
  const auto flag = [&](const char *variable, const std::optional<bool> &value) {
    if (value) pairs.emplace_back(variable, *value ? "true" : "false");
  };
  flag("FADE_INSTRUMENTED", options.instrumented);
  flag("FADE_VERBOSE", options.verbose);
  flag("FADE_PROGRESS", options.progress);
  flag("FADE_LOSSY", options.lossy);
  flag("FADE_LOG_APPEND", options.log_append);
  if (!options.analyzers.empty()) {
    std::string all;
    // The shell has told arguments apart already: a blank in one of them is a part of it.
    for (const std::string &name : options.analyzers)
      all += (all.empty() ? "" : ";") + quoteForHandlers(name, " \t\n");
    pairs.emplace_back("FADE_HANDLERS", all);
  }
  pairs.insert(pairs.end(), options.values.begin(), options.values.end());

  Settings settings;
  for (const auto &[name, value] : pairs) {
    const Variable *variable = findVariable(name);
    if (auto complaint = variable->read(settings, value)) {
      complain(fmt::format("{}: {}", variable->option, *complaint));
      return std::nullopt;
    }
  }
  if (!check_files(settings)) return std::nullopt;
  for (auto &[name, value] : pairs) value = with_absolute_paths(name, value);
  return pairs;
}

std::optional<int> prepare_run(const RunOptions &options,
                               const std::vector<std::string> &application, bool sees_end) {
  auto pairs = environment_of(options);
  if (!pairs) return kUsageError;
  if (application.empty() && !options.env_dump) {
    complain("no application given: fadeprobe [options] -- application [arguments]");
    return kUsageError;
  }
  const auto library = own_library("libfade.so");
  if (!library) {
    complain("libfade.so is missing: it should be in ../lib or beside this program");
    return kUsageError;
  }
  if (!fits_in_list(*library)) return kUsageError;
  pairs->emplace_back(kTools, with_front(kTools, *library, ' '));
  if (!options.env_dump) {
    const std::string record = value_of(*pairs, "FADE_RECORD");
    if (!record.empty() && !can_write("--record: ", expandPath(record))) return kUsageError;
    if (!check_analyzers(*library, *pairs)) return kUsageError;
  }
  if (!choose_gpu(options.gpu, options.env_dump, *pairs)) return kUsageError;
  if (options.env_dump) {
    for (const auto &[name, value] : *pairs)
      std::fputs(fmt::format("{}={}\n", name, value).c_str(), stdout);
    return std::fflush(stdout) == 0 ? 0 : 1;
  }
  if (!options.analyzers.empty() && !is_instrumented(*pairs))
    complain("without -i no kernel is instrumented: the analyzers have no accesses to look at");
  if (const std::string program = program_of(application[0]); !program.empty()) {
    check_code(program, gpus_of(*pairs));
    if (!sees_end && is_instrumented(*pairs) && cannot_use_gpu(program))
      complain(
          fmt::format("{} cannot use the GPU: it is not linked with HIP or ROCr, and starts no "
                      "other programs; there will be nothing to report",
                      application[0]));
  }
  start_files(*pairs);
  for (const auto &[name, value] : *pairs) setenv(name.c_str(), value.c_str(), 1);
  return std::nullopt;
}

int run_application(const RunOptions &options, const std::vector<std::string> &application) {
  if (const auto code = prepare_run(options, application, false)) return *code;
  std::vector<char *> arguments;
  for (const std::string &word : application) arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  complain(fmt::format("cannot run {}: {}", application[0], std::strerror(error)));
  return error == ENOENT ? 127 : 126; // as a shell says it
}

} // namespace fade::cli
