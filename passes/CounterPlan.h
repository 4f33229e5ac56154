// Which blocks of a function are counted so that the counts of all others follow. Nothing here
// changes the code.
//
// Blocks that a lane always runs equally often share a counter: one of them dominates the other,
// is post-dominated by it, and both are in the same loops. It holds for lanes in any control flow
// that has no loops with several entries, and for entries of waves because lanes that part come
// together again at the latest where all of their ways meet. Flows in and out of a block, which
// would save more counters, hold for lanes only: a wave may run both sides of a branch.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class BasicBlock;
class Function;
} // namespace llvm

namespace fade {

struct Counter {
  llvm::BasicBlock *block = nullptr; // where it is counted
  bool is_entry = false;             // once in each call of the function
  bool is_once = false;              // at most once
  unsigned depth = 0;                // of the loops it is in
  // All lanes that come to the outermost of the loops run it together, each time. Its first block
  // then, and the one that leads to it; else null.
  llvm::BasicBlock *loop = nullptr;
  llvm::BasicBlock *before_loop = nullptr;
  // Whether 32 bits may be too few for what one wave counts in one call of the function.
  bool wide_entries = false;
  bool wide_lanes = false;
};

struct CounterPlan {
  llvm::SmallVector<Counter, 16> counters;
  llvm::DenseMap<const llvm::BasicBlock *, unsigned> counter_of; // index, for the blocks asked for
  // Blocks whose time is measured, each from its start to its end; one counter each, behind the
  // others.
  llvm::SmallVector<llvm::BasicBlock *, 16> timed;
  // None of the counters is in a loop, and a lane may come by all of them.
  bool is_row = false;

  // Puts the counters into another order: the one that was number order[i] becomes number i.
  void reorder(llvm::ArrayRef<unsigned> order);
};

// A counter for each of the blocks, shared where that is possible. `is_left_anywhere`: waves may
// end in calls of other functions, so that running one block does not mean that another will run.
CounterPlan planCounters(llvm::Function &function, llvm::ArrayRef<llvm::BasicBlock *> blocks,
                         bool is_left_anywhere, llvm::FunctionAnalysisManager &analyses);

} // namespace fade
