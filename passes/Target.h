// What is known about the GPU that a module is compiled for, and everything that the pass does
// differently from one to the other.
#pragma once

#include "AccessFinder.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/PassManager.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class GlobalVariable;
class Module;
} // namespace llvm

namespace fade {

// The processor, like gfx90a; empty if the module does not say (plain IR, -mcpu given later).
std::string targetProcessor(const llvm::Module &module);

// Major number of an AMD processor: 9 for gfx90a, 10 for gfx1030; 0 if unknown.
unsigned processorMajor(llvm::StringRef processor);

// 32 or 64; 0 if it may still be decided when code is generated.
unsigned waveSize(const llvm::Module &module);

bool isAMDGCN(const llvm::Module &module);
bool isNVPTX(const llvm::Module &module); // the 64-bit one

// What an address space means.
struct SpaceMeaning {
  uint32_t space = 0;             // FADE_SPACE_*, or the number itself
  bool is_private = false;        // stack slots and the like: a matter of one lane
  const char *omission = nullptr; // why accesses to it cannot be recorded
};

// What a target intrinsic does to memory: accesses, or the reason why they are left out.
struct IntrinsicAccesses {
  std::vector<Access> accesses;
  std::string omission;
};

class Target {
public:
  // Null if the pass does not know the module's target.
  static std::unique_ptr<Target> of(const llvm::Module &module,
                                    llvm::FunctionAnalysisManager &analyses);
  virtual ~Target();

  // ---- kernels
  virtual bool isKernel(const llvm::Function &function) const = 0;
  // Functions of the target's own libraries: not the user's code, and costly to look into.
  virtual bool isLibrary(llvm::StringRef function) const = 0;
  // An empty function that is to become the twin of a kernel. What the module says about the kernel
  // elsewhere is said about it, too.
  virtual llvm::Function *createTwin(llvm::Function &kernel, llvm::FunctionType *type,
                                     const std::string &name);
  // Takes back what the module says about a kernel.
  virtual void dropAnnotations(const llvm::Function &kernel) = 0;
  // Whether twins need a variable in the workgroup's memory of their own.
  virtual bool needsTwin(const llvm::GlobalVariable &lds) const = 0;

  // ---- accesses
  virtual SpaceMeaning meaningOf(unsigned address_space) const = 0;
  // Whether an object that a flat pointer leads to belongs to one lane.
  virtual bool isPrivateObject(const llvm::Value &object) const = 0;
  virtual IntrinsicAccesses describe(llvm::CallBase &call, llvm::StringRef intrinsic,
                                     const llvm::DataLayout &layout) const = 0;
  virtual bool assemblyTouchesMemory(llvm::StringRef text) const = 0;

  // ---- code
  virtual llvm::Value *workItemId(llvm::IRBuilder<> &builder, unsigned dimension) const = 0;
  virtual llvm::Value *workgroupId(llvm::IRBuilder<> &builder, unsigned dimension) const = 0;
  virtual llvm::Value *laneId(llvm::IRBuilder<> &builder) const = 0;
  // An i32 that is the same in all lanes, in a form that the compiler knows to be so.
  virtual llvm::Value *uniform(llvm::IRBuilder<> &builder, llvm::Value *value) const = 0;
  // The address of an access as records have it, i64.
  virtual llvm::Value *toAddress(llvm::IRBuilder<> &builder, llvm::Value *pointer) const;
  // Code that brings the lanes that `start` was made for together again where a kernel ends, if
  // the hardware does not do so by itself. `start` is what lanesAtStart() made; it may be null.
  virtual llvm::Value *lanesAtStart(llvm::IRBuilder<> &builder) const;
  virtual void rejoin(llvm::IRBuilder<> &builder, llvm::Value *start) const;

  // Whether a call ends the wave, or the lanes that call.
  virtual bool endsWave(const llvm::CallBase &call) const = 0;

  // Puts a site table (include/fade/sites.h) into the code object.
  virtual void embedSites(llvm::Module &module, llvm::StringRef table) const = 0;
};

std::unique_ptr<Target> makeAmdgcnTarget();
std::unique_ptr<Target> makeNvptxTarget(const llvm::Module &module,
                                        llvm::FunctionAnalysisManager &analyses);

} // namespace fade
