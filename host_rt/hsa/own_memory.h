// Memory that FADE shares with kernels, kept away from the application's.
//
// The runtime puts allocations next to each other, and small ones even into the same page. A kernel
// that writes a little beyond one of the application's buffers would write into whatever FADE has
// there, and the twin of the kernel would stumble over it. So everything comes out of chunks that
// begin and end with a megabyte that nobody uses (less where there is hardly any memory left):
//
//   application | guard | block | block | ... | guard | application
//
// The guards are ordinary memory: what goes there by mistake is not seen, as without FADE, and does
// no harm.
#pragma once

#include "hsa/agents.h"

#include <cstddef>
#include <mutex>
#include <vector>

namespace fade {

/// Of one pool of the runtime, for one GPU.
class OwnMemory {
public:
  static constexpr std::size_t kGuard = std::size_t{1} << 20;
  static constexpr std::size_t kAlignment = 4096;

  OwnMemory(hsa_amd_memory_pool_t pool, hsa_agent_t gpu) : pool_(pool), gpu_(gpu) {}
  OwnMemory(const OwnMemory &) = delete;
  OwnMemory &operator=(const OwnMemory &) = delete;

  /// Null if there is none left.
  std::byte *allocate(std::size_t size);
  /// No kernel may know the block any more. Null is fine.
  void free(void *block) noexcept;

private:
  struct Block {
    std::byte *at;
    std::size_t size;
    bool is_used;
    std::byte *chunk; ///< if it has one for itself: that goes back to the runtime with the block
  };
  bool addChunk(std::size_t size);

  const hsa_amd_memory_pool_t pool_;
  const hsa_agent_t gpu_;
  std::mutex mutex_;
  std::vector<Block> blocks_;
};

/// What rings and arguments for one GPU are made of.
struct OwnMemories {
  OwnMemories(const Agent &gpu, const Agent &host);

  OwnMemory device; ///< coarse-grained
  OwnMemory copied; ///< for what a copy engine reads while a kernel runs
  OwnMemory host;   ///< fine-grained
  OwnMemory kernargs;
};

/// The memory of the GPU for what its copy engine reads while a kernel runs.
hsa_amd_memory_pool_t copiedPool(const Agent &gpu);

} // namespace fade
