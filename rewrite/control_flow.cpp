#include "rewrite/control_flow.h"

#include <algorithm>
#include <iterator>

namespace fade::rewrite {
namespace {

/// Takes the component of strongly connected instructions that ends with `address` from the open
/// ones.
template <typename Nodes>
void close(bool is_root, uint64_t address, std::vector<uint64_t> &open, Nodes &nodes,
           std::set<uint64_t> &in_loop) {
  if (!is_root) return;
  const bool is_loop = open.back() != address;
  for (uint64_t one = 0; one != address;) {
    one = open.back();
    open.pop_back();
    nodes[one].is_open = false;
    if (is_loop) in_loop.insert(one);
  }
}

} // namespace

ControlFlow::ControlFlow(const Program &program) : program_(program) {
  for (const auto &[address, i] : program.instructions)
    for (const uint64_t next : program.successors(i)) predecessors_[next].push_back(address);
  findChangedExec();
  findLoops();
}

bool ControlFlow::isOnAllPaths(uint64_t address) const {
  std::set<uint64_t> seen{address};
  for (std::vector<uint64_t> to_do = program_.entries; !to_do.empty();) {
    const uint64_t at = to_do.back();
    to_do.pop_back();
    if (!seen.insert(at).second) continue;
    const Instruction &i = program_.instructions.at(at);
    if (i.flow == Flow::end) return false;
    std::ranges::copy(program_.successors(i), std::back_inserter(to_do));
    if (i.flow == Flow::call) std::ranges::copy(i.targets, std::back_inserter(to_do));
  }
  return true;
}

void ControlFlow::findChangedExec() {
  std::vector<uint64_t> starts = program_.functions;
  for (const auto &[address, i] : program_.instructions)
    if (i.writes_exec || i.flow == Flow::call)
      for (const uint64_t next : program_.successors(i)) starts.push_back(next);
  changed_exec_ = program_.reachedFrom(starts);
}

/// Strongly connected components (Tarjan), without recursion. All of a function may be in one.
void ControlFlow::findLoops() {
  in_loop_ = program_.reachedFrom(program_.functions);
  struct Node {
    std::size_t index = 0, low = 0;
    bool is_open = true;
  };
  struct Visit {
    uint64_t address;
    std::vector<uint64_t> successors;
    std::size_t next = 0;
  };
  std::map<uint64_t, Node> nodes;
  std::vector<uint64_t> open;
  std::vector<Visit> visits;
  const auto begin = [&](uint64_t address) {
    nodes[address] = {nodes.size(), nodes.size(), true};
    open.push_back(address);
    visits.push_back({address, program_.successors(program_.instructions.at(address)), 0});
  };
  for (const uint64_t entry : program_.entries) {
    if (!nodes.contains(entry)) begin(entry);
    while (!visits.empty()) {
      Visit &visit = visits.back();
      Node &node = nodes[visit.address];
      if (visit.next < visit.successors.size()) {
        const uint64_t to = visit.successors[visit.next++];
        if (to == visit.address) in_loop_.insert(to);
        const auto known = nodes.find(to);
        if (known == nodes.end())
          begin(to);
        else if (known->second.is_open)
          node.low = std::min(node.low, known->second.index);
        continue;
      }
      close(node.index == node.low, visit.address, open, nodes, in_loop_);
      const std::size_t low = node.low;
      visits.pop_back();
      if (!visits.empty()) {
        Node &parent = nodes[visits.back().address];
        parent.low = std::min(parent.low, low);
      }
    }
  }
}

} // namespace fade::rewrite
