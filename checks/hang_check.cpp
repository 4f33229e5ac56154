#include "checks/hang_check.h"

#include "checks/allocations.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <unistd.h>

namespace fade::checks {
namespace {

/// So often at the same place it is a poll.
constexpr uint32_t kOften = 16;
constexpr uint32_t kMostBranches = 64;

/// Lanes of which one may set a flag: few, or all to the same place.
bool mayBeFlag(const ObservedAccess &access) {
  constexpr int few = 2;
  if (!access.lanes || access.size > 8) return false;
  if (std::popcount(access.lanes) <= few) return true;
  const auto first = static_cast<unsigned>(std::countr_zero(access.lanes));
  const auto last = 63u - static_cast<unsigned>(std::countl_zero(access.lanes));
  return access.address[first] == access.address[last];
}

uint64_t valueIn(const ObservedMemory &memory, const ObservedGroup &group, AccessSpace space,
                 uint64_t address, uint32_t size) {
  uint64_t value = 0;
  const uint32_t bytes = std::min(size, 8u);
  if (space == AccessSpace::global) {
    (void)memory.read(address, &value, bytes);
  } else if (group.lds && address + bytes <= group.dispatch->lds_bytes) {
    std::memcpy(&value, static_cast<const std::byte *>(group.lds) + address, bytes);
  }
  return value;
}

LastWrites::Write writeOf(const ObservedWave &wave, uint64_t site, AccessKind kind, unsigned lane) {
  LastWrites::Write write;
  write.site = site;
  std::copy_n(wave.group->id, 3, write.group);
  workItem(*wave.group, wave.number, wave.lanes, lane, write.item);
  write.wave = wave.number, write.lane = lane;
  write.kind = kind;
  return write;
}

LastWrites::Write writeOf(const ObservedWave &wave, const ObservedAccess &access, unsigned lane) {
  LastWrites::Write write = writeOf(wave, access.pc, access.kind, lane);
  write.of_one_lane = std::has_single_bit(access.lanes);
  return write;
}

/// A wave of a dispatch.
using WaveName = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;
WaveName nameOf(const ObservedWave &wave) {
  return {wave.group->id[0], wave.group->id[1], wave.group->id[2], wave.number};
}

} // namespace

void WavePolls::note(const ObservedAccess &access) {
  if (!access.lanes || (access.kind == AccessKind::atomic && !access.returns)) return;
  branches_ = 0;
  ++loads_;
  Poll *place = &polls_[0];
  for (Poll &poll : polls_) {
    if (poll.site == access.pc) {
      place = &poll;
      break;
    }
    if (poll.last < place->last) place = &poll;
  }
  const uint64_t address = access.address[std::countr_zero(access.lanes)];
  if (place->site != access.pc || place->address != address)
    *place = {access.pc, address, access.lanes, 0, 0, access.size, access.kind, access.space};
  ++place->times;
  place->last = loads_;
  place->lanes = access.lanes;
  if (access.kind == AccessKind::atomic) noteAtomic(access);
}

void WavePolls::noteAtomic(const ObservedAccess &access) {
  if (atomics_.site != access.pc) atomics_.site = access.pc, atomics_.lanes = 0;
  atomics_.lanes |= access.lanes, atomics_.last = access.lanes;
  for (uint64_t left = access.lanes; left; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    atomics_.address[lane] = access.address[lane];
  }
}

std::optional<unsigned> WavePolls::laneBefore(const Poll &poll) const {
  if (poll.kind != AccessKind::atomic || atomics_.site != poll.site) return std::nullopt;
  for (uint64_t left = atomics_.lanes & ~atomics_.last; left; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    if (atomics_.address[lane] == poll.address) return lane;
  }
  return std::nullopt;
}

bool WavePolls::isRecent(const Poll &poll) const {
  return poll.times >= kOften && loads_ - poll.last < polls_.size() && branches_ < kMostBranches;
}

const WavePolls::Poll *WavePolls::current() const {
  const Poll *found = nullptr;
  each([&](const Poll &poll) {
    if (!found || poll.last > found->last) found = &poll;
  });
  return found;
}

struct PendingAtomic {
  LastWrites::Write write;
  const ObservedGroup *group = nullptr;
  AccessSpace space = AccessSpace::global;
  uint64_t address = 0, before = 0;
  uint32_t size = 0;
  std::unique_lock<std::mutex> lock;
  bool is_there = false;
};
static thread_local PendingAtomic pending;

uint64_t LastWrites::keyOf(const ObservedGroup &group, AccessSpace space, uint64_t address) {
  if (space == AccessSpace::global) return address / 4;
  // Far from every address of memory.
  const uint64_t number =
      (uint64_t{group.id[2]} * 0x10001 + group.id[1]) * 0x100003 + uint64_t{group.id[0]};
  return uint64_t{1} << 63 | (number & 0xffffffffff) << 16 | (address / 4 & 0xffff);
}

void LastWrites::keep(Stripe &stripe, uint64_t key, const Write &write) {
  if (stripe.writes.size() >= kMostPerStripe && !stripe.writes.contains(key)) {
    stripe.writes.clear();
    has_forgotten_ = true;
  }
  stripe.writes[key] = write;
}

void LastWrites::store(const ObservedWave &wave, const ObservedAccess &access) {
  if (!mayBeFlag(access)) return;
  for (uint64_t left = access.lanes; left; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const uint64_t key = keyOf(*wave.group, access.space, access.address[lane]);
    Stripe &stripe = stripeOf(key);
    const std::lock_guard lock(stripe.mutex);
    keep(stripe, key, writeOf(wave, access, lane));
    if (std::popcount(access.lanes) > 2) return; // all to the same place
  }
}

void LastWrites::atomic(const ObservedWave &wave, const ObservedAccess &access,
                        const ObservedMemory &memory) {
  if (pending.is_there) pending.is_there = false, pending.lock.unlock();
  if (!mayBeFlag(access)) return;
  if (access.space != AccessSpace::global) { // nobody says when it was made
    has_lds_atomics_ = true;
    return;
  }
  const auto lane = static_cast<unsigned>(std::countr_zero(access.lanes));
  const uint64_t address = access.address[lane];
  pending.lock = std::unique_lock(stripeOf(keyOf(*wave.group, access.space, address)).mutex);
  pending.write = writeOf(wave, access, lane);
  pending.group = wave.group;
  pending.space = access.space;
  pending.address = address, pending.size = access.size;
  pending.before = valueIn(memory, *wave.group, access.space, address, access.size);
  pending.is_there = true;
}

void LastWrites::atomicDone(const ObservedMemory &memory) {
  if (!pending.is_there) return;
  pending.is_there = false;
  const uint64_t now =
      valueIn(memory, *pending.group, pending.space, pending.address, pending.size);
  // One that leaves the value as it was, a lock that was not free, has written nothing.
  if (now != pending.before) {
    const uint64_t key = keyOf(*pending.group, pending.space, pending.address);
    keep(stripeOf(key), key, pending.write);
  }
  pending.lock.unlock();
}

std::optional<LastWrites::Write> LastWrites::find(const ObservedGroup &group, AccessSpace space,
                                                  uint64_t address) const {
  const uint64_t key = keyOf(group, space, address);
  const Stripe &stripe = stripeOf(key);
  const std::lock_guard lock(stripe.mutex);
  const auto at = stripe.writes.find(key);
  return at == stripe.writes.end() ? std::nullopt : std::optional(at->second);
}

HangLimits hangLimitsFromEnvironment() {
  const auto seconds = [](const char *variable, double otherwise) {
    const char *text = std::getenv(variable);
    const double value = text ? std::strtod(text, nullptr) : 0;
    return value > 0 ? value : otherwise;
  };
  constexpr double patience = 10;
  return {seconds("FADE_CHECK_PATIENCE", patience), seconds("FADE_CHECK_TIMEOUT", 0)};
}

std::string summaryOf(const ObservedHang &hang) {
  std::string text = hang.is_still ? fmt::format("no wave made progress for {:.3g} s", hang.seconds)
                                   : fmt::format("not ended after {:.3g} s", hang.seconds);
  text += fmt::format("; {} of {} workgroup{} ended", hang.groups_ended, hang.groups,
                      hang.groups == 1 ? " has" : "s have");
  if (hang.groups_not_begun)
    text += fmt::format(", {} could not start: waiting workgroups occupy the GPU",
                        hang.groups_not_begun);
  return text;
}

void endHung() {
  constexpr int exit_code = 124;
  if (ftrylockfile(stdout) == 0) {
    (void)fflush_unlocked(stdout);
    funlockfile(stdout);
  }
  _exit(exit_code);
}

bool mayBeWoken(const std::vector<WaitingWave> &waves) {
  bool may = false;
  for (const WaitingWave &w : waves) {
    if (!w.polls) continue;
    w.polls->each([&](const WavePolls::Poll &poll) {
      if (poll.space != AccessSpace::global) return;
      const auto allocation = AllocationMap::instance().find(poll.address);
      may |= !allocation || allocation->on_host;
    });
  }
  return may;
}

void reportHang(const std::vector<WaitingWave> &waves, const LastWrites &writes,
                const ObservedMemory &memory, const std::string &summary, Reporter &reporter) {
  std::map<WaveName, const WaitingWave *> by_name;
  std::map<const ObservedGroup *, const WaitingWave *> late; ///< not at the barrier, of each group
  for (const WaitingWave &w : waves) {
    by_name[nameOf(*w.wave.wave)] = &w;
    if (w.wave.halt != WaveHalt::at_barrier) late.try_emplace(w.wave.wave->group, &w);
  }
  // What a wave itself stores to all the time, a counter of tries perhaps, is not what it waits
  // for, if it reads something else as well.
  const auto isOwn = [&](const WaitingWave &w, const WavePolls::Poll &poll) {
    const auto last = writes.find(*w.wave.wave->group, poll.space, poll.address);
    return last && last->kind == AccessKind::store &&
           WaveName{last->group[0], last->group[1], last->group[2], last->wave} ==
               nameOf(*w.wave.wave);
  };
  const auto pollOf = [&](const WaitingWave &w) {
    const WavePolls::Poll *found = nullptr;
    if (!w.polls || w.wave.halt == WaveHalt::at_barrier) return found;
    const auto rank = [&](const WavePolls::Poll &poll) {
      return std::pair(!isOwn(w, poll), poll.last);
    };
    w.polls->each([&](const WavePolls::Poll &poll) {
      if (!found || rank(poll) > rank(*found)) found = &poll;
    });
    return found;
  };
  // Of locks that lanes take at the same time, each another one, nobody remembers who has it.
  const auto holderOf = [&](const WaitingWave &w, const WavePolls::Poll &poll) {
    std::optional<LastWrites::Write> found;
    const auto look = [&](const WaitingWave &one) {
      if (found || !one.polls || poll.space != AccessSpace::global) return;
      if (const auto lane = one.polls->laneBefore(poll))
        found = writeOf(*one.wave.wave, poll.site, poll.kind, *lane);
    };
    look(w);
    std::ranges::for_each(waves, look);
    return found;
  };
  std::map<uint64_t, std::pair<uint64_t, bool>> polled; ///< by site: an address, and whether others
  for (const WaitingWave &w : waves)
    if (const WavePolls::Poll *poll = pollOf(w)) {
      const auto [at, is_new] = polled.try_emplace(poll->site, poll->address, false);
      at->second.second |= at->second.first != poll->address;
    }
  const String rule = FindingLog::instance().string(summary);
  const String several = FindingLog::instance().string("several places");
  const auto firstLane = [](const WaitingWave &w) {
    return w.wave.lanes ? static_cast<unsigned>(std::countr_zero(w.wave.lanes)) : 0u;
  };
  const auto placeOf = [&](const WaitingWave &w) {
    return reporter.place(*w.wave.wave, firstLane(w), w.site, AccessKind::load, 4);
  };
  for (const WaitingWave &w : waves) {
    const ObservedWave &wave = *w.wave.wave;
    const WavePolls::Poll *poll = pollOf(w);
    Problem problem = poll ? Problem::polls : Problem::not_ended;
    if (w.wave.halt == WaveHalt::at_barrier) problem = Problem::at_barrier;
    if (w.wave.halt == WaveHalt::at_global_barrier) problem = Problem::at_global_barrier;
    Finding f = reporter.begin(Check::hang, problem);
    f.place = placeOf(w);
    f.rule = rule;
    f.waves = wave.number;
    if (problem == Problem::at_barrier)
      if (const auto other = late.find(wave.group); other != late.end())
        f.other = placeOf(*other->second);
    if (problem == Problem::polls) {
      const auto lane = static_cast<unsigned>(std::countr_zero(poll->lanes));
      f.place = reporter.place(wave, lane, poll->site, poll->kind, poll->size);
      f.space = static_cast<uint32_t>(poll->space);
      f.address = poll->address;
      if (polled[poll->site].second) f.cure = several;
      f.limit = valueIn(memory, *wave.group, poll->space, poll->address, poll->size);
      if (poll->space == AccessSpace::global)
        if (const auto a = AllocationMap::instance().find(poll->address)) {
          f.allocation = a->info();
          f.distance = static_cast<int64_t>(poll->address - a->base);
        }
      const bool is_unknown = writes.hasForgotten(poll->space);
      Writer writer = is_unknown ? Writer::unknown : Writer::nobody;
      auto last = is_unknown ? std::nullopt : writes.find(*wave.group, poll->space, poll->address);
      if (!last) last = holderOf(w, *poll);
      if (last) {
        reporter.setSite(f.other, last->site);
        f.other.kind = static_cast<uint32_t>(last->kind);
        f.other.size = poll->size;
        std::ranges::copy(last->group, f.other.group);
        std::ranges::copy(last->item, f.other.item);
        f.other.lane = last->lane;
        const WaveName name{last->group[0], last->group[1], last->group[2], last->wave};
        const auto now = by_name.find(name);
        writer = Writer::ended;
        if (name == nameOf(wave)) {
          writer = Writer::same_wave;
        } else if (now != by_name.end()) {
          writer = Writer::waits;
          f.between = placeOf(*now->second);
        }
      }
      f.lacks = static_cast<uint32_t>(writer);
    }
    reporter.report(f);
  }
}

} // namespace fade::checks
