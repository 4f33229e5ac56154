// Blocks for kernel arguments that FADE rebuilds, for dispatches that have no ring.
#pragma once

#include "hsa/own_memory.h"

#include <mutex>
#include <span>
#include <vector>

namespace fade {

class KernargPool {
public:
  KernargPool(const Agent &gpu, const Agent &host) : memory_(*host.kernarg_pool, gpu.handle) {}

  /// At least `size` bytes; empty if there is no memory.
  std::span<uint8_t> take(std::size_t size);
  void giveBack(std::span<uint8_t> block);

private:
  OwnMemory memory_;
  std::mutex mutex_;
  std::vector<std::span<uint8_t>> free_;
};

} // namespace fade
