// The differences between LLVM 15 and 24, as far as the pass meets them. Where it can be done, the
// functions that are there decide, not the version: forks such as ROCm's are made between releases.
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

// A triple, or since LLVM 21 an object that has one.
inline std::string targetTriple(const llvm::Module &module) {
  const auto text = [](const auto &triple) -> std::string {
    if constexpr (requires { triple.str(); })
      return triple.str();
    else
      return triple;
  };
  return text(module.getTargetTriple());
}

// 0 to 3. Levels are objects, since LLVM 24 values of an enumeration: O0, O1, O2, O3, Os, Oz.
template <class Level> unsigned speedupLevel(Level level) {
  if constexpr (requires { level.getSpeedupLevel(); })
    return level.getSpeedupLevel();
  else
    return level == Level::O0 ? 0 : level == Level::O1 ? 1 : level == Level::O3 ? 3 : 2;
}

// Whether lanes may have different values. Since LLVM 23 it is asked for the place where a value is
// made.
template <class Uniformity>
bool isDivergent(const Uniformity &uniformity, const llvm::Value *value) {
  if constexpr (requires { uniformity.isDivergentAtDef(value); })
    return uniformity.isDivergentAtDef(value);
  else
    return uniformity.isDivergent(value);
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
#if LLVM_VERSION_MAJOR < 17
  return llvm::xxHash64(bytes);
#else
  const auto hash = [](auto text) -> uint64_t {
    if constexpr (requires { xxHash64(text); }) // until LLVM 22
      return xxHash64(text);
    else
      return llvm::xxh3_64bits(text.bytes_begin(), text.size());
  };
  return hash(bytes);
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
  constexpr auto id = llvm::Intrinsic::amdgcn_readfirstlane;
  llvm::SmallVector<llvm::Type *, 1> types;
  if (llvm::Intrinsic::isOverloaded(id)) types.push_back(builder.getInt32Ty()); // since LLVM 19
  return callIntrinsic(builder, id, types, {value});
}

} // namespace fade
