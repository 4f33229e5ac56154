// Makes the instrumented twins: of kernels, and of the functions that they call.
#pragma once

#include "AccessFinder.h"
#include "Options.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

namespace llvm {
class Argument;
class GlobalVariable;
class Module;
class Type;
} // namespace llvm

namespace fade {

// A function whose body is a copy that may be instrumented. `control` and `wave` are valid
// throughout it; the wave of a kernel becomes known once code that announces it is in place.
struct Clone {
  llvm::Function *function = nullptr;
  llvm::Function *original = nullptr;
  llvm::Value *control = nullptr;
  llvm::Value *wave = nullptr;
  // Once code for them is in place: the counters, by descriptor or address, and in the latter case
  // whether there are any: 0, else 2.
  llvm::Value *counters = nullptr;
  llvm::Value *gate = nullptr;
  // Where accesses are added up: the bits of an address that matter.
  llvm::Value *key = nullptr;
  llvm::Value *records_all = nullptr; // i1, of the wave: everything is recorded instead
  bool is_kernel = false;
};

// Kernels that can get a twin and have none yet.
llvm::SmallVector<llvm::Function *, 8> findKernels(llvm::Module &module, const Target &target,
                                                   const Options &options);

class KernelCloner {
public:
  // `announces`: twins announce their waves, for which they need ids that the original may not.
  KernelCloner(llvm::Module &module, Target &target, Omissions &omissions, bool announces)
      : module_(module), target_(target), omissions_(omissions), announces_(announces) {}

  // The twin takes the arguments of the original and a fade_control behind them (clone.h).
  Clone cloneKernel(llvm::Function &original);

  // Makes the calls in a clone go to clones of the callees, with control and wave behind their
  // arguments. Clones that did not exist before are appended to `made`.
  void followCalls(const Clone &clone, llvm::SmallVectorImpl<Clone> &made);

  // Takes line tables out of a clone that has been instrumented: the places of its accesses are in
  // the site table, and generating its code takes a fifth less time. Full debug info stays.
  static void dropLineTables(const Clone &clone);

  // mode=replace: the clone takes name and place of the original.
  void replace(const Clone &clone);
  // Takes out the originals of functions that only replaced kernels called: LLVM 19 crashes when it
  // generates code for a module with such functions without optimising it first.
  void removeUncalled();

private:
  llvm::Function *copy(llvm::Function &original, llvm::ArrayRef<llvm::Type *> more, bool is_kernel);
  Clone &functionClone(llvm::Function &original, llvm::SmallVectorImpl<Clone> &made);
  void promoteIndirectCalls(llvm::Function &function);
  void redirect(llvm::CallBase &call, const Clone &caller, const Clone &callee);
  llvm::GlobalVariable *ldsTwin(llvm::GlobalVariable &original);

  bool isDeviceLibrary(llvm::StringRef name) const;
  void removeInferredAttributes(llvm::Function &clone) const;
  void simplifyCalls(llvm::Function &clone) const;
  void collectLds(const llvm::Value *value, llvm::SmallPtrSetImpl<const llvm::Value *> &visited,
                  llvm::SmallVectorImpl<llvm::GlobalVariable *> &found) const;

  llvm::Module &module_;
  Target &target_;
  Omissions &omissions_;
  const bool announces_;
  llvm::DenseMap<llvm::Function *, Clone> functions_;
  llvm::DenseMap<llvm::GlobalVariable *, llvm::GlobalVariable *> lds_;
};

} // namespace fade
