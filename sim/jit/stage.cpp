#include "jit/stage.h"

#include "isa/opcode.h"

#include <llvm/IR/MDBuilder.h>

#include <array>
#include <set>

namespace fade::sim::jit {

using llvm::BasicBlock;
using llvm::Value;

// A chunk on its way through the steps.
struct Stage::Chunk {
  LaneBuilder lanes;
  Value *first_lane;
  Value *active;                           // a bit per lane
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

} // namespace

bool Stage::knows_half(const Instruction &in) const {
  const Opcode &op = *in.opcode;
  if (op.cls != ExecClass::valu || !find_vector_operation(op.name)) return false;
  if (in.select != LaneSelect::none || in.clamp || in.omod || in.op_sel) return false;
  if (in.encoding == Encoding::vop3p) return false;
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
  Step step{&in, find_vector_operation(in.opcode->name), {}, with_next};
  for (unsigned s = 0; s < in.opcode->sources; s++) step.sources[s] = source_of(in, s);
  steps_.push_back(step);
}

void Stage::add(const Instruction &in) {
  // What the stage makes is no scalar yet, so whoever asks for it as one comes behind it.
  const auto waits = [&](const Instruction &half) {
    for (unsigned s = 0; s < half.opcode->sources; s++) {
      const Operand &o = half.src[s];
      if (o.kind != Operand::Kind::sgpr) continue;
      const bool is_mask = half.opcode->src[s] == Type::mask;
      const unsigned words = is_mask ? request_.lanes / 32 : is_64(half.opcode->src[s]) ? 2 : 1;
      if (defines(o.index, words) && !(is_mask && masks_.contains(o.index))) return true;
    }
    const bool makes = half.opcode->dst == Type::mask || half.opcode->flag_out;
    return makes && defines(half.sdst.index, request_.lanes / 32) &&
           !masks_.contains(half.sdst.index);
  };
  if (waits(in) || (in.paired && waits(*in.paired))) run();
  add_half(in, in.paired != nullptr);
  if (in.paired) add_half(*in.paired, false);
  if (in.opcode->dst == Type::mask || in.opcode->flag_out)
    if (in.sdst.index != sreg::null) masks_[in.sdst.index] = static_cast<int>(steps_.size()) - 1;
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
  Value *bits = b.CreateTrunc(b.CreateLShr(mask, first_lane), b.getIntNTy(width_));
  return b.CreateBitCast(bits, llvm::FixedVectorType::get(b.getInt1Ty(), width_));
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
  if (o.abs) value = b.CreateAnd(value, b.CreateNot(sign()));
  if (o.neg) value = b.CreateXor(value, sign());
  return is_float(type) ? l.to_float(value) : value;
}

void Stage::put(Chunk &chunk, const Step &step, Value *result) {
  const Type type = step.in->opcode->dst;
  if (type == Type::mask) {
    chunk.made.back() = result;
    return;
  }
  if (step.in->opcode->flag_out) chunk.made.back() = chunk.lanes.flag;
  if (is_float(type)) result = chunk.lanes.to_bits(result);
  const unsigned index = step.in->dst.index;
  const auto set = [&](unsigned i, Value *value) {
    chunk.rows[i] = value;
    chunk.changed.insert(i);
    chunk.pairs.erase(i);
    if (i) chunk.pairs.erase(i - 1);
  };
  if (!is_64(type)) return set(index, result);
  Value *words = b.CreateBitCast(result, llvm::FixedVectorType::get(b.getInt32Ty(), 2 * width_));
  std::vector<int> low(width_), high(width_);
  for (unsigned i = 0; i < width_; i++)
    low[i] = static_cast<int>(2 * i), high[i] = static_cast<int>(2 * i + 1);
  set(index, b.CreateShuffleVector(words, low));
  set(index + 1, b.CreateShuffleVector(words, high));
  chunk.pairs[index] = result;
}

void Stage::make_chunk(Chunk &chunk) {
  for (size_t n = 0; n < steps_.size(); n++) {
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
    chunk.mask_bits[index] = bits_of(b.CreateAnd(lanes, chunk.active));
  }
}

// Registers back to memory: inactive lanes keep what they have.
void Stage::store(Chunk &chunk) {
  for (const unsigned index : chunk.changed) {
    const auto loaded = chunk.loaded.find(index);
    Value *before = loaded != chunk.loaded.end() ? loaded->second : load(chunk, index);
    b.CreateAlignedStore(b.CreateSelect(chunk.active, chunk.rows[index], before),
                         address(chunk, index), llvm::Align(4));
  }
}

void Stage::run() {
  if (steps_.empty()) return;
  llvm::LLVMContext &context = b.getContext();
  llvm::Function *function = b.GetInsertBlock()->getParent();
  Value *exec = scalars_.exec();
  Value *ieee = b.CreateICmpNE(b.CreateLoad(b.getInt8Ty(), scalars_.field(offsetof(Wave, machine) +
                                                                          offsetof(Machine, ieee))),
                               b.getInt8(0));
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
  Value *active = lanes_of_mask(exec, first_lane);

  std::vector<std::pair<BasicBlock *, Chunk>> ways;
  const auto finish = [&](Chunk &chunk) {
    store(chunk);
    ways.emplace_back(b.GetInsertBlock(), chunk);
    b.CreateBr(latch);
  };
  Chunk usual{{b, width_, false, first_lane, ieee}, first_lane, active};
  make_chunk(usual);
  if (usual.lanes.odd()) {
    BasicBlock *exactly = BasicBlock::Create(context, "exact", function);
    BasicBlock *usually = BasicBlock::Create(context, "usual", function);
    Value *any = b.CreateICmpNE(bits_of(b.CreateAnd(usual.lanes.odd(), active)), b.getInt64(0));
    b.CreateCondBr(any, exactly, usually, llvm::MDBuilder(context).createBranchWeights(1, 1000));
    b.SetInsertPoint(exactly);
    Chunk exact{{b, width_, true, first_lane, ieee}, first_lane, active};
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
  for (const auto &[index, mask] : collected) scalars_.set_mask(index, mask);
  steps_.clear(), masks_.clear();
}

} // namespace fade::sim::jit
