#include "analyze.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>

namespace fade::cli {

CLI::App *addAnalyzeCommand(CLI::App &app, AnalyzeOptions &options) {
  CLI::App *command =
      app.add_subcommand("analyze", "run analyzers on a recording made with --record");
  command->add_option("trace", options.trace, "the file")->required()->type_name("FILE");
  addReportOptions(*command, options.run);
  return command;
}

int runAnalyze(const AnalyzeOptions &options) {
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
