// Counting blocks in registers of NVIDIA GPUs: each thread for itself, in values that the compiler
// knows. A warp adds its threads up when it ends.
//
// A thread counts itself in each block. Of the threads that come by together the first counts an
// entry; outside of loops that is not necessary, since a warp that came by has one.
#include "Compat.h"
#include "Target.h"
#include "WaveCounters.h"

#include "fade/message.h"

#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

#include <numeric>

using namespace llvm;

namespace fade {

namespace {

constexpr unsigned warp_size = 32;
// Each takes one or two registers of each thread.
constexpr unsigned most_counters = 24;
constexpr unsigned needed_version = 80; // for redux.sync

class ThreadCounters : public WaveCounters {
public:
  explicit ThreadCounters(const Target &target) : target_(target) {}

  unsigned assign(CounterPlan &plan) override;
  bool looksEarly() const override { return true; }
  void count(Function &kernel, const CounterPlan &plan) override;
  void flush(Instruction &end, const CounterPlace &to, uint32_t first,
             uint32_t first_time) override;
  void rejoin(Instruction &end) override;
  void finish(Function &kernel) override;

private:
  struct Place {
    AllocaInst *lanes = nullptr;
    AllocaInst *entries = nullptr; // null outside of loops
  };
  // Of lanes, and of entries.
  struct Sums {
    Value *lanes, *entries;
  };

  AllocaInst *variable(IRBuilder<> &builder, Type *type);
  Value *isFirst(IRBuilder<> &builder) const;
  Value *sum(IRBuilder<> &builder, Value *each) const;
  Sums sums(IRBuilder<> &builder, const Place &place) const;
  void time(ArrayRef<BasicBlock *> blocks);
  void addWords(Instruction &end, ArrayRef<Value *> words, Value *address);
  void addTimes(Instruction &end, Value *address);

  const Target &target_;
  SmallVector<Place, 16> places_;
  SmallVector<AllocaInst *, 16> times_; // clocks of blocks
  SmallVector<AllocaInst *, 32> variables_;
  Value *lanes_ = nullptr; // those that the warp began with
  Value *below_ = nullptr; // those below this one
};

CallInst *assembly(IRBuilder<> &builder, Type *type, StringRef text, StringRef constraints,
                   ArrayRef<Value *> arguments) {
  SmallVector<Type *, 2> types;
  for (const Value *argument : arguments) types.push_back(argument->getType());
  auto *function = FunctionType::get(type, types, false);
  CallInst *call = builder.CreateCall(
      function, InlineAsm::get(function, text, constraints, /*hasSideEffects=*/true), arguments);
  call->addFnAttr(Attribute::Convergent);
  call->addFnAttr(Attribute::NoUnwind);
  return call;
}

unsigned ThreadCounters::assign(CounterPlan &plan) {
  SmallVector<unsigned, 16> order(plan.counters.size());
  std::iota(order.begin(), order.end(), 0u);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    const unsigned x = plan.counters[a].depth, y = plan.counters[b].depth;
    return x != y ? x > y : a < b;
  });
  plan.reorder(order);
  places_.clear();
  times_.clear();
  variables_.clear();
  places_.resize(std::min<size_t>(order.size(), most_counters));
  return static_cast<unsigned>(places_.size());
}

AllocaInst *ThreadCounters::variable(IRBuilder<> &builder, Type *type) {
  variables_.push_back(builder.CreateAlloca(type));
  builder.CreateStore(ConstantInt::get(type, 0), variables_.back());
  return variables_.back();
}

// Whether this thread is the first of those that are here together: 0 or 1.
Value *ThreadCounters::isFirst(IRBuilder<> &builder) const {
  Value *here = assembly(builder, builder.getInt32Ty(), "activemask.b32 $0;", "=r", {});
  Value *others = builder.CreateAnd(here, below_);
  return builder.CreateZExt(builder.CreateICmpEQ(others, builder.getInt32(0)),
                            builder.getInt32Ty());
}

void ThreadCounters::count(Function &kernel, const CounterPlan &plan) {
  IRBuilder<> start(&*kernel.getEntryBlock().getFirstInsertionPt());
  lanes_ = target_.lanesAtStart(start);
  below_ = callIntrinsic(start, Intrinsic::nvvm_read_ptx_sreg_lanemask_lt, {}, {});
  for (size_t i = 0; i < places_.size(); ++i) {
    const Counter &counter = plan.counters[i];
    Type *type = counter.wide_entries ? start.getInt64Ty() : start.getInt32Ty();
    places_[i].lanes = variable(start, type);
    if (!counter.is_once) places_[i].entries = variable(start, type);
  }
  for (size_t i = 0; i < plan.timed.size(); ++i)
    times_.push_back(variable(start, start.getInt64Ty()));
  time(plan.timed);
  for (size_t i = 0; i < places_.size(); ++i) {
    const Counter &counter = plan.counters[i];
    Instruction *at = &*counter.block->getFirstInsertionPt();
    if (counter.block == &kernel.getEntryBlock()) at = &*start.GetInsertPoint();
    IRBuilder<> builder(at);
    auto add = [&](AllocaInst *to, Value *n) {
      Type *type = to->getAllocatedType();
      builder.CreateStore(
          builder.CreateAdd(builder.CreateLoad(type, to), builder.CreateZExt(n, type)), to);
    };
    if (counter.is_once) {
      builder.CreateStore(builder.getInt32(1), places_[i].lanes);
      continue;
    }
    add(places_[i].lanes, builder.getInt32(1));
    add(places_[i].entries, isFirst(builder));
  }
}

void ThreadCounters::rejoin(Instruction &end) {
  IRBuilder<> builder(&end);
  target_.rejoin(builder, lanes_);
}

// The block that another one continues at once, if it is one of those: threads that go elsewhere
// from there go to where this block leads to, so that nobody waits for them meanwhile.
const BasicBlock *continues(const BasicBlock &block, const PostDominatorTree &ends) {
  const BasicBlock *before = block.getSinglePredecessor();
  if (!before) return nullptr;
  for (const BasicBlock *other : successors(before))
    if (other != &block && !ends.dominates(other, &block)) return nullptr;
  return before;
}

// Of the threads that come by together the first measures.
void ThreadCounters::time(ArrayRef<BasicBlock *> blocks) {
  auto readClock = [](IRBuilder<> &builder) {
    return assembly(builder, builder.getInt64Ty(), "mov.u64 $0, %clock64;", "=l", {});
  };
  if (blocks.empty()) return;
  const PostDominatorTree ends(*blocks.front()->getParent());
  DenseMap<const BasicBlock *, Value *> end_of;
  for (BasicBlock *block : blocks) {
    IRBuilder<> builder(&endOf(*block, target_));
    end_of[block] = readClock(builder);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    BasicBlock &block = *blocks[i];
    Value *start = end_of.lookup(continues(block, ends));
    if (!start) {
      Instruction *at = &*block.getFirstInsertionPt();
      if (&block == &block.getParent()->getEntryBlock())
        at = cast<Instruction>(below_)->getNextNode();
      IRBuilder<> builder(at);
      start = readClock(builder);
    }
    IRBuilder<> builder(cast<Instruction>(end_of[&block])->getNextNode());
    Type *i64 = builder.getInt64Ty();
    Value *took = builder.CreateSub(end_of[&block], start);
    Value *measures = builder.CreateICmpNE(isFirst(builder), builder.getInt32(0));
    Value *once = builder.CreateSelect(measures, took, builder.getInt64(0));
    builder.CreateStore(builder.CreateAdd(builder.CreateLoad(i64, times_[i]), once), times_[i]);
  }
}

// Of all threads, i64. In pieces whose sums fit into 32 bits.
Value *ThreadCounters::sum(IRBuilder<> &builder, Value *each) const {
  Type *i32 = builder.getInt32Ty(), *i64 = builder.getInt64Ty();
  constexpr unsigned piece = 26;
  Value *total = builder.getInt64(0);
  for (unsigned shift = 0; shift < each->getType()->getIntegerBitWidth(); shift += piece) {
    Value *part = builder.CreateAnd(builder.CreateZExtOrTrunc(builder.CreateLShr(each, shift), i32),
                                    (1u << piece) - 1);
    Value *of_all =
        assembly(builder, i32, "redux.sync.add.u32 $0, $1, $2;", "=r,r,r", {part, lanes_});
    total = builder.CreateAdd(total, builder.CreateShl(builder.CreateZExt(of_all, i64), shift));
  }
  return total;
}

ThreadCounters::Sums ThreadCounters::sums(IRBuilder<> &builder, const Place &place) const {
  Type *i32 = builder.getInt32Ty(), *i64 = builder.getInt64Ty();
  Value *lanes = builder.CreateLoad(place.lanes->getAllocatedType(), place.lanes);
  if (place.entries)
    return {sum(builder, lanes),
            sum(builder, builder.CreateLoad(place.entries->getAllocatedType(), place.entries))};
  Value *which = assembly(builder, i32,
                          "{ .reg .pred p; setp.ne.u32 p, $1, 0; vote.sync.ballot.b32 $0, p, $2; }",
                          "=r,r,r", {lanes, lanes_});
  Value *count = callIntrinsic(builder, Intrinsic::ctpop, {i32}, {which});
  Value *any = builder.CreateICmpNE(which, builder.getInt32(0));
  return {builder.CreateZExt(count, i64), builder.CreateZExt(any, i64)};
}

// Adds a word of the counters.
void addWord(IRBuilder<> &builder, Value *address, Value *value) {
  assembly(builder, builder.getVoidTy(), "red.relaxed.gpu.global.add.u64 [$0], $1;",
           "l,l,~{memory}", {address, value});
}

void ThreadCounters::flush(Instruction &end, const CounterPlace &to, uint32_t first,
                           uint32_t first_time) {
  static_assert(sizeof(fade_counter) == 2 * sizeof(uint64_t));
  IRBuilder<> builder(&end);
  Value *address =
      builder.CreateAdd(to.copies, builder.CreateZExt(to.offset, builder.getInt64Ty()));
  auto counterAt = [&](uint32_t i) {
    return builder.CreateAdd(address, builder.getInt64(uint64_t{i} * sizeof(fade_counter)));
  };
  SmallVector<Value *, 32> words;
  for (const Place &place : places_) {
    const Sums all = sums(builder, place);
    words.push_back(all.entries);
    words.push_back(all.lanes);
  }
  Value *at = counterAt(first), *times_at = counterAt(first_time);
  addWords(end, words, at);
  addTimes(end, times_at);
}

// Mostly one thread of a warp has measured all there is: each adds its own. Adding threads up first
// would take more instructions than all the rest.
void ThreadCounters::addTimes(Instruction &end, Value *address) {
  IRBuilder<> builder(&end);
  Type *i64 = builder.getInt64Ty();
  for (size_t i = 0; i < times_.size(); ++i) {
    builder.SetInsertPoint(&end);
    Value *clocks = builder.CreateLoad(i64, times_[i]);
    Value *to = builder.CreateAdd(address, builder.getInt64(i * sizeof(fade_counter)));
    builder.SetInsertPoint(splitIfThen(builder.CreateICmpNE(clocks, builder.getInt64(0)), end));
    addWord(builder, to, clocks);
  }
}

// Adds words to those at an address.
void ThreadCounters::addWords(Instruction &end, ArrayRef<Value *> words, Value *address) {
  if (words.empty()) return;
  IRBuilder<> builder(&end);
  Type *i64 = builder.getInt64Ty();
  Value *lane = target_.laneId(builder);
  auto wordAt = [&](Value *number) {
    return builder.CreateAdd(address, builder.CreateMul(builder.CreateZExt(number, i64),
                                                        builder.getInt64(sizeof(uint64_t))));
  };
  auto number = [&](size_t i) { return builder.getInt32(static_cast<uint32_t>(i)); };
  // In a whole warp each lane adds a word, so that neighbours are added together. In others the
  // first lane adds all.
  Value *whole = builder.CreateICmpEQ(lanes_, builder.getInt32(~0u));
  Instruction *together = nullptr, *alone = nullptr;
  splitIfThenElse(whole, end, together, alone);
  builder.SetInsertPoint(together);
  for (size_t from = 0; from < words.size(); from += warp_size) {
    const size_t to = std::min<size_t>(words.size(), from + warp_size);
    builder.SetInsertPoint(together);
    Value *word = words[from];
    for (size_t i = from + 1; i < to; ++i)
      word = builder.CreateSelect(builder.CreateICmpEQ(lane, number(i - from)), words[i], word);
    Value *where = wordAt(builder.CreateAdd(lane, number(from)));
    Instruction *then = splitIfThen(builder.CreateICmpULT(lane, number(to - from)), *together);
    builder.SetInsertPoint(then);
    addWord(builder, where, word);
  }
  builder.SetInsertPoint(alone);
  Value *leads = builder.CreateICmpEQ(builder.CreateAnd(lanes_, below_), builder.getInt32(0));
  builder.SetInsertPoint(splitIfThen(leads, *alone));
  for (size_t i = 0; i < words.size(); ++i) addWord(builder, wordAt(number(i)), words[i]);
}

void ThreadCounters::finish(Function &kernel) {
  DominatorTree dominators(kernel);
  PromoteMemToReg(variables_, dominators);
}

} // namespace

std::unique_ptr<WaveCounters> makeThreadCounters(const Module &module, const Target &target) {
  const std::string name = targetProcessor(module);
  StringRef processor = name;
  unsigned version = 0;
  if (!processor.consume_front("sm_") ||
      processor.take_while([](char c) { return c >= '0' && c <= '9'; }).getAsInteger(10, version) ||
      version < needed_version)
    return nullptr;
  return std::make_unique<ThreadCounters>(target);
}

} // namespace fade
