#include "reducer.h"

#include <algorithm>

namespace fade::sim::differential {

bool disagrees(const Program &program, const Target &target) {
  try {
    return !Batch({program}).compare(target).empty();
  } catch (const CompileError &) {
    return false;
  }
}

Program reduce(uint64_t seed, const std::function<bool(const Program &)> &interesting) {
  Program best = generate(seed);
  std::set<unsigned> dropped;
  // Pieces of all sizes, the large ones first: what a dropped statement contains goes with it.
  for (unsigned size = std::max(1u, best.nodes / 2);; size /= 2) {
    for (unsigned first = 0; first < best.nodes; first += size) {
      std::set<unsigned> attempt = dropped;
      for (unsigned n = first; n < std::min(best.nodes, first + size); n++) attempt.insert(n);
      if (attempt == dropped) continue;
      const Program smaller = generate(seed, attempt);
      if (smaller.text.size() >=
          best.text.size()) { // it was part of something that is gone already
        if (smaller.text == best.text) dropped = attempt;
        continue;
      }
      if (!interesting(smaller)) continue;
      dropped = attempt;
      best = smaller;
    }
    if (size == 1) return best;
  }
}

} // namespace fade::sim::differential
