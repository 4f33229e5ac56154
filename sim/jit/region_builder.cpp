#include "jit/region_builder.h"

#include "isa/opcode.h"
#include "wave/stats.h"

#include <string_view>

namespace fade::sim::jit {

using llvm::BasicBlock;
using llvm::Value;

namespace {

// Hints and waits: nothing happens, for execution is in order.
bool does_nothing(const Instruction &in) {
  const Opcode &op = *in.opcode;
  if (op.cls != ExecClass::other || op.flow != Flow::next || in.ends_segment) return false;
  const std::string_view name = op.name;
  return name == "s_nop" || name == "s_clause" || name == "s_delay_alu" ||
         name == "s_inst_prefetch" || name == "s_set_inst_prefetch_distance" ||
         name == "s_setprio" || name.starts_with("s_wait");
}

// Whether a handler changes vector registers and memory only.
bool leaves_scalars(const Instruction &in) {
  switch (in.cls) {
  case ExecClass::vmem_load:
  case ExecClass::vmem_store:
  case ExecClass::lds: return in.dst.kind != Operand::Kind::sgpr;
  default: return false;
  }
}

} // namespace

RegionBuilder::RegionBuilder(llvm::Module &module, const JitRequest &request, unsigned width)
    : module_(module), request_(request), width_(width), b(module.getContext()),
      scalars_(b, request.lanes) {}

BasicBlock *RegionBuilder::block(const char *name) {
  return BasicBlock::Create(module_.getContext(), name, function_);
}
llvm::Constant *RegionBuilder::pointer(const void *host) const {
  return llvm::ConstantExpr::getIntToPtr(
      llvm::ConstantInt::get(llvm::Type::getInt64Ty(module_.getContext()),
                             reinterpret_cast<uintptr_t>(host)),
      llvm::PointerType::getUnqual(module_.getContext()));
}

void RegionBuilder::declare(const char *name) {
  llvm::Type *pointer_type = b.getPtrTy(), *number = b.getInt64Ty();
  auto *type = llvm::FunctionType::get(
      number, {pointer_type, pointer_type, number, number, b.getInt32Ty()}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
  function_->setDoesNotThrow();
  wave_ = function_->getArg(0), frame_ = function_->getArg(1), budget_ = function_->getArg(3);
  b.SetInsertPoint(block("entry"));
  done_ = b.CreateAlloca(number);
  b.CreateStore(function_->getArg(2), done_);
  scalars_.set_wave(wave_);
  stats_ = b.CreateLoad(pointer_type, field(offsetof(Wave, stats)));
  rows_ = b.CreateLoad(pointer_type, field(offsetof(Wave, vgpr)));
  stage_ = std::make_unique<Stage>(b, scalars_, request_, rows_, width_);
  operations_ = std::make_unique<ScalarOperations>(b, scalars_, *stage_, request_);
}

llvm::Function *RegionBuilder::build(const char *name) {
  declare(name);
  for (uint32_t i = 0; i < request_.count; i++) {
    const Segment *segment = request_.segments[i];
    parts_[segment->start] = {segment, block("check"), block("segment")};
  }
  BasicBlock *nowhere = block("nowhere");
  auto *entry = b.CreateSwitch(function_->getArg(4), nowhere, request_.count);
  for (uint32_t i = 0; i < request_.count; i++)
    entry->addCase(b.getInt32(i), parts_[request_.segments[i]->start].body);
  b.SetInsertPoint(nowhere);
  b.CreateUnreachable();
  for (const auto &[pc, part] : parts_) {
    make_check(part);
    make_segment(part);
  }
  return function_;
}

// Waves that stay in step may have to wait before LDS is read that was written, or the other way
// round: that is the interpreter's.
void RegionBuilder::make_check(const Part &part) {
  b.SetInsertPoint(part.check);
  const LdsUse use = part.segment->lds_use;
  if (use == LdsUse::none) {
    b.CreateBr(part.body);
    return;
  }
  Value *at = field(offsetof(Wave, lds_use)), *last = b.CreateLoad(b.getInt8Ty(), at);
  Value *in_step =
      b.CreateICmpNE(b.CreateLoad(b.getInt8Ty(), field(offsetof(Wave, in_step))), b.getInt8(0));
  Value *other = b.CreateICmpNE(last, b.getInt8(static_cast<uint8_t>(use)));
  Value *some = b.CreateICmpNE(last, b.getInt8(static_cast<uint8_t>(LdsUse::none)));
  BasicBlock *notes = block("notes_lds");
  b.CreateCondBr(b.CreateAnd(b.CreateAnd(in_step, other), some), leave(part.segment->start), notes);
  b.SetInsertPoint(notes);
  b.CreateStore(b.getInt8(static_cast<uint8_t>(use)), at);
  b.CreateBr(part.body);
}

void RegionBuilder::add_to(Value *address, Value *value) {
  b.CreateStore(b.CreateAdd(b.CreateLoad(value->getType(), address), value), address);
}

void RegionBuilder::count(const Segment &segment) {
  Value *lanes = b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, scalars_.exec());
  for (const Segment::Count &c : segment.counts) {
    const size_t at = offsetof(DispatchStats, classes) +
                      static_cast<size_t>(c.cls) * sizeof(DispatchStats::Count);
    const auto member = [&](size_t offset) {
      return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), stats_, at + offset);
    };
    add_to(member(offsetof(DispatchStats::Count, waves)), b.getInt64(c.instructions));
    add_to(member(offsetof(DispatchStats::Count, lanes)),
           b.CreateMul(lanes, b.getInt64(c.instructions)));
  }
}

void RegionBuilder::make_segment(const Part &part) {
  const Segment &segment = *part.segment;
  scalars_.forget();
  b.SetInsertPoint(part.body);
  count(segment);
  b.CreateStore(b.getInt64(segment.end), field(offsetof(Wave, pc)));
  for (size_t i = 0; i + 1 < segment.instructions.size(); i++)
    make_instruction(segment.instructions[i]);
  finish(segment);
}

// Lanes as scalars, and back. What the stage does not change may be read before it has run.
bool RegionBuilder::make_lane_access(const Instruction &in) {
  const std::string_view name = in.opcode->name;
  const bool is_write = name == "v_writelane_b32", is_first = name == "v_readfirstlane_b32";
  if (!is_write && !is_first && name != "v_readlane_b32") return false;
  const Operand &from = in.src[0], &select = in.src[1];
  const auto is_scalar = [](const Operand &o) {
    return o.kind == Operand::Kind::sgpr || o.kind == Operand::Kind::constant;
  };
  if (is_write ? !is_scalar(from) : !from.is_vgpr() || in.dst.index == sreg::null) return false;
  if (!is_first && !is_scalar(select)) return false;
  bool waits = is_write || stage_->writes(from.index) || stage_->defines(in.dst.index, 1);
  for (const Operand &o : {from, select})
    waits |= o.kind == Operand::Kind::sgpr && stage_->defines(o.index, 1);
  if (waits || in.ends_segment) stage_->run();
  const auto value = [&](const Operand &o) -> Value * {
    if (o.kind == Operand::Kind::sgpr) return scalars_.word(o.index);
    return b.getInt32(static_cast<uint32_t>(request_.constant(o, Type::u32)));
  };
  Value *lane;
  if (is_first) {
    Value *exec = scalars_.exec();
    lane = b.CreateIntrinsic(llvm::Intrinsic::cttz, {b.getInt64Ty()}, {exec, b.getFalse()});
    lane = b.CreateSelect(b.CreateICmpEQ(exec, b.getInt64(0)), b.getInt64(0), lane);
  } else {
    lane = b.CreateZExt(b.CreateAnd(value(select), request_.lanes - 1), b.getInt64Ty());
  }
  const unsigned row = is_write ? in.dst.index : from.index;
  Value *at =
      b.CreateInBoundsGEP(b.getInt32Ty(), rows_, b.CreateAdd(lane, b.getInt64(uint64_t{row} * 64)));
  if (is_write)
    b.CreateStore(value(from), at);
  else
    scalars_.set_word(in.dst.index, b.CreateLoad(b.getInt32Ty(), at));
  return true;
}

void RegionBuilder::make_instruction(const Instruction &in) {
  translated_++;
  if (does_nothing(in) || make_lane_access(in)) return;
  if (stage_->knows(in)) return stage_->add(in);
  if (operations_->knows(in)) return operations_->add(in);
  translated_--;
  call_handler(in);
}

void RegionBuilder::call_handler(const Instruction &in) {
  called_++;
  stage_->run();
  scalars_.write_back();
  auto *type =
      llvm::FunctionType::get(b.getInt1Ty(), {b.getPtrTy(), b.getPtrTy(), b.getPtrTy()}, false);
  auto *call = b.CreateCall(type, pointer(reinterpret_cast<const void *>(request_.call)),
                            {frame_, wave_, pointer(&in)});
  call->addRetAttr(llvm::Attribute::ZExt);
  call->setDoesNotThrow();
  BasicBlock *thrown = block("thrown"), *behind = block("called");
  b.CreateCondBr(call, thrown, behind);
  b.SetInsertPoint(thrown);
  b.CreateRet(b.CreateLoad(b.getInt64Ty(), done_));
  b.SetInsertPoint(behind);
  if (!leaves_scalars(in)) scalars_.forget();
}

// The last instruction, and where to from there.
void RegionBuilder::finish(const Segment &segment) {
  const Instruction &last = segment.instructions.back();
  const auto add_length = [&] {
    Value *done = b.CreateLoad(b.getInt64Ty(), done_);
    b.CreateStore(b.CreateAdd(done, b.getInt64(segment.length)), done_);
  };
  const bool is_branch = last.opcode->flow == Flow::branch;
  Value *condition =
      last.opcode->flow == Flow::conditional ? operations_->condition(last) : nullptr;
  if (is_branch || condition)
    translated_++;
  else
    make_instruction(last);
  stage_->run();
  scalars_.write_back();
  add_length();
  if (condition) {
    BasicBlock *taken = block("taken"), *passed = block("passed");
    b.CreateCondBr(condition, taken, passed);
    b.SetInsertPoint(taken);
    go_on(last.target);
    b.SetInsertPoint(passed);
    return go_on(segment.end);
  }
  if (is_branch) return go_on(last.target);
  // A handler that ends a segment may have changed anything: the interpreter looks what.
  const bool knows = stage_->knows(last) || operations_->knows(last);
  if (last.ends_segment && !knows) {
    b.CreateRet(b.CreateLoad(b.getInt64Ty(), done_));
    return;
  }
  go_on(segment.end);
}

void RegionBuilder::go_on(uint64_t pc) {
  const auto next = parts_.find(pc);
  if (next == parts_.end()) {
    b.CreateBr(leave(pc));
    return;
  }
  Value *is_over = b.CreateICmpUGE(b.CreateLoad(b.getInt64Ty(), done_), budget_);
  b.CreateCondBr(is_over, leave(pc), next->second.check);
}

BasicBlock *RegionBuilder::leave(uint64_t pc) {
  BasicBlock *&exit = exits_[pc];
  if (exit) return exit;
  llvm::IRBuilder<>::InsertPointGuard guard(b);
  exit = block("leave");
  b.SetInsertPoint(exit);
  b.CreateStore(b.getInt64(pc), field(offsetof(Wave, pc)));
  b.CreateRet(b.CreateLoad(b.getInt64Ty(), done_));
  return exit;
}

} // namespace fade::sim::jit
