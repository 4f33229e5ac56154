// FADE_GPU_OBSERVER: a shared library that watches what kernels do, see fade/observer.h.
#pragma once

#include "base/address_space.h"

#include <fade/observer.h>

namespace fade::sim {

// A GPU's memory, as observers may see it.
class MemoryForObservers : public ObservedMemory {
public:
  explicit MemoryForObservers(const AddressSpace &space) : space_(space) {}
  bool find(uint64_t address, ObservedRegion &region) const override;
  bool read(uint64_t address, void *to, uint64_t size) const override;
  void *host(uint64_t address, uint64_t size) const override;

private:
  const AddressSpace &space_;
};

// The observer that the variable names, for one GPU; null when there is none, or it cannot be
// loaded, which is said in one line. It is never destroyed: devices run until the process is gone.
Observer *load_observer(const char *gpu, const ObservedMemory &memory);

} // namespace fade::sim
