#include "analysis/critical_path/dag.h"

#include <algorithm>
#include <cmath>

namespace fade::profile {
namespace {

uint64_t latest(const std::vector<uint64_t> &ends) {
  return ends.empty() ? 0 : *std::ranges::max_element(ends);
}

constexpr auto kEveryEdge = [](const Edge &) { return true; };

} // namespace

Dag::Dag(std::vector<Weight> weights, std::vector<Edge> edges)
    : weights_(std::move(weights)), first_(weights_.size() + 1, 0) {
  const auto is_wrong = [&](const Edge &edge) {
    return edge.from >= edge.to || edge.to >= weights_.size();
  };
  refused_ = std::erase_if(edges, is_wrong);
  // By counting: there may be millions.
  for (const Edge &edge : edges) ++first_[edge.to + 1];
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  edges_.resize(edges.size());
  std::vector<uint32_t> next(first_.begin(), first_.end() - (first_.empty() ? 0 : 1));
  for (const Edge &edge : edges) edges_[next[edge.to]++] = edge;
}

std::span<const Edge> Dag::edgesInto(uint32_t node) const {
  return std::span(edges_).subspan(first_[node], first_[node + 1] - first_[node]);
}

std::vector<uint64_t> Dag::ends() const {
  return ends([&](uint32_t node) { return weights_[node].all(); }, kEveryEdge);
}

CriticalPath criticalPathOf(const Dag &dag) {
  CriticalPath path;
  const auto count = static_cast<uint32_t>(dag.size());
  const std::vector<uint64_t> end = dag.ends();
  path.span_ns = latest(end);
  // The longest way from the end of a node to the end of all.
  std::vector<uint64_t> rest(count, 0);
  for (uint32_t node = count; node-- > 0;)
    for (const Edge &edge : dag.edgesInto(node))
      rest[edge.from] = std::max(rest[edge.from], rest[node] + dag.weight(node).all());
  path.slack_ns.resize(count);
  for (uint32_t node = 0; node < count; ++node)
    path.slack_ns[node] = path.span_ns - end[node] - rest[node];
  if (count == 0) return path;
  auto node = static_cast<uint32_t>(std::ranges::find(end, path.span_ns) - end.begin());
  while (true) {
    path.nodes.push_back(node);
    const uint64_t begin = end[node] - dag.weight(node).all();
    const auto into = dag.edgesInto(node);
    const auto before =
        std::ranges::find_if(into, [&](const Edge &edge) { return end[edge.from] == begin; });
    if (before == into.end()) break;
    node = before->from;
  }
  std::ranges::reverse(path.nodes);
  return path;
}

uint64_t gainOf(const Dag &dag, std::span<const uint32_t> nodes, double share_left) {
  std::vector<bool> is_changed(dag.size(), false);
  for (const uint32_t node : nodes)
    if (node < dag.size()) is_changed[node] = true;
  const auto weight = [&](uint32_t node) {
    const Weight &full = dag.weight(node);
    if (!is_changed[node]) return full.all();
    return full.delay_ns +
           static_cast<uint64_t>(std::llround(static_cast<double>(full.work_ns) * share_left));
  };
  return latest(dag.ends()) - latest(dag.ends(weight, kEveryEdge));
}

uint64_t possibleOverlap(const Dag &dag, const std::vector<bool> &is_on_gpu) {
  const auto weight = [&](uint32_t node) {
    return is_on_gpu[node] ? dag.weight(node).work_ns : dag.weight(node).all();
  };
  const auto counts = [](const Edge &edge) { return edge.kind != EdgeKind::queue; };
  return latest(dag.ends()) - latest(dag.ends(weight, counts));
}

} // namespace fade::profile
