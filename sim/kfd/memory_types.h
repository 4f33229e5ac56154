// How a GPU caches what is mapped for it: the driver's choice of MTYPE (amdgpu's
// gmc_v*_get_coherence_flags).
#pragma once

#include "base/address_space.h"
#include "isa/arch.h"

#include <cstdint>

namespace fade::sim::kfd {

// `flags`: KFD_IOC_ALLOC_MEM_FLAGS_*. `is_own`: memory of that very GPU.
Caching caching_of(const Arch &gpu, uint32_t flags, bool is_own);

} // namespace fade::sim::kfd
