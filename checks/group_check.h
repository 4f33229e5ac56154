// What is checked within a workgroup: races, unwritten bytes in LDS and private memory, and
// barriers.
#pragma once

#include "checks/call_stacks.h"
#include "checks/global_race.h"
#include "checks/lds_shadow.h"
#include "checks/options.h"
#include "checks/private_shadow.h"
#include "checks/reporter.h"
#include "checks/wait_check.h"

namespace fade::checks {

/// One per workgroup that runs; whoever runs it has it for himself.
class GroupCheck {
public:
  /// `races`: null if global memory is not looked at.
  void begin(const ObservedGroup &group, const Options &options, DispatchRaces *races);

  WaveCalls &callsOf(const ObservedWave &wave) { return calls_[wave.number]; }

  void lds(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter);
  void scratch(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter);
  void barrier(const ObservedWave &wave, uint64_t site, uint64_t lanes, Reporter &reporter);
  void barrierPassed(const ObservedGroup &group, Reporter &reporter);
  void waveEnds(const ObservedWave &wave, uint64_t site, Reporter &reporter);
  void global(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter) {
    if (races_) global_.access(wave, access, reporter);
  }
  void wait(const ObservedWave &wave, const ObservedWait &wait, Reporter &reporter) {
    if (races_) global_.wait(wave, wait, reporter);
    if (!waits_.empty()) waits_[wave.number].wait(wait);
  }
  void fence(const ObservedWave &wave, const ObservedFence &fence, Reporter &reporter) {
    if (races_) global_.fence(wave, fence, reporter);
  }
  void registers(const ObservedWave &wave, const ObservedInstruction &instruction,
                 Reporter &reporter) {
    waits_[wave.number].registers(wave, instruction, reporter);
  }
  void globalBarrier(const ObservedWave &wave, Reporter &reporter) {
    if (races_) global_.globalBarrier(wave, reporter);
  }

private:
  void reportUnwritten(const ObservedWave &wave, const ObservedAccess &access, uint64_t lanes,
                       Reporter &reporter) const;
  void reportRace(const ObservedWave &wave, unsigned lane, const ObservedAccess &access,
                  const LdsShadow::Other &other, uint64_t times, Reporter &reporter) const;

  const Options *options_ = nullptr;
  LdsShadow shadow_;
  DispatchRaces *races_ = nullptr;
  GroupRaces global_;
  std::vector<PrivateShadow> private_; ///< of each wave, if they are looked at
  std::vector<WaitCheck> waits_;       ///< of each wave, if they are looked at
  bool has_shadow_ = false, has_several_waves_ = false;
  uint32_t ended_ = 0;
  uint64_t end_site_ = 0; ///< where the last of those ended
  uint32_t ended_wave_ = 0;
  ObservedWave at_barrier_{}; ///< one that waits
  uint64_t barrier_site_ = 0;
  std::vector<WaveCalls> calls_; ///< of each wave
};

} // namespace fade::checks
