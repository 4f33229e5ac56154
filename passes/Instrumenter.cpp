#include "Instrumenter.h"

#include "BufferAccess.h"
#include "Compat.h"
#include "InlineCall.h"
#include "Target.h"

#include "fade/message.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <cstddef>

using namespace llvm;

namespace fade {

namespace {

Instruction &behindAllocas(BasicBlock &block) {
  Instruction *at = &*block.getFirstInsertionPt();
  while (isa<AllocaInst>(at)) at = at->getNextNode();
  return *at;
}

// The first place in a block behind which records may be written. For the entry block that is
// behind the code which finds out wave and counters; it may have parted the block.
Instruction &firstInstruction(const Clone &clone, BasicBlock &block) {
  if (&block == &clone.function->getEntryBlock())
    for (Value *value : {clone.gate, clone.counters, clone.control, clone.records_all, clone.wave})
      if (auto *made = dyn_cast_or_null<Instruction>(value)) return *made->getNextNode();
  return behindAllocas(block);
}

// Lanes that return in different places come together in one, so that a wave ends once. Null if
// nothing returns.
ReturnInst *uniteReturns(Function &function) {
  SmallVector<ReturnInst *, 4> returns;
  for (BasicBlock &block : function)
    if (auto *ret = dyn_cast<ReturnInst>(block.getTerminator())) returns.push_back(ret);
  if (returns.size() < 2) return returns.empty() ? nullptr : returns.front();
  BasicBlock *exit = BasicBlock::Create(function.getContext(), "__fade_exit", &function);
  ReturnInst *only = IRBuilder<>(exit).CreateRetVoid();
  for (ReturnInst *ret : returns) {
    IRBuilder<>(ret).CreateBr(exit);
    ret->eraseFromParent();
  }
  return only;
}

// A block before an instruction, seldom run. Returns its end.
Instruction *unlikely(Value *condition, Instruction &before) {
  BasicBlock *block = before.getParent();
  Instruction *then = splitIfThen(condition, before);
  block->getTerminator()->setMetadata(LLVMContext::MD_prof,
                                      MDBuilder(before.getContext()).createBranchWeights(1, 1000));
  return then;
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

Instrumenter::Instrumenter(const DeviceRuntime &runtime, const Target &target, const Module &module,
                           bool sums)
    : runtime_(runtime), target_(target), counter_(module),
      wave_counters_(WaveCounters::of(module, target)), sums_(sums), kept_(runtime) {}

// Ids are below 1024.
Value *Instrumenter::workItem(IRBuilder<> &builder) const {
  Value *x = target_.workItemId(builder, 0);
  Value *y = target_.workItemId(builder, 1);
  Value *z = target_.workItemId(builder, 2);
  return builder.CreateOr(x, builder.CreateOr(builder.CreateShl(y, 10), builder.CreateShl(z, 20)));
}

void Instrumenter::findTable(Clone &clone, bool has_blocks) {
  IRBuilder<> builder(&behindAllocas(clone.function->getEntryBlock()));
  Type *i32 = builder.getInt32Ty(), *i64 = builder.getInt64Ty();
  if (!clone.is_kernel) { // it has been handed over
    Value *table = builder.CreatePtrToInt(clone.control, i64);
    const auto load = [&](uint64_t offset) {
      Value *at = builder.CreateIntToPtr(builder.CreateAdd(table, builder.getInt64(offset)),
                                         pointerType(builder.getContext(), FADE_SPACE_GLOBAL));
      return target_.uniform(builder, builder.CreateLoad(i32, at));
    };
    clone.key = load(offsetof(fade_summary, key));
    if (has_blocks)
      clone.records_all = builder.CreateIsNotNull(
          builder.CreateAnd(load(offsetof(fade_summary, flags)), FADE_SUMMARY_STREAM));
    return;
  }
  CallInst *begin = builder.CreateCall(runtime_.summary_begin,
                                       {clone.control, target_.workgroupId(builder, 0),
                                        target_.workgroupId(builder, 1),
                                        target_.workgroupId(builder, 2), workItem(builder)});
  auto part = [&](uint64_t i) {
    return target_.uniform(builder, builder.CreateExtractElement(begin, i));
  };
  Value *address = builder.CreateOr(builder.CreateZExt(part(0), i64),
                                    builder.CreateShl(builder.CreateZExt(part(1), i64), 32));
  clone.wave = part(2);
  clone.key = part(3);
  clone.records_all = builder.CreateIsNull(clone.key);
  clone.wave->setName("__fade_wave");
  Type *pointer = clone.control->getType();
  Instruction &rest = *builder.GetInsertPoint();
  builder.SetInsertPoint(unlikely(clone.records_all, rest));
  builder.CreateCall(runtime_.summary_announce,
                     {builder.CreateIntToPtr(address, pointer), clone.wave});
  builder.SetInsertPoint(&rest);
  // The last of all this: records come behind it, see firstInstruction().
  clone.control = builder.CreateIntToPtr(address, pointer, "__fade_table");
}

void Instrumenter::announceWave(Clone &clone, uint32_t kernel) {
  IRBuilder<> builder(&behindAllocas(clone.function->getEntryBlock()));
  Value *work_item = workItem(builder);
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
  ReturnInst *ret = uniteReturns(*clone.function);
  if (!ret) return; // a kernel that never ends
  IRBuilder<> at_start(&behindAllocas(clone.function->getEntryBlock()));
  Value *lanes = target_.lanesAtStart(at_start);
  IRBuilder<> builder(ret);
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
  if (sums_) return sumUp(builder, clone, access, address.value, length, site);
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

// A site is named by the place of its slot in the table.
static uint32_t slotOf(uint32_t site) {
  return static_cast<uint32_t>(sizeof(fade_summary) + site * sizeof(fade_class));
}

// The same with what is to be known to add up irregular executions: those of one instruction.
static uint32_t slotOf(uint32_t site, const Access &access) {
  constexpr uint32_t widths[] = {1, 2, 4, 8, 12, 16};
  uint32_t slot = slotOf(site);
  // Of accesses in pieces the first is looked at, if all are alike.
  const uint32_t piece = FADE_SITE_PIECE(access.site.flags);
  const uint32_t size = piece != 0 && access.site.size % piece == 0 ? piece
                        : piece != 0                                ? 0
                                                                    : access.site.size;
  if (!access.length && is_contained(widths, size)) slot |= size;
  if (access.site.kind == FADE_SITE_ATOMIC) slot |= FADE_SLOT_ATOMIC;
  return slot;
}

void Instrumenter::sumUp(IRBuilder<> &builder, const Clone &clone, const Access &access,
                         Value *address, Value *length, uint32_t site) {
  const bool flat = access.site.space == FADE_SPACE_FLAT;
  const bool in_lds = access.site.space == FADE_SPACE_LDS;
  SmallVector<Value *, 5> arguments = {clone.control, address,
                                       builder.getInt32(slotOf(site, access)), clone.wave};
  // Of atomics in global memory, all addresses are wanted.
  if (length)
    arguments.push_back(length);
  else if (!in_lds)
    arguments.push_back(access.site.kind == FADE_SITE_ATOMIC ? builder.getInt32(~0u) : clone.key);
  if (kept_.record(builder, access, arguments)) return;
  if (inline_accesses_ && clone.is_kernel && !flat && !length)
    return inlineCall(
        *builder.CreateCall(in_lds ? runtime_.summary_lds_here : runtime_.summary_here, arguments));
  Function *function = length   ? (flat ? runtime_.summary_range_flat : runtime_.summary_range)
                       : in_lds ? runtime_.summary_lds
                       : flat   ? runtime_.summary_flat
                                : runtime_.summary;
  builder.CreateCall(function, arguments);
}

void Instrumenter::keepClasses(const Clone &clone, const std::vector<Access> &accesses) {
  if (!returns(clone)) return;
  uniteReturns(*clone.function);
  kept_.choose(clone, accesses, firstInstruction(clone, clone.function->getEntryBlock()));
}

void Instrumenter::addKeptClasses(const Clone &clone) {
  if (!kept_.isEmpty()) kept_.finish(clone, *uniteReturns(*clone.function));
}

void Instrumenter::recordUser(const Clone &clone, const UserRecord &record, uint32_t site) {
  IRBuilder<> builder(record.marker);
  Value *value = record.value;
  if (value->getType()->isDoubleTy()) value = builder.CreateBitCast(value, builder.getInt64Ty());
  if (sums_)
    builder.CreateCall(runtime_.summary_user,
                       {clone.control, value, builder.getInt32(slotOf(site)), clone.wave});
  else
    builder.CreateCall(runtime_.user, {clone.control, clone.wave, builder.getInt32(site), value});
  record.marker->eraseFromParent();
}

void Instrumenter::recordBlock(const Clone &clone, BasicBlock &block, uint32_t site) {
  Instruction &first = firstInstruction(clone, block);
  if (sums_) {
    // Most waves add up: they do not call anything.
    IRBuilder<> builder(unlikely(clone.records_all, first));
    builder.CreateCall(runtime_.summary_block,
                       {clone.control, builder.getInt32(slotOf(site)), clone.wave});
  } else {
    IRBuilder<> builder(&first);
    builder.CreateCall(runtime_.block, {clone.control, clone.wave, builder.getInt32(site)});
  }
}

void Instrumenter::findCounters(Clone &clone) {
  IRBuilder<> builder(&firstInstruction(clone, clone.function->getEntryBlock()));
  keepCounters(clone, builder, builder.CreateCall(runtime_.counters, {clone.control, clone.wave}));
}

// Brings their address into the form that countBlock() needs.
void Instrumenter::keepCounters(Clone &clone, IRBuilder<> &builder, Value *address) const {
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

// A kernel whose waves end where it returns, and nowhere else.
bool Instrumenter::returns(const Clone &clone) const {
  bool any = false;
  for (const Instruction &instruction : instructions(*clone.function)) {
    any = any || isa<ReturnInst>(instruction);
    if (const auto *call = dyn_cast<CallInst>(&instruction); call && target_.endsWave(*call))
      return false;
  }
  return any;
}

void Instrumenter::assignCounters(const Clone &clone, CounterPlan &plan, bool is_left_anywhere) {
  plan.is_row = plan.is_row && returns(clone);
  const bool waits = clone.is_kernel && !is_left_anywhere && wave_counters_;
  in_wave_ = waits ? wave_counters_->assign(plan) : 0;
  if (!waits) plan.timed.clear();
}

uint32_t Instrumenter::counterFlags(unsigned counter) const {
  if (counter >= in_wave_) return 0;
  return FADE_SITE_ALL_LANES | (wave_counters_->countsMissing(counter) ? FADE_SITE_MISSING : 0);
}

// Code that finds out where the wave adds up: values that are the same in all lanes.
CounterPlace Instrumenter::findPlace(const Clone &clone, Instruction &before) const {
  IRBuilder<> builder(&before);
  Type *i64 = builder.getInt64Ty();
  CallInst *copy = builder.CreateCall(runtime_.copy, {clone.control});
  auto part = [&](uint64_t i) { return builder.CreateExtractElement(copy, i); };
  CounterPlace place;
  place.copies = builder.CreateOr(builder.CreateZExt(part(0), i64),
                                  builder.CreateShl(builder.CreateZExt(part(1), i64), 32));
  place.is_filtered = builder.CreateICmpSLT(part(2), builder.getInt32(0));
  place.offset = part(3);
  inlineCall(*copy);
  return place;
}

// Code before the end of a wave that sends what is not wanted elsewhere.
void Instrumenter::filterBefore(const Clone &clone, Instruction &end, CounterPlace &place) const {
  BasicBlock *before = end.getParent();
  Instruction *then = unlikely(place.is_filtered, end);
  IRBuilder<> builder(then);
  CallInst *filter = builder.CreateCall(
      runtime_.filter, {clone.control, place.offset, target_.workgroupId(builder, 0),
                        target_.workgroupId(builder, 1), target_.workgroupId(builder, 2)});
  Value *elsewhere = target_.uniform(builder, filter);
  builder.SetInsertPoint(&end.getParent()->front());
  PHINode *offset = builder.CreatePHI(builder.getInt32Ty(), 2);
  offset->addIncoming(place.offset, before);
  offset->addIncoming(elsewhere, then->getParent());
  place.offset = offset;
  inlineCall(*filter);
}

// Where a wave ends.
SmallVector<Instruction *, 4> Instrumenter::findEnds(const Clone &clone) const {
  SmallVector<Instruction *, 4> ends;
  if (ReturnInst *ret = uniteReturns(*clone.function)) ends.push_back(ret);
  for (Instruction &instruction : instructions(*clone.function))
    if (auto *call = dyn_cast<CallInst>(&instruction))
      if (target_.endsWave(*call)) ends.push_back(call);
  return ends;
}

WaveCounters::Range Instrumenter::countWithoutStream(Clone &clone, const CounterPlan &plan,
                                                     uint32_t first) {
  const bool calls = any_of(instructions(*clone.function), [](const Instruction &instruction) {
    const auto *call = dyn_cast<CallInst>(&instruction);
    return call && !call->isInlineAsm() && !isa<IntrinsicInst>(call);
  });
  const bool in_memory = in_wave_ < plan.counters.size();
  const auto ends = clone.is_kernel ? findEnds(clone) : SmallVector<Instruction *, 4>();
  const Clone as_called = clone;
  if (clone.is_kernel && (calls || in_memory)) {
    IRBuilder<> builder(&behindAllocas(clone.function->getEntryBlock()));
    CallInst *copy =
        builder.CreateCall(runtime_.copy_if_wanted,
                           {clone.control, target_.workgroupId(builder, 0),
                            target_.workgroupId(builder, 1), target_.workgroupId(builder, 2)});
    clone.control = builder.CreateIntToPtr(copy, clone.control->getType());
    clone.wave = builder.getInt32(0);
  }
  if (in_memory) {
    IRBuilder<> builder(&firstInstruction(clone, clone.function->getEntryBlock()));
    keepCounters(clone, builder, builder.CreatePtrToInt(clone.control, builder.getInt64Ty()));
    for (unsigned i = in_wave_; i < plan.counters.size(); ++i)
      countBlock(clone, *plan.counters[i].block, first + i);
  }
  if (in_wave_ == 0 && plan.timed.empty()) return {};
  wave_counters_->count(*clone.function, plan);
  if (!wave_counters_->addsUp()) return {};
  CounterPlace early;
  if (wave_counters_->looksEarly())
    early = findPlace(as_called, endOf(clone.function->getEntryBlock(), target_));
  for (Instruction *end : ends) {
    wave_counters_->rejoin(*end);
    if (Value *any = wave_counters_->hasAny(*end)) end = unlikely(any, *end);
    CounterPlace here = early.copies ? early : findPlace(as_called, *end);
    filterBefore(as_called, *end, here);
    wave_counters_->flush(*end, here, first, first + static_cast<uint32_t>(plan.counters.size()));
  }
  wave_counters_->finish(*clone.function);
  return wave_counters_->registers();
}

void Instrumenter::countBlock(const Clone &clone, BasicBlock &block, uint32_t site) {
  IRBuilder<> builder(&firstInstruction(clone, block));
  const uint32_t place = site * static_cast<uint32_t>(sizeof(fade_counter));
  if (counter_.usable()) return counter_.count(builder, clone.counters, place);
  Value *offset = builder.getInt32(place);
  inlineCall(*builder.CreateCall(runtime_.count, {clone.counters, clone.gate, offset}));
}

} // namespace fade
