#include "hsa/gpu_pools.h"

#include "base/diagnostics.h"

#include <vector>

namespace fade {
namespace {

/// What is there by that key, or what `make` gives; if two threads make it, both get the first.
template <typename Map, typename Make>
auto *findOrMake(std::mutex &mutex, Map &map, const typename Map::key_type &key, Make &&make) {
  {
    const std::lock_guard lock(mutex);
    if (const auto at = map.find(key); at != map.end()) return at->second.get();
  }
  typename Map::mapped_type made = make();
  const std::lock_guard lock(mutex);
  return map.try_emplace(key, std::move(made)).first->second.get();
}

} // namespace

RingPool *GpuPools::rings(const Agent &gpu, RingUse use) {
  const Agent *host = agents_.hostOf(gpu);
  if (!host || !gpu.device_pool) return nullptr;
  return findOrMake(mutex_, rings_, {gpu.number, use}, [&] {
    note("rings of agent {} are in the memory of agent {}", gpu.number, host->number);
    return std::make_unique<RingPool>(gpu, *host, settings_, budget_, allocations_,
                                      settings_.patient(RingPool::kPatience), use);
  });
}

KernargPool *GpuPools::kernargs(const Agent &gpu) {
  const Agent *host = agents_.hostOf(gpu);
  if (!host) return nullptr;
  return findOrMake(mutex_, kernargs_, gpu.number,
                    [&] { return std::make_unique<KernargPool>(gpu, *host); });
}

void GpuPools::destroySignals() {
  std::vector<RingPool *> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto &[key, pool] : rings_) all.push_back(pool.get());
  }
  for (RingPool *pool : all) pool->destroySignals();
}

} // namespace fade
