// Counting blocks where a wave keeps its values, and adding up in memory when it ends.
#pragma once

#include "CounterPlan.h"

#include <memory>

namespace llvm {
class Function;
class Instruction;
class Module;
class Value;
} // namespace llvm

namespace fade {

class Target;

// Where a wave adds up what it has counted; values that are the same in all lanes.
struct CounterPlace {
  llvm::Value *copies = nullptr;      // i64: address of the copies of counters
  llvm::Value *offset = nullptr;      // i32: of the wave's copy
  llvm::Value *is_filtered = nullptr; // i1: not all workgroups are wanted
};

class WaveCounters {
public:
  // Null if there is no way for the module's target, or it is not known well enough.
  static std::unique_ptr<WaveCounters> of(const llvm::Module &module, const Target &target);
  virtual ~WaveCounters();

  // Finds room for counters of a kernel, for those in inner loops first, and puts these in front of
  // the plan. Returns how many they are; the others are counted otherwise. Blocks for whose time
  // there is no room are taken out of the plan.
  virtual unsigned assign(CounterPlan &plan) = 0;
  // Whether what is missing of all waves and lanes is counted, so that a wave that ran the blocks
  // of the counter with all its lanes has nothing to add.
  virtual bool countsMissing(unsigned counter) const {
    (void)counter;
    return false;
  }
  // Registers by number, from `first` to before `end`, that nobody else may write in the kernel;
  // none: both are 0.
  struct Range {
    unsigned first = 0, end = 0;
  };
  virtual Range registers() const { return {}; }
  // Whether waves have anything to add when they end.
  virtual bool addsUp() const { return true; }
  // Whether the place where a wave adds up is looked for at its start, since that takes long.
  virtual bool looksEarly() const { return false; }
  // Code that counts.
  virtual void count(llvm::Function &kernel, const CounterPlan &plan) = 0;
  // Code before an instruction behind which the wave ends. Adds what was counted to the counters:
  // those of the plan are in a row from `first` on, those of times from `first_time` on.
  virtual void flush(llvm::Instruction &end, const CounterPlace &place, uint32_t first,
                     uint32_t first_time) = 0;
  // Code before an instruction behind which the wave ends: whether it has anything to add, i1.
  // Null: it always has.
  virtual llvm::Value *hasAny(llvm::Instruction &end) {
    (void)end;
    return nullptr;
  }
  // Code before an instruction behind which the wave ends, where every wave comes by.
  virtual void rejoin(llvm::Instruction &end) { (void)end; }
  // After all of this.
  virtual void finish(llvm::Function &kernel) { (void)kernel; }
};

// The instruction behind which nothing of the block runs.
llvm::Instruction &endOf(llvm::BasicBlock &block, const Target &target);

std::unique_ptr<WaveCounters> makeRegisterCounters(const llvm::Module &module,
                                                   const Target &target);
std::unique_ptr<WaveCounters> makeThreadCounters(const llvm::Module &module, const Target &target);

} // namespace fade
