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
// Of each. They take a bit of a register, and the code where what was kept is given up.
constexpr unsigned most_followers = 32;

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

// Whether `access` is made whenever `leader` is, by the same lanes, and is in the same class as
// before if that one is.
bool isFollower(const Access &access, const Access &leader, ScalarEvolution &evolution) {
  if (access.instruction->getParent() != leader.instruction->getParent() ||
      access.site.space != leader.site.space || access.form != AddressForm::pointer ||
      leader.form != AddressForm::pointer || !access.pointer || !leader.pointer ||
      access.pointer->getType() != leader.pointer->getType())
    return false;
  const auto *distance = dyn_cast<SCEVConstant>(
      evolution.getMinusSCEV(evolution.getSCEV(access.pointer), evolution.getSCEV(leader.pointer)));
  if (!distance) return false;
  if (access.site.space == FADE_SPACE_LDS) return true;
  // Of atomics the whole address counts. What does not matter of an aligned element does not of
  // another one of the same size: see __fade_rt_summary_shorter_key().
  const uint64_t bytes =
      static_cast<uint64_t>(numberOf(*distance)) + access.displacement - leader.displacement;
  return access.site.kind != FADE_SITE_ATOMIC && leader.site.kind != FADE_SITE_ATOMIC &&
         access.site.size == leader.site.size && FADE_SITE_PIECE(access.site.flags) == 0 &&
         FADE_SITE_PIECE(leader.site.flags) == 0 && access.site.size != 0 &&
         bytes % access.site.size == 0;
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
  clear();
  SmallVector<const Access *, 32> all;
  for (const Access &access : accesses)
    if (canBeKept(access) && depth(&access) != 0) all.push_back(&access);
  llvm::sort(all, [&](const Access *a, const Access *b) {
    return depth(a) != depth(b) ? depth(a) > depth(b) : a < b;
  });
  // Where searches are slow; on AMD GPUs it has not been seen to be worth its registers. Lanes that
  // are not in step need not arrive together where they were together before.
  const bool keeps_two = isNVPTX(*clone.function->getParent()), follows = !keeps_two;
  for (const Access *access : all) {
    const auto leader = find_if(order_, [&](const Access *one) {
      return follows && kept_[one].follower_count < most_followers &&
             isFollower(*access, *one, evolution);
    });
    if (leader != order_.end()) {
      followers_[access] = {*leader, kept_[*leader].follower_count++, nullptr};
    } else if (order_.size() < most_kept) {
      order_.push_back(access);
      kept_[access] = {};
    }
  }
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
    if (kept.follower_count != 0) kept.followers = variable();
    if (kept.in_lds || !keeps_two || !movesByParts(*access, loops, evolution)) continue;
    kept.other_low = variable();
    kept.other_place = variable();
    kept.other_count = variable();
  }
}

void KeptClasses::clear() {
  kept_.clear();
  followers_.clear();
  order_.clear();
  variables_.clear();
  given_up_.clear();
}

bool KeptClasses::record(IRBuilder<> &builder, const Access &access, ArrayRef<Value *> arguments) {
  if (const auto follower = followers_.find(&access); follower != followers_.end()) {
    follow(builder, follower->second, arguments);
    return true;
  }
  const auto at = kept_.find(&access);
  if (at == kept_.end()) return false;
  Kept &kept = at->second;
  SmallVector<Value *, 14> all(arguments.begin(), arguments.end());
  all.push_back(kept.low);
  if (!kept.in_lds) all.push_back(kept.high);
  all.append({kept.lanes_low, kept.lanes_high, kept.place, kept.count});
  if (kept.follower_count != 0) {
    all.push_back(kept.followers);
    lead(builder, kept, all);
    return true;
  }
  if (kept.other_low) all.append({kept.other_low, kept.other_place, kept.other_count});
  inlineCall(*builder.CreateCall(kept.in_lds      ? runtime_.summary_lds_keep
                                 : kept.other_low ? runtime_.summary_keep_two
                                                  : runtime_.summary_keep,
                                 all));
  return true;
}

void KeptClasses::lead(IRBuilder<> &builder, Kept &kept, ArrayRef<Value *> arguments) {
  CallInst *call = builder.CreateCall(
      kept.in_lds ? runtime_.summary_lds_lead : runtime_.summary_lead, arguments);
  inlineCall(*call);
  // The call that has been inlined since the last one.
  for (User *user : runtime_.summary_given_up->users()) {
    auto *given_up = cast<CallInst>(user);
    if (given_up->getFunction() == kept.low->getFunction() && !is_contained(given_up_, given_up))
      kept.given_up = given_up;
  }
  given_up_.push_back(kept.given_up);
}

void KeptClasses::follow(IRBuilder<> &builder, Follower &follower, ArrayRef<Value *> arguments) {
  const Kept &kept = kept_[follower.leader];
  Value *table = arguments[0], *counter = arguments[3];
  follower.slot = arguments[2];
  Value *bit = builder.getInt32(1u << follower.number);
  IRBuilder<> there(kept.given_up);
  addFollower(there, kept, follower, table, counter, kept.given_up->getArgOperand(0),
              kept.given_up->getArgOperand(1));
  SmallVector<Value *, 8> all(arguments.begin(), arguments.end());
  all.append({kept.followers, bit});
  inlineCall(*builder.CreateCall(
      kept.in_lds ? runtime_.summary_lds_follow : runtime_.summary_follow, all));
}

// Adds to the class of a follower how often it has come, if that is known.
void KeptClasses::addFollower(IRBuilder<> &builder, const Kept &kept, const Follower &follower,
                              Value *table, Value *counter, Value *count, Value *lanes) const {
  Value *bits = builder.CreateLoad(builder.getInt32Ty(), kept.followers);
  Value *known = builder.CreateAnd(bits, 1u << follower.number);
  Value *times = builder.CreateSelect(builder.CreateICmpNE(known, builder.getInt32(0)), count,
                                      builder.getInt32(0));
  if (kept.in_lds) counter = ConstantInt::get(counter->getType(), 0);
  builder.CreateCall(runtime_.summary_add, {table, follower.slot, counter, times, lanes});
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
  for (const auto &[access, follower] : followers_) {
    if (!follower.slot) continue;
    const Kept &kept = kept_[follower.leader];
    IRBuilder<> builder(&end);
    const auto load = [&](AllocaInst *variable) {
      return builder.CreateLoad(builder.getInt32Ty(), variable);
    };
    Type *wide = builder.getInt64Ty();
    Value *lanes =
        builder.CreateOr(builder.CreateZExt(load(kept.lanes_low), wide),
                         builder.CreateShl(builder.CreateZExt(load(kept.lanes_high), wide), 32));
    addFollower(builder, kept, follower, clone.control, clone.wave, load(kept.count), lanes);
  }
  for (CallInst *given_up : given_up_) given_up->eraseFromParent();
  DominatorTree dominators(*clone.function);
  PromoteMemToReg(variables_, dominators);
  clear();
}

} // namespace fade
