#include "checks/graph_copies.h"

#include "checks/allocations.h"
#include "checks/copied_values.h"
#include "checks/init_check.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace fade::checks {
namespace {

enum class NodeKind : uint8_t { kernel, copy, fill, host, empty, allocation, free, other };

/// hipGraphNodeType. Other ways to copy have numbers of their own.
NodeKind kindOf(uint32_t type, bool is_five) {
  using enum NodeKind;
  if (is_five) {
    constexpr std::array kinds{other, kernel, copy,  fill, host, other,
                               empty, other,  other, copy, copy, copy};
    return type < kinds.size() ? kinds[type] : other;
  }
  constexpr std::array kinds{kernel, copy,  fill,  host,       other, empty, other,
                             other,  other, other, allocation, free,  copy,  copy};
  return type < kinds.size() ? kinds[type] : other;
}

bool isOnHost(uint64_t address) {
  const auto memory = AllocationMap::instance().find(address);
  return !memory || memory->on_host;
}

using Edges = std::multimap<uint64_t, uint64_t>;

/// All that can be reached from a node.
std::set<uint64_t> reach(uint64_t from, const Edges &edges) {
  std::set<uint64_t> seen;
  std::vector<uint64_t> open{from};
  while (!open.empty()) {
    const auto [begin, end] = edges.equal_range(open.back());
    open.pop_back();
    for (auto at = begin; at != end; ++at)
      if (seen.insert(at->second).second) open.push_back(at->second);
  }
  return seen;
}

/// Kernels all of whose nodes are in no order with a node.
std::shared_ptr<const std::set<std::string>>
apartFrom(uint64_t node, const std::map<uint64_t, std::string> &kernels, const Edges &onward,
          const Edges &back) {
  const std::set<uint64_t> after = reach(node, onward), before = reach(node, back);
  std::set<std::string> apart, in_order;
  for (const auto &[kernel, name] : kernels)
    (after.contains(kernel) || before.contains(kernel) ? in_order : apart).insert(name);
  for (const std::string &name : in_order) apart.erase(name);
  return std::make_shared<const std::set<std::string>>(std::move(apart));
}

void addAllocation(const MemoryUse &use) {
  constexpr uint64_t page = 4096;
  const MemoryUse::Range &bytes = use.writes.front();
  Allocation a;
  a.base = bytes.begin, a.size = bytes.end - bytes.begin;
  a.end_of_block = a.base + (a.size + page - 1) / page * page;
  a.api = use.api;
  a.callers = use.callers;
  AllocationMap::instance().add(a);
  InitCheck::noteAllocated(a.base, a.size);
}

} // namespace

GraphCopies &GraphCopies::instance() {
  static auto *copies = new GraphCopies; // outlives every exit handler
  return *copies;
}

uint64_t GraphCopies::captured(uint64_t stream) const {
  uint32_t status = 0;
  uint64_t id = 0, count = 0;
  void *graph = nullptr;
  void *const *nodes = nullptr;
  if (!queries_ ||
      queries_.capture(reinterpret_cast<void *>(stream), &status, &id, &graph, &nodes, &count) != 0)
    return 0;
  return count == 1 && nodes ? reinterpret_cast<uint64_t>(nodes[0]) : 0;
}

void GraphCopies::add(uint64_t node, MemoryUse use) {
  const std::lock_guard lock(mutex_);
  if (nodes_.size() < kMostNodes) nodes_[node] = std::move(use);
}

void GraphCopies::forgetNode(uint64_t node) {
  const std::lock_guard lock(mutex_);
  nodes_.erase(node);
}

void GraphCopies::forgetNodesOf(uint64_t graph) {
  const auto nodes = nodesOf(graph);
  if (!nodes) return;
  const std::lock_guard lock(mutex_);
  for (const uint64_t node : *nodes) nodes_.erase(node);
}

std::optional<std::vector<uint64_t>> GraphCopies::nodesOf(uint64_t graph) const {
  uint64_t count = 0;
  const auto handle = reinterpret_cast<void *>(graph);
  if (!queries_ || queries_.nodes(handle, nullptr, &count) != 0 || count > kMostOfGraph)
    return std::nullopt;
  std::vector<void *> nodes(count);
  if (count != 0 && queries_.nodes(handle, nodes.data(), &count) != 0) return std::nullopt;
  std::vector<uint64_t> numbers;
  for (void *node : nodes) numbers.push_back(reinterpret_cast<uint64_t>(node));
  return numbers;
}

std::string GraphCopies::kernelOf(uint64_t node) const {
  std::array<std::byte, 256> params{}; // hipKernelNodeParams, and room for what is added to it
  constexpr std::size_t function_at = 24;
  if (queries_.kernel(reinterpret_cast<void *>(node), params.data()) != 0) return {};
  const void *function = nullptr;
  std::memcpy(&function, params.data() + function_at, sizeof function);
  const char *name = function ? queries_.name(function, nullptr) : nullptr;
  return name ? name : "";
}

void GraphCopies::instantiate(uint64_t executable, uint64_t graph) {
  forget(executable);
  const auto nodes = nodesOf(graph);
  if (!nodes) return;
  uint64_t count = 0;
  const auto handle = reinterpret_cast<void *>(graph);
  if (queries_.edges(handle, nullptr, nullptr, &count) != 0) return;
  std::vector<void *> from(count), to(count);
  if (count != 0 && queries_.edges(handle, from.data(), to.data(), &count) != 0) return;
  Edges onward, back;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto a = reinterpret_cast<uint64_t>(from[i]), b = reinterpret_cast<uint64_t>(to[i]);
    onward.emplace(a, b), back.emplace(b, a);
  }
  auto memory = std::make_shared<GraphMemory>();
  memory->is_complete = true;
  std::map<uint64_t, std::string> kernels;
  std::vector<uint64_t> uses;
  for (const uint64_t node : *nodes) {
    uint32_t type = 0;
    if (queries_.type(reinterpret_cast<void *>(node), &type) != 0) return;
    const NodeKind kind = kindOf(type, queries_.is_five);
    if (kind == NodeKind::kernel) kernels[node] = kernelOf(node);
    const bool writes = kind == NodeKind::copy || kind == NodeKind::fill;
    if (writes || kind == NodeKind::allocation) uses.push_back(node);
    if (kind == NodeKind::other) memory->is_complete = false;
  }
  constexpr std::size_t most = 1 << 22; // steps
  const bool is_small = uses.size() * (nodes->size() + from.size()) <= most;
  const std::lock_guard lock(mutex_);
  for (const uint64_t node : uses) {
    const auto known = nodes_.find(node);
    if (known == nodes_.end()) {
      memory->is_complete = false;
      continue;
    }
    MemoryUse use = known->second;
    if (use.kind == MemoryUse::Kind::pool_allocate) {
      memory->allocations.push_back(std::move(use));
      continue;
    }
    if (is_small) use.apart = apartFrom(node, kernels, onward, back);
    memory->copies.push_back(std::move(use));
  }
  if (executables_.size() < kMostGraphs) executables_[executable] = std::move(memory);
}

void GraphCopies::forget(uint64_t executable) {
  std::shared_ptr<const GraphMemory> memory;
  bool was_launched = false;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = executables_.find(executable); at != executables_.end()) {
      memory = at->second;
      executables_.erase(at);
    }
    was_launched = launched_.erase(executable) != 0;
  }
  if (!memory || !was_launched) return;
  for (const MemoryUse &use : memory->allocations) { // something else may be there from now on
    AllocationMap::instance().free(use.writes.front().begin);
    AllocationMap::instance().forgetFreed(use.writes.front().begin, use.writes.front().end);
  }
}

std::shared_ptr<const GraphMemory> GraphCopies::of(uint64_t executable) {
  const std::lock_guard lock(mutex_);
  const auto at = executables_.find(executable);
  return at == executables_.end() ? nullptr : at->second;
}

void GraphCopies::launches(uint64_t executable) {
  const auto memory = of(executable);
  if (!memory || !memory->is_complete) InitCheck::doubtHostCopies();
  if (!memory) return;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = launched_.insert(executable).second;
  }
  for (const MemoryUse &use : memory->allocations)
    if (is_first) addAllocation(use);
  for (const MemoryUse &use : memory->copies)
    if (!use.reads.empty() && isOnHost(use.reads.front().begin))
      for (const auto &[begin, end] : use.writes) InitCheck::noteHostCopy(begin, end - begin);
}

void GraphCopies::launched(uint64_t executable) {
  const auto memory = of(executable);
  if (!memory) return;
  CopiedValues::instance().hostGoesOn();
  for (const MemoryUse &use : memory->copies)
    if (!use.writes.empty() && isOnHost(use.writes.front().begin))
      for (const auto &[begin, end] : use.reads)
        CopiedValues::instance().hostReads(begin, end - begin);
}

} // namespace fade::checks
