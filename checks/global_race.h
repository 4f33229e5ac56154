// race, in global memory: accesses of different waves of a dispatch to the same bytes, of which one
// is a store, and nothing orders them.
//
// What orders is read off machine code, which does not know "release" and "acquire":
// - Before a wave tells others to go on, it waits until its stores have been done (s_waitcnt; on
//   gfx942 after a write-back). What it has not waited for is not passed on to other workgroups.
//   Loads and stores are waited for apart from gfx10 on, and passed on apart: who has read a place
//   may give it back while results are still being stored elsewhere.
// - It tells them with an atomic, or a store to a place that others poll; if they do so with
//   atomics and came later, with one behind stores that were waited for.
// - Who polls uses loads that go past the nearest cache (GLC, SC1), or atomics that return the old
//   value. Loads behind a polling load see what was passed on once the wave has invalidated its
//   cache; stores, atomics and loads that go past the cache at once. After an atomic that returned
//   a value all do: so many programs rely on it that being strict would help nobody. Nor is a load
//   old whose line the workgroup has not read since it last invalidated its cache: barriers of the
//   whole grid, HIP's own among them, invalidate before they poll.
// - Waves of a workgroup share their cache, and need neither.
// Barriers order the waves of a workgroup, global wave sync those of the dispatch.
//
// An access is told before it is made. So what a wave passes on is taken note of early, and what it
// learns late, with the next thing it does: in whatever order workers run, nobody is accused who
// saw that he may go on. But of two atomics at the same place only the second learns from the
// first, however close they are: such that touch one page are noted and made one after the other
// (ShadowPage::order), and learn from each other at once.
#pragma once

#include "checks/call_stacks.h"
#include "checks/clocks.h"
#include "checks/global_shadow.h"
#include "checks/reporter.h"
#include "checks/wave_history.h"

#include <fade/observer.h>

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace fade::checks {

/// What the workgroups of a dispatch share.
class DispatchRaces {
public:
  DispatchRaces(const ObservedDispatch &dispatch, const ObservedMemory &memory);

  uint32_t firstWave(const ObservedGroup &group) const;
  /// A lane of a wave, for a finding. `address`: the byte in question.
  Place place(const Mark &mark, uint64_t address) const;

  /// Whether these are bytes that launched the dispatch: all waves read its arguments, and nobody
  /// writes them.
  bool isLaunch(uint64_t address, uint32_t size) const {
    const auto isIn = [&](uint64_t begin, uint64_t bytes) {
      return address - begin < bytes && size <= bytes - (address - begin);
    };
    constexpr uint64_t packet_bytes = 64;
    return isIn(dispatch.kernarg_address, dispatch.kernarg_bytes) ||
           isIn(dispatch.packet_address, packet_bytes);
  }

  /// The site of an access, as a mark has it.
  uint32_t packed(uint64_t site) const;

  ObservedDispatch dispatch; ///< it may be asked for after it has ended
  CallStacks stacks;
  const ObservedMemory &memory;
  GlobalShadow shadow;
  const bool counts_stores_apart; ///< gfx10 and later: vscnt
  const bool must_write_back;     ///< gfx942: its L2 is not one for the whole device
  const TimesOfWave times;
  WaveHistories histories;

  struct GlobalBarrier {
    uint32_t number = 0;
    Clocks::Ptr left; ///< what those passed on who came there
  };
  /// The last one, or the one before: a wave may come to the next one when others have not gone on
  /// from it yet, and then waits for them. Under meeting_mutex.
  GlobalBarrier &globalBarrier(uint32_t number);
  std::mutex meeting_mutex;

private:
  std::string kernel_, gpu_; ///< of `dispatch`
  std::array<GlobalBarrier, 2> global_barriers_;
  uint32_t groups_[3];
  uint32_t waves_per_group_;
};

/// Accesses of a wave that may be under way, as one of its counters has them.
class UnderWay {
public:
  void add(Time time, bool writes) {
    if (count_ == kMost) ++first_, --count_;
    const uint32_t at = (first_ + count_++) % kMost;
    times_[at] = time;
    writes_ = (writes_ & ~(uint64_t{1} << at)) | uint64_t{writes} << at;
  }
  /// All but the last `left` are done.
  void wait(uint32_t left) {
    if (count_ > left) first_ += count_ - left, count_ = left;
  }
  /// The first of those that write, or of the others.
  Time oldest(bool writes) const {
    if (!count_) return ~Time{0};
    const uint64_t of_kind =
        std::rotr(writes ? writes_ : ~writes_, static_cast<int>(first_ % kMost));
    const auto at = static_cast<uint32_t>(std::countr_zero(of_kind));
    return at < count_ ? times_[(first_ + at) % kMost] : ~Time{0};
  }
  void clear() { first_ = count_ = 0; }

private:
  static constexpr uint32_t kMost = 64;
  std::array<Time, kMost> times_;
  uint64_t writes_ = 0; ///< a bit each
  uint32_t first_ = 0, count_ = 0;
};

/// Lines that a workgroup's cache may hold, since it was last invalidated.
class CachedLines {
public:
  void clear() { lines_.clear(), is_known_ = false; }
  void invalidate() { lines_.clear(), is_known_ = true; }
  /// `seen`: what the wave knows of that loads them.
  void add(const ObservedAccess &access, const Clocks::Ptr &seen) {
    if (!is_known_) return;
    for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
      const uint64_t address = access.address[std::countr_zero(lanes)];
      for (uint64_t line = address / kLine; line <= (address + access.size - 1) / kLine; ++line)
        lines_.try_emplace(line, seen);
    }
    is_known_ = lines_.size() < kMost;
  }
  /// What a load can rely on: `seen` if it goes to memory, else what those knew who went there.
  /// Null: not known.
  const Clocks::Ptr *upTo(uint64_t address, const Clocks::Ptr &seen) const {
    if (!is_known_) return nullptr;
    const auto at = lines_.find(address / kLine);
    return at == lines_.end() ? &seen : &at->second;
  }

private:
  static constexpr uint64_t kLine = 128;
  static constexpr std::size_t kMost = 4096; ///< more than a cache has
  std::unordered_map<uint64_t, Clocks::Ptr> lines_;
  bool is_known_ = false; ///< from the first time on that it is invalidated
};

/// The waves of one workgroup. Whoever runs it has it for himself.
class GroupRaces {
public:
  void begin(DispatchRaces &dispatch, const ObservedGroup &group);

  void access(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter);
  /// What access() told of last has been made, if it was an atomic.
  void atomicDone() {
    if (ordered_) ordered_->order.unlock();
    ordered_ = nullptr;
  }
  void wait(const ObservedWave &wave, const ObservedWait &wait);
  void fence(const ObservedWave &wave, const ObservedFence &fence);
  void barrier(const ObservedWave &wave) { settle(wave); }
  void barrierPassed();
  /// A split barrier: a wave arrives (or ends), all have arrived, a wave has waited for that.
  void arrive(const ObservedWave &wave);
  void completeBarrier() { arrived_ = arriving_; }
  void leave(const ObservedWave &wave);
  void globalBarrier(const ObservedWave &wave);
  void waveEnds(const ObservedWave &wave);

private:
  struct Taken { ///< a place from which a wave may have learned something
    ShadowPage *page;
    uint32_t dword;
    bool by_atomic;
    uint32_t site = 0;     ///< as a mark has it
    bool in_order = false; ///< it has learned from atomics that came before
  };
  struct WaveRaces {
    uint32_t id = 0;
    Time now = 0;
    Time since = 0;        ///< it has learned nothing from others after that
    Time dirty = ~Time{0}; ///< gfx942: the first store that was not written back
    UnderWay loads;        ///< on gfx9 stores, too
    UnderWay stores;
    std::vector<Time> heard; ///< of the waves of the workgroup
    Clocks::Ptr seen;        ///< of others, in whatever way
    Clocks::Ptr fresh;       ///< what loads that use the nearest cache can rely on
    std::vector<Taken> taken;
    std::array<Taken, 4> lately{}; ///< where it learned last, for advice
    uint32_t lately_count = 0;
    uint32_t global_barriers = 0; ///< that its workgroup has come to, as far as it knows
    bool took_global_barrier = false;
    bool has_stored = false; ///< or another one has, before a barrier of the workgroup

    /// What those can rely on who learn from it now.
    Done done() const {
      return {std::min(loads.oldest(false), now + 1) - 1,
              std::min({loads.oldest(true), stores.oldest(true), dirty, now + 1}) - 1};
    }
  };
  struct Arrived { ///< at a split barrier: what those knew who came
    std::vector<Time> heard;
    Clocks::Ptr seen, fresh;
    uint32_t global_barriers = 0;
    bool has_stored = false;
  };
  struct Lane { ///< what is being looked at
    const ObservedAccess &access;
    WaveRaces &wave;
    Mark mark{};
    uint64_t at = 0;            ///< the first byte, of the dword that is looked at
    uint32_t value = 0;         ///< stores: what is stored there
    Done done{};                ///< of what the wave did before
    bool passes_on = false;     ///< atomics: passed_on_ is what the wave leaves
    bool is_plain = false;      ///< a load or store that orders nothing
    ShadowPage *page = nullptr; ///< it is locked
    uint64_t page_number = ~uint64_t{0};
    bool may_be_quick = false;           ///< it is plain, and nobody changes the page with atomics
    const Clocks::Ptr *cached = nullptr; ///< CachedLines::upTo()
    bool races = false;                  ///< the dword that is being looked at, with `met`
    Mark met{};
    Mark first_met{};
    unsigned first_lane = 0;
    uint64_t first_byte = 0; ///< its address
    uint64_t racing = 0;     ///< lanes
  };

  WaveRaces &of(const ObservedWave &wave) { return waves_[wave.number]; }
  bool isLocal(uint32_t wave) const { return wave - first_ < count_; }
  static bool isIn(const Clocks::Ptr &far, const Mark &mark, TimesOfWave times) {
    return Clocks::of(far, times.of(mark.wave, mark.writes())) >= mark.time;
  }
  bool hasHeard(const WaveRaces &wave, const Clocks::Ptr &far, const Mark &mark) const {
    return isLocal(mark.wave) ? wave.heard[mark.wave - first_] >= mark.time
                              : isIn(far, mark, dispatch_->times);
  }
  bool conflicts(const Lane &lane, const Clocks::Ptr &far, const Mark &mark) const {
    return mark.time && mark.wave != lane.wave.id && (mark.bytes & lane.mark.bytes) &&
           !hasHeard(lane.wave, far, mark);
  }
  void meet(Lane &lane, const Clocks::Ptr &far, const Mark &mark) const {
    if (!lane.races && conflicts(lane, far, mark)) lane.races = true, lane.met = mark;
  }
  ShadowPage *page(uint64_t address);
  ShadowPage *onlyPage(const ObservedAccess &access);
  Time takeTime(WaveRaces &wave, const ObservedAccess &access) const;
  void lookAt(Lane &lane, unsigned number);
  void enter(Lane &lane, uint64_t number);
  bool isQuick(Lane &lane, uint32_t dword);
  struct RowPart { ///< dwords of a page
    uint32_t first, count;
    bool isWhole() const { return count == PageMarks::kRow; }
  };
  bool hasHeardAll(const WaveRaces &wave, const Clocks::Ptr &far, const PageMarks &marks,
                   const RowPart &part) const;
  bool isQuickRow(Lane &lane, const RowPart &part);
  void loadRow(const Lane &lane, const RowPart &part);
  void storeRow(const Lane &lane, const RowPart &part);
  bool putEarlierRow(const Lane &lane, const RowPart &part, const uint32_t *stored);
  uint64_t lookAtRows(Lane &lane);
  void dword(Lane &lane, ShadowPage &page, uint32_t dword);
  void load(Lane &lane, ShadowPage &page, uint32_t dword);
  void store(Lane &lane, ShadowPage &page, uint32_t dword);
  void atomic(Lane &lane, ShadowPage &page, uint32_t dword);
  /// A store meets another one, of `value`.
  void meetStore(Lane &lane, const Mark &mark, uint32_t value) const;
  void putWrite(const Lane &lane, ShadowPage &page, uint32_t dword) const;
  void meetReaders(Lane &lane, const ShadowPage &page, uint32_t dword) const;
  void meetWriters(Lane &lane, const ShadowPage &page, uint32_t dword) const;
  void keep(const WaveRaces &wave, Meeting &meeting, const Mark &mark) const;
  void release(Lane &lane, Meeting &meeting);
  void report(const ObservedWave &wave, Lane &lane, Reporter &reporter);
  void explain(const Lane &lane, Finding &finding) const;

  /// Learns what was passed on at the places the wave has read.
  void settle(const ObservedWave &wave) {
    WaveRaces &w = of(wave);
    if (!w.taken.empty() || w.took_global_barrier) learn(w);
  }
  void learn(WaveRaces &wave);
  void putPlaces(const WaveRaces &wave);
  bool knows(const WaveRaces &wave, const Taken &taken, const Meeting &meeting) const;
  void learnFrom(WaveRaces &wave, const Taken &taken);
  void hearBack(WaveRaces &wave) const;
  void remember(WaveRaces &wave) const;

  DispatchRaces *dispatch_ = nullptr;
  uint32_t first_ = 0, count_ = 0; ///< waves
  bool has_stored_ = false;        ///< any of them
  ShadowPage *ordered_ = nullptr;  ///< whose atomic is being made
  CachedLines lines_;
  std::vector<WaveRaces> waves_;
  Arrived arriving_, arrived_;
  std::vector<Time> heard_before_; ///< learn()
  struct TakenFrom {               ///< a place, and the last wave that was there
    uint32_t wave;
    const Taken *taken;
  };
  std::vector<TakenFrom> places_; ///< learn()
  TimesPtr passed_on_;            ///< release()
  ClockJoins joins_;
  struct CachedBlock {
    uint64_t number = ~uint64_t{0};
    GlobalShadow::Block *block = nullptr;
  };
  static constexpr unsigned kCachedBits = 8;
  std::array<CachedBlock, 1 << kCachedBits> blocks_;
};

} // namespace fade::checks
