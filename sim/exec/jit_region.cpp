#include "exec/jit_region.h"

#include "exec/program.h"
#include "isa/opcode.h"

#include <unordered_map>
#include <unordered_set>

namespace fade::sim {
namespace {

// More take long to compile, and the worker does nothing else meanwhile.
constexpr size_t most_segments = 64, most_instructions = 600;

bool can_be_compiled(const Segment &s) { return !s.instructions.empty() && s.unknown.empty(); }

// Where control may go behind a segment, as far as the code says so.
std::vector<uint64_t> followers(const Segment &s) {
  const Instruction &last = s.instructions.back();
  std::vector<uint64_t> all;
  const Flow flow = last.opcode->flow;
  if (flow == Flow::branch || flow == Flow::conditional) all.push_back(last.target);
  if (flow == Flow::next || flow == Flow::conditional) all.push_back(s.end);
  return all;
}

} // namespace

std::vector<const Segment *> jit_region(const Segment &head,
                                        const std::function<const Segment *(uint64_t)> &find) {
  if (!can_be_compiled(head)) return {};
  // All that is reached from the head, nearest first.
  std::vector<const Segment *> reached{&head};
  std::unordered_set<const Segment *> seen{&head};
  std::unordered_map<const Segment *, std::vector<const Segment *>> before;
  size_t instructions = head.instructions.size();
  for (size_t i = 0; i < reached.size(); i++)
    for (const uint64_t pc : followers(*reached[i])) {
      const Segment *next = find(pc);
      if (!next || !can_be_compiled(*next)) continue;
      if (!seen.contains(next)) {
        if (reached.size() == most_segments ||
            instructions + next->instructions.size() > most_instructions)
          continue;
        instructions += next->instructions.size();
        reached.push_back(next), seen.insert(next);
      }
      before[next].push_back(reached[i]);
    }
  // Those that lead back to it are a loop.
  std::unordered_set<const Segment *> loop;
  std::vector<const Segment *> work{&head};
  while (!work.empty()) {
    const Segment *s = work.back();
    work.pop_back();
    for (const Segment *from : before[s])
      if (loop.insert(from).second) work.push_back(from);
  }
  if (loop.contains(&head)) std::erase_if(reached, [&](auto *s) { return !loop.contains(s); });
  return reached;
}

} // namespace fade::sim
