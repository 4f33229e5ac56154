// Host events as a trace in the format that Perfetto and Chrome's tracing page read: threads with
// their calls and ranges, GPUs with queues and copies, and arrows from calls to what they caused.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "base/result.h"
#include "fade/json_writer.h"

#include <functional>

#include <string>

namespace fade::host_trace {

/// Times are microseconds of CLOCK_MONOTONIC, exact to the nanosecond.
Status writeTimeline(const HostEvents &events, const std::string &path);
class EventSource;
Status writeTimeline(const EventSource &events, const std::string &path);

/// Writes more members about the operation with this index.
using OperationFacts = std::function<void(JsonWriter &json, std::size_t operation)>;
Status writeTimeline(const HostEvents &events, const std::string &path,
                     const OperationFacts &facts);

/// All processes of a run: microseconds since the first of them began, by a common clock.
struct Run;
Status writeRunTimeline(const Run &run, const std::string &path);

} // namespace fade::host_trace
