// Makes a file of host events while they are being recorded, and once more when that has ended.
#pragma once

#include "base/result.h"
#include "fade/host_events.h"

#include <algorithm>
#include <chrono>
#include <string>

namespace fade::host_trace {

/// In the header of the events, behind the counts: the writer's pid, for fadeprobe control; 0:
/// there is none.
inline constexpr uint64_t kWriterAt = events::kFlushCountsAt + sizeof(events::FlushCounts);
static_assert(kWriterAt + sizeof(uint32_t) <= events::kSwitchesAt);

/// Of a process in a run, whose events stay and get a summary.
inline constexpr std::string_view kRunForm = "run";

struct WriterOptions {
  std::string events, output, format;
  unsigned flush_seconds = 0; ///< 0: only when asked
  int recorders = -1; ///< a socket that reads as ended when no process that records has its other
                      ///< end any more, and brings a byte when somebody wants the file now
};

/// How long to wait after the file was written, which takes longer the more there is: so that it
/// takes at most a tenth of a processor, however long the application runs.
constexpr std::chrono::nanoseconds pauseAfter(std::chrono::nanoseconds writing,
                                              std::chrono::seconds wanted) {
  return std::max<std::chrono::nanoseconds>(wanted, 9 * writing);
}

/// Returns when all processes that record have ended and the output is there; the events are
/// removed then. On an error they stay.
Status followEvents(const WriterOptions &options);

} // namespace fade::host_trace
