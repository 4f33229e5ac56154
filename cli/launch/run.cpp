#include "launch/run.h"

#include "base/child.h"
#include "base/diagnostics.h"
#include "base/settings.h"
#include "base/tools_environment.h"
#include "base/write_file.h"
#include "launch/gpu_choice.h"
#include "launch/gpu_code.h"
#include "launch/preflight.h"

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
std::string withAbsolutePaths(const std::string &name, const std::string &value) {
  if (name == "FADE_RECORD" && isStdout(value)) return value; // is refused
  if (name == "FADE_RECORD" || name == "FADE_TRACE" || name == "FADE_CAPTURE" ||
      (name == "FADE_LOG_LOCATION" && value != "console"))
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
bool isInstrumented(const Variables &pairs) {
  Settings settings;
  (void)findVariable("FADE_INSTRUMENTED")->read(settings, valueOf(pairs, "FADE_INSTRUMENTED"));
  return settings.instrumented;
}

/// Before what is preloaded already: those may be AMD's own.
void preload(const std::vector<std::string> &libraries, Variables &pairs) {
  constexpr const char *variable = "LD_PRELOAD";
  for (const std::string &library : libraries) {
    if (library.find_first_of(" :") != library.npos) {
      complain(library + ": a path with a space or a colon cannot be preloaded");
      continue;
    }
    const std::string there = valueOf(pairs, variable);
    pairs.emplace_back(variable, library + (there.empty() ? "" : ":" + there));
  }
}

/// Says at the end of a program if the HSA runtime has not loaded FADE. Only with -v where nothing
/// else is preloaded: in containers the library may not be where it is here, and each program that
/// starts there would complain. Behind the others: a sanitizer's library has to be the first one.
void preloadArrival(const std::string &program, const std::string &tool, Variables &pairs) {
  const auto library = ownLibrary("libfadearrival.so");
  constexpr const char *variable = "LD_PRELOAD";
  const std::string there = valueOf(pairs, variable);
  Settings settings;
  (void)findVariable("FADE_VERBOSE")->read(settings, valueOf(pairs, "FADE_VERBOSE"));
  if (there.empty() && !settings.verbose) return;
  if (!library || library->find_first_of(" :") != library->npos || isSanitized(program)) return;
  pairs.emplace_back(variable, (there.empty() ? "" : there + ":") + *library);
  pairs.emplace_back("FADE_TOOL", tool);
}

/// A script may start many programs that report to the same file: it is emptied here, once, and
/// they add to it. Recordings have one process each: what is there from earlier runs goes, too.
void startFiles(Variables &pairs) {
  // The application will have the process id that this program has now.
  const auto empty = [](const std::string &name) {
    const std::string path = expandPath(name);
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) (void)!truncate(path.c_str(), 0);
  };
  if (const std::string record = valueOf(pairs, "FADE_RECORD"); !record.empty()) empty(record);
  Settings settings;
  const std::string location = valueOf(pairs, "FADE_LOG_LOCATION");
  (void)findVariable("FADE_LOG_APPEND")->read(settings, valueOf(pairs, "FADE_LOG_APPEND"));
  if (settings.log_append || location.empty() || location == "console") return;
  empty(location);
  pairs.emplace_back("FADE_LOG_APPEND", "true");
}

} // namespace

void addVariable(CLI::App &app, RunOptions &options, const char *flags, const char *variable,
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

void addSampleOptions(CLI::App &app, RunOptions &options) {
  addVariable(app, options, "--sample", "FADE_SAMPLE", "N|auto");
  app.add_flag_callback(
      "--exact", [&options] { options.values.emplace_back("FADE_SAMPLE", "1"); },
      "record all workgroups of all dispatches (default of --report and profile: "
      "--sample auto)");
}

void sampleUnlessToldOtherwise(RunOptions &options) {
  for (const char *variable :
       {"FADE_SAMPLE", "FADE_DISPATCHES", "FADE_WORKGROUPS", "FADE_SAMPLE_EXECUTIONS",
        "FADE_RECORD", "FADE_LOSSY", "FADE_STREAM"})
    if (!valueOf(options.values, variable).empty()) return;
  if (!options.lossy.value_or(false) && !options.stream.value_or(false))
    options.values.emplace_back("FADE_SAMPLE", "auto");
}

void addTool(const std::string &library, Variables &pairs) {
  const std::string others = valueOf(pairs, "FADE_OTHER_TOOLS");
  for (auto &variable : toolVariables(library, std::getenv(kToolsVariable), others.c_str()))
    pairs.push_back(std::move(variable));
}

void addReportOptions(CLI::App &app, RunOptions &options) {
  app.add_option("-a,--analyzers", options.analyzers,
                 fmt::format("{}, or the path of a handler; NAME:key=value,... passes options",
                             fmt::join(handlerNames(), ", ")))
      ->type_name("NAME|PATH");
  addVariable(app, options, "-l,--log-location", "FADE_LOG_LOCATION", "console|FILE");
  add_flag(app, options.log_append, "--log-append",
           "append to the log file instead of overwriting it");
  addVariable(app, options, "-t,--log-format", "FADE_LOG_FORMAT", "text|json|csv");
  add_flag(app, options.verbose, "-v,--verbose,!--no-verbose",
           "log what was seen, matched and replaced, and why not");
  add_flag(app, options.progress, "--progress,!--no-progress",
           "show a progress line on the terminal during long runs (default: on)");
  addVariable(app, options, "--workers", "FADE_WORKERS", "N");
  addVariable(app, options, "--patience", "FADE_PATIENCE", "N");
}

/// Where it runs.
static void addPlaceOptions(CLI::App &app, RunOptions &options) {
  app.add_option("--gpu", options.gpu,
                 "auto: the real GPU if there is one, else the software GPU; real; or gfx90a, "
                 "gfx1030, ...: that software GPU")
      ->type_name("auto|real|gfx...");
  app.add_flag("-e,--env-dump,!--no-env-dump", options.env_dump,
               "print the environment that would be set, and exit");
}

void addTraceVariables(CLI::App &app, RunOptions &options) {
  addVariable(app, options, "--api", "FADE_TRACE_API", "all|GROUP|REGEX,...");
  addVariable(app, options, "--start", "FADE_TRACE_START", "on|off");
  app.add_flag("--stacks{32}", options.stacks,
               std::string(findVariable("FADE_TRACE_STACKS")->help) + " (default: 32)")
      ->type_name("[N]")
      ->each([&options](const std::string &depth) {
        options.values.emplace_back("FADE_TRACE_STACKS", depth);
      });
  app.add_flag_callback(
      "--libraries", [&options] { options.values.emplace_back("FADE_TRACE_LIBRARIES", "on"); },
      std::string(findVariable("FADE_TRACE_LIBRARIES")->help));
  addVariable(app, options, "--correct", "FADE_CORRECT", "properties");
  addVariable(app, options, "--other-tools", "FADE_OTHER_TOOLS", "off|keep");
  add_flag(app, options.verbose, "-v,--verbose", "log what is recorded, and what is not");
  addPlaceOptions(app, options);
}

void addCaptureVariables(CLI::App &app, RunOptions &options) {
  add_flag(app, options.verbose, "-v,--verbose", "log what was seen and captured");
  add_flag(app, options.progress, "--progress,!--no-progress",
           "show a progress line on the terminal (default: on)");
  addPlaceOptions(app, options);
}

void addReplayVariables(CLI::App &app, RunOptions &options) {
  add_flag(app, options.instrumented, "-i,--instrumented", "run the instrumented kernel");
  app.add_option("-a,--analyzers", options.analyzers, "analyzers, as for any application")
      ->type_name("NAME|PATH");
  addVariable(app, options, "-l,--log-location", "FADE_LOG_LOCATION", "console|FILE");
  addVariable(app, options, "-t,--log-format", "FADE_LOG_FORMAT", "text|json|csv");
  addVariable(app, options, "--record", "FADE_RECORD", "FILE");
  app.add_option("--gpu", options.gpu, "with --on gpu: auto, real, or gfx90a, gfx1030, ...")
      ->type_name("auto|real|gfx...");
}

void addRunOptions(CLI::App &app, RunOptions &options) {
  add_flag(app, options.instrumented, "-i,--instrumented,!--no-instrumented",
           "run instrumented kernels (default: off, durations only)");
  addReportOptions(app, options);
  addVariable(app, options, "-k,--kernels", "FADE_KERNELS", "REGEX");
  addVariable(app, options, "--library-filter", "FADE_LIBRARY_FILTER", "[!]REGEX");
  addVariable(app, options, "-d,--dispatches", "FADE_DISPATCHES", "all|random|1|N|A-B");
  addVariable(app, options, "--seed", "FADE_SEED", "N");
  addVariable(app, options, "-c,--cache-location", "FADE_KERNEL_CACHE", "DIR");
  addVariable(app, options, "--workgroups", "FADE_WORKGROUPS", "x=A-B,y=A-B,z=A-B");
  addSampleOptions(app, options);
  addVariable(app, options, "--sample-executions", "FADE_SAMPLE_EXECUTIONS", "N");
  addVariable(app, options, "--record", "FADE_RECORD", "FILE");
  addVariable(app, options, "--ranks", "FADE_RANKS", "N,N-N,...");
  addVariable(app, options, "--memory", "FADE_MEMORY", "SIZE");
  addVariable(app, options, "--transport", "FADE_TRANSPORT", "host|device");
  addVariable(app, options, "--observe", "FADE_OBSERVE", "auto|pass|gpu|rewrite");
  add_flag(app, options.explain, "--explain,!--no-explain",
           "name the kernel when a fault, a queue error or a hang ends the run (default: on)");
  addVariable(app, options, "--deaths", "FADE_DEATHS", "FILE");
  addVariable(app, options, "--alloc", "FADE_ALLOC", "PLACE[:RULE]");
  addVariable(app, options, "--other-tools", "FADE_OTHER_TOOLS", "off|keep");
  add_flag(app, options.lossy, "--lossy", "drop records instead of slowing kernels down");
  add_flag(app, options.stream, "--stream",
           "write a record for every access, even where the kernel could sum its accesses");
  addPlaceOptions(app, options);
}

std::optional<Variables> environmentOf(const RunOptions &options) {
  Variables pairs;
  const auto flag = [&](const char *variable, const std::optional<bool> &value) {
    if (value) pairs.emplace_back(variable, *value ? "true" : "false");
  };
  // Analyzers have nothing to look at otherwise; who wants that says so.
  const bool analyzes = !options.analyzers.empty() && !std::getenv("FADE_INSTRUMENTED");
  flag("FADE_INSTRUMENTED", options.instrumented ? options.instrumented
                            : analyzes           ? std::optional(true)
                                                 : std::nullopt);
  flag("FADE_VERBOSE", options.verbose);
  flag("FADE_PROGRESS", options.progress);
  flag("FADE_EXPLAIN", options.explain);
  flag("FADE_LOSSY", options.lossy);
  flag("FADE_STREAM", options.stream);
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
  if (!checkFiles(settings)) return std::nullopt;
  for (auto &[name, value] : pairs) value = withAbsolutePaths(name, value);
  return pairs;
}

namespace {

/// The software GPU tells libfade what kernels do, unless the user has an observer of his own.
bool chooseObserver(const std::string &library, Variables &pairs) {
  const std::string observe = valueOf(pairs, "FADE_OBSERVE");
  const bool on_software = hasLibrary(valueOf(pairs, "LD_PRELOAD").c_str(), "libfadegpu.so");
  if (observe == "gpu" && !on_software) {
    complain("--observe gpu: kernels are observed on the software GPU (--gpu gfx90a, ...)");
    return false;
  }
  if (on_software && observe != "pass" && observe != "rewrite" && isInstrumented(pairs) &&
      !std::getenv("FADE_GPU_OBSERVER"))
    pairs.emplace_back("FADE_GPU_OBSERVER", library);
  return true;
}

/// Filters choose what is instrumented, replaced or captured, not whose durations are shown.
void checkFilters(const RunOptions &options, const Variables &pairs) {
  if (isInstrumented(pairs) || !valueOf(pairs, "FADE_KERNEL_CACHE").empty() ||
      !valueOf(pairs, "FADE_CAPTURE").empty())
    return;
  for (const char *filter : {"FADE_KERNELS", "FADE_LIBRARY_FILTER", "FADE_DISPATCHES",
                             "FADE_WORKGROUPS", "FADE_SAMPLE", "FADE_SAMPLE_EXECUTIONS"})
    if (std::ranges::find(options.values, filter, &Variables::value_type::first) !=
        options.values.end())
      return complain(fmt::format("without -i no kernel is instrumented: {} has no effect, and "
                                  "durations are those of all kernels",
                                  findVariable(filter)->option));
}

} // namespace

std::optional<int> prepareRun(const RunOptions &options,
                              const std::vector<std::string> &application, bool sees_end) {
  auto pairs = environmentOf(options);
  if (!pairs) return kUsageError;
  if (application.empty() && !options.env_dump) {
    complain("no application given: fadeprobe [options] -- application [arguments]");
    return kUsageError;
  }
  const auto library = ownLibrary("libfade.so");
  if (!library) {
    complain("libfade.so is missing: it should be in ../lib or beside this program");
    return kUsageError;
  }
  if (!fitsInList(*library)) return kUsageError;
  addTool(*library, *pairs);
  if (!options.env_dump) {
    const std::string record = valueOf(*pairs, "FADE_RECORD");
    const std::string place = isStdout(record) ? record : expandPath(record);
    if (!record.empty() && !canWrite("--record: ", place)) return kUsageError;
    if (!checkAnalyzers(*library, *pairs)) return kUsageError;
  }
  if (!chooseGpu(options.gpu, options.env_dump, *pairs)) return kUsageError;
  preload(options.preload, *pairs);
  if (!options.env_dump) preloadArrival(programOf(application[0]), *library, *pairs);
  if (!chooseObserver(*library, *pairs)) return kUsageError;
  if (options.env_dump) {
    for (const auto &[name, value] : *pairs)
      std::fputs(fmt::format("{}={}\n", name, value).c_str(), stdout);
    return std::fflush(stdout) == 0 ? 0 : 1;
  }
  if (!options.analyzers.empty() && !isInstrumented(*pairs))
    complain("without -i no kernel is instrumented: the analyzers get no accesses");
  else if (!sees_end)
    checkFilters(options, *pairs);
  if (const std::string program = programOf(application[0]); !program.empty()) {
    checkCode(program, gpusOf(*pairs));
    if (isPrivileged(program) && !valueOf(*pairs, "LD_PRELOAD").empty())
      complain(
          fmt::format("{} runs as another user (set-uid or set-gid): the system ignores "
                      "LD_PRELOAD for it, so neither the software GPU nor FADE's hooks are loaded",
                      application[0]));
    if (!sees_end && cannotUseGpu(program))
      complain(
          fmt::format("{} cannot use the GPU: it is not linked with HIP or ROCr, and starts no "
                      "other programs; there will be nothing to report",
                      application[0]));
  }
  startFiles(*pairs);
  for (const auto &[name, value] : *pairs) setenv(name.c_str(), value.c_str(), 1);
  return std::nullopt;
}

int runApplication(const RunOptions &options, const std::vector<std::string> &application) {
  if (const auto code = prepareRun(options, application, false)) return *code;
  std::vector<char *> arguments;
  for (const std::string &word : application) arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  giveBackSignals();
  execvp(arguments[0], arguments.data());
  const int error = errno;
  complain(fmt::format("cannot run {}: {}", application[0], std::strerror(error)));
  return error == ENOENT ? 127 : 126; // as a shell says it
}

} // namespace fade::cli
