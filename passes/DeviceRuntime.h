// The device runtime (device_rt/) inside a module.
#pragma once

#include "llvm/IR/Function.h"
#include "llvm/Support/Error.h"

namespace llvm {
class Module;
} // namespace llvm

namespace fade {

class DeviceRuntime {
public:
  // Brings the runtime into the module and adapts it to the module's target.
  static llvm::Expected<DeviceRuntime> link(llvm::Module &module);

  // What the functions do is said in device_rt/fade_rt.cl.
  llvm::Function *wave_begin = nullptr;
  llvm::Function *wave_end = nullptr;
  llvm::Function *block = nullptr;
  llvm::Function *counters = nullptr;
  llvm::Function *count = nullptr;  // to be inlined
  llvm::Function *copy = nullptr;   // the same
  llvm::Function *filter = nullptr; // the same
  llvm::Function *copy_if_wanted = nullptr;
  llvm::Function *access = nullptr;
  llvm::Function *access_flat = nullptr;
  llvm::Function *range = nullptr;
  llvm::Function *range_flat = nullptr;
  llvm::Function *user = nullptr;
  // And these in device_rt/summary.h.
  llvm::Function *summary = nullptr;
  llvm::Function *summary_lds = nullptr;
  llvm::Function *summary_flat = nullptr;
  llvm::Function *summary_range = nullptr;
  llvm::Function *summary_range_flat = nullptr;
  llvm::Function *summary_user = nullptr;
  llvm::Function *summary_block = nullptr;
  llvm::Function *summary_begin = nullptr;
  llvm::Function *summary_announce = nullptr;
  llvm::Function *summary_here = nullptr;     // to be inlined
  llvm::Function *summary_lds_here = nullptr; // the same, as are those that follow
  llvm::Function *summary_keep = nullptr;
  llvm::Function *summary_keep_two = nullptr;
  llvm::Function *summary_lds_keep = nullptr;
  llvm::Function *summary_lead = nullptr;
  llvm::Function *summary_lds_lead = nullptr;
  llvm::Function *summary_follow = nullptr;
  llvm::Function *summary_lds_follow = nullptr;
  llvm::Function *summary_end = nullptr;
  llvm::Function *summary_add = nullptr;      // not to be inlined
  llvm::Function *summary_given_up = nullptr; // has no body: see there

  // Takes out again what nobody calls.
  void removeUnused();

private:
  explicit DeviceRuntime(llvm::Module &module) : module_(&module) {}
  void adapt(llvm::Function &function);

  llvm::Module *module_;
  llvm::SmallVector<llvm::Attribute, 2> target_; // processor and features, if the module has them
};

} // namespace fade
