// A run that many processes have recorded (base/run_folder.h), read.
#pragma once

#include "base/result.h"
#include "host_trace/run_summary.h"

#include <string>
#include <string_view>
#include <vector>

namespace fade::host_trace {

struct RunMember {
  std::string folder;
  ProcessSummary summary;
  bool is_running = false; ///< on this host
  bool has_summary = true; ///< else it was made from the events now: the trace writer was ended

  std::string events() const { return folder + "/events"; }
  /// Its recording ended before it did: there was no room for more.
  bool wasCutOff() const { return !summary.has_exited && summary.totals.lost != 0; }
};

struct Run {
  std::string path;
  std::vector<RunMember> members;    ///< by rank, host and pid
  std::vector<std::string> problems; ///< processes that cannot be read, a line each

  /// `ranks`: only these (see namesRank); empty: all. An error if there is no process.
  static Result<Run> read(const std::string &path, std::string_view ranks);
};

/// Whether processes have recorded into this folder.
bool isRun(const std::string &path);

/// Folders of all processes that have written into this run.
std::vector<std::string> processFolders(const std::string &run);
/// Folders of processes that this program, or what it started, has launched (FADE_LAUNCH).
/// `partition`: only there; empty: everywhere.
std::vector<std::string> launchedFolders(const std::string &run, const std::string &partition,
                                         const std::string &launch);

} // namespace fade::host_trace
