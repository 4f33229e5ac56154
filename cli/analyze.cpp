#include "analyze.h"

#include "compare/command.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>

namespace fade::cli {

CLI::App *addAnalyzeCommand(CLI::App &app, AnalyzeOptions &options) {
  CLI::App *command =
      app.add_subcommand("analyze", "run analyzers on a recording made with --record");
  command->add_option("trace", options.trace, "a recording")->required()->type_name("FILE");
  addReportOptions(*command, options.run);
  addVariable(*command, options.run, "-k,--kernels", "FADE_KERNELS", "REGEX");
  addVariable(*command, options.run, "-d,--dispatches", "FADE_DISPATCHES", "all|random|1|N|A-B");
  addVariable(*command, options.run, "--seed", "FADE_SEED", "N");
  command->add_option("--report", options.outcome.html, "write an HTML report, one file")
      ->type_name("FILE");
  command
      ->add_option("--sources", options.outcome.sources,
                   "folder whose source files the report may show (default: the current one)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command
      ->add_option("--diff", options.baseline,
                   "compare with this run before it: JSON lines or a recording")
      ->type_name("FILE");
  addGuardOptions(*command, options.outcome.guard);
  return command;
}

namespace {

/// What is made of the JSON lines of the recording, instead of a report of the analyzers.
int analyzeToOutcome(const AnalyzeOptions &options) {
  if (!options.baseline.empty()) {
    DiffOptions diff;
    diff.files = {options.baseline, options.trace};
    diff.html = options.outcome.html;
    diff.guard = options.outcome.guard;
    return runDiff(diff, {});
  }
  ReportOptions outcome = options.outcome;
  outcome.log = options.trace;
  for (const auto &[option, variable] :
       {std::pair("-k", "FADE_KERNELS"), {"-d", "FADE_DISPATCHES"}, {"--seed", "FADE_SEED"}})
    for (const auto &[name, value] : options.run.values)
      if (name == variable) outcome.selection.insert(outcome.selection.end(), {option, value});
  return runReport(outcome);
}

} // namespace

int runAnalyze(const AnalyzeOptions &options) {
  if (!options.baseline.empty() || wantsOutcome(options.outcome)) return analyzeToOutcome(options);
  const auto pairs = environmentOf(options.run);
  if (!pairs) return kUsageError;
  for (const auto &[name, value] : *pairs) setenv(name.c_str(), value.c_str(), 1);
  // libfade does the work: it is the one that loads analyzers.
  const auto library = ownLibrary("libfade.so");
  void *loaded = library ? dlopen(library->c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!loaded) {
    complain(library ? dlerror()
                     : "libfade.so is missing: it should be in ../lib or beside this program");
    return kUsageError;
  }
  using Analyze = int (*)(const char *);
  const auto analyze = reinterpret_cast<Analyze>(dlsym(loaded, "fade_analyze_trace"));
  if (!analyze) {
    complain(fmt::format("{} is a different version of FADE", *library));
    return kUsageError;
  }
  return analyze(options.trace.c_str());
}

} // namespace fade::cli
