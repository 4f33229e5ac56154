// The application's side of a run on the page: calls, markers, what the GPU did for them.
#pragma once

#include "analysis/run_log.h"
#include "host_trace/trace_log.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fade::report {

/// Whether a file is a trace of host events, in any of its forms, and not a log of dispatches.
bool isHostTrace(const std::string &path);

/// The dispatch of each operation, by its kernel, queue and time; nothing where there is none.
class DispatchFinder {
public:
  explicit DispatchFinder(const RunLog &log);
  /// Of a part of the run, or of all. No dispatch is found twice.
  std::vector<std::optional<std::size_t>> find(const host_trace::TraceLog &host);

private:
  using Key = std::pair<std::string_view, uint64_t>;              ///< kernel and queue
  std::map<Key, std::multimap<uint64_t, std::size_t>> by_kernel_; ///< by start
};
/// Of all of it.
std::vector<std::optional<std::size_t>> dispatchesOf(const host_trace::TraceLog &host,
                                                     const RunLog &log);

/// What the page shows of it.
Json hostData(const host_trace::TraceLog &host, const RunLog &log);

} // namespace fade::report
