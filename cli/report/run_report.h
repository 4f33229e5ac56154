// fadeprobe report run/, and --report run/ on a run of many processes (base/run_folder.h): a page
// of all ranks, and pages of single ones beside their events.
#pragma once

#include "launch/run_launch.h"
#include "report/command.h"

#include <string>
#include <vector>

namespace fade::cli {

/// The page of the run, and those of the slowest and the median rank, or of `options.ranks`.
int reportRun(const ReportOptions &options);

/// Runs the application as a child. Each process has its report in its folder; in front of a
/// launcher there is a page of all ranks, too. Ends this process as the application ended, or
/// returns an exit code if it was not started.
int runIntoFolder(RunOptions run, const ReportOptions &outcome,
                  const std::vector<std::string> &application);

} // namespace fade::cli
