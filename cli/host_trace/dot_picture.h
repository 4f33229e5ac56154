// Pictures of a trace for Graphviz: who asks whom, and where data goes.
#pragma once

#include "host_trace/trace_log.h"

#include <map>
#include <string>
#include <utility>

namespace fade::host_trace {

struct Weight {
  uint64_t count = 0, ns = 0, bytes = 0;
  void add(uint64_t time, uint64_t size = 0) {
    ++count;
    ns += time;
    bytes += size;
  }
};
using Weights = std::map<std::string, Weight>;
using Edges = std::map<std::pair<std::string, std::string>, Weight>;

/// From HIP's functions to the places where operations run, and from those to what runs.
struct Chain {
  Weights functions, places, kernels;
  std::map<std::string, uint64_t> failures; ///< calls that returned an error, by function
  Edges asked, ran;
  std::map<uint32_t, Weight> processes;
};
/// The `rows` largest of each, of functions that asked for nothing on the GPU a third of that; the
/// others are put together.
Chain chainOf(const TraceLog &log, std::size_t rows);

/// The program's file; "application" if it is not known.
std::string nameOfProcess(const TraceLog &log, uint32_t pid);

/// Application, what is between it and HIP, HIP's functions, queues and engines, kernels and
/// copies.
std::string chainPicture(const TraceLog &log, std::size_t rows);
/// Copies between the host, allocations and GPUs, with their bytes.
std::string dataPicture(const TraceLog &log, std::size_t rows);

} // namespace fade::host_trace
