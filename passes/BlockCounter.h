// Counting block entries: the code that goes into each block.
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace fade {

// Counts through a buffer descriptor. In each block, a branch around an atomic instruction would
// cost the compiler more time than the rest of the block. Here all lanes execute the instruction,
// and the indices of all but the first two lie outside of the buffer: the hardware drops them.
class BlockCounter {
public:
  // For the processor of the module.
  explicit BlockCounter(const llvm::Module &module);
  // Whether the processor is known well enough.
  bool usable() const { return format_ != 0; }

  // The descriptor, <4 x i32>, for counters at a uniform address; of no size for address 0.
  llvm::Value *describe(llvm::IRBuilder<> &builder, llvm::Value *low, llvm::Value *high) const;
  // Adds an entry to the counter at `offset`.
  void count(llvm::IRBuilder<> &builder, llvm::Value *descriptor, uint32_t offset) const;

private:
  uint32_t format_ = 0; // the last word of the descriptor
  unsigned wave_size_ = 0;
};

} // namespace fade
