#include "hsa/memory_hooks.h"

#include "hsa/runtime.h"

namespace fade {
namespace {

template <typename F> void note(F &&f) noexcept {
  try {
    if (Runtime *runtime = Runtime::active(); runtime && runtime->wantsAllocations()) f(*runtime);
  } catch (...) { // an allocation without a name is no misfortune
  }
}

hsa_status_t poolAllocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **memory) {
  const hsa_status_t status =
      hsaApi().amd.hsa_amd_memory_pool_allocate_fn(pool, size, flags, memory);
  if (ok(status))
    note([&](Runtime &runtime) {
      const auto owner = runtime.agents().ownerOf(pool);
      runtime.allocations().add(*memory, size, owner.value_or(0),
                                runtime.agents().isHostPool(pool));
    });
  return status;
}

hsa_status_t poolFree(void *memory) {
  note([&](Runtime &runtime) { runtime.allocations().remove(memory); });
  return hsaApi().amd.hsa_amd_memory_pool_free_fn(memory);
}

} // namespace

void hookMemory(AmdExtTable &amd) {
  amd.hsa_amd_memory_pool_allocate_fn = poolAllocate;
  amd.hsa_amd_memory_pool_free_fn = poolFree;
}

} // namespace fade
