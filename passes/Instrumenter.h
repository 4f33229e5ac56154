// Puts calls of the device runtime into clones. What to call for which instruction has been decided
// before; here it is only written down.
#pragma once

#include "AccessFinder.h"
#include "BlockCounter.h"
#include "DeviceRuntime.h"
#include "KernelCloner.h"

#include <vector>

namespace llvm {
class BasicBlock;
class CallInst;
class Module;
} // namespace llvm

namespace fade {

class Instrumenter {
public:
  Instrumenter(const DeviceRuntime &runtime, const Target &target, const llvm::Module &module);

  // From now on, records of accesses are written by code in the place of the access, not by a call.
  void setInline(bool on) { inline_accesses_ = on; }

  // Code at the start of a kernel that announces the wave; sets clone.wave.
  void announceWave(Clone &clone, uint32_t kernel);
  // Code where the kernel returns.
  void recordWaveEnd(const Clone &clone, uint32_t kernel);
  // Code before an access.
  void recordAccess(const Clone &clone, const Access &access, uint32_t site);
  // Code at the start of a block.
  void recordBlock(const Clone &clone, llvm::BasicBlock &block, uint32_t site);
  // Code at the start of a function that countBlock() needs; sets clone.counters and clone.gate.
  void findCounters(Clone &clone);
  // Code at the start of a block.
  void countBlock(const Clone &clone, llvm::BasicBlock &block, uint32_t site);

  // The module id is a hash of the site table and becomes known last.
  void setModuleId(uint64_t id);

private:
  const DeviceRuntime &runtime_;
  const Target &target_;
  std::vector<llvm::CallInst *> announcements_;
  BlockCounter counter_;
  bool inline_accesses_ = false;
};

} // namespace fade
