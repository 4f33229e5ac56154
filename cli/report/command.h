// fadeprobe report run.jsonl -o out.html, and --report and --trace on a run.
#pragma once

#include "run.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fade::cli {

struct ReportOptions {
  std::string log;               ///< JSON lines
  std::string html, trace;       ///< what to make; empty: not wanted
  std::string title;             ///< empty: the name of the log
  std::vector<std::string> code; ///< where the kernels' machine code is
};

CLI::App *add_report_command(CLI::App &app, ReportOptions &options);
/// 0; 1 if a file cannot be read or written; 2 for a mistake in the options.
int run_report(const ReportOptions &options);

/// --report and --trace, for the program itself.
void add_outcome_options(CLI::App &app, ReportOptions &options);
bool wants_outcome(const ReportOptions &options);
/// Runs the application as a child and makes what was asked for. Ends this process as the
/// application ended, or returns an exit code if it was not started.
int run_with_outcome(RunOptions run, ReportOptions outcome,
                     const std::vector<std::string> &application);

} // namespace fade::cli
