#include "hsa/memory_hooks.h"

#include "base/diagnostics.h"
#include "hsa/capture_session.h"
#include "hsa/runtime.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace fade {
namespace {

/// Runs f if there is somebody who wants to know of allocations. A report without the name of one
/// is better than an application without its memory, so nothing that goes wrong here matters.
template <typename F> void tellAllocations(F &&f) noexcept {
  try {
    const Visit visit;
    if (Runtime *runtime = visit.runtime(); runtime && runtime->wantsAllocations())
      f(runtime->allocations(), runtime->agents());
  } catch (...) {
  }
}

void addAllocation(hsa_amd_memory_pool_t pool, const void *memory, size_t size) noexcept {
  tellAllocations([&](AllocationTable &allocations, const Agents &agents) {
    allocations.add(memory, size, agents.ownerOf(pool).value_or(0), agents.isHostPool(pool));
  });
}
void addMapped(const void *memory, size_t size) noexcept {
  tellAllocations([&](AllocationTable &allocations, const Agents &) {
    allocations.add(memory, size, 0, false);
  });
}
void addLocked(const void *device, size_t size) noexcept {
  tellAllocations([&](AllocationTable &allocations, const Agents &agents) {
    const Agent *owner = agents.host();
    allocations.add(device, size, owner ? owner->number : 0, true);
  });
}
void removeAllocation(const void *memory) noexcept {
  tellAllocations(
      [&](AllocationTable &allocations, const Agents &) { allocations.remove(memory); });
}

/// The same for captures. Sees all memory, from the first allocation on.
template <typename F> void tellCaptures(F &&f) noexcept {
  try {
    const Visit visit;
    if (Runtime *runtime = visit.runtime(); runtime && runtime->captures())
      f(runtime->captures()->memory(), runtime->agents());
  } catch (const std::exception &e) {
    warn("capture: memory was not seen: {}", e.what());
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

// The functions that stand in the runtime's tables.

/// Calls take(change), which says whether it could have memory from where FADE_ALLOC wants
/// it. False if it is to be taken as asked for.
template <typename F>
bool takeElsewhere(hsa_amd_memory_pool_t pool, size_t size, uint64_t flags, F &&take) noexcept {
  try {
    const Visit visit;
    AllocationPolicy *policy = visit.runtime() ? &visit.runtime()->allocationPolicy() : nullptr;
    if (!policy || !policy->isActive()) return false;
    const auto change = policy->changeFor(pool, size, flags);
    if (!change) return false;
    const bool is_there = take(*change);
    policy->count(*change, size, is_there);
    note("FADE_ALLOC: {} bytes {}", size, is_there ? "moved" : "cannot be moved");
    return is_there;
  } catch (...) {
    return false;
  }
}

bool takeFromPool(const AllocationChange &change, size_t size, void **memory) {
  const AmdApi &amd = hsaApi().amd;
  if (!ok(amd.hsa_amd_memory_pool_allocate_fn(change.pool, size, 0, memory))) return false;
  if (change.access &&
      !ok(amd.hsa_amd_agents_allow_access_fn(1, &*change.access, nullptr, *memory))) {
    (void)amd.hsa_amd_memory_pool_free_fn(*memory);
    return false;
  }
  return true;
}

void noteForCaptures(hsa_amd_memory_pool_t pool, size_t size, const void *memory) {
  tellCaptures([&](VisibleMemory &visible, const Agents &agents) {
    visible.addPool(memory, size, pool, agents);
  });
}

hsa_status_t poolAllocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **memory) {
  hsa_amd_memory_pool_t from = pool;
  if (memory && takeElsewhere(pool, size, flags, [&](const auto &change) {
        from = change.pool;
        return takeFromPool(change, size, memory);
      })) {
    addAllocation(from, *memory, size);
    noteMemory(*memory, size);
    noteForCaptures(from, size, *memory);
    return HSA_STATUS_SUCCESS;
  }
  const hsa_status_t status =
      hsaApi().amd.hsa_amd_memory_pool_allocate_fn(pool, size, flags, memory);
  if (ok(status)) {
    addAllocation(pool, *memory, size);
    noteMemory(*memory, size);
    noteForCaptures(pool, size, *memory);
  }
  return status;
}

void forget(const void *memory) {
  tellCaptures([&](VisibleMemory &visible, const Agents &) { visible.remove(memory); });
}

hsa_status_t poolFree(void *memory) {
  noteFreed(memory);
  forget(memory);
  removeAllocation(memory);
  return hsaApi().amd.hsa_amd_memory_pool_free_fn(memory);
}

/// The older door to the same memory: a region is a pool by another name, with the same handle.
hsa_status_t regionAllocate(hsa_region_t region, size_t size, void **memory) {
  const auto allocate = hsaApi().core.hsa_memory_allocate_fn;
  hsa_region_t from = region;
  hsa_status_t status = HSA_STATUS_ERROR;
  // Through the same door, so that all agents have access as they have it to memory of regions.
  const bool is_moved = memory && takeElsewhere({region.handle}, size, 0, [&](const auto &change) {
                          from.handle = change.pool.handle;
                          status = allocate(from, size, memory);
                          return ok(status);
                        });
  if (!is_moved) {
    from = region;
    status = allocate(region, size, memory);
  }
  if (!ok(status)) return status;
  addAllocation({from.handle}, *memory, size);
  noteMemory(*memory, size);
  noteForCaptures({from.handle}, size, *memory);
  return status;
}

hsa_status_t regionFree(void *memory) {
  noteFreed(memory);
  forget(memory);
  removeAllocation(memory);
  return hsaApi().core.hsa_memory_free_fn(memory);
}

void noteLocked(const void *host, const void *device, size_t size) noexcept {
  try {
    locked().add(host, device);
  } catch (...) {
  }
  addLocked(device, size);
  noteMemory(device, size);
  tellCaptures([&](VisibleMemory &visible, const Agents &agents) {
    visible.addLocked(host, device, size, agents);
  });
}

hsa_status_t lock(void *host, size_t size, hsa_agent_t *agents, int count, void **device) {
  const hsa_status_t status =
      hsaApi().amd.hsa_amd_memory_lock_fn(host, size, agents, count, device);
  if (ok(status)) noteLocked(host, *device, size);
  return status;
}

hsa_status_t lockToPool(void *host, size_t size, hsa_agent_t *agents, int count,
                        hsa_amd_memory_pool_t pool, uint32_t flags, void **device) {
  const hsa_status_t status =
      hsaApi().amd.hsa_amd_memory_lock_to_pool_fn(host, size, agents, count, pool, flags, device);
  if (ok(status)) noteLocked(host, *device, size);
  return status;
}

hsa_status_t unlock(void *host) {
  tellCaptures([&](VisibleMemory &visible, const Agents &) { visible.removeLocked(host); });
  try {
    if (const void *device = locked().take(host)) {
      noteFreed(device);
      removeAllocation(device);
    }
  } catch (...) {
  }
  return hsaApi().amd.hsa_amd_memory_unlock_fn(host);
}

hsa_status_t vmemCreate(hsa_amd_memory_pool_t pool, size_t size, uint32_t type, uint64_t flags,
                        VmemHandle *handle) {
  const auto create = hsaApi().amd.hsa_amd_vmem_handle_create_fn;
  if (handle && takeElsewhere(pool, size, flags, [&](const auto &change) {
        return ok(create(change.pool, size, type, flags, handle));
      }))
    return HSA_STATUS_SUCCESS;
  return create(pool, size, type, flags, handle);
}

hsa_status_t vmemMap(void *address, size_t size, size_t offset, VmemHandle handle, uint64_t flags) {
  const hsa_status_t status =
      hsaApi().amd.hsa_amd_vmem_map_fn(address, size, offset, handle, flags);
  if (!ok(status)) return status;
  addMapped(address, size);
  noteMemory(address, size);
  tellCaptures([&](VisibleMemory &visible, const Agents &agents) {
    visible.addMapped(address, size, agents);
  });
  return status;
}

hsa_status_t vmemUnmap(void *address, size_t size) {
  noteFreed(address);
  forget(address);
  removeAllocation(address);
  return hsaApi().amd.hsa_amd_vmem_unmap_fn(address, size);
}

/// Memory of another process.
hsa_status_t ipcAttach(const hsa_amd_ipc_memory_t *handle, size_t size, uint32_t count,
                       const hsa_agent_t *agents, void **memory) {
  const hsa_status_t status =
      hsaApi().amd.hsa_amd_ipc_memory_attach_fn(handle, size, count, agents, memory);
  if (!ok(status)) return status;
  addMapped(*memory, size);
  noteMemory(*memory, size);
  tellCaptures(
      [&](VisibleMemory &visible, const Agents &all) { visible.addMapped(*memory, size, all); });
  return status;
}

hsa_status_t ipcDetach(void *memory) {
  noteFreed(memory);
  removeAllocation(memory);
  forget(memory);
  return hsaApi().amd.hsa_amd_ipc_memory_detach_fn(memory);
}

using SvmAttribute = hsa_amd_svm_attribute_pair_t;

/// The attributes with those that FADE_ALLOC wants.
std::vector<SvmAttribute> withPolicy(std::span<const SvmAttribute> asked,
                                     const AllocationPolicy::SvmChange &change) {
  std::vector<SvmAttribute> all(asked.begin(), asked.end());
  const bool is_host = change.place == AllocationPlace::host;
  const uint64_t kind =
      is_host ? HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION : HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG;
  const uint64_t value = is_host ? change.host.handle
                         : change.place == AllocationPlace::coarse
                             ? uint64_t{HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED}
                             : uint64_t{HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED};
  std::erase_if(all, [&](const SvmAttribute &one) { return one.attribute == kind; });
  all.push_back({kind, value});
  return all;
}

/// Says who may access memory, or of which grain it is: memory that is being made. What else is set
/// of it later, advice for example, is not FADE's concern.
bool makesMemory(std::span<const SvmAttribute> attributes) {
  return std::ranges::any_of(attributes, [](const SvmAttribute &one) {
    return one.attribute == HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG ||
           one.attribute == HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE ||
           one.attribute == HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE;
  });
}

/// Managed memory: the application's own addresses, which GPUs may access from now on.
void noteManaged(void *memory, size_t size, std::span<const SvmAttribute> attributes) {
  const bool is_for_gpus = std::ranges::any_of(attributes, [](const SvmAttribute &one) {
    return one.attribute == HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE ||
           one.attribute == HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE;
  });
  if (is_for_gpus)
    tellCaptures([&](VisibleMemory &visible, const Agents &agents) {
      visible.addManaged(memory, size, agents);
    });
}

hsa_status_t setByPolicy(void *address, size_t size, SvmAttribute *attributes, size_t count) {
  const auto set = hsaApi().amd.hsa_amd_svm_attributes_set_fn;
  const std::span<const SvmAttribute> asked(attributes, attributes ? count : 0);
  try {
    const Visit visit;
    Runtime *runtime = visit.runtime();
    if (runtime && runtime->allocationPolicy().isActive() && makesMemory(asked))
      if (const auto change = runtime->allocationPolicy().changeForSvm(size)) {
        auto all = withPolicy(asked, *change);
        const bool is_done = ok(set(address, size, all.data(), all.size()));
        runtime->allocationPolicy().countSvm(*change, size, is_done);
        note("FADE_ALLOC: {} bytes of managed memory {}", size,
             is_done ? "changed" : "cannot be changed");
        if (is_done) return HSA_STATUS_SUCCESS;
      }
  } catch (...) {
  }
  return set(address, size, attributes, count);
}

hsa_status_t svmSet(void *address, size_t size, SvmAttribute *attributes, size_t count) {
  const hsa_status_t status = setByPolicy(address, size, attributes, count);
  if (ok(status) && attributes) noteManaged(address, size, {attributes, count});
  return status;
}

hsa_status_t allowAccess(uint32_t count, const hsa_agent_t *agents, const uint32_t *flags,
                         const void *memory) {
  const hsa_status_t status =
      hsaApi().amd.hsa_amd_agents_allow_access_fn(count, agents, flags, memory);
  if (ok(status) && agents)
    tellCaptures(
        [&](VisibleMemory &visible, const Agents &) { visible.allow(memory, agents, count); });
  return status;
}

} // namespace

void hookMemoryForCaptures(HsaTables &tables) {
  tables.replace(&AmdApi::hsa_amd_agents_allow_access_fn, allowAccess);
}

void hookMemory(HsaTables &tables) {
  tables.core().hsa_memory_allocate_fn = regionAllocate;
  tables.core().hsa_memory_free_fn = regionFree;
  tables.replace(&AmdApi::hsa_amd_memory_pool_allocate_fn, poolAllocate);
  tables.replace(&AmdApi::hsa_amd_memory_pool_free_fn, poolFree);
  tables.replace(&AmdApi::hsa_amd_memory_lock_fn, lock);
  tables.replace(&AmdApi::hsa_amd_memory_unlock_fn, unlock);
  tables.replace(&AmdApi::hsa_amd_memory_lock_to_pool_fn, lockToPool);
  tables.replace(&AmdApi::hsa_amd_vmem_handle_create_fn, vmemCreate);
  tables.replace(&AmdApi::hsa_amd_vmem_map_fn, vmemMap);
  tables.replace(&AmdApi::hsa_amd_vmem_unmap_fn, vmemUnmap);
  tables.replace(&AmdApi::hsa_amd_ipc_memory_attach_fn, ipcAttach);
  tables.replace(&AmdApi::hsa_amd_ipc_memory_detach_fn, ipcDetach);
  tables.replace(&AmdApi::hsa_amd_svm_attributes_set_fn, svmSet);
}

} // namespace fade
