// How long each kernel of a run keeps each unit busy, and what a change to it would spare.
#pragma once

#include "report/findings.h"

#include <optional>

namespace fade::report {

/// What all dispatches of a kernel have in common.
struct KernelWork {
  CostRates rates;
  uint32_t wave_size = 64;
  uint64_t dispatches = 0, waves = 0;
  double idle_lanes = 0;               ///< share of the vector ALU's lanes that stand by
  double by_one_lane = 0;              ///< share of what the vector ALU executes with one lane
  bool alu_is_counted = false;         ///< not estimated
  std::optional<double> scratch_bytes; ///< if they are counted or estimated
  double present = 1;        ///< share of the lanes of its waves that it was launched with
  double filled = 1;         ///< share of the waves that would do if all their lanes had work
  double instructions = 0;   ///< executions of accesses, as instructions of at most 16 bytes
  uint64_t missed_loads = 0; ///< executions of loads that L1 does not have
  double units = 1;          ///< compute units that have something to do, on average
  KernelCost cost;

  double perUnit(double cycles) const { return cycles / units; }
  /// Cycles that the kernel waits for loads if a unit has so many waves at a time.
  double waitWith(double waves_per_unit) const {
    return rates.waitingCycles(static_cast<double>(missed_loads)) /
           (units * std::max(waves_per_unit, 1.0));
  }
  /// Waves that each unit would have if there were room for all.
  double wavesForEachUnit() const {
    return dispatches == 0 ? 1
                           : static_cast<double>(waves) / static_cast<double>(dispatches) / units;
  }
  double memoryCycles(uint64_t bytes) const {
    return static_cast<double>(bytes) / rates.memory_bytes_per_cycle;
  }
};

/// Lines of L1 that an access wants, and would want if its lanes lay side by side.
struct LinesOfL1 {
  uint64_t wanted = 0, needed = 0;
};
LinesOfL1 linesOfL1(const Access &access, const Kernel &kernel, const CostRates &rates);

/// Share of the lines of an access that L1 does not have.
double missedShare(const Access &access);

/// Lines that an access asks L2 for, because L1 does not have them or lets them through, and would
/// ask for if its lanes lay side by side. None if there was no model of the caches.
struct LinesOfL2 {
  double wanted = 0, needed = 0;
};
LinesOfL2 linesOfL2(const Access &access);

std::vector<KernelWork> workOf(const RunLog &log);

} // namespace fade::report
