// An application that is run and recorded.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "host_trace/run.h"
#include "launch/application_run.h"

#include <optional>
#include <string>
#include <vector>

namespace fade::cli {

inline constexpr const char *kNotUsed =
    "the application did not use the GPU: there is nothing to write (programs started with a new "
    "environment, by env -i, sudo or ssh, are not seen)";

struct RecordedRun {
  bool was_started = false;
  int exit_code = 0; ///< of fadeprobe, if it was not started
  ChildEnd end;
  bool has_events = false;                      ///< there is a file
  std::optional<host_trace::HostEvents> events; ///< nothing, after a line that says why
};

/// On stderr, if there is anything.
void sayWhatIsMissing(const host_trace::HostEvents &events, const std::string &file);

/// Has the run record host events in the file, from its first call on. Empty: they are recorded
/// already, somewhere else.
void addRecording(RunOptions &options, const std::string &file);

/// Has each process of the run record host events into its own folder in that of the run.
void addRecordingInto(RunOptions &options, const std::string &folder);

/// False, after a line that says why, if no process has recorded anything; the file is removed
/// then.
bool hasProcesses(const host_trace::HostEvents &events, const std::string &file);

/// As recordRun, but does not read the events.
RecordedRun runRecorded(RunOptions &options, const std::vector<std::string> &application,
                        const std::string &file);

/// Reads them after that.
void readRecorded(RecordedRun &run, const std::string &file);

/// Runs the application as a child, with its host events in the file, which stays if there is
/// anything in it.
RecordedRun recordRun(RunOptions &options, const std::vector<std::string> &application,
                      const std::string &file);

} // namespace fade::cli
