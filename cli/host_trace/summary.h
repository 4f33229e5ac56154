// What a trace of host events says at a glance, for people: fadeprobe log.
#pragma once

#include "host_trace/trace_log.h"

#include <string>

namespace fade::host_trace {

struct SummaryOptions {
  std::size_t rows = 15; ///< of each table
};

/// Calls, errors, what the GPU did, launches without effect, calls that did not return.
std::string summarize(const TraceLog &log, const SummaryOptions &options);

} // namespace fade::host_trace
