// Accesses through buffer descriptors: llvm.amdgcn.{raw,struct}.[ptr.]buffer.*, s.buffer.load.
#pragma once

#include "AccessFinder.h"

#include "llvm/IR/DataLayout.h"
#include "llvm/IR/IRBuilder.h"

#include <optional>

namespace fade {

// The operands of a buffer intrinsic, by their meaning.
struct BufferCall {
  llvm::Value *descriptor = nullptr;
  llvm::Value *record = nullptr; // null: raw
  llvm::Value *offset = nullptr;
  llvm::Value *scalar_offset = nullptr;
  llvm::Value *lds = nullptr; // where a load to LDS writes
  uint64_t lds_offset = 0;
  uint64_t lds_size = 0;
  uint32_t kind = FADE_SITE_LOAD;
  bool scalar = false;  // s.buffer.load
  std::string omission; // why it cannot be described
};

// `name` is the intrinsic's without llvm.amdgcn. Nothing if it is not a buffer intrinsic.
std::optional<BufferCall> readBufferCall(llvm::StringRef name, llvm::CallBase &call);

std::vector<Access> describeBufferCall(const BufferCall &buffer, llvm::CallBase &call,
                                       const llvm::DataLayout &layout);

// Code that computes, before the access, what the hardware does with the descriptor.
struct BufferAddress {
  llvm::Value *address;  // i64
  llvm::Value *in_range; // i1: out-of-range lanes do not touch memory
};
BufferAddress buildBufferAddress(llvm::IRBuilder<> &builder, const Access &access);

} // namespace fade
