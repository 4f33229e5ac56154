// fadeprobe report run.jsonl -o out.html, and --report and --timeline on a run.
#pragma once

#include "run.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fade::cli {

struct ReportOptions {
  std::string log;               ///< JSON lines, or a trace of the host side
  std::string host;              ///< the host side to go with them; empty: none
  std::string html, timeline;    ///< what to make; empty: not wanted
  std::string title;             ///< empty: the name of the log
  std::vector<std::string> code; ///< where the kernels' machine code is
};

CLI::App *addReportCommand(CLI::App &app, ReportOptions &options);
/// 0; 1 if a file cannot be read or written; 2 for a mistake in the options.
int runReport(const ReportOptions &options);

/// --report and --timeline, for the program itself.
void addOutcomeOptions(CLI::App &app, ReportOptions &options);
bool wantsOutcome(const ReportOptions &options);
/// Runs the application as a child and makes what was asked for. Ends this process as the
/// application ended, or returns an exit code if it was not started.
int runWithOutcome(RunOptions run, ReportOptions outcome,
                   const std::vector<std::string> &application);

} // namespace fade::cli
