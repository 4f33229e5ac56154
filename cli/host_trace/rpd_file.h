// Host events as an RPD file (rocmProfileData): a SQLite database that RPD's tools read.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "base/result.h"
#include "host_trace/rpd_schema.h"

#include <string>

namespace fade::host_trace {

/// Adds the events as a session of their own to a file that is an RPD file already, in its version;
/// else makes one. All of them or none.
Status writeRpd(const HostEvents &events, const std::string &path, RpdVersion version);
/// The same; `session` is the one that is replaced, or below 0 for a new one, and then which it
/// became.
Status writeRpd(const HostEvents &events, const std::string &path, RpdVersion version,
                int64_t &session);
class EventSource;
Status writeRpd(const EventSource &events, const std::string &path, RpdVersion version,
                int64_t &session);

} // namespace fade::host_trace
