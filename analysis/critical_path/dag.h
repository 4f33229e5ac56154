// A graph of what a program and its GPU did, and which part of it decides how long the whole takes.
//
// A node is a piece of work: a call of HIP, the time between two calls, a kernel, a copy. It begins
// when everything that it depends on has ended, and after a delay of its own (the way of a packet
// to the GPU, for example). Waiting is no work: a call that waits for a kernel depends on it, and
// has only the rest as its own. So the ends that are computed here from work, delays and edges are
// the ends that were measured, and changing the work of a node tells what would have changed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fade::profile {

enum class EdgeKind : uint8_t {
  thread, ///< what a thread does one after the other
  launch, ///< a call and what it asks the GPU for
  stream, ///< order within a stream, and what the default stream adds to it
  queue,  ///< packets in one queue that could have been in two
  event,  ///< events and values that a stream waits for
  sync,   ///< a call that waits for the GPU
  graph,  ///< between parts of a captured graph
};

struct Edge {
  uint32_t from, to;
  EdgeKind kind;
  bool is_guess = false; ///< nothing says it, but it looks like that
};

struct Weight {
  uint64_t work_ns = 0, delay_ns = 0;
  uint64_t all() const { return work_ns + delay_ns; }
};

/// Nodes are numbers from 0. Every edge leads from a smaller number to a larger one: who makes the
/// graph has put them in order.
class Dag {
public:
  /// Edges that lead back or to nowhere are left out and counted.
  Dag(std::vector<Weight> weights, std::vector<Edge> edges);

  std::size_t size() const { return weights_.size(); }
  const Weight &weight(uint32_t node) const { return weights_[node]; }
  /// By where they lead to.
  std::span<const Edge> edges() const { return edges_; }
  std::span<const Edge> edgesInto(uint32_t node) const;
  std::size_t refused() const { return refused_; }

  /// When each node ends, counted from the beginning, if it begins as early as it can. `weight`:
  /// (node) -> ns, `counts`: (edge) -> whether it is looked at. Linear in nodes and edges.
  template <typename W, typename C> std::vector<uint64_t> ends(W weight, C counts) const {
    std::vector<uint64_t> end(size(), 0);
    for (uint32_t node = 0; node < size(); ++node) {
      uint64_t begin = 0;
      for (const Edge &edge : edgesInto(node))
        if (counts(edge) && end[edge.from] > begin) begin = end[edge.from];
      end[node] = begin + weight(node);
    }
    return end;
  }
  std::vector<uint64_t> ends() const;

private:
  std::vector<Weight> weights_;
  std::vector<Edge> edges_;
  std::vector<uint32_t> first_; ///< of the edges into a node; one more than nodes
  std::size_t refused_ = 0;
};

struct CriticalPath {
  uint64_t span_ns = 0;           ///< how long the whole takes
  std::vector<uint32_t> nodes;    ///< on one longest path, first to last
  std::vector<uint64_t> slack_ns; ///< of each node: how much longer it could take at no cost
};

/// In linear time.
CriticalPath criticalPathOf(const Dag &dag);

/// How much sooner the whole would end if these nodes had only so much of their work, 0 to 1.
uint64_t gainOf(const Dag &dag, std::span<const uint32_t> nodes, double share_left);

/// How much sooner the whole would end if the GPU had begun everything as soon as its streams and
/// events allow, with as many queues as needed. `is_on_gpu`: of each node.
uint64_t possibleOverlap(const Dag &dag, const std::vector<bool> &is_on_gpu);

} // namespace fade::profile
