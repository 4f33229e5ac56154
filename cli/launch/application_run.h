// The application as a child of fadeprobe, in the environment that libfade reads.
#pragma once

#include "base/child.h"
#include "launch/run.h"
#include "launch/run_launch.h"

#include <optional>
#include <string>
#include <vector>

namespace fade::cli {

/// How an application ended that was run as a child.
struct ApplicationRun {
  std::optional<int> failure; ///< exit code of fadeprobe, if the application was not started
  ChildEnd end;
};

/// Sets this process's environment up, runs the application as a child and waits for its end; what
/// is wrong is said on stderr. `launch`: the folder of the run, if there is one. `seconds`: how
/// long it may take; 0: no limit.
ApplicationRun runAndWait(const RunOptions &options, const std::vector<std::string> &application,
                          const RunLaunch *launch = nullptr, double seconds = 0);
/// Says why an application, or what is run in its place, could not be started.
void sayNotStarted(const std::vector<std::string> &application, const ChildEnd &end);

/// Whether this process, if it has a rank, is one of --ranks.
bool isRankChosen(const Variables &values);

} // namespace fade::cli
