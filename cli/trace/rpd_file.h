// Host events as an RPD file (rocmProfileData): a SQLite database that RPD's tools read.
#pragma once

#include "base/result.h"
#include "trace/event_reader.h"
#include "trace/rpd_schema.h"

#include <string>

namespace fade::host_trace {

/// Adds the events as a session of their own to a file that is an RPD file already, in its version;
/// else makes one. All of them or none.
Status writeRpd(const HostEvents &events, const std::string &path, RpdVersion version);

} // namespace fade::host_trace
