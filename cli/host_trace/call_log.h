// Host events as JSON lines: one object for each call, kernel, copy and marker (docs/formats.md).
#pragma once

#include "base/result.h"
#include "host_trace/event_slices.h"

#include <string>

namespace fade::host_trace {

enum class LogScope { calls, everything };

/// In slices, unless the file is none that can be written twice: then from all events at once.
/// Calls and operations are numbered from 1 in the order in which they are written, in each slice
/// that of their start; other lines refer to these numbers.
Status writeLog(const EventSource &events, const std::string &path, LogScope scope);

} // namespace fade::host_trace
