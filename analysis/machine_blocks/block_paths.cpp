#include "analysis/machine_blocks/block_paths.h"

#include <algorithm>

namespace fade::profile {

BlockPaths::BlockPaths(const Nodes &nodes, const BlockCountsBySite &blocks, const BlockEdges &edges)
    : nodes_(nodes), blocks_(blocks), edges_(edges), next_(nodes.size()), before_(nodes.size()) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    next_[i] = nodes[i].next;
    for (const std::size_t to : nodes[i].next) before_[to].push_back(i);
    if (nodes[i].site) placed_.insert(*nodes[i].site);
  }
  for (const auto &[edge, count] : edges) {
    if (count.executions == 0) continue;
    next_sites_[edge.first].insert(edge.second);
    before_sites_[edge.second].insert(edge.first);
  }
}

BlockPaths::Sites BlockPaths::nearest(std::size_t node, const Ways &ways,
                                      std::optional<std::size_t> without) const {
  Sites found;
  std::vector<bool> seen(nodes_.size());
  std::vector<std::size_t> open = ways[node];
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (at == without || seen[at]) continue;
    seen[at] = true;
    if (!nodes_[at].site) {
      open.insert(open.end(), ways[at].begin(), ways[at].end());
      continue;
    }
    const auto block = blocks_.find(*nodes_[at].site);
    if (block != blocks_.end() && block->second.executions != 0) found.insert(block->first);
  }
  return found;
}

BlockPaths::Sites BlockPaths::nearestCounted(uint64_t site,
                                             const std::map<uint64_t, Sites> &ways) const {
  Sites found, seen;
  std::vector<uint64_t> open{site};
  while (!open.empty()) {
    const auto to = ways.find(open.back());
    open.pop_back();
    if (to == ways.end()) continue;
    for (const uint64_t at : to->second) {
      if (!seen.insert(at).second) continue;
      if (placed_.contains(at))
        found.insert(at);
      else
        open.push_back(at);
    }
  }
  return found;
}

std::optional<BlockCount> BlockPaths::alone(const std::vector<uint64_t> &sites) const {
  if (sites.size() != 1) return std::nullopt;
  return blocks_.at(sites[0]);
}

/// Exact if there is no other way from one to the other.
std::optional<BlockCount> BlockPaths::between(std::size_t node, uint64_t from, uint64_t to) const {
  const auto edge = edges_.find({from, to});
  if (edge == edges_.end()) return std::nullopt;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].site == from && nearest(i, next_, node).contains(to)) return std::nullopt;
  return edge->second;
}

std::optional<BlockCount> BlockPaths::find(std::size_t node) const {
  if (edges_.empty()) return std::nullopt;
  const Sites before = nearest(node, before_), behind = nearest(node, next_);
  std::vector<uint64_t> same, same_beginning;
  for (const auto &[site, count] : blocks_) {
    if (placed_.contains(site) || count.executions == 0) continue;
    const Sites from = nearestCounted(site, before_sites_), to = nearestCounted(site, next_sites_);
    if (from.empty() || !std::ranges::includes(before, from)) continue;
    same_beginning.push_back(site);
    if (!to.empty() && std::ranges::includes(behind, to)) same.push_back(site);
  }
  if (!same.empty()) return alone(same);
  if (before.size() == 1 && behind.size() == 1)
    if (const auto count = between(node, *before.begin(), *behind.begin())) return count;
  // Lanes that go another way do so behind it in the code.
  if (nodes_[node].is_narrowed) return alone(same_beginning);
  return std::nullopt;
}

} // namespace fade::profile
