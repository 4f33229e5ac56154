// Copies, fills and allocations that are nodes of graphs. A launch is one call for all of them, and
// what each does is known from when it was captured or added. Which kernels of the graph a copy is
// in order with, its edges say, however HIP spreads the nodes over queues.
#pragma once

#include "checks/memory_use.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fade::checks {

/// Functions of HIP that tell of graphs. Null: not there.
struct GraphQueries {
  uint32_t (*capture)(void *stream, uint32_t *status, uint64_t *id, void **graph,
                      void *const **nodes, uint64_t *count) = nullptr;
  uint32_t (*nodes)(void *graph, void **nodes, uint64_t *count) = nullptr;
  uint32_t (*edges)(void *graph, void **from, void **to, uint64_t *count) = nullptr;
  uint32_t (*type)(void *node, uint32_t *type) = nullptr;
  uint32_t (*kernel)(void *node, void *params) = nullptr;
  const char *(*name)(const void *function, void *stream) = nullptr;
  bool is_five = false; ///< its types of nodes have other numbers
  explicit operator bool() const { return capture && nodes && edges && type && kernel && name; }
};

/// An executable graph, as it was when it was made.
struct GraphMemory {
  std::vector<MemoryUse> copies; ///< with `apart`
  std::vector<MemoryUse> allocations;
  bool is_complete = false; ///< there is nothing else that writes without a kernel
};

class GraphCopies {
public:
  static GraphCopies &instance();

  void setQueries(const GraphQueries &queries) { queries_ = queries; }
  /// The node that was captured last in a stream; 0: not known.
  uint64_t captured(uint64_t stream) const;
  void add(uint64_t node, MemoryUse use);
  void forgetNode(uint64_t node);
  void forgetNodesOf(uint64_t graph);

  void instantiate(uint64_t executable, uint64_t graph);
  void forget(uint64_t executable);
  /// Null: not known.
  std::shared_ptr<const GraphMemory> of(uint64_t executable);
  /// Before a launch: what the host writes, and what nobody has written yet.
  void launches(uint64_t executable);
  /// After it: what the host reads.
  void launched(uint64_t executable);

private:
  static constexpr std::size_t kMostNodes = 1 << 16, kMostOfGraph = 1 << 12, kMostGraphs = 1 << 12;
  std::optional<std::vector<uint64_t>> nodesOf(uint64_t graph) const;
  std::string kernelOf(uint64_t node) const;

  GraphQueries queries_;
  std::mutex mutex_;
  std::map<uint64_t, MemoryUse> nodes_;
  std::map<uint64_t, std::shared_ptr<const GraphMemory>> executables_;
  std::set<uint64_t> launched_; ///< executables
};

/// What a function that adds a node makes it do to memory; nothing if it is no copy, fill or
/// allocation. `words`: its arguments.
std::optional<MemoryUse> useOfNode(std::string_view function, const uint64_t *words);

} // namespace fade::checks
