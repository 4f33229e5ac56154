#include "jit/stage.h"

#include "isa/opcode.h"

#include <llvm/IR/MDBuilder.h>

#include <array>
#include <string>
#include <string_view>

namespace fade::sim::jit {

using llvm::BasicBlock;
using llvm::Value;

// A chunk on its way through the steps.
struct Stage::Chunk {
  LaneBuilder lanes;
  Value *first_lane;
  Value *active;                           // see LaneBuilder::bits()
  std::map<unsigned, Value *> rows{};      // by number: what is known of them
  std::map<unsigned, Value *> loaded{};    // what they were before
  std::map<unsigned, Value *> pairs{};     // as 64-bit values, by the lower one's number
  std::set<unsigned> changed{};            // rows
  std::vector<Value *> made{};             // masks, by step
  std::map<unsigned, Value *> mask_bits{}; // those that the stage leaves behind, by register
};

namespace {

bool is_mask_register(const Operand &o) {
  return o.kind == Operand::Kind::sgpr && o.index != sreg::null;
}
bool is_value(const Operand &o) {
  return o.is_vgpr() || o.kind == Operand::Kind::sgpr || o.kind == Operand::Kind::constant;
}

bool compares_into_exec(const Opcode &op) {
  return std::string_view(op.name).starts_with("v_cmpx_");
}

// Pairs of f32 go through the operation on one f32 twice. A move has none.
bool is_move_of_pair(const Opcode &op) { return std::string_view(op.name) == "v_pk_mov_b32"; }
VectorOperation operation_on_half(const Opcode &op) {
  const std::string_view name = op.name;
  if (name == "v_pk_add_f32" || name == "v_pk_mul_f32" || name == "v_pk_fma_f32")
    return find_vector_operation("v_" + std::string(name.substr(5)));
  return nullptr;
}

VectorOperation operation_of(const Opcode &op) {
  const std::string_view name = op.name;
  if (compares_into_exec(op)) return find_vector_operation("v_cmp_" + std::string(name.substr(7)));
  return find_vector_operation(name);
}

unsigned sources_of(const Opcode &op) { return is_move_of_pair(op) ? 2 : op.sources; }

} // namespace

bool Stage::knows_pair(const Instruction &in) const {
  const Opcode &op = *in.opcode;
  if (!operation_on_half(op) && !is_move_of_pair(op)) return false;
  if (in.clamp || in.encoding != Encoding::vop3p || !in.dst.is_vgpr()) return false;
  for (unsigned s = 0; s < sources_of(op); s++)
    if (!is_value(in.src[s])) return false;
  return true;
}

bool Stage::knows_half(const Instruction &in) const {
  const Opcode &op = *in.opcode;
  if (op.cls != ExecClass::valu || !operation_of(op)) return false;
  if (in.select != LaneSelect::none || (in.clamp && (!is_float(op.dst) || op.lanes_clamp)))
    return false;
  if (in.omod && request_.arch->gfx12) return false; // elsewhere it does nothing in plain modes
  if (in.encoding == Encoding::vop3p && op.form == Form::usual) return false;
  for (unsigned s = 0; s < op.sources; s++) {
    const Operand &o = in.src[s];
    if (op.src[s] == Type::mask
            ? !is_mask_register(o)
            : !o.is_vgpr() && o.kind != Operand::Kind::sgpr && o.kind != Operand::Kind::constant)
      return false;
  }
  if (op.dst == Type::mask || op.flag_out)
    if (in.sdst.kind != Operand::Kind::sgpr) return false;
  return op.dst == Type::mask || in.dst.is_vgpr();
}

bool Stage::knows(const Instruction &in) const {
  if (knows_pair(in)) return true;
  if (!knows_half(in)) return false;
  return in.encoding == Encoding::vopd ? in.paired && knows_half(*in.paired) : !in.paired;
}

bool Stage::defines(unsigned index, unsigned count) const {
  const unsigned words = request_.lanes / 32;
  for (const auto &[first, step] : masks_)
    if (first < index + count && index < first + words) return true;
  return false;
}

Stage::Source Stage::source_of(const Instruction &in, unsigned number) {
  const Operand &o = in.src[number];
  const Type type = in.opcode->src[number];
  Source source;
  if (type == Type::mask) {
    if (const auto made = masks_.find(o.index); made != masks_.end())
      source.made_by = made->second;
    else
      source.scalar = scalars_.mask(o.index);
  } else if (o.kind == Operand::Kind::sgpr) {
    source.scalar = is_64(type) ? scalars_.pair(o.index) : scalars_.word(o.index);
  } else if (o.kind == Operand::Kind::constant) {
    const uint64_t bits = request_.constant(o, type);
    source.scalar = is_64(type) ? static_cast<Value *>(b.getInt64(bits))
                                : b.getInt32(static_cast<uint32_t>(bits));
  }
  return source;
}

void Stage::add_half(const Instruction &in, bool with_next) {
  Step step{&in, operation_of(*in.opcode), {}, with_next};
  for (unsigned s = 0; s < in.opcode->sources; s++) step.sources[s] = source_of(in, s);
  steps_.push_back(step);
  if (!in.dst.is_vgpr()) return;
  written_.insert(in.dst.index);
  if (is_64(in.opcode->dst)) written_.insert(in.dst.index + 1u);
}

void Stage::add_pair(const Instruction &in) {
  Step step{&in, operation_on_half(*in.opcode), {}};
  step.is_pair = true;
  for (unsigned s = 0; s < sources_of(*in.opcode); s++) {
    const Operand &o = in.src[s];
    if (o.kind == Operand::Kind::sgpr) {
      if (defines(o.index, 2)) run();
      step.sources[s].scalar = scalars_.pair(o.index);
    } else if (o.kind == Operand::Kind::constant) {
      const uint64_t one = request_.constant(o, Type::f32); // the same for both
      step.sources[s].scalar = b.getInt64(step.operation ? one << 32 | static_cast<uint32_t>(one)
                                                         : request_.constant(o, Type::u64));
    }
  }
  steps_.push_back(step);
  written_.insert(in.dst.index), written_.insert(in.dst.index + 1u);
}

void Stage::add(const Instruction &in) {
  if (knows_pair(in)) return add_pair(in);
  const bool into_exec = compares_into_exec(*in.opcode);
  // What the stage makes is no scalar yet, so whoever asks for it as one comes behind it.
  const auto waits = [&](const Instruction &half) {
    for (unsigned s = 0; s < half.opcode->sources; s++) {
      const Operand &o = half.src[s];
      if (o.kind != Operand::Kind::sgpr) continue;
      const bool is_mask = half.opcode->src[s] == Type::mask;
      const unsigned words = is_mask ? request_.lanes / 32 : is_64(half.opcode->src[s]) ? 2 : 1;
      if (defines(o.index, words) && !(is_mask && masks_.contains(o.index))) return true;
    }
    const bool makes = half.sdst.kind == Operand::Kind::sgpr &&
                       (half.opcode->dst == Type::mask || half.opcode->flag_out);
    return makes && defines(half.sdst.index, request_.lanes / 32) &&
           !masks_.contains(half.sdst.index);
  };
  if (waits(in) || (in.paired && waits(*in.paired))) run();
  add_half(in, in.paired != nullptr);
  if (in.paired) add_half(*in.paired, false);
  const int last = static_cast<int>(steps_.size()) - 1;
  if (in.opcode->dst == Type::mask || in.opcode->flag_out)
    if (is_mask_register(in.sdst)) masks_[in.sdst.index] = last;
  if (into_exec) masks_[sreg::exec_lo] = last, sets_exec_ = true;
}

Value *Stage::address(const Chunk &chunk, unsigned index) {
  Value *at = b.CreateAdd(chunk.first_lane, b.getInt64(uint64_t{index} * 64));
  return b.CreateInBoundsGEP(b.getInt32Ty(), rows_, at);
}
Value *Stage::load(const Chunk &chunk, unsigned index) {
  return b.CreateAlignedLoad(chunk.lanes.type(Type::u32), address(chunk, index), llvm::Align(4));
}
Value *Stage::row(Chunk &chunk, unsigned index) {
  Value *&value = chunk.rows[index];
  if (!value) value = chunk.loaded[index] = load(chunk, index);
  return value;
}
Value *Stage::pair_of_rows(Chunk &chunk, unsigned index) {
  Value *&value = chunk.pairs[index];
  if (!value) {
    std::vector<int> order(2 * width_);
    for (unsigned i = 0; i < 2 * width_; i++)
      order[i] = static_cast<int>(i / 2 + (i % 2 ? width_ : 0));
    Value *words = b.CreateShuffleVector(row(chunk, index), row(chunk, index + 1), order);
    value = b.CreateBitCast(words, chunk.lanes.type(Type::u64));
  }
  return value;
}

Value *Stage::lanes_of_mask(Value *mask, Value *first_lane) {
  Value *bits = b.CreateLShr(mask, first_lane);
  if (width_ >= 16)
    return b.CreateBitCast(b.CreateTrunc(bits, b.getIntNTy(width_)),
                           llvm::FixedVectorType::get(b.getInt1Ty(), width_));
  std::vector<uint32_t> each(width_);
  for (unsigned i = 0; i < width_; i++) each[i] = 1u << i;
  Value *places = llvm::ConstantDataVector::get(b.getContext(), each);
  Value *all = b.CreateVectorSplat(width_, b.CreateTrunc(bits, b.getInt32Ty()));
  return b.CreateICmpEQ(b.CreateAnd(all, places), places);
}

// The address of EXEC, a word per lane, brought up to date.
Value *Stage::expanded_exec(Value *exec) {
  llvm::Function *function = b.GetInsertBlock()->getParent();
  Value *known = b.CreateLoad(b.getInt64Ty(), scalars_.field(offsetof(Wave, active_exec)));
  BasicBlock *is_new = BasicBlock::Create(b.getContext(), "new_exec", function);
  BasicBlock *is_known = BasicBlock::Create(b.getContext(), "known_exec", function);
  b.CreateCondBr(b.CreateICmpEQ(exec, known), is_known, is_new);
  b.SetInsertPoint(is_new);
  scalars_.write_exec();
  auto *type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  Value *expand =
      b.CreateIntToPtr(b.getInt64(reinterpret_cast<uintptr_t>(request_.expand_exec)), b.getPtrTy());
  b.CreateCall(type, expand, {scalars_.field(0)});
  b.CreateBr(is_known);
  b.SetInsertPoint(is_known);
  Value *number = b.CreateLoad(b.getInt32Ty(), scalars_.field(offsetof(Wave, active_number)));
  Value *at = b.CreateMul(b.CreateZExt(number, b.getInt64Ty()), b.getInt64(sizeof(Row)));
  return b.CreateInBoundsGEP(b.getInt8Ty(), scalars_.field(offsetof(Wave, expanded)), at);
}

Value *Stage::bits_of(Value *lanes) {
  return b.CreateZExt(b.CreateBitCast(lanes, b.getIntNTy(width_)), b.getInt64Ty());
}

// An operand with its modifiers, as its type says.
Value *Stage::operand(Chunk &chunk, const Step &step, unsigned number) {
  const Type type = step.in->opcode->src[number];
  const Operand &o = step.in->src[number];
  const Source &source = step.sources[number];
  LaneBuilder &l = chunk.lanes;
  if (type == Type::mask)
    return source.made_by >= 0 ? chunk.made[static_cast<size_t>(source.made_by)]
                               : lanes_of_mask(source.scalar, chunk.first_lane);
  Value *value = source.scalar ? l.splat(source.scalar)
                 : is_64(type) ? pair_of_rows(chunk, o.index)
                               : row(chunk, o.index);
  const auto sign = [&] { return is_64(type) ? l.constant64(1ull << 63) : l.constant(1u << 31); };
  if (is_16(type)) {
    value = b.CreateLShr(value, l.constant(step.in->op_sel >> number & 1 ? 16 : 0));
    if (type != Type::i16) return b.CreateAnd(value, l.constant(0xffff));
    return b.CreateAShr(b.CreateShl(value, l.constant(16)), l.constant(16));
  }
  if (o.abs) value = b.CreateAnd(value, b.CreateNot(sign()));
  if (o.neg) value = b.CreateXor(value, sign());
  return is_float(type) ? l.to_float(value) : value;
}

void Stage::set(Chunk &chunk, unsigned index, Value *value) {
  chunk.rows[index] = value;
  chunk.changed.insert(index);
  chunk.pairs.erase(index);
  if (index) chunk.pairs.erase(index - 1);
}

Value *Stage::half_of_pair(Chunk &chunk, const Step &step, unsigned number, bool high) {
  const Source &source = step.sources[number];
  if (!source.scalar) return row(chunk, step.in->src[number].index + (high ? 1 : 0));
  Value *word = high ? b.CreateLShr(source.scalar, 32) : source.scalar;
  return chunk.lanes.splat(b.CreateTrunc(word, b.getInt32Ty()));
}

// Both results are made before either is written.
void Stage::put_pair(Chunk &chunk, const Step &step) {
  const Instruction &in = *step.in;
  LaneBuilder &l = chunk.lanes;
  Value *results[2];
  for (unsigned half = 0; half < 2; half++) {
    if (!step.operation) {
      results[half] = half_of_pair(chunk, step, half, in.op_sel >> half & 1);
      continue;
    }
    const unsigned select = half ? in.op_sel_hi : in.op_sel, neg = half ? in.neg_hi : in.neg_lo;
    Value *operands[3] = {};
    for (unsigned s = 0; s < in.opcode->sources; s++) {
      Value *word = half_of_pair(chunk, step, s, select >> s & 1);
      if (neg >> s & 1) word = b.CreateXor(word, l.constant(1u << 31));
      operands[s] = l.to_float(word);
    }
    results[half] = l.to_bits(step.operation(l, operands));
  }
  set(chunk, in.dst.index, results[0]);
  set(chunk, in.dst.index + 1u, results[1]);
}

// The result with output modifiers, and in its place in the register.
Value *Stage::modified(Chunk &chunk, const Step &step, Value *result) {
  const Instruction &in = *step.in;
  const Type type = in.opcode->dst;
  LaneBuilder &l = chunk.lanes;
  if (is_float(type) && in.clamp) {
    const bool is_double = type == Type::f64;
    Value *zero = l.real(0, is_double), *one = l.real(1, is_double);
    Value *below = b.CreateSelect(b.CreateFCmpOLT(result, one), result, one);
    Value *bounded = b.CreateSelect(b.CreateFCmpOGT(result, zero), below, zero);
    Value *nan = b.CreateSelect(l.splat(l.nan_clamps_to_zero()), zero, result);
    result = b.CreateSelect(l.is_nan(result), nan, bounded);
  }
  if (is_float(type)) result = l.to_bits(result);
  if (!is_16(type)) return result;
  result = b.CreateAnd(result, l.constant(0xffff));
  const bool keeps = request_.arch->gfx10_up || in.opcode->preserves_high;
  if (in.op_sel & 8)
    return b.CreateOr(b.CreateShl(result, l.constant(16)),
                      b.CreateAnd(row(chunk, in.dst.index), l.constant(0xffff)));
  if (!keeps) return result;
  return b.CreateOr(result, b.CreateAnd(row(chunk, in.dst.index), l.constant(0xffff0000)));
}

void Stage::put(Chunk &chunk, const Step &step, Value *result) {
  const Type type = step.in->opcode->dst;
  if (type == Type::mask) {
    chunk.made.back() = result;
    return;
  }
  if (step.in->opcode->flag_out) chunk.made.back() = chunk.lanes.flag;
  result = modified(chunk, step, result);
  const unsigned index = step.in->dst.index;
  if (!is_64(type)) return set(chunk, index, result);
  Value *words = b.CreateBitCast(result, llvm::FixedVectorType::get(b.getInt32Ty(), 2 * width_));
  std::vector<int> low(width_), high(width_);
  for (unsigned i = 0; i < width_; i++)
    low[i] = static_cast<int>(2 * i), high[i] = static_cast<int>(2 * i + 1);
  set(chunk, index, b.CreateShuffleVector(words, low));
  set(chunk, index + 1, b.CreateShuffleVector(words, high));
  chunk.pairs[index] = result;
}

void Stage::make_chunk(Chunk &chunk) {
  for (size_t n = 0; n < steps_.size(); n++) {
    if (steps_[n].is_pair) {
      chunk.made.push_back(nullptr);
      put_pair(chunk, steps_[n]);
      continue;
    }
    const size_t last = n + (steps_[n].with_next ? 1 : 0);
    std::vector<std::array<Value *, 4>> operands(2);
    for (size_t half = n; half <= last; half++)
      for (unsigned s = 0; s < steps_[half].in->opcode->sources; s++)
        operands[half - n][s] = operand(chunk, steps_[half], s);
    for (size_t half = n; half <= last; half++) {
      chunk.made.push_back(nullptr);
      chunk.lanes.flag = nullptr;
      put(chunk, steps_[half], steps_[half].operation(chunk.lanes, operands[half - n].data()));
    }
    n = last;
  }
  for (const auto &[index, step] : masks_) {
    Value *lanes = chunk.made[static_cast<size_t>(step)];
    chunk.mask_bits[index] = bits_of(b.CreateAnd(lanes, chunk.lanes.bits(chunk.active)));
  }
}

// Registers back to memory: inactive lanes keep what they have.
void Stage::store(Chunk &chunk) {
  Value *active = chunk.lanes.bits(chunk.active);
  for (const unsigned index : chunk.changed) {
    const auto loaded = chunk.loaded.find(index);
    Value *before = loaded != chunk.loaded.end() ? loaded->second : load(chunk, index);
    b.CreateAlignedStore(b.CreateSelect(active, chunk.rows[index], before), address(chunk, index),
                         llvm::Align(4));
  }
}

LaneBuilder::Mode Stage::load_mode() {
  const auto is_set = [&](Value *v) { return b.CreateICmpNE(v, b.getInt32(0)); };
  Value *at = scalars_.field(offsetof(Wave, machine) + offsetof(Machine, ieee));
  Value *ieee = is_set(b.CreateZExt(b.CreateLoad(b.getInt8Ty(), at), b.getInt32Ty()));
  if (request_.arch->gfx12) return {ieee, b.getTrue()};
  Value *bits = b.CreateLoad(b.getInt32Ty(), scalars_.field(offsetof(Wave, mode)));
  constexpr uint32_t dx10_clamp = 1 << 8;
  return {ieee, is_set(b.CreateAnd(bits, dx10_clamp))};
}

void Stage::run() {
  if (steps_.empty()) return;
  llvm::LLVMContext &context = b.getContext();
  llvm::Function *function = b.GetInsertBlock()->getParent();
  Value *exec = scalars_.exec();
  Value *expanded = width_ < 16 ? expanded_exec(exec) : nullptr;
  const LaneBuilder::Mode mode = load_mode();
  BasicBlock *before = b.GetInsertBlock();
  BasicBlock *loop = BasicBlock::Create(context, "chunk", function);
  BasicBlock *latch = BasicBlock::Create(context, "chunk_done", function);
  BasicBlock *behind = BasicBlock::Create(context, "stage_done", function);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode *first_lane = b.CreatePHI(b.getInt64Ty(), 2);
  first_lane->addIncoming(b.getInt64(0), before);
  std::map<unsigned, llvm::PHINode *> masks;
  for (const auto &[index, step] : masks_) {
    masks[index] = b.CreatePHI(b.getInt64Ty(), 2);
    masks[index]->addIncoming(b.getInt64(0), before);
  }
  Value *active =
      expanded ? b.CreateAlignedLoad(llvm::FixedVectorType::get(b.getInt32Ty(), width_),
                                     b.CreateInBoundsGEP(b.getInt32Ty(), expanded, first_lane),
                                     llvm::Align(4))
               : lanes_of_mask(exec, first_lane);

  std::vector<std::pair<BasicBlock *, Chunk>> ways;
  const auto finish = [&](Chunk &chunk) {
    store(chunk);
    ways.emplace_back(b.GetInsertBlock(), chunk);
    b.CreateBr(latch);
  };
  Chunk usual{{b, width_, false, first_lane, mode}, first_lane, active};
  make_chunk(usual);
  if (usual.lanes.can_be_odd()) {
    BasicBlock *exactly = BasicBlock::Create(context, "exact", function);
    BasicBlock *usually = BasicBlock::Create(context, "usual", function);
    b.CreateCondBr(usual.lanes.is_odd(active), exactly, usually,
                   llvm::MDBuilder(context).createBranchWeights(1, 1000));
    b.SetInsertPoint(exactly);
    Chunk exact{{b, width_, true, first_lane, mode}, first_lane, active};
    make_chunk(exact);
    finish(exact);
    b.SetInsertPoint(usually);
  }
  finish(usual);

  b.SetInsertPoint(latch);
  std::map<unsigned, Value *> collected;
  for (const auto &[index, phi] : masks) {
    llvm::PHINode *bits = b.CreatePHI(b.getInt64Ty(), 2);
    for (auto &[block, chunk] : ways) bits->addIncoming(chunk.mask_bits[index], block);
    collected[index] = bits;
  }
  for (auto &[index, phi] : masks) {
    collected[index] = b.CreateOr(phi, b.CreateShl(collected[index], first_lane));
    phi->addIncoming(collected[index], latch);
  }
  Value *next = b.CreateAdd(first_lane, b.getInt64(width_));
  first_lane->addIncoming(next, latch);
  b.CreateCondBr(b.CreateICmpULT(next, b.getInt64(request_.lanes)), loop, behind);
  b.SetInsertPoint(behind);
  for (const auto &[index, mask] : collected)
    if (index == sreg::exec_lo && sets_exec_)
      scalars_.set_exec(mask);
    else
      scalars_.set_mask(index, mask);
  steps_.clear(), masks_.clear(), written_.clear();
  sets_exec_ = false;
}

} // namespace fade::sim::jit
