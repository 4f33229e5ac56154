#include "hsa/memory_hooks.h"

#include "base/diagnostics.h"
#include "hsa/runtime.h"

#include <map>
#include <mutex>

namespace fade {
namespace {

/// Runs f if there is somebody who wants to know of allocations. A report without the name of one
/// is better than an application without its memory, so nothing that goes wrong here matters.
template <typename F> void tellRuntime(F &&f) noexcept {
  try {
    const Visit visit;
    if (Runtime *runtime = visit.runtime(); runtime && runtime->wantsAllocations()) f(*runtime);
  } catch (...) {
  }
}

/// Host memory that was made visible to GPUs: where the application has it, and where they see it.
class LockedMemory {
public:
  void add(const void *host, const void *device) {
    const std::lock_guard lock(mutex_);
    seen_at_[host] = device;
  }
  const void *take(const void *host) {
    const std::lock_guard lock(mutex_);
    const auto at = seen_at_.find(host);
    if (at == seen_at_.end()) return nullptr;
    const void *device = at->second;
    seen_at_.erase(at);
    return device;
  }

private:
  std::mutex mutex_;
  std::map<const void *, const void *> seen_at_;
};

LockedMemory &locked() {
  static auto *memory = new LockedMemory; // outlives every exit handler
  return *memory;
}

/// For the explanation of a death.
void noteMemory(const void *memory, size_t size) noexcept {
  const Visit visit;
  if (Runtime *runtime = visit.runtime(); runtime && runtime->deaths())
    runtime->deaths()->allocated(memory, size);
}
void noteFreed(const void *memory) noexcept {
  const Visit visit;
  if (Runtime *runtime = visit.runtime(); runtime && runtime->deaths())
    runtime->deaths()->freed(memory);
}

void addAllocation(Runtime &runtime, hsa_amd_memory_pool_t pool, const void *memory, size_t size) {
  const Agents &agents = runtime.agents();
  runtime.allocations().add(memory, size, agents.ownerOf(pool).value_or(0),
                            agents.isHostPool(pool));
}

void addLocked(Runtime &runtime, const void *host, const void *device, size_t size) {
  const Agent *owner = runtime.agents().host();
  locked().add(host, device);
  runtime.allocations().add(device, size, owner ? owner->number : 0, true);
}

// The functions that stand in the runtime's tables.

/// Takes the memory from where FADE_ALLOC wants it. False if it is to be taken as asked for.
bool allocateElsewhere(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **memory) {
  try {
    const Visit visit;
    Runtime *runtime = visit.runtime();
    if (!runtime || !runtime->allocationPolicy().isActive()) return false;
    const auto change = runtime->allocationPolicy().changeFor(pool, size, flags);
    if (!change) return false;
    const AmdApi &amd = hsaApi().amd;
    bool is_there = ok(amd.hsa_amd_memory_pool_allocate_fn(change->pool, size, 0, memory));
    if (is_there && change->access &&
        !ok(amd.hsa_amd_agents_allow_access_fn(1, &*change->access, nullptr, *memory))) {
      (void)amd.hsa_amd_memory_pool_free_fn(*memory);
      is_there = false;
    }
    runtime->allocationPolicy().count(*change, size, is_there);
    note("FADE_ALLOC: {} bytes {}", size, is_there ? "moved" : "cannot be moved");
    if (is_there && runtime->wantsAllocations())
      addAllocation(*runtime, change->pool, *memory, size);
    return is_there;
  } catch (...) {
    return false;
  }
}

hsa_status_t poolAllocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **memory) {
  if (memory && allocateElsewhere(pool, size, flags, memory)) {
    noteMemory(*memory, size);
    return HSA_STATUS_SUCCESS;
  }
  const hsa_status_t status =
      hsaApi().amd.hsa_amd_memory_pool_allocate_fn(pool, size, flags, memory);
  if (ok(status)) {
    tellRuntime([&](Runtime &runtime) { addAllocation(runtime, pool, *memory, size); });
    noteMemory(*memory, size);
  }
  return status;
}

hsa_status_t poolFree(void *memory) {
  noteFreed(memory);
  tellRuntime([&](Runtime &runtime) { runtime.allocations().remove(memory); });
  return hsaApi().amd.hsa_amd_memory_pool_free_fn(memory);
}

/// The older door to the same memory: a region is a pool by another name, with the same handle.
hsa_status_t regionAllocate(hsa_region_t region, size_t size, void **memory) {
  const hsa_status_t status = hsaApi().core.hsa_memory_allocate_fn(region, size, memory);
  if (ok(status))
    tellRuntime([&](Runtime &runtime) { addAllocation(runtime, {region.handle}, *memory, size); });
  return status;
}

hsa_status_t regionFree(void *memory) {
  tellRuntime([&](Runtime &runtime) { runtime.allocations().remove(memory); });
  return hsaApi().core.hsa_memory_free_fn(memory);
}

hsa_status_t lock(void *host, size_t size, hsa_agent_t *agents, int count, void **device) {
  const hsa_status_t status =
      hsaApi().amd.hsa_amd_memory_lock_fn(host, size, agents, count, device);
  if (ok(status)) tellRuntime([&](Runtime &runtime) { addLocked(runtime, host, *device, size); });
  return status;
}

hsa_status_t lockToPool(void *host, size_t size, hsa_agent_t *agents, int count,
                        hsa_amd_memory_pool_t pool, uint32_t flags, void **device) {
  const hsa_status_t status =
      hsaApi().amd.hsa_amd_memory_lock_to_pool_fn(host, size, agents, count, pool, flags, device);
  if (ok(status)) tellRuntime([&](Runtime &runtime) { addLocked(runtime, host, *device, size); });
  return status;
}

hsa_status_t unlock(void *host) {
  tellRuntime([&](Runtime &runtime) {
    if (const void *device = locked().take(host)) runtime.allocations().remove(device);
  });
  return hsaApi().amd.hsa_amd_memory_unlock_fn(host);
}

} // namespace

void hookMemory(HsaTables &tables) {
  tables.core().hsa_memory_allocate_fn = regionAllocate;
  tables.core().hsa_memory_free_fn = regionFree;
  tables.replace(&AmdApi::hsa_amd_memory_pool_allocate_fn, poolAllocate);
  tables.replace(&AmdApi::hsa_amd_memory_pool_free_fn, poolFree);
  tables.replace(&AmdApi::hsa_amd_memory_lock_fn, lock);
  tables.replace(&AmdApi::hsa_amd_memory_unlock_fn, unlock);
  tables.replace(&AmdApi::hsa_amd_memory_lock_to_pool_fn, lockToPool);
}

} // namespace fade
