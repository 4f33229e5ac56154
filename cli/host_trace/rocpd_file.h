// AMD's rocpd databases (rocprofv3's output), written.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "base/result.h"

#include <string>

namespace fade::host_trace {

/// Adds what processes have recorded to the file, which is made if it is not there. `host`: where
/// they ran.
Status writeRocpd(const HostEvents &events, const std::string &path, const std::string &host);
class EventSource;
Status writeRocpd(const EventSource &events, const std::string &path, const std::string &host);

} // namespace fade::host_trace
