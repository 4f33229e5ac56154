#include "BlockCounter.h"

#include "Compat.h"
#include "Target.h"

#include "fade/message.h"

#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

#include <cstddef>

using namespace llvm;

namespace fade {

namespace {

// A counter is taken for two structures of one word each, the index of which is a lane's rank: the
// hardware drops the lanes that come third and later.
constexpr uint32_t word_size = 8;
constexpr uint32_t counter_words = sizeof(fade_counter) / word_size;

// The last word of a descriptor. From gfx10 on it says that only the index is checked.
uint32_t indexedFormat(unsigned major) {
  switch (major) {
  case 9: return 0x00020000;
  case 10: return 0x11014000;
  case 11:
  case 12: return 0x11004000;
  default: return 0;
  }
}

} // namespace

BlockCounter::BlockCounter(const Module &module)
    : format_(indexedFormat(processorMajor(targetProcessor(module)))),
      wave_size_(waveSize(module)) {
  if (wave_size_ == 0) format_ = 0;
}

Value *BlockCounter::describe(IRBuilder<> &builder, Value *low, Value *high) const {
  Value *none = builder.CreateICmpEQ(builder.CreateOr(low, high), builder.getInt32(0));
  Value *size = builder.CreateSelect(none, builder.getInt32(0), builder.getInt32(counter_words));
  // A descriptor that the compiler takes for different in each lane would cost a loop per use.
  size = uniform(builder, size);
  high = uniform(builder, builder.CreateOr(builder.CreateAnd(high, 0xffff), word_size << 16));
  Value *parts[] = {low, high, size, builder.getInt32(format_)};
  Value *descriptor = PoisonValue::get(FixedVectorType::get(builder.getInt32Ty(), 4));
  for (uint64_t i = 0; i < 4; ++i)
    descriptor = builder.CreateInsertElement(descriptor, parts[i], i);
  return descriptor;
}

void BlockCounter::count(IRBuilder<> &builder, Value *descriptor, uint32_t offset) const {
  Type *i32 = builder.getInt32Ty(), *i64 = builder.getInt64Ty();
  Value *active = callIntrinsic(builder, Intrinsic::amdgcn_ballot, {builder.getIntNTy(wave_size_)},
                                {builder.getTrue()});
  Value *low = builder.CreateTrunc(active, i32);
  Value *rank = callIntrinsic(builder, Intrinsic::amdgcn_mbcnt_lo, {}, {low, builder.getInt32(0)});
  if (wave_size_ == 64) {
    Value *high = builder.CreateTrunc(builder.CreateLShr(active, 32), i32);
    rank = callIntrinsic(builder, Intrinsic::amdgcn_mbcnt_hi, {}, {high, rank});
  }
  // The first lane adds 1 to `entries`, the second the number of lanes less one to `more_lanes`.
  static_assert(offsetof(fade_counter, entries) == 0 && offsetof(fade_counter, more_lanes) == 8);
  Value *lanes = callIntrinsic(builder, Intrinsic::ctpop, {active->getType()}, {active});
  Value *factor = builder.CreateSub(builder.CreateZExtOrTrunc(lanes, i32), builder.getInt32(2));
  Value *amount = builder.CreateAdd(
      builder.CreateMul(builder.CreateZExt(rank, i64), builder.CreateZExt(factor, i64)),
      builder.getInt64(1));
  callIntrinsic(builder, Intrinsic::amdgcn_struct_buffer_atomic_add, {i64},
                {amount, descriptor, rank, builder.getInt32(0), builder.getInt32(offset),
                 builder.getInt32(0)});
}

} // namespace fade
