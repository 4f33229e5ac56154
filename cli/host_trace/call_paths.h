// Time by call path: markers, stack frames where they were recorded, calls, and the calls in calls.
#pragma once

#include "host_trace/nesting.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fade::host_trace {

struct CallPath {
  CallPath() = default;
  CallPath(CallPath &&) = default;
  ~CallPath(); ///< without recursion: paths may be deeper than a stack

  std::string_view name;
  uint64_t count = 0;
  uint64_t cpu_ns = 0, cpu_own_ns = 0;           ///< with all within it, and without
  uint64_t gpu_ns = 0, gpu_own_ns = 0;           ///< of what was asked for
  std::vector<std::unique_ptr<CallPath>> within; ///< the longest first
};

/// All threads together. The root has the sums and no name.
CallPath callPathsOf(const TraceLog &log, const Nesting &nesting);
/// For people; at most `rows` within each.
std::string callPathText(const TraceLog &log, const CallPath &root, std::size_t rows);

} // namespace fade::host_trace
