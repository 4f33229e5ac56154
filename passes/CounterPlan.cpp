#include "CounterPlan.h"

#include "Compat.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#if LLVM_VERSION_MAJOR >= 17
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#endif
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace fade {

namespace {

constexpr uint64_t most_lanes = 64;

class Planner {
public:
  Planner(Function &function, bool is_left_anywhere, FunctionAnalysisManager &analyses)
      : function_(function), is_left_anywhere_(is_left_anywhere), analyses_(analyses),
        dominators_(function), post_dominators_(function), loops_(dominators_) {
    dominators_.updateDFSNumbers();
    post_dominators_.updateDFSNumbers();
    using Order = ReversePostOrderTraversal<const Function *>;
    const Order order(&function);
    is_irreducible_ =
        containsIrreducibleCFG<const BasicBlock *, const Order, const LoopInfo>(order, loops_);
  }

  CounterPlan plan(ArrayRef<BasicBlock *> blocks);

private:
  const BasicBlock *classOf(const BasicBlock &block);
  Counter describe(BasicBlock &block, const BasicBlock &first);
  bool isRow(ArrayRef<Counter> counters) const;
  void findWhereLanesPart();
  uint64_t mostRuns(const Loop *loop);

  Function &function_;
  const bool is_left_anywhere_;
  FunctionAnalysisManager &analyses_;
  DominatorTree dominators_;
  PostDominatorTree post_dominators_;
  LoopInfo loops_;
  bool is_irreducible_ = false;
  DenseMap<const BasicBlock *, const BasicBlock *> classes_;
  DenseMap<const Loop *, uint64_t> runs_;
  bool knows_parting_ = false;
  // Blocks that some lanes may run without others that came to the same outermost loop.
  SmallPtrSet<const BasicBlock *, 16> parted_;
};

// The first block of those that are run as often as this one.
const BasicBlock *Planner::classOf(const BasicBlock &block) {
  if (auto known = classes_.find(&block); known != classes_.end()) return known->second;
  const BasicBlock *found = &block;
  const Loop *loop = loops_.getLoopFor(&block);
  const auto *node = is_irreducible_ || is_left_anywhere_ ? nullptr : dominators_.getNode(&block);
  while (node && node->getIDom() && !(loop && loop->getHeader() == node->getBlock())) {
    node = node->getIDom();
    const BasicBlock *before = node->getBlock();
    if (loops_.getLoopFor(before) != loop || !post_dominators_.dominates(&block, before)) continue;
    found = classOf(*before);
    break;
  }
  return classes_[&block] = found;
}

// How often a loop that is left in one place can run before what it compares there wraps, which it
// must not; UINT64_MAX if that is not known. Other than the number of times that it is repeated,
// this is one less than there are values.
uint64_t runsUntilWrap(const Loop &loop) {
  const BasicBlock *exiting = loop.getExitingBlock(), *latch = loop.getLoopLatch();
  if (!exiting || !latch) return UINT64_MAX;
  const auto *compare = dyn_cast<ICmpInst>(exiting->getTerminator()->getOperand(0));
  if (!compare) return UINT64_MAX;
  for (const Value *operand : compare->operands()) {
    const auto *next = dyn_cast<AddOperator>(operand);
    if (!next || !(next->hasNoSignedWrap() || next->hasNoUnsignedWrap())) continue;
    const auto *step = dyn_cast<ConstantInt>(next->getOperand(1));
    const auto *value = dyn_cast<PHINode>(next->getOperand(0));
    const unsigned bits = next->getType()->getScalarSizeInBits();
    if (step && !step->isZero() && bits < 64 && value && value->getParent() == loop.getHeader() &&
        value->getIncomingValueForBlock(latch) == next)
      return (uint64_t{1} << bits) - 1;
  }
  return UINT64_MAX;
}

// How often a block in this loop can run in one call of the function, UINT64_MAX if that is not
// known.
uint64_t Planner::mostRuns(const Loop *loop) {
  if (is_irreducible_) return UINT64_MAX;
  uint64_t runs = 1;
  for (; loop; loop = loop->getParentLoop()) {
    const auto known = runs_.find(loop);
    runs = known == runs_.end() ? UINT64_MAX : SaturatingMultiply(runs, known->second);
  }
  return runs;
}

// Where lanes part in a loop, each goes its own way until these meet again. If one of the ways
// leaves the loop, that is the whole loop.
void Planner::findWhereLanesPart() {
#if LLVM_VERSION_MAJOR >= 17
  if (is_irreducible_ || is_left_anywhere_ ||
      !analyses_.getResult<TargetIRAnalysis>(function_).hasBranchDivergence(&function_))
    return;
  UniformityInfo &uniformity = analyses_.getResult<UniformityInfoAnalysis>(function_);
  for (const BasicBlock &block : function_) {
    if (!loops_.getLoopFor(&block) || !uniformity.hasDivergentTerminator(block)) continue;
    const auto *node = post_dominators_.getNode(&block);
    const BasicBlock *meet = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
    SmallPtrSet<const BasicBlock *, 16> seen;
    SmallVector<const BasicBlock *, 16> ways(succ_begin(&block), succ_end(&block));
    while (!ways.empty()) {
      const BasicBlock *next = ways.pop_back_val();
      if (next == meet || !seen.insert(next).second) continue;
      ways.append(succ_begin(next), succ_end(next));
    }
    parted_.insert(seen.begin(), seen.end());
  }
  knows_parting_ = true;
#else
  (void)analyses_;
#endif
}

Counter Planner::describe(BasicBlock &block, const BasicBlock &first) {
  Counter counter;
  counter.block = &block;
  const Loop *loop = loops_.getLoopFor(&block);
  counter.depth = loop ? loop->getLoopDepth() : is_irreducible_ ? 1 : 0;
  counter.is_once = counter.depth == 0;
  counter.is_entry = &first == &function_.getEntryBlock() && counter.is_once;
  const uint64_t runs = mostRuns(loop);
  counter.wide_entries = runs > UINT32_MAX;
  counter.wide_lanes = runs > UINT32_MAX / most_lanes;
  if (loop && knows_parting_ && !parted_.contains(&block)) {
    while (loop->getParentLoop()) loop = loop->getParentLoop();
    BasicBlock *before = loop->getLoopPredecessor();
    if (before && !isa<IndirectBrInst>(before->getTerminator()) &&
        count(successors(before), loop->getHeader()) == 1) {
      counter.loop = loop->getHeader();
      counter.before_loop = before;
    }
  }
  return counter;
}

// Counters are in the order of dominance.
bool Planner::isRow(ArrayRef<Counter> counters) const {
  const BasicBlock *last = &function_.getEntryBlock();
  for (const Counter &counter : counters) {
    if (!counter.is_once || is_left_anywhere_) return false;
    if (!isPotentiallyReachable(last, counter.block, nullptr, &dominators_, &loops_)) return false;
    last = counter.block;
  }
  return true;
}

CounterPlan Planner::plan(ArrayRef<BasicBlock *> blocks) {
  if (!loops_.empty() && !is_irreducible_) {
    const TargetLibraryInfoImpl known_functions(Triple(targetTriple(*function_.getParent())));
    TargetLibraryInfo library(known_functions);
    AssumptionCache assumptions(function_);
    ScalarEvolution evolution(function_, library, assumptions, dominators_, loops_);
    for (const Loop *loop : loops_.getLoopsInPreorder()) {
      uint64_t runs = runsUntilWrap(*loop);
      if (const auto *most =
              dyn_cast<SCEVConstant>(evolution.getConstantMaxBackedgeTakenCount(loop)))
        if (most->getAPInt().getActiveBits() < 64)
          runs = std::min(runs, most->getAPInt().getZExtValue() + 1);
      runs_[loop] = runs;
    }
  }
  if (!loops_.empty()) findWhereLanesPart();
  CounterPlan plan;
  DenseMap<const BasicBlock *, unsigned> of_class;
  // In the order of dominance, so that a class is counted where it begins.
  ReversePostOrderTraversal<Function *> order(&function_);
  SmallPtrSet<const BasicBlock *, 16> wanted(blocks.begin(), blocks.end());
  auto add = [&](BasicBlock *block) {
    const BasicBlock *first = classOf(*block);
    const auto [entry, added] =
        of_class.try_emplace(first, static_cast<unsigned>(plan.counters.size()));
    if (added) plan.counters.push_back(describe(*block, *first));
    plan.counter_of[block] = entry->second;
    wanted.erase(block);
  };
  for (BasicBlock *block : order)
    if (wanted.contains(block)) add(block);
  for (BasicBlock *block : blocks) // those that nothing leads to
    if (wanted.contains(block)) add(block);
  plan.is_row = isRow(plan.counters);
  return plan;
}

} // namespace

void CounterPlan::reorder(ArrayRef<unsigned> order) {
  SmallVector<Counter, 16> sorted;
  SmallVector<unsigned, 16> now(order.size());
  for (const unsigned before : order) {
    now[before] = static_cast<unsigned>(sorted.size());
    sorted.push_back(counters[before]);
  }
  counters = std::move(sorted);
  for (auto &[block, counter] : counter_of) counter = now[counter];
}

CounterPlan planCounters(Function &function, ArrayRef<BasicBlock *> blocks, bool is_left_anywhere,
                         FunctionAnalysisManager &analyses) {
  return Planner(function, is_left_anywhere, analyses).plan(blocks);
}

} // namespace fade
