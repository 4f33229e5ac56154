// Where the numbers of a run come from: JSON lines, a recording, or a command that is run for it.
#pragma once

#include "analysis/run_log.h"
#include "launch/run.h"

namespace fade::cli {

/// Whether the file was made with --record.
bool isRecording(const std::string &path);

/// JSON lines as they are; of a recording, what the analyzers of a report make of it. `selection`:
/// options of fadeprobe analyze that choose among the dispatches of a recording.
Result<report::RunLog> readRun(const std::string &path,
                               const std::vector<std::string> &selection = {});

/// Runs the command with the analyzers of a comparison. Its output goes where ours goes; a command
/// that fails is an error.
Result<report::RunLog> measureRun(const std::vector<std::string> &command, const std::string &gpu,
                                  const std::vector<std::string> &options);

} // namespace fade::cli
