// Accesses in loops: what a wave keeps of them in registers, see keep() in device_rt/summary.h.
#pragma once

#include "AccessFinder.h"
#include "DeviceRuntime.h"
#include "KernelCloner.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"

namespace llvm {
class AllocaInst;
} // namespace llvm

namespace fade {

class KeptClasses {
public:
  explicit KeptClasses(const DeviceRuntime &runtime) : runtime_(runtime) {}

  // Decides which accesses of a kernel are kept: some of those in loops, the innermost first. Their
  // variables are made at `start`, in the first block.
  void choose(const Clone &clone, llvm::ArrayRef<Access> accesses, llvm::Instruction &start);
  bool isEmpty() const { return variables_.empty(); }
  // Code for an access, if it is kept: false if not. The arguments are those of the runtime's
  // functions that do the same without.
  bool record(llvm::IRBuilder<> &builder, const Access &access,
              llvm::ArrayRef<llvm::Value *> arguments);
  // Code before the end of the kernel; behind this nothing can be kept any more.
  void finish(const Clone &clone, llvm::Instruction &end);

private:
  struct Kept {
    bool in_lds = false;
    llvm::AllocaInst *low = nullptr, *high = nullptr; // no upper half in LDS
    llvm::AllocaInst *lanes_low = nullptr, *lanes_high = nullptr;
    llvm::AllocaInst *place = nullptr, *count = nullptr;
    // a second class, of some in global memory
    llvm::AllocaInst *other_low = nullptr, *other_place = nullptr, *other_count = nullptr;
  };

  const DeviceRuntime &runtime_;
  llvm::DenseMap<const Access *, Kept> kept_;
  llvm::SmallVector<const Access *, 8> order_;
  llvm::SmallVector<llvm::AllocaInst *, 48> variables_;
};

} // namespace fade
