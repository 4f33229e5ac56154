#include "KeptClasses.h"

#include "InlineCall.h"

#include "fade/message.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

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

} // namespace

void KeptClasses::choose(const Clone &clone, ArrayRef<Access> accesses, Instruction &start) {
  const DominatorTree dominators(*clone.function);
  const LoopInfo loops(dominators);
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
    if (kept.in_lds) continue;
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
  if (!kept.in_lds) all.append({kept.other_low, kept.other_place, kept.other_count});
  inlineCall(
      *builder.CreateCall(kept.in_lds ? runtime_.summary_lds_keep : runtime_.summary_keep, all));
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
    if (!kept.in_lds) add(kept.other_place, kept.other_count);
  }
  DominatorTree dominators(*clone.function);
  PromoteMemToReg(variables_, dominators);
  kept_.clear();
  order_.clear();
  variables_.clear();
}

} // namespace fade
