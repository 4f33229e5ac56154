// Host events as JSON lines: one object for each call, kernel, copy and marker (docs/formats.md).
#pragma once

#include "analysis/host_events/event_reader.h"
#include "base/result.h"

#include <string>

namespace fade::host_trace {

enum class LogScope { calls, everything };

/// Calls are numbered from 1 in order of their start; other lines refer to these numbers.
Status writeLog(const HostEvents &events, const std::string &path, LogScope scope);

} // namespace fade::host_trace
