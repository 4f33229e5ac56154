// The kernel of cooperative.cl, compiled for every GPU that clang knows and built in.
#pragma once

#include "fade/gpu.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace fade::replay {

inline constexpr const char *kCooperativeKernel = "__amd_rocclr_gwsInit";

/// Whether workgroups of a grid meet at a counter of the GPU (GWS), which HIP sets before each
/// cooperative launch. On gfx94x, gfx95x and from gfx11 on they meet in memory, which is captured;
/// HIP sets nothing there. Of an unknown GPU the latter.
constexpr bool meetAtCounter(std::string_view gpu) {
  const GpuInfo *known = findGpu(gpu);
  return known && known->major < 11 && !(known->major == 9 && known->minor >= 4);
}

/// A code object; empty: there is none for this GPU.
std::span<const uint8_t> cooperativeCodeFor(std::string_view gpu);

} // namespace fade::replay
