// Collective calls of MPI that ranks of a run have made together
// (host_rt/hip/preload/messages.cpp): who arrived last, how long the others waited, and the
// critical path across ranks.
//
// Each process keeps its own in collectives.jsonl, a line for each communicator; the n-th of a
// communicator is the same call on all of its ranks.
#pragma once

#include "analysis/host_events/thread_times.h"
#include "host_trace/run_view.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fade::host_trace {

/// Domains of ranges that are calls of MPI and RCCL.
inline constexpr std::string_view kMpiDomain = "MPI", kRcclDomain = "RCCL";
inline bool isMessage(const Range &range) {
  return range.is_named && (range.domain == kMpiDomain || range.domain == kRcclDomain);
}

/// Whether a message is a collective call, which all ranks of a communicator make together.
bool isCollective(std::string_view domain, std::string_view arguments);

inline constexpr std::size_t kMostCollectives = 200'000; ///< kept of a process
inline constexpr const char *kCollectivesFile = "/collectives.jsonl";

/// Writes the file, if there were any. At most kMostCollectives are kept.
Status writeCollectives(const std::vector<Range> &ranges, const std::string &folder);

/// One function, over all of its calls.
struct CollectiveRow {
  std::string name;
  uint64_t count = 0;      ///< calls, each by all ranks of its communicator together
  uint64_t time_ns = 0;    ///< in it, of all ranks
  uint64_t waiting_ns = 0; ///< for the one that arrived last, of all ranks
  uint64_t longest_ns = 0; ///< from the first to the last that arrived
  std::size_t last = 0;    ///< the unit that was most often last
  uint64_t last_count = 0;
};

/// What decides how long the run takes: at each collective call the path goes on with the rank that
/// arrived last.
struct RankPath {
  uint64_t total_ns = 0;
  std::vector<uint64_t> of_unit; ///< the part of each
  uint64_t changes = 0;          ///< from one rank to another
};

struct Collectives {
  std::vector<CollectiveRow> rows; ///< the longest waiting first
  RankPath path;
  uint64_t incomplete = 0; ///< calls of which some ranks were not recorded; they are left out

  /// `units`: of this run.
  static Collectives of(const Run &run, const std::vector<Unit> &units);
  /// "2.1 s: rank 2 1.8 s (86%), rank 0 200 ms (10%)"; empty if there is no path.
  std::string pathText(const std::vector<Unit> &units) const;
};

} // namespace fade::host_trace
