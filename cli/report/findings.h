// What is worth changing in a run, most rewarding first: findings in one currency.
//
// Each finding states what it costs in cycles of the unit that it keeps busy (fade/cost.h), and in
// bytes of memory traffic, from counts that are exact and a model that is only a model; and what
// one could hope to gain. Places with the same cause are one finding. What there is nothing to gain
// from is none.
#pragma once

#include "fade/cost.h"
#include "report/run_log.h"

#include <span>
#include <string>
#include <vector>

namespace fade::report {

struct FindingPlace {
  std::string file;
  uint32_t line = 0, column = 0;
  std::string op; ///< empty if it is not about one access
  double cycles = 0;
};

struct Finding {
  enum class Cause : uint8_t {
    scattered,    ///< lanes of an access are spread over too many cache lines
    conflicts,    ///< LDS banks
    same_address, ///< atomics of a wave that wait for each other
    hot_address,  ///< atomics of all waves on one address
    divergence,
    occupancy,
    uneven,
    spills,
    launch,  ///< too few workgroups
    filling, ///< workgroups that leave lanes of their waves without work
  };
  Cause cause{};
  uint32_t kernel = 0;
  std::vector<FindingPlace> places; ///< most expensive first
  CostUnit unit{};
  double cycles = 0;  ///< of that unit, that would be saved, by all dispatches of the kernel
  uint64_t bytes = 0; ///< of memory traffic that nobody needs
  /// Share of the kernel's estimated cycles that would be saved, if what is above it in the list is
  /// mended, too.
  double gain = 0;
  std::string counts; ///< what was counted: "32 lines per execution where 2 would do"
  std::string advice;
};
const char *nameOf(Finding::Cause cause);
std::span<const char *const> causeNames();

/// How long a kernel keeps the units busy, in all its dispatches.
struct KernelCost {
  UnitCycles cycles;
  uint64_t bytes = 0;     ///< of memory traffic
  bool knows_alu = false; ///< its arithmetic was counted or estimated
  bool knows_caches = false;
};

struct Findings {
  std::vector<KernelCost> kernels; ///< as in RunLog
  std::vector<Finding> list;
};

Findings findingsOf(const RunLog &log);

} // namespace fade::report
