// Accesses in loops: what a wave keeps of them in registers, see device_rt/kept_classes.h.
#pragma once

#include "AccessFinder.h"
#include "DeviceRuntime.h"
#include "KernelCloner.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"

namespace llvm {
class AllocaInst;
class CallInst;
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
    // of those that follow it (Follower), a bit for each
    llvm::AllocaInst *followers = nullptr;
    unsigned follower_count = 0;
    llvm::CallInst *given_up = nullptr; // where their code is put
  };
  // An access that is made whenever another one is, at a constant distance.
  struct Follower {
    const Access *leader = nullptr;
    unsigned number = 0;
    llvm::Value *slot = nullptr;
  };

  void clear();
  void lead(llvm::IRBuilder<> &builder, Kept &kept, llvm::ArrayRef<llvm::Value *> arguments);
  void follow(llvm::IRBuilder<> &builder, Follower &follower,
              llvm::ArrayRef<llvm::Value *> arguments);
  void addFollower(llvm::IRBuilder<> &builder, const Kept &kept, const Follower &follower,
                   llvm::Value *table, llvm::Value *counter, llvm::Value *count,
                   llvm::Value *lanes) const;

  const DeviceRuntime &runtime_;
  llvm::DenseMap<const Access *, Kept> kept_;
  llvm::MapVector<const Access *, Follower> followers_;
  llvm::SmallVector<const Access *, 8> order_;
  llvm::SmallVector<llvm::AllocaInst *, 48> variables_;
  llvm::SmallVector<llvm::CallInst *, 8> given_up_;
};

} // namespace fade
