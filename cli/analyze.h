// fadeprobe analyze: runs analyzers on a recorded trace.
#pragma once

#include "report/command.h"

namespace fade::cli {

struct AnalyzeOptions {
  std::string trace;
  RunOptions run;
  ReportOptions outcome;
  std::string baseline; ///< of --diff
};

CLI::App *addAnalyzeCommand(CLI::App &app, AnalyzeOptions &options);

/// The exit code: 0, 1 if the trace could not be read to its end, 2 for a bad option,
/// kConditionFailed.
int runAnalyze(const AnalyzeOptions &options);

} // namespace fade::cli
