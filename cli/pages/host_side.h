// The application's side of a run on the page: calls, markers, what the GPU did for them.
#pragma once

#include "analysis/run_log.h"
#include "host_trace/trace_log.h"

#include <optional>
#include <string>
#include <vector>

namespace fade::report {

/// Whether a file is a trace of host events, in any of its forms, and not a log of dispatches.
bool isHostTrace(const std::string &path);

/// The dispatch of each operation, by its kernel, queue and time; nothing where there is none.
std::vector<std::optional<std::size_t>> dispatchesOf(const host_trace::TraceLog &host,
                                                     const RunLog &log);

/// What the page shows of it.
Json hostData(const host_trace::TraceLog &host, const RunLog &log);

} // namespace fade::report
