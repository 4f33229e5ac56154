// Host events as a trace in the format that Perfetto and Chrome's tracing page read: threads with
// their calls and ranges, GPUs with queues and copies, and arrows from calls to what they caused.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "base/result.h"
#include "fade/json_writer.h"

#include <functional>
#include <string>
#include <string_view>

namespace fade::host_trace {

/// JSON for Chrome's tracing page and Perfetto, or packets of protobuf for Perfetto alone.
enum class TimelineForm { json, packets };
/// As the name asks for: .pftrace and .perfetto-trace are packets.
TimelineForm timelineFormOf(std::string_view path);

/// Times are those of CLOCK_MONOTONIC, exact to the nanosecond; microseconds in JSON.
Status writeTimeline(const HostEvents &events, const std::string &path);
class EventSource;
Status writeTimeline(const EventSource &events, const std::string &path,
                     TimelineForm form = TimelineForm::json);

/// Writes more members about the operation with this index.
using OperationFacts = std::function<void(JsonWriter &json, std::size_t operation)>;
Status writeTimeline(const HostEvents &events, const std::string &path,
                     const OperationFacts &facts);

/// All processes of a run by a common clock; in JSON, since the first of them began.
struct Run;
Status writeRunTimeline(const Run &run, const std::string &path, TimelineForm form);

} // namespace fade::host_trace
