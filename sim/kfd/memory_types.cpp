#include "kfd/memory_types.h"

#include "kfd/kfd_abi.h"

namespace fade::sim::kfd {

Caching caching_of(const Arch &gpu, uint32_t flags, bool is_own) {
  constexpr uint32_t extended = 1u << 24; // coherent in a wider scope; not in all kernel headers
  constexpr uint32_t elsewhere =
      KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP;
  if (flags & (KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED | extended | elsewhere)) return Caching::none;
  const bool is_vram = flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM;
  const bool is_coherent = flags & KFD_IOC_ALLOC_MEM_FLAGS_COHERENT;
  switch (gpu.id) {
  case Gfx::gfx90a:
    // Local memory is cached however fine its grain: probes tell of what others write.
    if (is_vram && is_own) return Caching::own;
    return is_coherent ? Caching::none : Caching::noncoherent;
  case Gfx::gfx942:
  case Gfx::gfx950:
    if (is_vram) return is_own ? Caching::own : Caching::noncoherent;
    return Caching::none; // host memory of a card that is no APU
  default: return is_coherent ? Caching::none : Caching::noncoherent;
  }
}

} // namespace fade::sim::kfd
