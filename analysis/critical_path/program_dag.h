// The graph of a program that was traced: what its threads and the GPU did, and what waited for
// what.
#pragma once

#include "analysis/critical_path/dag.h"
#include "analysis/host_events/event_reader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fade::profile {

enum class NodeKind : uint8_t { call, host, kernel, copy, fill };

/// "kernel"
std::string_view nameOf(NodeKind kind);
std::string_view nameOf(EdgeKind kind);

struct ProgramNode {
  NodeKind kind = NodeKind::host;
  uint32_t name = 0;                 ///< in ProgramDag::names
  uint32_t pid = 0, thread = 0;      ///< of the host; 0 for what the GPU does
  uint32_t gpu = 0, queue = 0;       ///< of the GPU
  uint64_t start_ns = 0, end_ns = 0; ///< as measured, waiting included
  uint64_t call = 0; ///< the id of the call that it is a part of, or that asked for it; 0: none
  uint32_t operation = UINT32_MAX; ///< of the GPU: index in HostEvents::operations

  bool isOnGpu() const { return kind >= NodeKind::kernel; }
};

/// A call is cut in two where it gives work to the GPU: what it does afterwards is nothing that the
/// GPU waits for. Time between two calls of a thread is a node of the host, but for very short
/// ones, which belong to the call after them.
struct ProgramDag {
  std::string times; ///< whose they are, if not a card's, as a sentence
  bool is_modeled = false;
  std::vector<ProgramNode> nodes; ///< in order of their ends
  Dag dag{{}, {}};                ///< with the same numbers
  std::vector<std::string> names;
  std::vector<std::string> modules; ///< of those that are names of kernels; empty: not known
  uint64_t begin_ns = 0;            ///< of the first node, by the clock of the events
  std::size_t left_out = 0; ///< operations without times: they did not end, or nobody knows when
};

ProgramDag programDagOf(const host_trace::HostEvents &events);

} // namespace fade::profile
