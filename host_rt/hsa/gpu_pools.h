// Rings and memory for arguments of kernels, by GPU, made when they are first asked for. Its lock
// is never held over a call of HSA's.
#pragma once

#include "hsa/kernarg_pool.h"
#include "hsa/ring_pool.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace fade {

class GpuPools {
public:
  /// All of it is used later and longer: `agents` are known when a pool is asked for.
  GpuPools(const Settings &settings, const Agents &agents, AllocationTable &allocations)
      : settings_(settings), agents_(agents), allocations_(allocations), budget_(settings.memory) {}

  /// Null: that GPU has no memory for it, or no host near it.
  RingPool *rings(const Agent &gpu, RingUse use);
  KernargPool *kernargs(const Agent &gpu);
  /// When the HSA runtime is shut down.
  void destroySignals();

private:
  const Settings &settings_;
  const Agents &agents_;
  AllocationTable &allocations_;
  MemoryBudget budget_;
  std::mutex mutex_;
  std::map<std::pair<uint32_t, RingUse>, std::unique_ptr<RingPool>> rings_; ///< by agent
  std::map<uint32_t, std::unique_ptr<KernargPool>> kernargs_;               ///< by agent
};

} // namespace fade
