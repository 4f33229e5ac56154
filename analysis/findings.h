// What is worth changing in a run, ordered by what the change saves of the run.
//
// There is one model of cost, modelTime(). What a finding gains is the difference that the model
// makes between the kernel as it was counted and the same kernel with that quantity changed, after
// everything that stands above it in the list of its kernel. What the model does not reward is
// never first. Places with the same cause are one finding.
#pragma once

#include "analysis/measured_kernels.h"

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
    launch,   ///< too few workgroups
    filling,  ///< workgroups that leave lanes of their waves without work
    overhead, ///< short kernels one after the other; only where the order of launches is known
  };
  Cause cause{};
  uint32_t kernel = 0;
  std::vector<FindingPlace> places; ///< most expensive first
  profile::Limit unit{};
  double cycles = 0;  ///< of that unit, that would be saved, by all dispatches of the kernel
  uint64_t bytes = 0; ///< of memory traffic that nobody needs
  /// Share of the kernel's time that would be saved, after the findings of the kernel that are
  /// above it. Of those that only save together, the first one has what all of them save.
  double gain = 0;
  double run_gain = 0;                ///< the same as a share of the time of all kernels
  double before_ns = 0, after_ns = 0; ///< of a dispatch, by the model: with and without it
  std::vector<Cause> together;        ///< what has to be changed, too, for this gain
  std::string counts; ///< what was counted: "32 lines per execution where 2 would do"
  std::string advice;
};
const char *nameOf(Finding::Cause cause);
std::span<const char *const> causeNames();
/// "up to 73% to gain (61% of all kernels)", the latter if there are others.
std::string gainText(const Finding &finding, bool has_others);
/// "By the model 61.2 us -> 16.5 us, together with scattered access."; empty if there is nothing.
std::string expectationText(const Finding &finding);

/// How long a kernel keeps the units busy, in all its dispatches.
struct KernelCost {
  std::array<double, profile::kLimits> cycles{};
  double dispatch_ns = 0, all_ns = 0; ///< by the model, with beginning and end
  double launch_ns = 0;               ///< of dispatch_ns, beginning and end
  uint64_t bytes = 0;                 ///< of memory traffic
  bool knows_alu = false;             ///< its arithmetic was counted or estimated
  bool knows_caches = false;
  bool is_counted = false; ///< not estimated from its accesses

  double most() const;
  profile::Limit busiest() const;
};

struct Findings {
  std::vector<KernelCost> kernels; ///< as in RunLog
  std::vector<Finding> list;

  /// Of all kernels of the run, by the model.
  double runNs() const;
};

/// `kernels`: those of the log, in its order.
Findings findingsOf(const RunLog &log, const std::vector<profile::ModeledKernel> &kernels);
Findings findingsOf(const RunLog &log);

} // namespace fade::report
