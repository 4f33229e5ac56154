// How long a kernel would take, as a model; never a measurement.
//
// Each unit is busy for as long as what was counted takes at its rate. A wave, on the other hand,
// takes as long as its instructions and what it waits for, and a SIMD has only so many waves that
// it can turn to meanwhile. The kernel takes as long as the longest of these, and a while to begin
// and to end. Units are assumed to work at the same time, and waves to be alike.
#pragma once

#include "analysis/wave_timeline.h"

#include <array>
#include <string>

namespace fade::profile {

/// What a kernel may have to wait for.
enum class Limit : uint8_t { valu, matrix, scalar, lds, l1, l2, memory, atomics, latency };
inline constexpr std::size_t kLimits = 9;
const char *nameOf(Limit limit);

struct ModelOccupancy {
  double resident = 0; ///< waves of a SIMD, while the kernel is busy
  double possible = 0; ///< that there would be room for
  uint32_t most = 0;   ///< that the GPU can hold
  std::string limit;   ///< what keeps it from more: vgprs, lds, ...; "grid": there are no more
  double units = 0;    ///< compute units that have something to do
  double rounds = 0;   ///< in which waves come and go
};

struct ModelTime {
  std::array<double, kLimits> ns{}; ///< of one dispatch, on average
  double launch_ns = 0;
  double wave_ns = 0, waiting_ns = 0; ///< one wave alone; of that, waiting
  ModelOccupancy occupancy;
  std::vector<InstructionTime> instructions;

  double of(Limit limit) const { return ns[static_cast<std::size_t>(limit)]; }
  Limit longest() const;
  Limit longestUnit() const; ///< without waiting
  double busy() const { return of(longest()); }
  double total() const { return busy() + launch_ns; }
};

/// Waves on the GPU from the beginning of a dispatch to its end, by the model.
std::vector<WavesAt> wavesOverTime(const KernelProfile &kernel, const GpuModel &gpu,
                                   const ModelTime &time);

ModelTime modelTime(const KernelProfile &kernel, const GpuModel &gpu);

} // namespace fade::profile
