#include "hsa/own_memory.h"

#include <algorithm>

namespace fade {
namespace {

// Small blocks share a chunk.
constexpr std::size_t kSharedChunk = std::size_t{2} << 20;

} // namespace

std::byte *OwnMemory::allocate(std::size_t size) {
  size = (std::max<std::size_t>(size, 1) + kAlignment - 1) / kAlignment * kAlignment;
  const std::lock_guard lock(mutex_);
  const bool is_alone = size > kSharedChunk / 2;
  blocks_.reserve(blocks_.size() + 2); // before there is something to lose
  Block *best = nullptr;
  for (Block &block : blocks_)
    if (!is_alone && !block.is_used && block.size >= size && (!best || block.size < best->size))
      best = &block;
  if (!best) {
    const std::size_t usable = is_alone ? size : kSharedChunk;
    auto *chunk = static_cast<std::byte *>(allocateFor(pool_, usable + 2 * kGuard, gpu_));
    if (!chunk) return nullptr;
    best = &blocks_.emplace_back(Block{chunk + kGuard, usable, false, is_alone ? chunk : nullptr});
  }
  best->is_used = true;
  std::byte *found = best->at;
  if (best->size > size) {
    const Block rest{best->at + size, best->size - size, false, nullptr};
    best->size = size;
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

// A copy engine reads memory, and what a wave wrote may still lie in the GPU's L2. Fine-grained
// memory is not kept there. Of coarse-grained memory, a release at system scope writes it back on
// gfx90a and gfx94x, and from gfx10 on the runtime has it written back before each copy. On older
// ones nothing does before the kernel has ended.
hsa_amd_memory_pool_t copiedPool(const Agent &gpu) {
  return gpu.fine_device_pool ? *gpu.fine_device_pool : *gpu.device_pool;
}

} // namespace fade
