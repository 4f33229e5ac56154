#include "hsa/visible_memory.h"

#include <algorithm>
#include <unordered_set>

namespace fade {
namespace {

using capture::kPageSize;
using capture::Region;
using capture::RegionKind;

constexpr uint64_t down(uint64_t address) { return address & ~(kPageSize - 1); }
constexpr uint64_t up(uint64_t address) { return down(address + kPageSize - 1); }

Region pagesOf(const void *memory, std::size_t size, RegionKind kind) {
  const auto at = reinterpret_cast<uint64_t>(memory);
  Region region;
  region.address = down(at);
  region.size = up(at + size) - region.address;
  region.kind = kind;
  return region;
}

const Agent *ownerOf(hsa_amd_memory_pool_t pool, const Agents &agents) {
  const auto number = agents.ownerOf(pool);
  for (const Agent &agent : agents.all())
    if (number && agent.number == *number) return &agent;
  return agents.host();
}

/// The image of a code object on an agent, and whose it is.
struct LoadedSegment {
  VisibleRegion visible;
  uint64_t executable;
};

using CodeLoader = hsa_ven_amd_loader_1_03_pfn_t;

struct CodeSearch {
  const CodeLoader &loader;
  const Agent &agent;
  std::vector<LoadedSegment> found;

  void add(hsa_executable_t executable, hsa_loaded_code_object_t object) {
    const auto get = [&](hsa_ven_amd_loader_loaded_code_object_info_t what, auto &value) {
      return ok(loader.hsa_ven_amd_loader_loaded_code_object_get_info(object, what, &value));
    };
    hsa_agent_t on{};
    uint64_t base = 0, size = 0;
    if (!get(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT, on) ||
        on.handle != agent.handle.handle ||
        !get(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE, base) ||
        !get(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE, size) || base == 0 || size == 0)
      return;
    VisibleRegion code;
    code.region = pagesOf(reinterpret_cast<const void *>(base), size, RegionKind::code);
    code.region.agent = agent.number;
    code.agent = agent.handle;
    found.push_back({code, executable.handle});
  }
};

hsa_status_t addObject(hsa_executable_t executable, hsa_loaded_code_object_t object,
                       void *search) noexcept try {
  static_cast<CodeSearch *>(search)->add(executable, object);
  return HSA_STATUS_SUCCESS;
} catch (...) {
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

hsa_status_t addExecutable(hsa_executable_t executable, void *search) noexcept {
  const CodeLoader &loader = static_cast<CodeSearch *>(search)->loader;
  return loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(executable, addObject,
                                                                          search);
}

/// Object by object: ROCr 5 ends the process if it is asked for all segments at once while an
/// executable has none yet (an assertion).
std::vector<LoadedSegment> codeOn(const Agent &agent) {
  CodeLoader loader{};
  if (!ok(hsaApi().core.hsa_system_get_major_extension_table_fn(HSA_EXTENSION_AMD_LOADER, 1,
                                                                sizeof loader, &loader)) ||
      !loader.hsa_ven_amd_loader_iterate_executables)
    return {};
  CodeSearch search{loader, agent, {}};
  if (!ok(loader.hsa_ven_amd_loader_iterate_executables(addExecutable, &search))) return {};
  return std::move(search.found);
}

/// By address; where two overlap, as segments of one code object may, they become one if they are
/// of one kind, else the first counts.
void makeDisjoint(std::vector<VisibleRegion> &regions) {
  std::ranges::sort(regions, {}, [](const VisibleRegion &r) { return r.region.address; });
  std::vector<VisibleRegion> result;
  for (VisibleRegion next : regions) {
    if (!result.empty() && next.region.address < result.back().region.end()) {
      Region &last = result.back().region;
      if (next.region.end() <= last.end()) continue;
      if (last.kind == RegionKind::code && next.region.kind == RegionKind::code) {
        last.size = next.region.end() - last.address;
        continue;
      }
      const uint64_t cut = last.end() - next.region.address;
      next.region.address += cut;
      next.region.size -= cut;
      next.region.used -= std::min(cut, next.region.used);
      if (next.host) next.host += cut;
    }
    result.push_back(next);
  }
  regions = std::move(result);
}

} // namespace

void VisibleMemory::add(VisibleRegion region) {
  const std::lock_guard lock(mutex_);
  region.allocation = next_++;
  entries_[region.region.address] = {region, {}};
}

void VisibleMemory::addPool(const void *memory, std::size_t size, hsa_amd_memory_pool_t pool,
                            const Agents &agents) {
  const auto get = hsaApi().amd.hsa_amd_memory_pool_get_info_fn;
  std::size_t granule = kPageSize;
  (void)get(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE, &granule);
  if (granule == 0) granule = kPageSize;
  VisibleRegion visible;
  visible.region = pagesOf(memory, (size + granule - 1) / granule * granule, RegionKind::pool);
  visible.region.used = reinterpret_cast<uint64_t>(memory) + size - visible.region.address;
  (void)get(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &visible.region.flags);
  visible.region.on_host = agents.isHostPool(pool);
  if (const Agent *owner = ownerOf(pool, agents)) {
    visible.region.agent = owner->number;
    visible.agent = owner->handle;
  }
  if (visible.region.on_host) visible.host = visible.region.address;
  add(visible);
}

void VisibleMemory::addLocked(const void *host, const void *device, std::size_t size,
                              const Agents &agents) {
  VisibleRegion visible;
  visible.region = pagesOf(device, size, RegionKind::locked);
  visible.region.on_host = true;
  if (const Agent *owner = agents.host()) {
    visible.region.agent = owner->number;
    visible.agent = owner->handle;
  }
  visible.host = down(reinterpret_cast<uint64_t>(host));
  {
    const std::lock_guard lock(mutex_);
    locked_at_[reinterpret_cast<uint64_t>(host)] = visible.region.address;
  }
  add(visible);
}

void VisibleMemory::addManaged(const void *memory, std::size_t size, const Agents &agents) {
  VisibleRegion visible;
  visible.region = pagesOf(memory, size, RegionKind::managed);
  visible.region.on_host = true;
  if (const Agent *owner = agents.host()) {
    visible.region.agent = owner->number;
    visible.agent = owner->handle;
  }
  visible.host = visible.region.address;
  add(visible);
}

void VisibleMemory::addMapped(const void *memory, std::size_t size, const Agents &agents) {
  VisibleRegion visible;
  visible.region = pagesOf(memory, size, RegionKind::mapped);
  for (const Agent &agent : agents.all())
    if (agent.is_gpu && visible.agent.handle == 0) {
      visible.region.agent = agent.number;
      visible.agent = agent.handle;
    }
  add(visible);
}

void VisibleMemory::remove(const void *memory) {
  const std::lock_guard reading(reading_);
  const std::lock_guard lock(mutex_);
  entries_.erase(down(reinterpret_cast<uint64_t>(memory)));
}

void VisibleMemory::removeLocked(const void *host) {
  const std::lock_guard reading(reading_);
  const std::lock_guard lock(mutex_);
  const auto at = locked_at_.find(reinterpret_cast<uint64_t>(host));
  if (at == locked_at_.end()) return;
  entries_.erase(at->second);
  locked_at_.erase(at);
}

void VisibleMemory::allow(const void *memory, const hsa_agent_t *agents, uint32_t count) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(down(reinterpret_cast<uint64_t>(memory)));
  if (at == entries_.end()) return;
  for (uint32_t i = 0; i < count; ++i) at->second.allowed.insert(agents[i].handle);
}

std::vector<VisibleRegion> VisibleMemory::seenBy(const Agent &agent) {
  std::vector<VisibleRegion> regions;
  {
    const std::lock_guard lock(mutex_);
    for (const auto &[address, entry] : entries_) {
      const VisibleRegion &visible = entry.visible;
      if (visible.region.on_host || visible.agent.handle == agent.handle.handle ||
          visible.region.kind == RegionKind::mapped || entry.allowed.contains(agent.handle.handle))
        regions.push_back(visible);
    }
  }
  const auto code = codeOn(agent);
  {
    const std::lock_guard lock(mutex_);
    for (LoadedSegment segment : code) {
      if (unloading_.contains(segment.executable)) continue;
      const auto [at, is_new] = executables_.try_emplace(segment.executable, next_);
      if (is_new) ++next_;
      segment.visible.allocation = at->second;
      regions.push_back(segment.visible);
    }
  }
  makeDisjoint(regions);
  return regions;
}

void VisibleMemory::beginUnload(uint64_t executable) {
  const std::lock_guard reading(reading_);
  const std::lock_guard lock(mutex_);
  unloading_.insert(executable);
  executables_.erase(executable);
}

void VisibleMemory::endUnload(uint64_t executable) noexcept {
  const std::lock_guard lock(mutex_);
  unloading_.erase(executable);
}

std::vector<bool> VisibleMemory::areStillThere(const std::vector<VisibleRegion> &regions) {
  std::unordered_set<uint64_t> there;
  {
    const std::lock_guard lock(mutex_);
    there.reserve(entries_.size() + executables_.size());
    for (const auto &[address, entry] : entries_) there.insert(entry.visible.allocation);
    for (const auto &[executable, number] : executables_) there.insert(number);
  }
  std::vector<bool> are;
  are.reserve(regions.size());
  for (const VisibleRegion &region : regions) are.push_back(there.contains(region.allocation));
  return are;
}

} // namespace fade
