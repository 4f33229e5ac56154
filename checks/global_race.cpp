#include "checks/global_race.h"

#include "checks/allocations.h"
#include "checks/stored_value.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <string_view>

namespace fade::checks {
namespace {

constexpr auto kAtomic = static_cast<uint8_t>(AccessKind::atomic);
constexpr auto kStore = static_cast<uint8_t>(AccessKind::store);
constexpr unsigned kStackBits = 6; ///< of a mark's site
static_assert(CallStacks::kMost <= 1 << kStackBits);
constexpr std::size_t kMostReleases = 8; ///< kept one by one in a meeting

uint32_t ceilDiv(uint32_t a, uint32_t b) { return b ? (a + b - 1) / b : 1; }

bool isFrom10(std::string_view gpu) { return gpu.starts_with("gfx1"); }
bool isFrom94(std::string_view gpu) { return gpu.starts_with("gfx94") || gpu.starts_with("gfx95"); }

uint32_t wavesPerGroup(const ObservedDispatch &d) {
  return ceilDiv(d.workgroup[0] * d.workgroup[1] * d.workgroup[2], d.lanes);
}

uint64_t wavesOf(const ObservedDispatch &d) {
  uint64_t groups = 1;
  for (int i = 0; i < 3; ++i) groups *= ceilDiv(d.grid[i], d.workgroup[i]);
  return groups * wavesPerGroup(d);
}

} // namespace

DispatchRaces::DispatchRaces(const ObservedDispatch &d, const ObservedMemory &m)
    : dispatch(d), memory(m), counts_stores_apart(isFrom10(d.gpu)),
      must_write_back(isFrom94(d.gpu)), times{counts_stores_apart || must_write_back ? 2u : 1u},
      histories(wavesOf(d), times), kernel_(d.kernel), gpu_(d.gpu),
      waves_per_group_(wavesPerGroup(d)) {
  dispatch.kernel = kernel_.c_str(), dispatch.gpu = gpu_.c_str();
  for (int i = 0; i < 3; ++i) groups_[i] = ceilDiv(d.grid[i], d.workgroup[i]);
}

uint32_t DispatchRaces::firstWave(const ObservedGroup &group) const {
  return ((group.id[2] * groups_[1] + group.id[1]) * groups_[0] + group.id[0]) * waves_per_group_;
}

DispatchRaces::GlobalBarrier &DispatchRaces::globalBarrier(uint32_t number) {
  GlobalBarrier &barrier = global_barriers_[number % global_barriers_.size()];
  if (barrier.number != number) barrier = {number, nullptr};
  return barrier;
}

/// How far the instruction is from the kernel's first one, in dwords, and its stack above that.
uint32_t DispatchRaces::packed(uint64_t site) const {
  const auto distance = static_cast<int64_t>(addressOf(site) - dispatch.entry) / 4;
  return (static_cast<uint32_t>(distance) & ((1u << (32 - kStackBits)) - 1)) |
         static_cast<uint32_t>(stackOf(site)) << (32 - kStackBits);
}

Place DispatchRaces::place(const Mark &mark, uint64_t address) const {
  Place p{};
  const auto distance = static_cast<int32_t>(mark.site << kStackBits) >> kStackBits;
  const uint64_t pc = dispatch.entry + static_cast<uint64_t>(int64_t{distance} * 4);
  setSite(p, siteOf(pc, static_cast<StackId>(mark.site >> (32 - kStackBits))), &stacks);
  p.kind = static_cast<uint8_t>(mark.accessKind());
  const uint32_t flat = mark.wave / waves_per_group_;
  ObservedGroup group;
  group.id[0] = flat % groups_[0];
  group.id[1] = flat / groups_[0] % groups_[1];
  group.id[2] = flat / groups_[0] / groups_[1];
  for (int i = 0; i < 3; ++i) {
    p.group[i] = group.id[i];
    group.size[i] =
        std::min(dispatch.workgroup[i], dispatch.grid[i] - group.id[i] * dispatch.workgroup[i]);
  }
  p.size = mark.size();
  p.lane = mark.lane;
  if (mark.isOfLanes()) p.lane += static_cast<uint32_t>(address % 4) / p.size;
  workItem(group, mark.wave % waves_per_group_, dispatch.lanes, p.lane, p.item);
  if (mark.isOfLanes())
    p.byte = static_cast<uint32_t>(address % p.size), p.data = ObservedAccess::none + 1u;
  else if (mark.part)
    p.byte = (mark.part - 1u) * 4 + address % 4, p.data = ObservedAccess::none + 1u;
  return p;
}

void GroupRaces::begin(DispatchRaces &dispatch, const ObservedGroup &group) {
  if (dispatch_ != &dispatch) blocks_.fill({}), joins_ = {};
  dispatch_ = &dispatch;
  lines_.clear();
  has_stored_ = false;
  first_ = dispatch.firstWave(group);
  count_ = group.waves;
  if (waves_.size() < count_) waves_.resize(count_);
  for (uint32_t i = 0; i < count_; ++i) {
    WaveRaces &w = waves_[i];
    w.id = first_ + i;
    w.now = w.since = 0, w.dirty = ~Time{0};
    w.loads.clear(), w.stores.clear();
    w.heard.assign(count_, 0);
    w.seen = w.fresh = nullptr;
    w.taken.clear(), w.lately.fill({}), w.lately_count = 0;
    w.global_barriers = 0, w.took_global_barrier = false;
    w.has_stored = false;
  }
  arriving_ = arrived_ = {std::vector<Time>(count_), nullptr, nullptr, 0, false};
}

ShadowPage *GroupRaces::page(uint64_t address) {
  const uint64_t number = address / GlobalShadow::Block::kBytes;
  // Arrays are often a power of two apart: all bits have a part in it.
  CachedBlock &cached = blocks_[number * 0x9E3779B97F4A7C15 >> (64 - kCachedBits)];
  if (cached.number != number) cached = {number, &dispatch_->shadow.block(address)};
  return dispatch_->shadow.page(*cached.block, address);
}

/// The page that all of an access is in; null if there are several, or one that does not exist.
ShadowPage *GroupRaces::onlyPage(const ObservedAccess &access) {
  if (!access.lanes) return nullptr;
  const uint64_t first = access.address[std::countr_zero(access.lanes)];
  const uint64_t number = first / ShadowPage::kBytes;
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const uint64_t at = access.address[std::countr_zero(lanes)];
    if (at / ShadowPage::kBytes != number || (at + access.size - 1) / ShadowPage::kBytes != number)
      return nullptr;
  }
  return page(first);
}

/// The time of an access; it is under way from now on.
Time GroupRaces::takeTime(WaveRaces &w, const ObservedAccess &access) const {
  ++w.now;
  if (access.path == AccessPath::scalar) return w.now;
  const bool writes = access.kind != AccessKind::load;
  const bool is_counted_apart = writes && !access.returns && dispatch_->counts_stores_apart;
  (is_counted_apart ? w.stores : w.loads).add(w.now, writes);
  if (dispatch_->must_write_back && access.kind == AccessKind::store && !access.device)
    w.dirty = std::min(w.dirty, w.now);
  return w.now;
}

/// What the wave passes on is put together once for all lanes of an instruction: those who contend
/// for a lock do little else.
void GroupRaces::release(Lane &lane, Meeting &meeting) {
  const WaveRaces &w = lane.wave;
  const uint32_t first = dispatch_->times.of(first_, false);
  if (!lane.passes_on) {
    lane.passes_on = true;
    std::vector<Time> times;
    dispatch_->histories.putTimes(w.id, lane.done, first_, w.heard, times);
    passed_on_ = std::make_shared<const std::vector<Time>>(std::move(times));
  }
  const bool in_order = ordered_ != nullptr;
  const Meeting::Release mine{w.id, lane.mark.time, lane.done, lane.mark.site, in_order, w.since};
  meeting.pass(mine, w.seen, first, passed_on_, joins_);
  for (Meeting::Release &r : meeting.releases)
    if (r.wave == mine.wave && r.in_order == mine.in_order) {
      r = mine;
      return;
    }
  if (meeting.releases.size() == kMostReleases) {
    meeting.releases.erase(meeting.releases.begin());
    meeting.has_older = true;
  }
  meeting.releases.push_back(mine);
}

void GroupRaces::meetReaders(Lane &lane, const ShadowPage &page, uint32_t dword) const {
  for (const PageMarks *marks : {&page.read, &page.second_read})
    if (const Mark *who = marks->who(dword); who && conflicts(lane, lane.wave.seen, *who))
      meet(lane, lane.wave.seen, marks->at(dword));
  if (const Parts *parts = page.partsOf(dword))
    for (const Mark &part : parts->read) meet(lane, lane.wave.seen, part);
}

void GroupRaces::meetStore(Lane &lane, const Mark &mark, uint32_t value) const {
  if (lane.races || !conflicts(lane, lane.wave.seen, mark)) return;
  const unsigned common = mark.bytes & lane.mark.bytes;
  const auto differs = [&](uint32_t mine) { return ((mine ^ value) & maskOfBytes(common)) != 0; };
  if (!differs(lane.value)) return;
  if (!differs(leftAt(lane.access, lane.mark.lane, lane.at / 4, common, lane.value))) return;
  lane.races = true, lane.met = mark;
}

void GroupRaces::meetWriters(Lane &lane, const ShadowPage &page, uint32_t dword) const {
  if (!page.write.marks.who(dword)) return;
  const auto meetOne = [&](const Mark &write, uint32_t value) {
    if (lane.access.kind == AccessKind::store) return meetStore(lane, write, value);
    if (lane.access.kind == AccessKind::atomic) {
      if (!lane.access.returns || !write.tells) meet(lane, lane.wave.seen, write);
      return;
    }
    // What is not in the cache, or came there in time, is not old.
    if (!lane.cached || conflicts(lane, *lane.cached, write)) meet(lane, lane.wave.fresh, write);
  };
  const uint32_t last = page.write.valueOf(dword);
  meetOne(page.write.marks.at(dword), last);
  if (const Parts *parts = page.partsOf(dword))
    for (const Mark &part : parts->written) meetOne(part, last);
  const ShadowPage::Writes &earlier = page.earlier_write;
  if (earlier.marks.who(dword)) meetOne(earlier.marks.at(dword), earlier.valueOf(dword));
}

/// A store takes the place of the one before. That one stays as the earlier one unless nobody can
/// race with it who does not with this: it is of the same value, and this wave knows of it.
void GroupRaces::putWrite(const Lane &lane, ShadowPage &page, uint32_t dword) const {
  GlobalShadow &shadow = dispatch_->shadow;
  Mark &last = page.write.marks.of(dword, shadow);
  uint32_t &value = shadow.made(page.write.values)[dword];
  const WaveRaces &w = lane.wave;
  const unsigned common = last.time ? last.bytes & lane.mark.bytes : 0;
  const bool is_same_access = last.wave == w.id && last.time == lane.mark.time;
  const uint32_t mask = maskOfBytes(lane.mark.bytes);
  if (common && !is_same_access) {
    const bool is_known = last.wave == w.id || hasHeard(w, w.seen, last);
    const uint32_t different = (lane.value ^ value) & maskOfBytes(common);
    if (!is_known || different) {
      page.earlier_write.marks.of(dword, shadow) = last;
      shadow.made(page.earlier_write.values)[dword] = value;
    }
  }
  value = (value & ~mask) | (lane.value & mask);
  page.put(dword, last, lane.mark);
}

/// An atomic of which others may not have heard when they come.
void GroupRaces::keep(const WaveRaces &w, Meeting &meeting, const Mark &mark) const {
  auto &marks = meeting.marks;
  auto at = std::ranges::find_if(marks, [&](const Mark &m) { return m.time && m.wave == w.id; });
  if (at == marks.end())
    at = std::ranges::find_if(marks,
                              [&](const Mark &m) { return !m.time || hasHeard(w, w.seen, m); });
  if (at == marks.end()) at = marks.begin() + meeting.oldest++ % marks.size();
  *at = mark;
}

void GroupRaces::load(Lane &lane, ShadowPage &page, uint32_t dword) {
  WaveRaces &w = lane.wave;
  if (lane.access.coherent) {
    page.polled[dword / 64] |= uint64_t{1} << dword % 64;
    w.taken.push_back({&page, dword, false, lane.mark.site});
    return;
  }
  meetWriters(lane, page, dword);
  if (const Meeting *meeting = page.meeting(dword)) {
    // A plain load begins a loop of compare-and-swap; and within a workgroup atomic loads look like
    // others.
    bool is_local = false;
    for (const Mark &mark : meeting->marks) {
      if (mark.time && isLocal(mark.wave))
        is_local = true;
      else if (!meeting->answers)
        meet(lane, w.fresh, mark);
    }
    if (is_local) w.taken.push_back({&page, dword, false, lane.mark.site});
  }
  const Mark *first = page.read.who(dword);
  const bool may_replace =
      !first || !first->time || first->wave == w.id || hasHeard(w, w.seen, *first);
  PageMarks &marks = may_replace ? page.read : page.second_read;
  page.put(dword, marks.of(dword, dispatch_->shadow), lane.mark);
}

void GroupRaces::store(Lane &lane, ShadowPage &page, uint32_t dword) {
  WaveRaces &w = lane.wave;
  Meeting *meeting = page.meeting(dword);
  if (meeting && !meeting->answers && !page.isPolled(dword)) {
    for (const Mark &mark : meeting->marks) meet(lane, w.seen, mark);
    meeting = nullptr;
  }
  if (!meeting && !page.isPolled(dword)) meetWriters(lane, page, dword);
  meetReaders(lane, page, dword);
  if (meeting) {
    // One that opens a lock, for example.
    release(lane, *meeting);
    Mark mark = lane.mark;
    mark.kind = kAtomic & 3;
    keep(w, *meeting, mark);
    return;
  }
  putWrite(lane, page, dword);
}

void GroupRaces::atomic(Lane &lane, ShadowPage &page, uint32_t dword) {
  WaveRaces &w = lane.wave;
  if (!page.isPolled(dword)) meetWriters(lane, page, dword);
  if (!lane.access.returns) meetReaders(lane, page, dword); // see load()
  if (lane.races && lane.met.accessKind() == AccessKind::load && isLocal(lane.met.wave))
    lane.races = false;
  GlobalShadow &shadow = dispatch_->shadow;
  Meeting &meeting = shadow.made(shadow.made(page.meetings)[dword]);
  meeting.answers |= lane.access.returns;
  release(lane, meeting);
  keep(w, meeting, lane.mark);
  if (lane.access.returns)
    w.taken.push_back({&page, dword, true, lane.mark.site, ordered_ != nullptr});
}

/// Whole dwords that only this wave has written, and only it has read if it is a store: nothing to
/// compare with. Most accesses are so.
bool GroupRaces::isQuick(Lane &lane, uint32_t dword) {
  ShadowPage &page = *lane.page;
  const WaveRaces &w = lane.wave;
  const auto isOthers = [&](const PageMarks &marks) {
    const Mark *mark = marks.who(dword);
    return mark && mark->time && mark->wave != w.id;
  };
  if (page.parts) return false;
  if (isOthers(page.write.marks) || isOthers(page.earlier_write.marks)) return false;
  if (lane.access.kind == AccessKind::store) {
    if (isOthers(page.read) || isOthers(page.second_read)) return false;
    GlobalShadow &shadow = dispatch_->shadow;
    const uint32_t stored = storedAt(lane.access, lane.mark.lane, lane.at);
    Mark &last = page.write.marks.of(dword, shadow);
    uint32_t &value = shadow.made(page.write.values)[dword];
    // See putWrite(): it knows of itself.
    if (last.time && last.time != lane.mark.time &&
        ((stored ^ value) & maskOfBytes(last.bytes)) != 0) {
      page.earlier_write.marks.of(dword, shadow) = last;
      shadow.made(page.earlier_write.values)[dword] = value;
    }
    last = lane.mark, value = stored;
    return true;
  }
  const bool may_replace = !isOthers(page.read) || hasHeard(w, w.seen, *page.read.who(dword));
  (may_replace ? page.read : page.second_read).of(dword, dispatch_->shadow) = lane.mark;
  return true;
}

void GroupRaces::dword(Lane &lane, ShadowPage &page, uint32_t dword) {
  lane.races = false;
  switch (lane.access.kind) {
  case AccessKind::load: load(lane, page, dword); break;
  case AccessKind::store: store(lane, page, dword); break;
  case AccessKind::atomic: atomic(lane, page, dword); break;
  }
  if (!lane.races) return;
  const auto common = static_cast<unsigned>(lane.met.bytes & lane.mark.bytes);
  const uint64_t byte = lane.at / 4 * 4 + static_cast<unsigned>(std::countr_zero(common | 8));
  if (!lane.racing || byte < lane.first_byte)
    lane.first_lane = lane.mark.lane, lane.first_met = lane.met, lane.first_byte = byte;
  lane.racing |= uint64_t{1} << lane.mark.lane;
}

/// From now on it is about that page, which is locked.
void GroupRaces::enter(Lane &lane, uint64_t number) {
  if (lane.page) lane.page->unlock();
  lane.page_number = number;
  lane.page = page(number * ShadowPage::kBytes);
  if (lane.page) lane.page->lock();
  lane.may_be_quick = lane.page && lane.is_plain && !lane.page->meetings;
}

/// One lane of an access, dword by dword.
void GroupRaces::lookAt(Lane &lane, unsigned number) {
  const ObservedAccess &access = lane.access;
  const uint64_t begin = access.address[number], end = begin + access.size;
  const bool is_aligned = begin % 4 == 0;
  lane.mark.lane = number & 63;
  for (uint64_t at = begin; at < end; at = (at | 3) + 1) {
    if (at / ShadowPage::kBytes != lane.page_number) enter(lane, at / ShadowPage::kBytes);
    if (!lane.page) continue;
    const uint64_t n = std::min(end, (at | 3) + 1) - at;
    lane.mark.bytes = (((1u << n) - 1) << at % 4) & 15;
    const uint64_t before = (at - begin) / 4;
    lane.mark.part = is_aligned && before < 7 ? (before + 1) & 7 : 0;
    lane.at = at;
    const auto in_page = static_cast<uint32_t>(at % ShadowPage::kBytes / 4);
    if (lane.may_be_quick && is_aligned && access.size >= 4 && isQuick(lane, in_page)) continue;
    lane.cached = lines_.upTo(at, lane.wave.seen);
    if (access.kind == AccessKind::store) lane.value = storedAt(access, number, at);
    dword(lane, *lane.page, in_page);
  }
}

void GroupRaces::access(const ObservedWave &wave, const ObservedAccess &access,
                        Reporter &reporter) {
  if (access.path == AccessPath::scalar && access.lanes &&
      dispatch_->isLaunch(access.address[std::countr_zero(access.lanes)], access.size))
    return;
  settle(wave);
  WaveRaces &w = of(wave);
  Lane lane{access, w};
  lane.mark.wave = w.id;
  lane.mark.time = takeTime(w, access);
  lane.mark.site = dispatch_->packed(access.pc);
  lane.mark.kind = static_cast<uint8_t>(access.kind) & 3;
  lane.mark.setSize(access.size);
  lane.done = w.done();
  for (Time *done : {&lane.done.loads, &lane.done.stores})
    *done = std::min(*done, lane.mark.time - 1);
  lane.mark.setDone(lane.done);
  lane.mark.tells = access.kind == AccessKind::store && has_stored_ && lane.mark.lag == 1 &&
                    lane.mark.load_lag == 1;
  // One that is the first of its wave tells nobody that others are done.
  if (lane.mark.tells && w.has_stored && access.lanes)
    if (ShadowPage *told = page(access.address[std::countr_zero(access.lanes)]))
      told->tells.store(true, std::memory_order_relaxed);
  has_stored_ |= access.kind != AccessKind::load;
  w.has_stored |= access.kind != AccessKind::load;
  if (access.kind == AccessKind::atomic && (ordered_ = onlyPage(access))) ordered_->order.lock();
  lane.is_plain = access.kind != AccessKind::atomic && !access.coherent;
  uint64_t last = 0;
  bool has_raced = false;
  const uint64_t left = lane.is_plain ? lookAtRows(lane) : access.lanes;
  for (uint64_t lanes = left; lanes; lanes &= lanes - 1) {
    const auto number = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t begin = access.address[number];
    // Of lanes that load or change the same place one after the other, what holds for the first
    // holds for all.
    if (access.kind != AccessKind::store && begin == last && lanes != left) {
      if (has_raced) lane.racing |= uint64_t{1} << number;
      continue;
    }
    last = begin;
    lookAt(lane, number);
    has_raced = lane.racing >> number & 1;
  }
  if (lane.page) lane.page->unlock();
  if (ordered_ && !w.taken.empty()) learn(w); // from those before, and nobody comes between
  if (access.kind == AccessKind::load && !access.coherent) lines_.add(access, w.seen);
  if (lane.racing) report(wave, lane, reporter);
}

/// What could have ordered the two sides, and does not.
void GroupRaces::explain(const Lane &lane, Finding &f) const {
  const WaveRaces &w = lane.wave;
  const Mark &met = lane.first_met;
  const auto set = [&](Between lacks, uint32_t wave, uint32_t site, uint8_t kind = kAtomic) {
    Mark mark;
    mark.wave = wave, mark.site = site, mark.time = 1;
    mark.kind = kind & 3;
    f.lacks = static_cast<uint32_t>(lacks);
    f.between = dispatch_->place(mark, 0);
  };
  const auto isTooEarly = [&](uint32_t wave, Time time, const Done &done) {
    return wave == met.wave && time > met.time &&
           (met.writes() ? done.stores : done.loads) < met.time;
  };
  if (isLocal(met.wave)) return; // a barrier is missing
  for (std::size_t i = 0; i < w.lately.size(); ++i) {
    const Taken &taken = w.lately[(w.lately_count + w.lately.size() - 1 - i) % w.lately.size()];
    if (!taken.page) continue;
    if (hasHeard(w, w.seen, met)) return set(Between::no_acquire, w.id, taken.site);
    taken.page->lock();
    std::optional<Meeting::Release> found;
    bool is_store = false;
    if (const Meeting *meeting = taken.page->meeting(taken.dword)) {
      for (const Meeting::Release &r : meeting->releases)
        if (isTooEarly(r.wave, r.time, r.done)) found = r;
      // Of many waves the last ones are known, and all run the same code.
      if (!found && meeting->releases.size() == kMostReleases)
        for (const Meeting::Release &r : meeting->releases)
          if (r.done.stores + 1 < r.time) found = r;
    }
    for (const auto *writes : {&taken.page->write, &taken.page->earlier_write}) {
      if (found) continue;
      const Mark flag = writes->marks.at(taken.dword);
      if (flag.time && isTooEarly(flag.wave, flag.time, flag.done()))
        found = {flag.wave, flag.time, flag.done(), flag.site}, is_store = true;
    }
    taken.page->unlock();
    if (found)
      return set(Between::no_release, found->wave, found->site, is_store ? kStore : kAtomic);
  }
}

void GroupRaces::report(const ObservedWave &wave, Lane &lane, Reporter &reporter) {
  const ObservedAccess &access = lane.access;
  Finding f = reporter.begin(Check::race, Problem::race);
  f.space = static_cast<uint32_t>(AccessSpace::global);
  f.place = reporter.place(wave, lane.first_lane, access, lane.first_byte);
  f.address = lane.first_byte;
  f.other = dispatch_->place(lane.first_met, f.address);
  if (const auto allocation = AllocationMap::instance().find(f.address)) {
    f.allocation = allocation->info();
    f.distance = static_cast<int64_t>(f.address - allocation->base);
  }
  explain(lane, f);
  reporter.report(f, static_cast<uint64_t>(std::popcount(lane.racing)));
}

} // namespace fade::checks
