#include "KeptClasses.h"

#include "Compat.h"
#include "InlineCall.h"
#include "Target.h"

#include "fade/message.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

#include <optional>

using namespace llvm;

namespace fade {

namespace {

// Each takes up to three vector registers and six scalar ones; where lanes go different ways,
// vector registers instead of these.
constexpr size_t most_kept = 8;

bool canBeKept(const Access &access) {
  return !access.length &&
         (access.site.space == FADE_SPACE_GLOBAL || access.site.space == FADE_SPACE_LDS ||
          access.site.space == FADE_SPACE_CONSTANT);
}

int64_t numberOf(const SCEVConstant &constant) {
  return constant.getAPInt().sextOrTrunc(64).getSExtValue();
}

// By how many bytes an address moves on in each round of a loop, if that is known when it is
// compiled. Whether numbers of fewer bits wrap around does not matter here.
std::optional<int64_t> stepOf(const SCEV *value, const Loop &loop, ScalarEvolution &evolution) {
  if (evolution.isLoopInvariant(value, &loop)) return 0;
  if (const auto *wider = dyn_cast<SCEVCastExpr>(value))
    return stepOf(wider->getOperand(), loop, evolution);
  if (const auto *round = dyn_cast<SCEVAddRecExpr>(value)) {
    const auto *step = dyn_cast<SCEVConstant>(round->getStepRecurrence(evolution));
    if (round->getLoop() != &loop || !step) return std::nullopt;
    return numberOf(*step);
  }
  const bool is_sum = isa<SCEVAddExpr>(value);
  if (!is_sum && !isa<SCEVMulExpr>(value)) return std::nullopt;
  int64_t result = is_sum ? 0 : 1;
  for (const SCEV *operand : cast<SCEVNAryExpr>(value)->operands()) {
    const auto *factor = dyn_cast<SCEVConstant>(operand);
    const std::optional<int64_t> step =
        !is_sum && factor ? numberOf(*factor) : stepOf(operand, loop, evolution);
    if (!step || (!is_sum && *step == 0)) return std::nullopt; // a factor that is not known
    const auto a = static_cast<uint64_t>(result), b = static_cast<uint64_t>(*step); // may wrap
    result = static_cast<int64_t>(is_sum ? a + b : a * b);
  }
  return result;
}

// Whether an access of global memory moves on by parts of a cache line: then it meets two classes
// in turn.
bool movesByParts(const Access &access, const LoopInfo &loops, ScalarEvolution &evolution) {
  constexpr int64_t line = 128;
  const Loop *loop = loops.getLoopFor(access.instruction->getParent());
  if (access.form != AddressForm::pointer || !access.pointer || !loop) return false;
  const auto step = stepOf(evolution.getSCEV(access.pointer), *loop, evolution);
  return step && *step % line != 0;
}

} // namespace

void KeptClasses::choose(const Clone &clone, ArrayRef<Access> accesses, Instruction &start) {
  DominatorTree dominators(*clone.function);
  LoopInfo loops(dominators);
  AssumptionCache assumptions(*clone.function);
  TargetLibraryInfoImpl library_names(Triple(targetTriple(*clone.function->getParent())));
  TargetLibraryInfo library(library_names);
  ScalarEvolution evolution(*clone.function, library, assumptions, dominators, loops);
  const auto depth = [&](const Access *access) {
    return loops.getLoopDepth(access->instruction->getParent());
  };
  kept_.clear();
  order_.clear();
  variables_.clear();
  for (const Access &access : accesses)
    if (canBeKept(access) && depth(&access) != 0) order_.push_back(&access);
  llvm::sort(order_, [&](const Access *a, const Access *b) {
    return depth(a) != depth(b) ? depth(a) > depth(b) : a < b;
  });
  if (order_.size() > most_kept) order_.truncate(most_kept);
  // Where searches are slow; on AMD GPUs it has not been seen to be worth its registers.
  const bool keeps_two = isNVPTX(*clone.function->getParent());
  IRBuilder<> builder(&start);
  const auto variable = [&] {
    variables_.push_back(builder.CreateAlloca(builder.getInt32Ty()));
    builder.CreateStore(builder.getInt32(0), variables_.back());
    return variables_.back();
  };
  for (const Access *access : order_) {
    Kept &kept = kept_[access];
    kept.in_lds = access->site.space == FADE_SPACE_LDS;
    kept.low = variable();
    if (!kept.in_lds) kept.high = variable();
    kept.lanes_low = variable();
    kept.lanes_high = variable();
    kept.place = variable();
    kept.count = variable();
    if (kept.in_lds || !keeps_two || !movesByParts(*access, loops, evolution)) continue;
    kept.other_low = variable();
    kept.other_place = variable();
    kept.other_count = variable();
  }
}

bool KeptClasses::record(IRBuilder<> &builder, const Access &access, ArrayRef<Value *> arguments) {
  const auto at = kept_.find(&access);
  if (at == kept_.end()) return false;
  const Kept &kept = at->second;
  SmallVector<Value *, 14> all(arguments.begin(), arguments.end());
  all.push_back(kept.low);
  if (!kept.in_lds) all.push_back(kept.high);
  all.append({kept.lanes_low, kept.lanes_high, kept.place, kept.count});
  if (kept.other_low) all.append({kept.other_low, kept.other_place, kept.other_count});
  inlineCall(*builder.CreateCall(kept.in_lds      ? runtime_.summary_lds_keep
                                 : kept.other_low ? runtime_.summary_keep_two
                                                  : runtime_.summary_keep,
                                 all));
  return true;
}

void KeptClasses::finish(const Clone &clone, Instruction &end) {
  for (const Access *access : order_) {
    const Kept &kept = kept_[access];
    Value *counter = clone.wave;
    if (kept.in_lds) counter = ConstantInt::get(counter->getType(), 0);
    const auto add = [&](Value *place, Value *count) {
      IRBuilder<> builder(&end);
      inlineCall(*builder.CreateCall(runtime_.summary_end, {clone.control, counter, kept.lanes_low,
                                                            kept.lanes_high, place, count}));
    };
    add(kept.place, kept.count);
    if (kept.other_low) add(kept.other_place, kept.other_count);
  }
  DominatorTree dominators(*clone.function);
  PromoteMemToReg(variables_, dominators);
  kept_.clear();
  order_.clear();
  variables_.clear();
}

} // namespace fade
