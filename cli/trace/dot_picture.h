// Pictures of a trace for Graphviz: who asks whom, and where data goes.
#pragma once

#include "trace/trace_log.h"

#include <string>

namespace fade::host_trace {

/// Application, what is between it and HIP, HIP's functions, queues and engines, kernels and
/// copies.
std::string chainPicture(const TraceLog &log, std::size_t rows);
/// Copies between the host, allocations and GPUs, with their bytes.
std::string dataPicture(const TraceLog &log, std::size_t rows);

} // namespace fade::host_trace
