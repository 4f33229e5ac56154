// Blocks for kernel arguments that FADE rebuilds, for dispatches that have no ring.
#pragma once

#include "hsa/agents.h"

#include <mutex>
#include <span>
#include <vector>

namespace fade {

class KernargPool {
public:
  KernargPool(const Agent &gpu, const Agent &host) : gpu_(gpu), host_(host) {}

  /// At least `size` bytes; empty if there is no memory.
  std::span<uint8_t> take(std::size_t size);
  void giveBack(std::span<uint8_t> block);

private:
  const Agent gpu_, host_;
  std::mutex mutex_;
  std::vector<std::span<uint8_t>> free_;
};

} // namespace fade
