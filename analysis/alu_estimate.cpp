#include "analysis/alu_estimate.h"

#include <algorithm>
#include <map>

namespace fade::report {
namespace {

using Graph = std::vector<std::vector<std::size_t>>;

/// Visits what can be reached, deeper nodes first; `left(node)` when all behind it has been
/// visited.
template <typename Entered, typename Left>
void visit(const Graph &next, std::size_t from, std::vector<bool> &seen, Entered entered,
           Left left) {
  std::vector<std::pair<std::size_t, std::size_t>> stack = {{from, 0}};
  seen[from] = true;
  entered(from);
  while (!stack.empty()) {
    auto &[node, at] = stack.back();
    if (at == next[node].size()) {
      left(node);
      stack.pop_back();
      continue;
    }
    const std::size_t to = next[node][at++];
    if (seen[to]) continue;
    seen[to] = true;
    entered(to);
    stack.emplace_back(to, 0);
  }
}

/// The blocks of a kernel's twin, as a graph.
struct Blocks {
  std::vector<const Block *> list; ///< by number
  Graph next;
  std::vector<bool> in_loop;
  std::vector<double> order; ///< in which lanes come to them
  std::map<SourceLine, std::vector<std::size_t>> of_line;
  std::vector<std::size_t> line_count;

  explicit Blocks(const Flow &flow);

private:
  void findOrder(std::size_t entry);
};

Blocks::Blocks(const Flow &flow) {
  std::map<uint64_t, std::size_t> index;
  for (const auto &[id, block] : flow.blocks) {
    index[id] = list.size();
    std::vector<SourceLine> lines = block.lines;
    std::ranges::sort(lines);
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    std::erase_if(lines, [](const SourceLine &line) { return line.second == 0; });
    for (const SourceLine &line : lines) of_line[line].push_back(list.size());
    line_count.push_back(lines.size());
    list.push_back(&block);
  }
  next.resize(list.size());
  std::size_t entry = 0;
  for (const Edge &edge : flow.edges) {
    const auto to = index.find(edge.to);
    if (to == index.end()) continue;
    if (!edge.from)
      entry = to->second;
    else if (const auto from = index.find(*edge.from); from != index.end())
      next[from->second].push_back(to->second);
  }
  for (auto &after : next) std::ranges::sort(after);
  in_loop = inCycles(next);
  findOrder(entry);
}

/// Blocks that nobody came to stand behind their neighbor.
void Blocks::findOrder(std::size_t entry) {
  if (list.empty()) return;
  std::vector<std::size_t> backwards;
  std::vector<bool> seen(list.size());
  visit(
      next, entry, seen, [](std::size_t) {}, [&](std::size_t node) { backwards.push_back(node); });
  order.resize(list.size());
  for (std::size_t i = 0; i < backwards.size(); ++i)
    order[backwards[i]] = static_cast<double>(backwards.size() - i);
  constexpr double kBehind = 0.5;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!seen[i]) order[i] = i == 0 ? 0 : order[i - 1] + (seen[i - 1] ? kBehind : 0);
}

/// The blocks that are most like a stretch, in their order.
std::vector<std::size_t> likeliest(const CodeStretch &stretch, const Blocks &blocks) {
  std::map<std::size_t, int64_t> shared; // lines that both have
  for (const SourceLine &line : stretch.lines)
    if (const auto at = blocks.of_line.find(line); at != blocks.of_line.end())
      for (const std::size_t block : at->second) ++shared[block];
  std::vector<std::size_t> best;
  int64_t most = 0;
  for (const auto &[block, lines] : shared) {
    // Two for a line that both have, minus one for a line that only one has.
    const auto all = static_cast<int64_t>(stretch.lines.size() + blocks.line_count[block]);
    const int64_t likeness = 4 * lines - all - (stretch.in_loop != blocks.in_loop[block] ? 2 : 0);
    if (best.empty() || likeness > most) {
      best.clear();
      most = likeness;
    }
    if (likeness == most) best.push_back(block);
  }
  std::ranges::sort(best, {},
                    [&](std::size_t block) { return std::pair(blocks.order[block], block); });
  return best;
}

} // namespace

std::vector<bool> inCycles(const Graph &next) {
  // Two visits, the second against the arrows and in the order that the first found (Kosaraju):
  // what the second reaches from a node is a component.
  Graph before(next.size());
  for (std::size_t from = 0; from < next.size(); ++from)
    for (const std::size_t to : next[from]) before[to].push_back(from);
  std::vector<std::size_t> order;
  std::vector<bool> seen(next.size());
  for (std::size_t i = 0; i < next.size(); ++i)
    if (!seen[i])
      visit(
          next, i, seen, [](std::size_t) {}, [&](std::size_t node) { order.push_back(node); });
  std::vector<bool> out(next.size());
  seen.assign(next.size(), false);
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    if (seen[*at]) continue;
    std::vector<std::size_t> component;
    visit(
        before, *at, seen, [&](std::size_t node) { component.push_back(node); },
        [](std::size_t) {});
    const bool is_cycle =
        component.size() > 1 || std::ranges::find(next[*at], *at) != next[*at].end();
    for (const std::size_t node : component) out[node] = is_cycle;
  }
  return out;
}

Alu estimatedAlu(const RunLog &log, uint32_t kernel) {
  Alu alu;
  const auto code = log.code.find(kernel);
  const auto flow = log.flows.find(kernel);
  if (code == log.code.end() || flow == log.flows.end()) return alu;
  const Blocks blocks(flow->second);
  const std::vector<CodeStretch> &stretches = code->second.stretches;
  std::map<std::vector<std::size_t>, std::vector<std::size_t>> alike; // stretches, by their blocks
  for (std::size_t i = 0; i < stretches.size(); ++i)
    alike[likeliest(stretches[i], blocks)].push_back(i);
  constexpr std::size_t kNone = SIZE_MAX;
  std::vector<std::size_t> block_of(stretches.size(), kNone);
  for (const auto &[choice, list] : alike)
    for (std::size_t i = 0; i < list.size() && !choice.empty(); ++i)
      block_of[list[i]] = choice[i * choice.size() / list.size()];
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    // Without a line, or with one that no block has: it goes with what is before it.
    if (block_of[i] == kNone && i != 0) block_of[i] = block_of[i - 1];
    if (block_of[i] == kNone) continue;
    const Block &block = *blocks.list[block_of[i]];
    const auto instructions = static_cast<double>(stretches[i].valu);
    alu.executions += instructions * static_cast<double>(block.executions);
    alu.lanes += instructions * static_cast<double>(block.lanes);
    if (block.lanes == block.executions)
      alu.by_one_lane += instructions * static_cast<double>(block.executions);
    if (stretches[i].scratch != 0)
      alu.scratch_bytes =
          alu.scratch_bytes.value_or(0) + static_cast<double>(stretches[i].scratch * block.lanes);
  }
  return alu;
}

} // namespace fade::report
