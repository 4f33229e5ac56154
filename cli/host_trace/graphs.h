// The graphs of a trace: how they were made, what is in them, how their launches went.
#pragma once

#include "host_trace/trace_log.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fade::host_trace {

struct GraphCapture {
  uint64_t stream = 0;
  uint32_t pid = 0, tid = 0;
  uint64_t start_ns = 0, end_ns = 0;
};

struct GraphLaunch {
  std::size_t call = 0; ///< index
  uint64_t api_ns = 0;
  uint64_t span_ns = 0; ///< from the first start to the last end on the GPU
  uint64_t busy_ns = 0; ///< in which something of it ran
  std::size_t operations = 0;
};

/// An executable graph.
struct Graph {
  uint32_t pid = 0;
  uint64_t handle = 0, exec = 0;      ///< 0: not known, made before the recording began
  std::vector<GraphCapture> captures; ///< from which it was made; none: node by node
  std::optional<uint64_t> instantiate_ns;
  std::vector<std::string> kernels; ///< in order, as they were captured or, if not, first ran
  bool is_captured_order = false;
  std::vector<GraphLaunch> launches;
};

std::vector<Graph> graphsOf(const TraceLog &log);
/// For people; `rows` launches of each at most.
std::string graphText(const TraceLog &log, const std::vector<Graph> &graphs, std::size_t rows);

} // namespace fade::host_trace
