// What orders the waves of a dispatch: waits, fences, barriers, and what they learn from each
// other. See global_race.h.
#include "checks/global_race.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace fade::checks {

/// Whether the wave has learned all that was passed on at a place, from there or from others. Who
/// knows of what a wave did after it had learned something knows that, too.
bool GroupRaces::knows(const WaveRaces &w, const Taken &taken, const Meeting &meeting) const {
  if (meeting.has_older) return false;
  const Clocks::Ptr &known = taken.by_atomic ? w.fresh : w.seen;
  const TimesOfWave &times = dispatch_->times;
  return std::ranges::all_of(meeting.releases, [&](const Meeting::Release &r) {
    if (r.wave == w.id) return known == w.seen;
    const Time loads = Clocks::of(known, times.of(r.wave, false));
    const Time stores = Clocks::of(known, times.of(r.wave, true));
    if (std::max(loads, stores) < r.since) return false;
    if (times.count == 1) return loads >= std::min(r.done.loads, r.done.stores);
    return loads >= r.done.loads && stores >= r.done.stores;
  });
}

/// What was passed on at a place, as far as the wave has not learned it yet.
void GroupRaces::learnFrom(WaveRaces &w, const Taken &taken) {
  const bool was_in_order = taken.in_order && !ordered_; // else all count that are there
  Clocks::Ptr learned;
  // Waves of a workgroup share a cache, in which everything stays in order.
  const auto hearOf = [&](uint32_t wave, Time time) {
    if (isLocal(wave) && wave != w.id)
      w.heard[wave - first_] = std::max(w.heard[wave - first_], time);
  };
  std::array<Mark, 2 + 4> stores; // the last ones of each byte, and one before
  std::size_t count = 0;
  const auto add = [&](const Mark &write) {
    if (write.time && write.wave != w.id && count < stores.size()) stores[count++] = write;
  };
  taken.page->lock();
  if (Meeting *meeting = taken.page->meeting(taken.dword)) {
    if (!knows(w, taken, *meeting)) learned = meeting->passedOn(was_in_order, joins_);
    for (const Meeting::Release &r : meeting->releases)
      if (!was_in_order || !r.in_order) hearOf(r.wave, r.time);
  }
  add(taken.page->write.marks.at(taken.dword));
  add(taken.page->earlier_write.marks.at(taken.dword));
  if (const Parts *parts = taken.page->partsOf(taken.dword))
    for (const Mark &part : parts->written) add(part);
  taken.page->unlock();
  for (const Mark &store : std::span(stores.data(), count)) {
    hearOf(store.wave, store.time);
    if (!isLocal(store.wave) && isIn(w.seen, store, dispatch_->times)) continue;
    learned =
        Clocks::join(learned, dispatch_->histories.passedOn(store.wave, store.time, store.done()));
  }
  const bool is_fresh = w.fresh == w.seen;
  w.seen = joins_.join(w.seen, learned);
  if (taken.by_atomic) w.fresh = is_fresh ? w.seen : joins_.join(w.fresh, learned);
}

/// The places that a wave has read, first those where the last waves of the dispatch were: they
/// have learned the most, often all that can be learned at the others.
void GroupRaces::putPlaces(const WaveRaces &w) {
  places_.clear();
  const Taken *last = nullptr;
  for (const Taken &taken : w.taken) {
    if (!last || last->page != taken.page || last->dword != taken.dword)
      places_.push_back({0, &taken});
    last = &taken;
  }
  if (places_.size() < 3) return;
  for (TakenFrom &place : places_) {
    ShadowPage &page = *place.taken->page;
    page.lock();
    if (const Meeting *meeting = page.meeting(place.taken->dword))
      for (const Meeting::Release &r : meeting->releases)
        if (r.wave != w.id) place.wave = std::max(place.wave, r.wave);
    page.unlock();
  }
  std::ranges::sort(places_, std::greater<>(),
                    [](const TakenFrom &place) { return std::pair(place.wave, place.taken); });
}

void GroupRaces::learn(WaveRaces &w) {
  const Clocks::Ptr before = w.seen;
  heard_before_ = w.heard;
  putPlaces(w);
  for (const TakenFrom &place : places_) learnFrom(w, *place.taken);
  std::ranges::sort(places_, {}, &TakenFrom::taken); // as the wave has read them
  for (const TakenFrom &place : places_)
    w.lately[w.lately_count++ % w.lately.size()] = *place.taken;
  if (!ordered_) w.taken.clear(); // else there may be more to learn when the atomic was made
  if (w.took_global_barrier) {
    w.took_global_barrier = false;
    const std::lock_guard lock(dispatch_->meeting_mutex);
    w.seen = Clocks::join(w.seen, dispatch_->globalBarrier(w.global_barriers).left);
    w.fresh = Clocks::join(w.fresh, w.seen);
  }
  if (w.seen == before && w.heard == heard_before_) return;
  if (w.seen != before) hearBack(w);
  remember(w);
}

/// Of waves of the own workgroup it may also hear through others.
void GroupRaces::hearBack(WaveRaces &w) const {
  for (uint32_t i = 0; i < count_; ++i)
    for (const bool writes : {false, true})
      w.heard[i] =
          std::max(w.heard[i], Clocks::of(w.seen, dispatch_->times.of(first_ + i, writes)));
}

/// It counts as something that the wave has done: see knows().
void GroupRaces::remember(WaveRaces &w) const {
  auto known = std::make_shared<Known>(Known{w.seen, first_, w.heard});
  w.since = ++w.now;
  dispatch_->histories.add(w.id, w.since, std::move(known));
}

void GroupRaces::wait(const ObservedWave &wave, const ObservedWait &wait) {
  settle(wave);
  WaveRaces &w = of(wave);
  if (wait.vector != ObservedWait::any) w.loads.wait(wait.vector);
  if (wait.stores != ObservedWait::any) w.stores.wait(wait.stores);
}

void GroupRaces::fence(const ObservedWave &wave, const ObservedFence &fence) {
  settle(wave);
  WaveRaces &w = of(wave);
  if (fence.scalar || !fence.device) return;
  // Whether it was waited for is not asked: where nothing else is under way, LLVM leaves that out.
  if (fence.kind != FenceKind::invalidate) w.dirty = ~Time{0};
  if (fence.kind == FenceKind::write_back) return;
  w.fresh = Clocks::join(w.fresh, w.seen);
  lines_.invalidate();
}

void GroupRaces::barrierPassed() {
  Clocks::Ptr seen, fresh;
  uint32_t global_barriers = 0;
  std::vector<Time> heard(count_);
  for (uint32_t i = 0; i < count_; ++i) {
    const WaveRaces &w = waves_[i];
    seen = Clocks::join(seen, w.seen), fresh = Clocks::join(fresh, w.fresh);
    global_barriers = std::max(global_barriers, w.global_barriers);
    heard[i] = w.now;
  }
  const auto known = std::make_shared<const Known>(Known{seen, first_, heard});
  for (uint32_t i = 0; i < count_; ++i) {
    WaveRaces &w = waves_[i];
    w.seen = seen, w.fresh = fresh, w.heard = heard, w.global_barriers = global_barriers;
    w.has_stored = has_stored_;
    w.since = w.now + 1;
    dispatch_->histories.add(w.id, w.since, known);
  }
}

void GroupRaces::arrive(const ObservedWave &wave) {
  const WaveRaces &w = of(wave);
  arriving_.seen = Clocks::join(arriving_.seen, w.seen);
  arriving_.fresh = Clocks::join(arriving_.fresh, w.fresh);
  arriving_.global_barriers = std::max(arriving_.global_barriers, w.global_barriers);
  arriving_.has_stored |= w.has_stored;
  for (uint32_t i = 0; i < count_; ++i)
    arriving_.heard[i] = std::max(arriving_.heard[i], i == wave.number ? w.now : w.heard[i]);
}

void GroupRaces::leave(const ObservedWave &wave) {
  settle(wave);
  WaveRaces &w = of(wave);
  w.seen = Clocks::join(w.seen, arrived_.seen), w.fresh = Clocks::join(w.fresh, arrived_.fresh);
  w.global_barriers = std::max(w.global_barriers, arrived_.global_barriers);
  w.has_stored |= arrived_.has_stored;
  for (uint32_t i = 0; i < count_; ++i) w.heard[i] = std::max(w.heard[i], arrived_.heard[i]);
  remember(w);
}

void GroupRaces::globalBarrier(const ObservedWave &wave) {
  settle(wave);
  WaveRaces &w = of(wave);
  const Clocks::Ptr left = dispatch_->histories.passedOn(w.id, w.now + 1, w.done());
  const std::lock_guard lock(dispatch_->meeting_mutex);
  Clocks::Ptr &all = dispatch_->globalBarrier(++w.global_barriers).left;
  all = Clocks::join(all, left);
  w.took_global_barrier = true;
}

void GroupRaces::waveEnds(const ObservedWave &wave) {
  settle(wave);
  dispatch_->histories.end(of(wave).id);
}
} // namespace fade::checks
