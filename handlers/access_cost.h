// What an access costs in cycles of the unit that does it, of all compute units together
// (fade/cost.h): the same currency for global memory and LDS.
#pragma once

#include "memory_stats.h"

#include <fade/cost.h>

namespace fade::handlers {

struct AccessCost {
  uint64_t cycles = 0;
  uint64_t wasted = 0; ///< of those, beyond what the same bytes side by side would take
};

inline AccessCost costOf(const GlobalStats &stats, bool is_scalar, const MemoryModel &model,
                         const CostRates &rates) {
  if (stats.executions == 0 || is_scalar) return {};
  const auto wave = static_cast<uint32_t>(stats.slots / stats.executions);
  const uint64_t parts = std::max<uint64_t>(model.line / rates.l1_line, 1);
  const auto cyclesFor = [&](uint64_t lines) {
    return static_cast<uint64_t>(rates.vectorMemoryCycles(stats.executions, wave, lines * parts));
  };
  const uint64_t cycles = cyclesFor(stats.used);
  return {cycles, cycles - cyclesFor(stats.used - stats.wasted)};
}

/// LDS delivers 128 bytes in a turn.
inline AccessCost costOf(const LdsStats &stats) {
  return {std::max(stats.executions, (stats.bytes + 127) / 128) + stats.conflicts, stats.conflicts};
}

} // namespace fade::handlers
