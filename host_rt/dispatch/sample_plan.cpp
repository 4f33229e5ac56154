#include "dispatch/sample_plan.h"

#include <algorithm>
#include <bit>

namespace fade {
namespace {

constexpr uint64_t kLanes = 64;
constexpr uint64_t kSmall = 4;      ///< times `waves`: so many are recorded at once, all of them
constexpr uint64_t kEnough = 64;    ///< times `waves`: of one shape; then only some dispatches are
constexpr uint64_t kFewest = 8;     ///< workgroups, if there are as many
constexpr uint64_t kFirst = 2;      ///< dispatches that are recorded whatever they are
constexpr std::size_t kMost = 4096; ///< shapes that are remembered

} // namespace

uint32_t SamplePlan::next(uint64_t kernel, const Shape &shape) {
  Key key{kernel};
  uint64_t groups = 1, items = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    const uint64_t size = std::max<uint32_t>(shape.workgroup[i], 1);
    key[1 + i] = shape.grid[i];
    key[4 + i] = size;
    items *= size;
    groups *= std::max<uint64_t>((uint64_t{shape.grid[i]} + size - 1) / size, 1);
  }
  const uint64_t waves = groups * std::max<uint64_t>((items + kLanes - 1) / kLanes, 1);
  const bool is_small = waves <= kSmall * waves_;
  const std::lock_guard lock(mutex_);
  if (seen_.size() >= kMost && !seen_.contains(key)) seen_.clear();
  Seen &seen = seen_[key];
  const uint64_t number = ++seen.dispatches;
  const bool is_chosen = number <= kFirst || std::has_single_bit(number);
  if (!is_chosen && (!is_small || seen.waves + waves > kEnough * waves_)) return 0;
  if (is_small) {
    seen.waves += waves;
    return 1;
  }
  uint64_t one_in = std::min(waves / waves_, std::max<uint64_t>(groups / kFewest, 1));
  // Kernels like powers of two: every 16th workgroup may be a special one.
  if (one_in > 2) one_in |= 1;
  seen.waves += waves / std::max<uint64_t>(one_in, 1);
  return static_cast<uint32_t>(std::clamp<uint64_t>(one_in, 1, UINT32_MAX));
}

} // namespace fade
