#include "hsa/kernarg_pool.h"

#include <algorithm>
#include <bit>

namespace fade {

std::span<uint8_t> KernargPool::take(std::size_t size) {
  {
    const std::lock_guard lock(mutex_);
    const auto at =
        std::ranges::find_if(free_, [&](const auto &block) { return block.size() >= size; });
    if (at != free_.end()) {
      const auto block = *at;
      *at = free_.back();
      free_.pop_back();
      return block;
    }
  }
  constexpr std::size_t least = 4096;
  const std::size_t rounded = std::max(std::bit_ceil(size), least);
  auto *memory = reinterpret_cast<uint8_t *>(memory_.allocate(rounded));
  return memory ? std::span(memory, rounded) : std::span<uint8_t>();
}

void KernargPool::giveBack(std::span<uint8_t> block) {
  const std::lock_guard lock(mutex_);
  free_.push_back(block);
}

} // namespace fade
