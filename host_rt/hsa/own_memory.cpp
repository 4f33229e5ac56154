#include "hsa/own_memory.h"

#include <algorithm>

namespace fade {
namespace {

// Small blocks share a chunk.
constexpr std::size_t kSharedChunk = std::size_t{2} << 20;
constexpr std::size_t kLittle = 16; // times less, where memory is short

} // namespace

/// With a free block of at least that size in it.
bool OwnMemory::addChunk(std::size_t size) {
  const bool is_alone = size > kSharedChunk / 2;
  const struct {
    std::size_t usable, guard;
  } wishes[] = {{is_alone ? size : kSharedChunk, kGuard},
                {std::max(size, kSharedChunk / kLittle), kGuard / kLittle},
                {size, kAlignment}};
  for (const auto &[usable, guard] : wishes) {
    auto *chunk = static_cast<std::byte *>(allocateFor(pool_, usable + 2 * guard, gpu_));
    if (!chunk) continue;
    const bool is_shared = usable > size;
    blocks_.push_back({chunk + guard, usable, false, is_shared ? nullptr : chunk});
    return true;
  }
  return false;
}

std::byte *OwnMemory::allocate(std::size_t size) {
  size = (std::max<std::size_t>(size, 1) + kAlignment - 1) / kAlignment * kAlignment;
  const std::lock_guard lock(mutex_);
  blocks_.reserve(blocks_.size() + 2); // before there is something to lose
  const auto find = [&] {
    Block *best = nullptr;
    for (Block &block : blocks_)
      if (!block.is_used && block.size >= size && (!best || block.size < best->size)) best = &block;
    return best;
  };
  Block *block = find();
  if (!block && (!addChunk(size) || !(block = find()))) return nullptr;
  block->is_used = true;
  std::byte *found = block->at;
  if (block->size > size) {
    const Block rest{block->at + size, block->size - size, false, nullptr};
    block->size = size;
    blocks_.push_back(rest);
  }
  return found;
}

void OwnMemory::free(void *memory) noexcept {
  const std::lock_guard lock(mutex_);
  const auto at =
      std::ranges::find_if(blocks_, [&](const Block &block) { return block.at == memory; });
  if (at == blocks_.end()) return;
  at->is_used = false;
  if (!at->chunk) return;
  freeMemory(at->chunk);
  blocks_.erase(at);
}

OwnMemories::OwnMemories(const Agent &gpu, const Agent &cpu)
    : device(*gpu.device_pool, gpu.handle), copied(copiedPool(gpu), gpu.handle),
      host(*cpu.host_pool, gpu.handle), kernargs(*cpu.kernarg_pool, gpu.handle) {}

// A copy engine reads memory, and what a wave wrote may still lie in the GPU's L2. On gfx90a and
// gfx94x it does, however fine the grain of the memory: the driver maps all that is local as RW.
// There the release of each record writes back, and for the last counts the wave that waits for
// room in front. On others fine-grained memory is not kept in L2; of coarse-grained memory the
// runtime has it written back before each copy from gfx10 on, and before that nothing does until
// the kernel has ended.
hsa_amd_memory_pool_t copiedPool(const Agent &gpu) {
  return gpu.fine_device_pool ? *gpu.fine_device_pool : *gpu.device_pool;
}

} // namespace fade
