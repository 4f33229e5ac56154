// The application's side of a run on the page: calls, markers, what the GPU did for them.
#pragma once

#include "analysis/host_events/event_reader.h"
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
  std::vector<std::optional<std::size_t>> find(const host_trace::HostEvents &host);

private:
  std::optional<std::size_t> take(std::string_view kernel, uint64_t queue, uint64_t start_ns);

  using Key = std::pair<std::string_view, uint64_t>; ///< kernel and queue
  struct Started {
    uint64_t start_ns = 0;
    uint32_t dispatch = 0;
    bool is_taken = false;
  };
  std::map<Key, std::vector<Started>> by_kernel_; ///< by start
};
/// Of all of it.
std::vector<std::optional<std::size_t>> dispatchesOf(const host_trace::TraceLog &host,
                                                     const RunLog &log);

/// What the page shows of it.
Json hostData(const host_trace::TraceLog &host, const RunLog &log);

} // namespace fade::report
