// What is checked within a workgroup: races, unwritten bytes in LDS and private memory, and
// barriers.
#pragma once

#include "checks/call_stacks.h"
#include "checks/global_race.h"
#include "checks/hang_check.h"
#include "checks/lane_race.h"
#include "checks/lane_span.h"
#include "checks/lds_shadow.h"
#include "checks/nan_check.h"
#include "checks/options.h"
#include "checks/poll_loops.h"
#include "checks/private_shadow.h"
#include "checks/reporter.h"
#include "checks/stray_values.h"
#include "checks/unwritten_values.h"
#include "checks/updated_values.h"
#include "checks/wait_check.h"

namespace fade::checks {

/// One per workgroup that runs; whoever runs it has it for himself.
class GroupCheck {
public:
  /// `races`: null if global memory is not looked at.
  void begin(const ObservedGroup &group, const Options &options, DispatchRaces *races);

  WaveCalls &callsOf(const ObservedWave &wave) { return calls_[wave.number]; }

  void lds(const ObservedWave &wave, const ObservedAccess &access, const LaneSpan &span,
           Reporter &reporter);
  void scratch(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter);
  void barrier(const ObservedWave &wave, uint64_t site, uint64_t lanes, Reporter &reporter);
  void barrierPassed(const ObservedGroup &group, Reporter &reporter);
  void barrierLeft(const ObservedWave &wave);
  void waveEnds(const ObservedWave &wave, uint64_t site, Reporter &reporter);
  void global(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter) {
    if (!races_) return;
    lanes(wave, access, reporter);
    global_.access(wave, access, reporter);
  }
  void atomicDone() {
    if (races_) global_.atomicDone();
  }
  void wait(const ObservedWave &wave, const ObservedWait &wait) {
    if (races_) global_.wait(wave, wait);
    if (!waits_.empty()) waits_[wave.number].wait(wait);
  }
  void fence(const ObservedWave &wave, const ObservedFence &fence) {
    if (races_) global_.fence(wave, fence);
  }
  void registers(const ObservedWave &wave, const ObservedInstruction &instruction, uint64_t site,
                 const ObservedMemory &memory, Reporter &reporter) {
    if (!waits_.empty()) waits_[wave.number].registers(wave, instruction, reporter);
    if (!nans_.empty())
      nans_[wave.number].registers(wave, instruction, site, nan_group_, memory, reporter);
    if (!values_.empty() && values_[wave.number].any())
      values_[wave.number].registers(wave, instruction, site, reporter);
    if (!strays_.empty() && strays_[wave.number].any())
      strays_[wave.number].registers(wave, instruction, site, reporter);
    if (!updates_.empty() && updates_[wave.number].any())
      updates_[wave.number].registers(wave, instruction);
    wave.also_wants = (!values_.empty() && values_[wave.number].any()) ||
                              (!strays_.empty() && strays_[wave.number].any()) ||
                              (!updates_.empty() && updates_[wave.number].any())
                          ? kWantsRegisters
                          : 0u;
  }
  void crossing(const ObservedWave &wave, const ObservedCrossing &crossing, uint64_t site,
                const Reporter &reporter) {
    if (!strays_.empty()) strays_[wave.number].crossing(wave, crossing, site, reporter);
  }
  /// An access of a wave: values of inactive lanes may be stored.
  void strays(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter) {
    if (!strays_.empty() && strays_[wave.number].any())
      strays_[wave.number].access(wave, access, reporter);
  }
  /// An access of a wave: values that are NaN or infinite may be stored.
  void floats(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter) {
    if (!nans_.empty())
      nans_[wave.number].access(wave, access, nan_group_, options_->has(Check::nan),
                                options_->has(Check::precision), reporter);
  }
  WavePolls &pollsOf(const ObservedWave &wave) { return polls_[wave.number]; }
  UnwrittenValues &valuesOf(const ObservedWave &wave) { return values_[wave.number]; }
  void globalBarrier(const ObservedWave &wave) {
    if (races_) global_.globalBarrier(wave);
  }

private:
  /// Split barriers: what a wave has done until now is before the barrier.
  void arrive(const ObservedWave &wave);
  static Finding describe(const ObservedWave &wave, const ObservedAccess &access, uint64_t lanes,
                          const Reporter &reporter);
  void reportRace(const ObservedWave &wave, uint64_t lanes, const ObservedAccess &access,
                  const LdsShadow::Other &other, Reporter &reporter);
  /// Whether lanes are in order only because they are in one wave of 64.
  void halves(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter);
  /// Lanes of the same wave.
  void lanes(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter);
  void written(const ObservedWave &wave, const ObservedAccess &access, const LaneSpan &span,
               Reporter &reporter);

  const Options *options_ = nullptr;
  LdsShadow shadow_;
  LdsShadow halves_; ///< the same as if a wave had half as many lanes
  PollLoops poll_loops_;
  DispatchRaces *races_ = nullptr;
  GroupRaces global_;
  std::vector<PrivateShadow> private_;  ///< of each wave, if they are looked at
  std::vector<UnwrittenValues> values_; ///< of each wave
  std::vector<LaneRaces> lanes_;        ///< of each wave
  std::vector<UpdatedValues> updates_;  ///< of each wave
  LaneOverlap overlap_;
  std::vector<WaitCheck> waits_; ///< of each wave, if they are looked at
  std::vector<NanValues> nans_;  ///< of each wave, if they are looked at
  NanGroup nan_group_;
  std::vector<StrayValues> strays_; ///< of each wave, if they are looked at
  std::vector<WavePolls> polls_;    ///< of each wave, if it is asked what they wait for
  bool has_shadow_ = false, has_several_waves_ = false, has_halves_ = false;
  uint32_t ended_ = 0;
  uint64_t end_site_ = 0; ///< where the last of those ended
  uint32_t ended_wave_ = 0;
  ObservedWave at_barrier_{}; ///< one that waits
  uint64_t barrier_site_ = 0;
  std::vector<WaveCalls> calls_; ///< of each wave
};

} // namespace fade::checks
