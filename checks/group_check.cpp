#include "checks/group_check.h"

#include <algorithm>
#include <bit>

namespace fade::checks {

void GroupCheck::begin(const ObservedGroup &group, const Options &options, DispatchRaces *races) {
  races_ = races;
  if (races) global_.begin(*races, group);
  if (options.has(Check::wait)) {
    waits_.resize(std::max<std::size_t>(waits_.size(), group.waves));
    for (WaitCheck &wait : waits_) wait.begin(group.dispatch->gpu);
  }
  options_ = &options;
  has_several_waves_ = group.waves > 1;
  has_shadow_ = group.dispatch->lds_bytes != 0 &&
                ((options.has(Check::race) && has_several_waves_) || options.has(Check::init));
  if (has_shadow_) shadow_.begin(group.waves, group.dispatch->lds_bytes);
  if (options.has(Check::init)) {
    if (private_.size() < group.waves) private_.resize(group.waves);
    for (uint32_t i = 0; i < group.waves; ++i) private_[i].begin(group.dispatch->scratch_bytes);
  }
  ended_ = 0;
  if (calls_.size() < group.waves) calls_.resize(group.waves);
  for (uint32_t i = 0; i < group.waves; ++i) calls_[i].begin();
}

void GroupCheck::reportRace(const ObservedWave &wave, unsigned lane, const ObservedAccess &access,
                            const LdsShadow::Other &other, uint64_t times,
                            Reporter &reporter) const {
  Finding f = reporter.begin(Check::race, Problem::race);
  f.space = static_cast<uint32_t>(access.space);
  f.place = reporter.place(wave, lane, access.pc, access.kind, access.size);
  f.address = access.address[lane];
  ObservedWave first = wave;
  first.number = other.wave;
  f.other = reporter.place(first, other.lane, other.pc, other.kind, access.size);
  reporter.report(f, times);
}

void GroupCheck::reportUnwritten(const ObservedWave &wave, const ObservedAccess &access,
                                 uint64_t lanes, Reporter &reporter) const {
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  Finding f = reporter.begin(Check::init, Problem::uninitialized);
  f.space = static_cast<uint32_t>(access.space);
  f.place = reporter.place(wave, lane, access.pc, access.kind, access.size);
  f.address = access.address[lane];
  reporter.report(f, static_cast<uint64_t>(std::popcount(lanes)));
}

void GroupCheck::scratch(const ObservedWave &wave, const ObservedAccess &access,
                         Reporter &reporter) {
  if (!options_->has(Check::init)) return;
  PrivateShadow &shadow = private_[wave.number];
  if (access.kind != AccessKind::load) return shadow.write(access);
  if (const uint64_t unwritten = shadow.unwritten(access))
    reportUnwritten(wave, access, unwritten, reporter);
}

void GroupCheck::lds(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter) {
  if (!has_shadow_) return;
  const bool races = options_->has(Check::race) && has_several_waves_;
  const bool inits = options_->has(Check::init);
  LdsShadow::Other other, first_other;
  unsigned racing = 0, racing_lane = 0;
  uint64_t unwritten = 0;
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    if (races && shadow_.race(wave.number, lane, access, other) && racing++ == 0)
      racing_lane = lane, first_other = other;
    if (!inits) continue;
    if (access.kind != AccessKind::load)
      shadow_.write(access.address[lane], access.size);
    else if (shadow_.isUnwritten(access.address[lane], access.size))
      unwritten |= uint64_t{1} << lane;
  }
  if (races) shadow_.endAccess(wave.number);
  if (racing) reportRace(wave, racing_lane, access, first_other, racing, reporter);
  if (unwritten) reportUnwritten(wave, access, unwritten, reporter);
}

void GroupCheck::barrier(const ObservedWave &wave, uint64_t site, uint64_t lanes,
                         Reporter &reporter) {
  if (races_) global_.barrier(wave, reporter);
  at_barrier_ = wave;
  barrier_site_ = site;
  if (!options_->has(Check::sync) || lanes == wave.work_items) return;
  Finding f = reporter.begin(Check::sync, Problem::divergent_barrier);
  const uint64_t missing = wave.work_items & ~lanes;
  const auto absent = static_cast<unsigned>(std::countr_zero(missing ? missing : 1));
  f.place = reporter.place(wave, absent, site, AccessKind::load, 0);
  f.waves = static_cast<uint32_t>(std::popcount(lanes & wave.work_items));
  f.limit = static_cast<uint64_t>(std::popcount(wave.work_items));
  reporter.report(f);
}

void GroupCheck::waveEnds(const ObservedWave &wave, uint64_t site, Reporter &reporter) {
  if (races_) global_.waveEnds(wave, reporter);
  ++ended_;
  end_site_ = site;
  ended_wave_ = wave.number;
}

void GroupCheck::barrierPassed(const ObservedGroup &group, Reporter &reporter) {
  if (has_shadow_) shadow_.barrier();
  if (races_) global_.barrierPassed();
  if (!options_->has(Check::sync) || !ended_) return;
  Finding f = reporter.begin(Check::sync, Problem::missing_waves);
  ObservedWave wave = at_barrier_;
  f.place = reporter.place(wave, 0, barrier_site_, AccessKind::load, 0);
  wave.number = ended_wave_;
  f.other = reporter.place(wave, 0, end_site_, AccessKind::load, 0);
  f.waves = group.waves - ended_;
  f.limit = group.waves;
  reporter.report(f);
}

} // namespace fade::checks
