// The calls and ranges of threads as intervals that nest: readers of RPD files and of timelines
// pair starts and ends by time alone.
#pragma once

#include "analysis/host_events/event_reader.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace fade::host_trace {

/// Something that a thread did, from start to end.
struct Interval {
  Thread thread;
  uint64_t start_ns = 0, end_ns = 0;
  uint64_t order = 0; ///< of two that begin at the same time, the outer one has the smaller
};

/// Makes the intervals of each thread nest, with no two of their starts and ends at the same time:
/// one that reaches out of another ends with it, and times are moved by as many ns as it takes.
void makeNested(std::span<Interval> intervals);

/// For things that may overlap, each in a track in which it is alone.
class Tracks {
public:
  /// The track that is free from `start`, given in order of starts.
  uint32_t place(uint64_t start, uint64_t end) {
    const auto track =
        std::ranges::find_if(busy_until_, [&](uint64_t busy) { return busy <= start; });
    if (track == busy_until_.end()) {
      busy_until_.push_back(end);
      return static_cast<uint32_t>(busy_until_.size() - 1);
    }
    *track = end;
    return static_cast<uint32_t>(track - busy_until_.begin());
  }
  std::size_t size() const { return busy_until_.size(); }

private:
  std::vector<uint64_t> busy_until_;
};

/// A range between a push and a pop, or a start and a stop, or a mark, which has no length.
struct Range {
  Thread thread;
  uint64_t start_ns = 0, end_ns = 0;
  std::string_view text;
  uint64_t position = 0;
  bool is_nested = true; ///< not one of start and stop, which may overlap
  bool is_named = false; ///< the text is a name, with a domain and arguments (RPD's functions)
  std::string_view domain = {}, arguments = {};

  /// For people: with its arguments.
  std::string whole() const {
    const std::string between = text.empty() || arguments.empty() ? "" : ", ";
    return std::string(text) + between + std::string(arguments);
  }
};

/// In order of their starts. Ranges that are open at the end of the recording end there; a pop
/// without a push ends a range that began when recording was last switched on.
std::vector<Range> rangesOf(const HostEvents &events);

/// The time of the last event of a process.
uint64_t endOf(const HostEvents &events, uint32_t pid);

} // namespace fade::host_trace
