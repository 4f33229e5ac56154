// The dispatches of a run as a trace in the format that Perfetto and Chrome's tracing page read:
// agents are processes, queues are tracks, dispatches are slices, and traffic in the rings is a
// counter.
#pragma once

#include "report/run_log.h"

#include <string>

namespace fade::report {

/// Times are microseconds since the first dispatch began, exact to the nanosecond; that moment
/// itself is in otherData.first_start_ns.
std::string perfettoTrace(const RunLog &log);

} // namespace fade::report
