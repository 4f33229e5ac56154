// How many workgroups of a kernel a card holds at once: by registers, LDS, wave slots and workgroup
// slots of its compute units. Others wait until one ends.
#pragma once

#include "exec/kernel_launch.h"
#include "isa/arch.h"

#include <cstdint>

namespace fade::sim {

struct Residency {
  uint64_t groups = 1;    // on the whole card; one always runs
  const char *limit = ""; // what keeps it from being more, for messages
  unsigned waves_per_simd = 0;
};

// `compute_units`: of the card, or of its partition.
Residency residency(const Arch &arch, const KernelLaunch &launch, uint32_t compute_units);

} // namespace fade::sim
