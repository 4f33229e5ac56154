// A run as a folder: one subfolder per process, which only that process and its trace writer write
// to. No process waits for another, and nothing is locked.
//
//   run/host=node1/rank=3/pid=4711/process.json    who it is, and its clocks when it began
//                                  events          host events (fade/host_events.h)
//                                  summary.jsonl   totals; made by the trace writer
#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace fade {

/// As the launcher says it: OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID, RANK, ... Nothing outside
/// of a parallel job.
std::optional<std::string> ownRank();
std::string ownHost();

/// "host=node1/rank=3". Without a rank, rank=0.
std::string partitionOf(std::string host, std::string rank);
std::string ownPartition();

/// Whether a list such as "0,7,16-31" names the rank. An empty list names all, also processes
/// without a rank; any other list names none of those.
bool namesRank(std::string_view list, const std::optional<std::string> &rank);
/// What is wrong with such a list, in one line; nothing if it is fine.
std::optional<std::string> mistakeInRanks(std::string_view list);

/// "0-3, 7".
std::string rankList(const std::set<uint64_t> &ranks);

/// The clocks of a host at one moment. Processes with the same boot id share CLOCK_MONOTONIC;
/// others are brought together by CLOCK_REALTIME, or by the clock of the file server that the run
/// is on.
struct ClockReading {
  int64_t monotonic_ns = 0, realtime_ns = 0;
  int64_t width_ns = 0; ///< in how much time both were read
  bool is_synchronized = false;
  int64_t max_error_ns = 0; ///< of CLOCK_REALTIME, as the kernel's NTP state says
  /// What the file server's clock was ahead of CLOCK_REALTIME, and the error of that; 0 as error:
  /// there is none.
  int64_t files_ahead_ns = 0, files_error_ns = 0;
};
/// `fd`: a file of the run of one's own, whose times are changed; -1: none.
ClockReading readClocks(int fd);
std::string bootId();

/// Whether a path means a run: it ends with '/', or is a folder.
bool isRunFolder(const std::string &path);

/// Makes the folder of this process and its process.json, unless they are there; its path.
Result<std::string> makeProcessFolder(const std::string &run);

} // namespace fade
