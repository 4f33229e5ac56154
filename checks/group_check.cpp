#include "checks/group_check.h"

#include "checks/lane_span.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace fade::checks {
namespace {

Place otherPlace(const ObservedWave &wave, const LdsShadow::Other &other,
                 const Reporter &reporter) {
  Place place = reporter.place(wave, other.lane, other.pc, other.kind, other.size);
  if (other.data != ObservedAccess::none) place.byte = other.byte, place.data = other.data + 1u;
  return place;
}

/// As stores to flags are.
bool isOnePlace(const ObservedAccess &access) {
  const auto lane = static_cast<unsigned>(std::countr_zero(access.lanes));
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1)
    if (access.address[std::countr_zero(lanes)] != access.address[lane]) return false;
  return true;
}

} // namespace

void GroupCheck::begin(const ObservedGroup &group, const Options &options, DispatchRaces *races) {
  races_ = races;
  if (races) global_.begin(*races, group);
  if (options.has(Check::wait)) {
    waits_.resize(std::max<std::size_t>(waits_.size(), group.waves));
    for (WaitCheck &wait : waits_) wait.begin(group.dispatch->gpu);
  }
  if (options.has(Check::nan) || options.has(Check::precision)) {
    if (nans_.size() < group.waves) nans_.resize(group.waves);
    for (NanValues &values : nans_) values.begin();
    nan_group_.begin();
    nan_group_.looks_for_flushes = options.has(Check::precision);
  }
  if (options.has(Check::hang)) {
    if (polls_.size() < group.waves) polls_.resize(group.waves);
    for (WavePolls &polls : polls_) polls.begin();
  }
  if (options.has(Check::sync)) {
    if (strays_.size() < group.waves) strays_.resize(group.waves);
    for (StrayValues &strays : strays_) strays.begin();
  }
  options_ = &options;
  has_several_waves_ = group.waves > 1;
  has_shadow_ =
      group.dispatch->lds_bytes != 0 && (options.has(Check::race) || options.has(Check::init));
  if (has_shadow_) shadow_.begin(group.waves, group.dispatch->lds_bytes);
  if (has_shadow_) poll_loops_.begin(*group.dispatch);
  constexpr uint32_t whole = 64;
  has_halves_ =
      options.has(Check::wave) && group.dispatch->lds_bytes != 0 && group.dispatch->lanes == whole;
  if (has_halves_) halves_.begin(group.waves * 2, group.dispatch->lds_bytes);
  if (options.has(Check::init)) {
    if (private_.size() < group.waves) private_.resize(group.waves);
    for (uint32_t i = 0; i < group.waves; ++i) private_[i].begin(group.dispatch->scratch_bytes);
    if (values_.size() < group.waves) values_.resize(group.waves);
    for (uint32_t i = 0; i < group.waves; ++i) values_[i].begin();
  }
  if (options.has(Check::race)) {
    if (lanes_.size() < group.waves) lanes_.resize(group.waves);
    for (LaneRaces &lanes : lanes_) lanes.begin();
    if (updates_.size() < group.waves) updates_.resize(group.waves);
    for (UpdatedValues &updates : updates_) updates.begin();
  }
  ended_ = 0;
  if (calls_.size() < group.waves) calls_.resize(group.waves);
  for (uint32_t i = 0; i < group.waves; ++i) calls_[i].begin();
}

void GroupCheck::reportRace(const ObservedWave &wave, uint64_t lanes, const ObservedAccess &access,
                            const LdsShadow::Other &other, Reporter &reporter) {
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  Finding f = reporter.begin(Check::race, Problem::race);
  f.space = static_cast<uint32_t>(access.space);
  f.address = other.address;
  f.place = reporter.place(wave, lane, access, f.address);
  ObservedWave first = wave;
  first.number = other.wave;
  f.other = otherPlace(first, other, reporter);
  reporter.report(f, static_cast<uint64_t>(std::popcount(lanes)));
}

Finding GroupCheck::describe(const ObservedWave &wave, const ObservedAccess &access, uint64_t lanes,
                             const Reporter &reporter) {
  const unsigned lane = lowestLane(access, lanes);
  Finding f = reporter.begin(Check::init, Problem::uninitialized);
  f.space = static_cast<uint32_t>(access.space);
  f.address = access.address[lane];
  f.place = reporter.place(wave, lane, access, f.address);
  return f;
}

void GroupCheck::scratch(const ObservedWave &wave, const ObservedAccess &access,
                         Reporter &reporter) {
  if (!updates_.empty() && updates_[wave.number].any()) updates_[wave.number].scratch(wave, access);
  if (!options_->has(Check::init)) return;
  values_[wave.number].scratch(wave, access);
  PrivateShadow &shadow = private_[wave.number];
  if (access.kind != AccessKind::load) return shadow.write(access);
  const uint64_t unwritten = shadow.unwritten(access);
  if (!unwritten) return;
  // Without optimization, objects are copied with members that nobody has set.
  UnwrittenBytes bytes(access.size);
  for (unsigned k = 0; k < bytes.count; ++k) bytes.lanes[k] = unwritten;
  values_[wave.number].load(wave, access, bytes, describe(wave, access, unwritten, reporter));
}

void GroupCheck::lanes(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter) {
  LaneRaces &lanes = lanes_[wave.number];
  UpdatedValues &updates = updates_[wave.number];
  const bool is_scalar = access.path == AccessPath::scalar;
  if (access.kind == AccessKind::load) {
    UpdateSites &sites = UpdateSites::instance();
    const ObservedDispatch &dispatch = *wave.group->dispatch;
    const bool is_argument =
        is_scalar && access.address[0] - dispatch.kernarg_address < dispatch.kernarg_bytes;
    const auto meets = [&] {
      return is_scalar ? std::popcount(access.active) > 1 : overlap_.meets(access);
    };
    if (!is_argument && !sites.isSpent(access.pc) && meets() && sites.takes(access.pc))
      updates.load(wave, access);
    if (!is_scalar) lanes.load(access);
    return;
  }
  if (is_scalar) return;
  if (access.kind != AccessKind::store) return;
  const auto old = [&](uint64_t from, void *to, uint32_t size) {
    if (access.space == AccessSpace::global) return races_->memory.read(from, to, size);
    const ObservedGroup &group = *wave.group;
    const uint64_t limit = group.dispatch->lds_bytes;
    if (!group.lds || from > limit || limit - from < size) return false;
    std::memcpy(to, static_cast<const std::byte *>(group.lds) + from, size);
    return true;
  };
  lanes.store(wave, access, overlap_, updates, old, reporter);
}

void GroupCheck::halves(const ObservedWave &wave, const ObservedAccess &access,
                        Reporter &reporter) {
  const uint32_t first = wave.number * 2;
  uint64_t racing = 0;
  LdsShadow::Other other, first_other;
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    // Other waves are the matter of another check, as is what one instruction does.
    if (!halves_.race(first + lane / 32, lane, access, other) || other.wave / 2 != wave.number ||
        other.pc == access.pc)
      continue;
    if (!racing) first_other = other;
    racing |= uint64_t{1} << lane;
  }
  for (const uint32_t half : {first, first + 1}) halves_.endAccess(half);
  if (!racing) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(racing));
  Finding f = reporter.begin(Check::wave, Problem::half_wave);
  f.space = static_cast<uint32_t>(access.space);
  f.address = first_other.address;
  f.place = reporter.place(wave, lane, access, f.address);
  f.other = otherPlace(wave, first_other, reporter);
  f.waves = wave.group->waves;
  reporter.report(f, static_cast<uint64_t>(std::popcount(racing)));
}

void GroupCheck::lds(const ObservedWave &wave, const ObservedAccess &access, const LaneSpan &span,
                     Reporter &reporter) {
  if (!waits_.empty() && !waits_[wave.number].loadsToLds(access))
    for (WaitCheck &each : waits_) each.usesLds(wave, access, reporter);
  if (has_halves_) halves(wave, access, reporter);
  if (!has_shadow_) return;
  const bool races = options_->has(Check::race) && has_several_waves_;
  LdsShadow::Other other, first_other;
  uint64_t racing = 0;
  auto manner = LdsShadow::Manner::plain;
  // Without optimization accesses do not know that they are in LDS, and say that they are atomic.
  if (races && access.kind == AccessKind::load && access.size <= 8 &&
      ((access.coherent && isOnePlace(access)) ||
       poll_loops_.isPoll(addressOf(access.pc), races_->memory)))
    manner = LdsShadow::Manner::polls;
  if (races && access.kind == AccessKind::store && isOnePlace(access))
    manner = LdsShadow::Manner::tells;
  const bool is_done =
      races && manner == LdsShadow::Manner::plain && shadow_.readsOnly(wave.number, access);
  for (uint64_t lanes = races && !is_done ? access.lanes : 0; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    if (!shadow_.race(wave.number, lane, access, other, manner)) continue;
    if (!racing) first_other = other;
    racing |= uint64_t{1} << lane;
  }
  if (races) shadow_.endAccess(wave.number);
  if (options_->has(Check::race)) this->lanes(wave, access, reporter);
  if (racing) reportRace(wave, racing, access, first_other, reporter);
  if (options_->has(Check::init)) written(wave, access, span, reporter);
}

/// Who writes LDS, and who reads what nobody wrote.
void GroupCheck::written(const ObservedWave &wave, const ObservedAccess &access,
                         const LaneSpan &span, Reporter &reporter) {
  UnwrittenValues &values = values_[wave.number];
  constexpr uint64_t near = 4096;
  const bool is_near = span.bytes >= access.size && span.bytes <= near;
  if (is_near && access.kind == AccessKind::load && shadow_.isAllWritten(span.first, span.bytes))
    return;
  if (is_near && access.kind == AccessKind::store && span.is_gapless && !values.any() &&
      shadow_.writeAll(span.first, span.bytes))
    return;
  if (access.kind != AccessKind::load && values.any()) values.store(wave, access, reporter);
  uint64_t unwritten = 0;
  UnwrittenBytes bytes(access.size);
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t address = access.address[lane], bit = uint64_t{1} << lane;
    if (access.kind != AccessKind::load) {
      if (access.kind == AccessKind::atomic && !access.exchanges &&
          shadow_.isUnwritten(address, access.size))
        unwritten |= bit;
      // Whatever it is: compilers put private arrays here, of which the space in structures is one.
      // But what nobody wrote at all stays so when it is copied.
      if (access.kind == AccessKind::store && values.any()) {
        for (unsigned k = 0; k < access.size; ++k)
          if (!(values.storedWhole(access, k) >> lane & 1)) shadow_.write(address + k, 1);
      } else {
        shadow_.write(address, access.size);
      }
    } else if (shadow_.isWritten(address, access.size)) {
      continue;
    } else if (!shadow_.isUnwritten(address, access.size)) {
      for (unsigned k = 0; k < bytes.count; ++k)
        if (shadow_.isUnwritten(address + k, 1)) bytes.lanes[k] |= bit;
    } else {
      unsigned unit = 2;
      while (unit <= UnwrittenBytes::kWidestUnit &&
             !shadow_.isTouchedNear(address, access.size, unit))
        unit *= 2;
      if (access.size <= 4 && unit <= UnwrittenBytes::kWidestUnit)
        bytes.addPiece(lane, unit);
      else
        unwritten |= bit;
    }
  }
  if (unwritten) {
    const Finding f = describe(wave, access, unwritten, reporter);
    if (access.kind != AccessKind::load || !values.loadWhole(wave, access, unwritten, f))
      reporter.report(f, static_cast<uint64_t>(std::popcount(unwritten)));
  }
  const uint64_t some = bytes.all();
  if (!some) return;
  const unsigned lane = lowestLane(access, some);
  Finding f = describe(wave, access, some, reporter);
  f.address += bytes.first(lane);
  if (bytes.ofLane(lane) < access.size) f.limit = bytes.ofLane(lane);
  values.load(wave, access, bytes, f);
}

void GroupCheck::barrier(const ObservedWave &wave, uint64_t site, uint64_t lanes,
                         Reporter &reporter) {
  if (races_) global_.barrier(wave);
  if (wave.group->splits_barriers) arrive(wave);
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
  if (!values_.empty()) values_[wave.number].end(wave, reporter);
  if (races_) global_.waveEnds(wave);
  if (wave.group->splits_barriers) arrive(wave);
  ++ended_;
  end_site_ = site;
  ended_wave_ = wave.number;
}

void GroupCheck::arrive(const ObservedWave &wave) {
  if (has_shadow_) shadow_.arrive(wave.number);
  if (has_halves_)
    for (const uint32_t half : {0u, 1u}) halves_.arrive(wave.number * 2 + half);
  if (races_) global_.arrive(wave);
}

void GroupCheck::barrierLeft(const ObservedWave &wave) {
  if (has_shadow_) shadow_.leave(wave.number);
  if (has_halves_)
    for (const uint32_t half : {0u, 1u}) halves_.leave(wave.number * 2 + half);
  if (races_) global_.leave(wave);
}

void GroupCheck::barrierPassed(const ObservedGroup &group, Reporter &reporter) {
  if (group.splits_barriers) {
    if (has_shadow_) shadow_.completeBarrier();
    if (has_halves_) halves_.completeBarrier();
    if (races_) global_.completeBarrier();
  } else {
    if (has_shadow_) shadow_.barrier();
    if (has_halves_) halves_.barrier();
    if (races_) global_.barrierPassed();
  }
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
