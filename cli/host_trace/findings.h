// Whether what HIP says is true: what was noticed while it was recorded, and what follows from all
// calls and operations together.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "analysis/host_events/stack_names.h"

#include <set>
#include <string>
#include <vector>

namespace fade::host_trace {

struct FoundFact {
  /// property, corrected: a device's properties; no_effect: launches that returned success and
  /// reached no queue; unseen_error: errors that nobody asked about; no_memory: allocations that
  /// failed; fallback: work without the GPU that was found; redirect: calls through a CUDA layer;
  /// cuda_layer: who is linked with one.
  std::string kind;
  std::string text;
  uint64_t count = 1;
  uint32_t pid = 0;
};

std::vector<FoundFact> findFacts(const HostEvents &events);

/// Indexes of copies and fills that returned success and became no operation: HIP has done them
/// with the host's processor.
std::set<std::size_t> findHostCopies(const HostEvents &events);

} // namespace fade::host_trace
