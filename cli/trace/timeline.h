// Host events as a trace in the format that Perfetto and Chrome's tracing page read: threads with
// their calls and ranges, GPUs with queues and copies, and arrows from calls to what they caused.
#pragma once

#include "base/result.h"
#include "trace/event_reader.h"

#include <string>

namespace fade::host_trace {

/// Times are microseconds of CLOCK_MONOTONIC, exact to the nanosecond.
Status writeTimeline(const HostEvents &events, const std::string &path);

} // namespace fade::host_trace
