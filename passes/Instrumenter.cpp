#include "Instrumenter.h"

#include "BufferAccess.h"
#include "Compat.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace fade {

namespace {

// The first place in a block behind which records may be written. In the entry block that is behind
// the code which finds out wave and counters.
Instruction &firstInstruction(const Clone &clone, BasicBlock &block) {
  for (Value *value : {clone.gate, clone.counters, clone.wave})
    if (auto *made = dyn_cast_or_null<Instruction>(value))
      if (made->getParent() == &block) return *made->getNextNode();
  Instruction *at = &*block.getFirstInsertionPt();
  while (isa<AllocaInst>(at)) at = at->getNextNode();
  return *at;
}

Value *intrinsic(IRBuilder<> &builder, Intrinsic::ID id) {
  return callIntrinsic(builder, id, {}, {});
}

Value *toAddress(IRBuilder<> &builder, Value *pointer) {
  if (pointer->getType()->getPointerAddressSpace() == FADE_SPACE_LDS)
    return builder.CreateZExt(builder.CreatePtrToInt(pointer, builder.getInt32Ty()),
                              builder.getInt64Ty());
  return builder.CreatePtrToInt(pointer, builder.getInt64Ty());
}

Value *laneId(IRBuilder<> &builder) {
  Value *all = builder.getInt32(~0u);
  Value *low = callIntrinsic(builder, Intrinsic::amdgcn_mbcnt_lo, {}, {all, builder.getInt32(0)});
  return callIntrinsic(builder, Intrinsic::amdgcn_mbcnt_hi, {}, {all, low});
}

void inlineCall(CallInst &call) {
  InlineFunctionInfo info;
  InlineFunction(call, info);
}

struct Address {
  Value *value;     // i64
  Value *condition; // i1: the lane takes part; null: always
};

Address buildAddress(IRBuilder<> &builder, const Access &access) {
  if (access.form == AddressForm::buffer) {
    const BufferAddress buffer = buildBufferAddress(builder, access);
    return {buffer.address, buffer.in_range};
  }
  Value *pointer = access.pointer, *condition = nullptr;
  if (access.form == AddressForm::element) {
    if (pointer->getType()->isVectorTy())
      pointer = builder.CreateExtractElement(pointer, access.index);
    condition = builder.CreateExtractElement(access.mask, access.index);
  }
  Value *address = toAddress(builder, pointer);
  if (access.displacement != 0)
    address = builder.CreateAdd(address, builder.getInt64(access.displacement));
  if (access.form == AddressForm::lds_lanes) {
    Value *lane = builder.CreateZExt(laneId(builder), builder.getInt64Ty());
    address =
        builder.CreateAdd(address, builder.CreateMul(lane, builder.getInt64(access.site.size)));
  }
  return {address, condition};
}

} // namespace

Instrumenter::Instrumenter(const DeviceRuntime &runtime, const Module &module)
    : runtime_(runtime), counter_(module) {}

void Instrumenter::announceWave(Clone &clone, uint32_t kernel) {
  BasicBlock &entry = clone.function->getEntryBlock();
  Instruction *at = &*entry.getFirstInsertionPt();
  while (isa<AllocaInst>(at)) at = at->getNextNode();
  IRBuilder<> builder(at);
  // Work-item ids are below 1024.
  Value *x = intrinsic(builder, Intrinsic::amdgcn_workitem_id_x);
  Value *y = intrinsic(builder, Intrinsic::amdgcn_workitem_id_y);
  Value *z = intrinsic(builder, Intrinsic::amdgcn_workitem_id_z);
  Value *work_item =
      builder.CreateOr(x, builder.CreateOr(builder.CreateShl(y, 10), builder.CreateShl(z, 20)));
  CallInst *call = builder.CreateCall(
      runtime_.wave_begin, {clone.control, builder.getInt64(0), builder.getInt32(kernel),
                            intrinsic(builder, Intrinsic::amdgcn_workgroup_id_x),
                            intrinsic(builder, Intrinsic::amdgcn_workgroup_id_y),
                            intrinsic(builder, Intrinsic::amdgcn_workgroup_id_z), work_item});
  announcements_.push_back(call);
  clone.wave = uniform(builder, call);
  clone.wave->setName("__fade_wave");
}

void Instrumenter::setModuleId(uint64_t id) {
  for (CallInst *call : announcements_)
    call->setArgOperand(1, ConstantInt::get(Type::getInt64Ty(call->getContext()), id));
}

void Instrumenter::recordWaveEnd(const Clone &clone, uint32_t kernel) {
  SmallVector<ReturnInst *, 4> returns;
  for (BasicBlock &block : *clone.function)
    if (auto *ret = dyn_cast<ReturnInst>(block.getTerminator())) returns.push_back(ret);
  if (returns.empty()) return; // a kernel that never ends
  // Lanes that return in different places come together in one, so that a wave ends once.
  BasicBlock *exit = returns.front()->getParent();
  if (returns.size() > 1) {
    exit = BasicBlock::Create(clone.function->getContext(), "__fade_exit", clone.function);
    IRBuilder<>(exit).CreateRetVoid();
    for (ReturnInst *ret : returns) {
      IRBuilder<>(ret).CreateBr(exit);
      ret->eraseFromParent();
    }
  }
  IRBuilder<> builder(exit->getTerminator());
  builder.CreateCall(runtime_.wave_end, {clone.control, clone.wave, builder.getInt32(kernel)});
}

void Instrumenter::recordAccess(const Clone &clone, const Access &access, uint32_t site) {
  IRBuilder<> builder(access.instruction); // takes over the place in the source
  const Address address = buildAddress(builder, access);
  Value *length =
      access.length ? builder.CreateZExtOrTrunc(access.length, builder.getInt64Ty()) : nullptr;
  if (address.condition) {
    Instruction *then = splitIfThen(address.condition, *access.instruction);
    builder.SetInsertPoint(then);
    builder.SetCurrentDebugLocation(access.instruction->getDebugLoc());
  }
  const bool flat = access.site.space == FADE_SPACE_FLAT;
  Value *id = builder.getInt32(site);
  SmallVector<Value *, 5> arguments = {clone.control, address.value, id,
                                       PoisonValue::get(builder.getInt32Ty()), clone.wave};
  Function *function = flat ? runtime_.access_flat : runtime_.access;
  if (length) {
    arguments = {clone.control, clone.wave, id, address.value, length};
    function = flat ? runtime_.range_flat : runtime_.range;
  }
  CallInst *call = builder.CreateCall(function, arguments);
  if (inline_accesses_) inlineCall(*call);
}

void Instrumenter::recordBlock(const Clone &clone, BasicBlock &block, uint32_t site) {
  IRBuilder<> builder(&firstInstruction(clone, block));
  builder.CreateCall(runtime_.block, {clone.control, clone.wave, builder.getInt32(site)});
}

void Instrumenter::findCounters(Clone &clone) {
  IRBuilder<> builder(&firstInstruction(clone, clone.function->getEntryBlock()));
  Value *address = builder.CreateCall(runtime_.counters, {clone.control, clone.wave});
  Type *i32 = builder.getInt32Ty(), *i64 = builder.getInt64Ty();
  Value *low = uniform(builder, builder.CreateTrunc(address, i32));
  Value *high = uniform(builder, builder.CreateTrunc(builder.CreateLShr(address, 32), i32));
  if (counter_.usable()) {
    clone.counters = counter_.describe(builder, low, high);
    return;
  }
  address = builder.CreateOr(builder.CreateZExt(low, i64),
                             builder.CreateShl(builder.CreateZExt(high, i64), 32));
  clone.counters =
      builder.CreateIntToPtr(address, pointerType(builder.getContext(), FADE_SPACE_GLOBAL));
  Value *none = builder.CreateICmpEQ(address, builder.getInt64(0));
  clone.gate = builder.CreateSelect(none, builder.getInt32(2), builder.getInt32(0));
}

void Instrumenter::countBlock(const Clone &clone, BasicBlock &block, uint32_t site) {
  IRBuilder<> builder(&firstInstruction(clone, block));
  const uint32_t place = site * static_cast<uint32_t>(sizeof(fade_counter));
  if (counter_.usable()) return counter_.count(builder, clone.counters, place);
  Value *offset = builder.getInt32(place);
  inlineCall(*builder.CreateCall(runtime_.count, {clone.counters, clone.gate, offset}));
}

} // namespace fade
