// fadeprobe report run.jsonl -o out.html, and --report, --timeline and --fail-if on a run.
#pragma once

#include "comparison/guard.h"
#include "launch/run.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fade::cli {

struct ReportOptions {
  std::string log;                    ///< JSON lines, a recording, or a trace of the host side
  std::vector<std::string> selection; ///< of dispatches of a recording: options of analyze
  std::string host;                   ///< the host side to go with them; empty: none
  std::string html, timeline;         ///< what to make; empty: not wanted
  std::string title;                  ///< empty: the name of the log
  std::vector<std::string> code;      ///< where the kernels' machine code is
  std::vector<std::string> sources;   ///< folders that source has to be below; none: anywhere
  std::string ranks;                  ///< of a run: whose pages are made, too
  std::string end;                    ///< how the application ended, if not well
  GuardOptions guard;
};

CLI::App *addReportCommand(CLI::App &app, ReportOptions &options);
/// 0; 1 if a file cannot be read or written; 2 for a mistake in the options; kConditionFailed.
int runReport(const ReportOptions &options);

/// The page of one process of a run, in its folder, of its events and its JSON lines if it has any,
/// and what it could gain as advice.jsonl. False, after a line that says why, if it cannot be made.
bool writeProcessPage(const std::string &folder, const ReportOptions &options);

/// --report, --timeline and --fail-if, for the program itself.
void addOutcomeOptions(CLI::App &app, ReportOptions &options);
bool wantsOutcome(const ReportOptions &options);
/// Runs the application as a child and makes what was asked for. Ends this process as the
/// application ended, or returns an exit code if it was not started, or if it ended well and a
/// condition of --fail-if is met.
int runWithOutcome(RunOptions run, ReportOptions outcome,
                   const std::vector<std::string> &application);

} // namespace fade::cli
