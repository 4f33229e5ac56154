// The differences between LLVM 15 and 23, as far as the pass meets them.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Attributes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#if LLVM_VERSION_MAJOR >= 17
#include "llvm/TargetParser/Triple.h"
#else
#include "llvm/ADT/Triple.h"
#endif

#include <string>

namespace fade {

inline bool startsWith(llvm::StringRef text, llvm::StringRef prefix) {
  return text.take_front(prefix.size()) == prefix;
}

inline std::string targetTriple(const llvm::Module &module) {
#if LLVM_VERSION_MAJOR >= 21
  return module.getTargetTriple().str();
#else
  return module.getTargetTriple();
#endif
}

// Attributes that say what memory a function may touch. None of them holds for a function that
// writes records.
inline void removeMemoryAttributes(llvm::Function &function) {
  using llvm::Attribute;
#if LLVM_VERSION_MAJOR >= 16
  function.removeFnAttr(Attribute::Memory);
#else
  for (auto kind : {Attribute::ArgMemOnly, Attribute::InaccessibleMemOnly,
                    Attribute::InaccessibleMemOrArgMemOnly})
    function.removeFnAttr(kind);
#endif
  for (auto kind : {Attribute::ReadNone, Attribute::ReadOnly, Attribute::WriteOnly})
    function.removeFnAttr(kind);
}

inline void removeMemoryAttributes(llvm::CallBase &call) {
  using llvm::Attribute;
#if LLVM_VERSION_MAJOR >= 16
  call.removeFnAttr(Attribute::Memory);
#else
  for (auto kind : {Attribute::ArgMemOnly, Attribute::InaccessibleMemOnly,
                    Attribute::InaccessibleMemOrArgMemOnly})
    call.removeFnAttr(kind);
#endif
  for (auto kind : {Attribute::ReadNone, Attribute::ReadOnly, Attribute::WriteOnly})
    call.removeFnAttr(kind);
}

inline uint64_t storeSize(const llvm::DataLayout &layout, llvm::Type *type) {
  return layout.getTypeStoreSize(type).getKnownMinValue();
}

inline uint64_t hash64(llvm::StringRef bytes) {
#if LLVM_VERSION_MAJOR >= 23
  return llvm::xxh3_64bits(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
#else
  return llvm::xxHash64(bytes);
#endif
}

// Splits the block before an instruction and puts a conditional block in between. Returns the end
// of that block.
inline llvm::Instruction *splitIfThen(llvm::Value *condition, llvm::Instruction &before) {
#if LLVM_VERSION_MAJOR >= 20
  return llvm::SplitBlockAndInsertIfThen(condition, before.getIterator(), false);
#else
  return llvm::SplitBlockAndInsertIfThen(condition, &before, false);
#endif
}

// The same with two blocks, of which one runs.
inline void splitIfThenElse(llvm::Value *condition, llvm::Instruction &before,
                            llvm::Instruction *&then, llvm::Instruction *&otherwise) {
#if LLVM_VERSION_MAJOR >= 20
  llvm::SplitBlockAndInsertIfThenElse(condition, before.getIterator(), &then, &otherwise);
#else
  llvm::SplitBlockAndInsertIfThenElse(condition, &before, &then, &otherwise);
#endif
}

inline llvm::PointerType *pointerType(llvm::LLVMContext &context, unsigned space) {
  return llvm::PointerType::get(context, space);
}

// With empty braces, CreateIntrinsic itself is ambiguous in some LLVMs.
inline llvm::Value *callIntrinsic(llvm::IRBuilder<> &builder, llvm::Intrinsic::ID id,
                                  llvm::ArrayRef<llvm::Type *> types,
                                  llvm::ArrayRef<llvm::Value *> arguments) {
  return builder.CreateIntrinsic(id, types, arguments);
}

// The value of a call is taken for different in each lane even if it is not. This makes it one.
inline llvm::Value *uniform(llvm::IRBuilder<> &builder, llvm::Value *value) {
#if LLVM_VERSION_MAJOR >= 19
  return callIntrinsic(builder, llvm::Intrinsic::amdgcn_readfirstlane, {builder.getInt32Ty()},
                       {value});
#else
  return callIntrinsic(builder, llvm::Intrinsic::amdgcn_readfirstlane, {}, {value});
#endif
}

} // namespace fade
