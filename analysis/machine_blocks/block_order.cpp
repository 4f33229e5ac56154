#include "analysis/machine_blocks/block_order.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace fade::profile {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};

/// Edges in one direction, with a node of its own that control comes from.
struct Graph {
  std::vector<std::vector<std::size_t>> next, before;
  std::size_t root = 0;

  void connect(std::size_t from, std::size_t to) {
    next[from].push_back(to);
    before[to].push_back(from);
  }
};

Graph forwards(const std::vector<codeobj::BasicBlock> &blocks) {
  Graph graph;
  graph.next.resize(blocks.size() + 1), graph.before.resize(blocks.size() + 1);
  graph.root = blocks.size();
  graph.connect(graph.root, 0);
  for (std::size_t b = 0; b < blocks.size(); ++b)
    for (const std::size_t to : blocks[b].successors) graph.connect(b, to);
  return graph;
}

Graph backwards(const std::vector<codeobj::BasicBlock> &blocks) {
  Graph graph;
  graph.next.resize(blocks.size() + 1), graph.before.resize(blocks.size() + 1);
  graph.root = blocks.size();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].successors.empty()) graph.connect(graph.root, b);
    for (const std::size_t to : blocks[b].successors) graph.connect(to, b);
  }
  return graph;
}

/// The tree of dominators (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm).
class Dominators {
public:
  explicit Dominators(const Graph &graph)
      : parent_(graph.next.size(), kNone), number_(graph.next.size(), kNone) {
    visit(graph);
    parent_[graph.root] = graph.root;
    for (bool changes = true; changes;) {
      changes = false;
      for (std::size_t i = order_.size() - 1; i-- > 0;) { // the root is the last one
        const std::size_t node = order_[i];
        std::size_t best = kNone;
        for (const std::size_t from : graph.before[node])
          if (number_[from] != kNone && parent_[from] != kNone)
            best = best == kNone ? from : common(best, from);
        changes = changes || parent_[node] != best;
        parent_[node] = best;
      }
    }
  }

  bool reaches(std::size_t node) const { return number_[node] != kNone; }
  /// kNone behind the last.
  std::size_t above(std::size_t node) const {
    return parent_[node] == node ? kNone : parent_[node];
  }
  bool dominates(std::size_t over, std::size_t node) const {
    while (node != kNone && number_[node] < number_[over]) node = above(node);
    return node == over;
  }

private:
  void visit(const Graph &graph) {
    std::vector<std::pair<std::size_t, std::size_t>> path{{graph.root, 0}};
    std::vector<bool> seen(graph.next.size());
    seen[graph.root] = true;
    while (!path.empty()) {
      auto &[node, edge] = path.back();
      if (edge < graph.next[node].size()) {
        const std::size_t to = graph.next[node][edge++];
        if (!seen[to]) seen[to] = true, path.emplace_back(to, 0);
        continue;
      }
      number_[node] = order_.size();
      order_.push_back(node);
      path.pop_back();
    }
  }
  std::size_t common(std::size_t a, std::size_t b) const {
    while (a != b) {
      while (number_[a] < number_[b]) a = parent_[a];
      while (number_[b] < number_[a]) b = parent_[b];
    }
    return a;
  }

  std::vector<std::size_t> parent_, number_, order_;
};

/// The innermost loop of each block, by its first block; kNone outside of loops.
std::vector<std::size_t> loopsOf(const Graph &graph, const Dominators &dominators) {
  std::vector<std::vector<std::size_t>> bodies(graph.next.size());
  for (std::size_t from = 0; from < graph.root; ++from)
    for (const std::size_t head : graph.next[from]) {
      if (!dominators.reaches(from) || !dominators.dominates(head, from)) continue;
      std::vector<std::size_t> &body = bodies[head];
      if (body.empty()) body.push_back(head);
      std::vector<bool> is_in(graph.next.size());
      for (const std::size_t node : body) is_in[node] = true;
      std::vector<std::size_t> open{from};
      while (!open.empty()) {
        const std::size_t node = open.back();
        open.pop_back();
        if (is_in[node]) continue;
        is_in[node] = true;
        body.push_back(node);
        for (const std::size_t before : graph.before[node])
          if (dominators.reaches(before)) open.push_back(before);
      }
    }
  std::vector<std::size_t> heads;
  for (std::size_t head = 0; head < graph.root; ++head)
    if (!bodies[head].empty()) heads.push_back(head);
  std::ranges::sort(heads, std::greater(), [&](std::size_t head) { return bodies[head].size(); });
  std::vector<std::size_t> innermost(graph.next.size(), kNone);
  for (const std::size_t head : heads)
    for (const std::size_t node : bodies[head]) innermost[node] = head;
  return innermost;
}

/// How often control takes each edge of a block, to it and from it.
class Flow {
public:
  explicit Flow(const std::vector<codeobj::BasicBlock> &blocks)
      : in_(blocks.size()), out_(blocks.size()) {
    for (std::size_t b = 0; b < blocks.size(); ++b)
      for (const std::size_t to : blocks[b].successors) {
        out_[b].push_back(edges_.size());
        in_[to].push_back(edges_.size());
        edges_.emplace_back();
      }
    // Kernels begin with the first block, and end or go on elsewhere with others.
    if (!blocks.empty()) in_[0].clear();
    for (std::size_t b = 0; b < blocks.size(); ++b)
      if (blocks[b].leaves) out_[b].clear();
  }

  using Counts = std::vector<std::optional<uint64_t>>;
  /// Whether something new is known.
  bool step(Counts &executions) {
    bool changes = false;
    for (std::size_t b = 0; b < executions.size(); ++b)
      for (const auto *side : {&in_[b], &out_[b]})
        if (!side->empty()) changes = step(*side, executions[b]) || changes;
    return changes;
  }
  bool contradicts() const { return contradicts_; }

private:
  bool step(const std::vector<std::size_t> &side, std::optional<uint64_t> &executions) {
    uint64_t sum = 0;
    std::optional<uint64_t> *missing = nullptr;
    std::size_t count = 0;
    for (const std::size_t edge : side) {
      if (edges_[edge])
        sum += *edges_[edge];
      else
        missing = &edges_[edge], ++count;
    }
    if (executions && *executions < sum) contradicts_ = true;
    if (executions && count == 1 && *executions >= sum) {
      *missing = *executions - sum;
      return true;
    }
    if (executions || count != 0) return false;
    executions = sum;
    return true;
  }

  Counts edges_;
  std::vector<std::vector<std::size_t>> in_, out_; ///< edges; none: not all are known
  bool contradicts_ = false;
};

} // namespace

void addWhatFlowSays(const std::vector<codeobj::BasicBlock> &blocks,
                     std::vector<std::optional<uint64_t>> &executions) {
  std::vector<std::optional<uint64_t>> all = executions;
  Flow flow(blocks);
  while (flow.step(all) && !flow.contradicts()) {
  }
  if (!flow.contradicts()) executions = std::move(all);
}

std::vector<std::optional<BlockInStep>> blocksInStep(const std::vector<codeobj::BasicBlock> &blocks,
                                                     const std::vector<bool> &is_known) {
  std::vector<std::optional<BlockInStep>> found(blocks.size());
  if (blocks.empty() || std::ranges::find(is_known, false) == is_known.end()) return found;
  const Graph graph = forwards(blocks);
  const Dominators before(graph), behind(backwards(blocks));
  const std::vector<std::size_t> loops = loopsOf(graph, before);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (is_known[b] || !before.reaches(b)) continue;
    const auto nearest = [&](const Dominators &tree, const Dominators &other, bool exactly) {
      for (std::size_t at = tree.above(b); at != kNone && at < blocks.size(); at = tree.above(at))
        if (is_known[at] && loops[at] == loops[b] &&
            (!exactly || (other.reaches(b) && other.reaches(at) && other.dominates(b, at))))
          return at;
      return kNone;
    };
    std::size_t at = nearest(before, behind, true);
    if (at == kNone && behind.reaches(b)) at = nearest(behind, before, true);
    const bool exactly = at != kNone;
    if (at == kNone) at = nearest(before, behind, false);
    if (at != kNone) found[b] = {at, exactly};
  }
  return found;
}

} // namespace fade::profile
