// What keeps a kernel from being faster: one class for each, with the numbers it rests on.
#pragma once

#include "analysis/time_model.h"

#include <span>
#include <string>
#include <vector>

namespace fade::profile {

enum class KernelClass : uint8_t {
  memory_bandwidth,
  latency,
  under_occupied,
  divergence,
  compute_throughput,
  lds,
  launch_overhead,
  unknown, ///< nothing was counted
};
inline constexpr std::size_t kClasses = 8;
/// "memory_bandwidth"
const char *nameOf(KernelClass kind);
/// "memory bandwidth"
const char *textOf(KernelClass kind);

/// The one table of what decides (docs/profile.md has it, too).
struct Threshold {
  const char *name;
  double value;
  const char *meaning;
};
enum class Decides : uint8_t { launch_share, units_share, waves_share, lane_share, wait_share };
std::span<const Threshold> thresholds();
double valueOf(Decides threshold);

struct Evidence {
  std::string name;
  double value = 0;
  std::string unit; ///< "ns", "share", "waves", ""
};

struct Classification {
  KernelClass kind = KernelClass::unknown;
  Limit limit = Limit::valu; ///< what takes longest
  std::vector<Evidence> evidence;
  std::string reason; ///< one sentence
  KernelClass next = KernelClass::unknown;
  /// How near the next class is: 1 is a tie. What would make it that one takes so much of the time
  /// that decides now, or is so near to its threshold.
  double nearness = 0;
  std::string advice; ///< what to try first
};

Classification classify(const KernelProfile &kernel, const GpuModel &gpu, const ModelTime &time);

} // namespace fade::profile
