// Puts calls of the device runtime into clones. What to call for which instruction has been decided
// before; here it is only written down.
#pragma once

#include "AccessFinder.h"
#include "BlockCounter.h"
#include "CounterPlan.h"
#include "DeviceRuntime.h"
#include "KeptClasses.h"
#include "KernelCloner.h"
#include "UserRecord.h"
#include "WaveCounters.h"

#include <vector>

namespace llvm {
class BasicBlock;
class CallInst;
class Module;
} // namespace llvm

namespace fade {

class Instrumenter {
public:
  // `sums`: accesses are added up, see device_rt/summary.h.
  Instrumenter(const DeviceRuntime &runtime, const Target &target, const llvm::Module &module,
               bool sums);

  // From now on, records of accesses are written by code in the place of the access, not by a call.
  void setInline(bool on) { inline_accesses_ = on; }

  // Code at the start of a kernel that announces the wave; sets clone.wave.
  void announceWave(Clone &clone, uint32_t kernel);
  // Code at the start of a function that adds accesses up; sets clone.key, and clone.records_all if
  // it is a kernel or has blocks to record. In a kernel, `control` of the clone becomes the table
  // of its part of the GPU, `wave` the place of the wave's counter.
  void findTable(Clone &clone, bool has_blocks);
  // Twins that add up. Before accesses of a kernel that a wave leaves where it returns, and nowhere
  // else: those in loops are kept in registers, as far as there are any. Behind them: code where
  // the kernel returns.
  void keepClasses(const Clone &clone, const std::vector<Access> &accesses);
  void addKeptClasses(const Clone &clone);
  // Code where the kernel returns.
  void recordWaveEnd(const Clone &clone, uint32_t kernel);
  // Code before an access.
  void recordAccess(const Clone &clone, const Access &access, uint32_t site);
  // Code in the place of the author's mark.
  void recordUser(const Clone &clone, const UserRecord &record, uint32_t site);
  // Code at the start of a block.
  void recordBlock(const Clone &clone, llvm::BasicBlock &block, uint32_t site);
  // Code at the start of a function that countBlock() needs; sets clone.counters and clone.gate.
  void findCounters(Clone &clone);
  // Code at the start of a block.
  void countBlock(const Clone &clone, llvm::BasicBlock &block, uint32_t site);

  // Twins without a stream. Puts those counters in front of a plan that the wave keeps until its
  // end; there are none if it may end elsewhere.
  void assignCounters(const Clone &clone, CounterPlan &plan, bool is_left_anywhere);
  // What a block that has this counter says of it: FADE_SITE_*.
  uint32_t counterFlags(unsigned counter) const;
  // Code that counts, and adds up in the counters from number `first` on. In a kernel, `control` of
  // the clone becomes the place of the counters, which is what the clones of its callees take.
  // Returns the registers in which it counts.
  WaveCounters::Range countWithoutStream(Clone &clone, const CounterPlan &plan, uint32_t first);

  // The module id is a hash of the site table and becomes known last.
  void setModuleId(uint64_t id);

private:
  void keepCounters(Clone &clone, llvm::IRBuilder<> &builder, llvm::Value *address) const;
  llvm::Value *workItem(llvm::IRBuilder<> &builder) const;
  void sumUp(llvm::IRBuilder<> &builder, const Clone &clone, const Access &access,
             llvm::Value *address, llvm::Value *length, uint32_t site);
  CounterPlace findPlace(const Clone &clone, llvm::Instruction &before) const;
  void filterBefore(const Clone &clone, llvm::Instruction &end, CounterPlace &place) const;
  llvm::SmallVector<llvm::Instruction *, 4> findEnds(const Clone &clone) const;
  bool returns(const Clone &clone) const;

  const DeviceRuntime &runtime_;
  const Target &target_;
  std::vector<llvm::CallInst *> announcements_;
  BlockCounter counter_;
  std::unique_ptr<WaveCounters> wave_counters_; // null: there are none
  unsigned in_wave_ = 0;                        // so many of the counters that were assigned last
  bool inline_accesses_ = false;
  const bool sums_;
  KeptClasses kept_;
};

} // namespace fade
