#include "Instrumenter.h"

#include "BufferAccess.h"
#include "Compat.h"
#include "Target.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace fade {

namespace {

Instruction &behindAllocas(BasicBlock &block) {
  Instruction *at = &*block.getFirstInsertionPt();
  while (isa<AllocaInst>(at)) at = at->getNextNode();
  return *at;
}

// The first place in a block behind which records may be written. In the entry block that is behind
// the code which finds out wave and counters.
Instruction &firstInstruction(const Clone &clone, BasicBlock &block) {
  for (Value *value : {clone.gate, clone.counters, clone.wave})
    if (auto *made = dyn_cast_or_null<Instruction>(value))
      if (made->getParent() == &block) return *made->getNextNode();
  return behindAllocas(block);
}

void inlineCall(CallInst &call) {
  InlineFunctionInfo info;
  InlineFunction(call, info);
}

struct Address {
  Value *value;     // i64
  Value *condition; // i1: the lane takes part; null: always
};

Address buildAddress(IRBuilder<> &builder, const Target &target, const Access &access) {
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
  Value *address = target.toAddress(builder, pointer);
  if (access.displacement != 0)
    address = builder.CreateAdd(address, builder.getInt64(access.displacement));
  if (access.form == AddressForm::lds_lanes) {
    Value *lane = builder.CreateZExt(target.laneId(builder), builder.getInt64Ty());
    address =
        builder.CreateAdd(address, builder.CreateMul(lane, builder.getInt64(access.site.size)));
  }
  return {address, condition};
}

} // namespace

Instrumenter::Instrumenter(const DeviceRuntime &runtime, const Target &target, const Module &module)
    : runtime_(runtime), target_(target), counter_(module) {}

void Instrumenter::announceWave(Clone &clone, uint32_t kernel) {
  IRBuilder<> builder(&behindAllocas(clone.function->getEntryBlock()));
  // Work-item ids are below 1024.
  Value *x = target_.workItemId(builder, 0);
  Value *y = target_.workItemId(builder, 1);
  Value *z = target_.workItemId(builder, 2);
  Value *work_item =
      builder.CreateOr(x, builder.CreateOr(builder.CreateShl(y, 10), builder.CreateShl(z, 20)));
  CallInst *call = builder.CreateCall(
      runtime_.wave_begin, {clone.control, builder.getInt64(0), builder.getInt32(kernel),
                            target_.workgroupId(builder, 0), target_.workgroupId(builder, 1),
                            target_.workgroupId(builder, 2), work_item});
  announcements_.push_back(call);
  clone.wave = target_.uniform(builder, call);
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
  IRBuilder<> at_start(&behindAllocas(clone.function->getEntryBlock()));
  Value *lanes = target_.lanesAtStart(at_start);
  IRBuilder<> builder(exit->getTerminator());
  if (lanes) target_.rejoin(builder, lanes);
  builder.CreateCall(runtime_.wave_end, {clone.control, clone.wave, builder.getInt32(kernel)});
}

void Instrumenter::recordAccess(const Clone &clone, const Access &access, uint32_t site) {
  IRBuilder<> builder(access.instruction); // takes over the place in the source
  const Address address = buildAddress(builder, target_, access);
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
  Value *low = target_.uniform(builder, builder.CreateTrunc(address, i32));
  Value *high = target_.uniform(builder, builder.CreateTrunc(builder.CreateLShr(address, 32), i32));
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
