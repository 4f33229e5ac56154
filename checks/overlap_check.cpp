#include "checks/overlap_check.h"

#include "checks/allocations.h"
#include "checks/options.h"
#include "checks/stored_value.h"
#include "checks/stream_memory.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace fade::checks {
namespace {

/// All that a dispatch did to a dword.
struct Touched {
  Mark write, atomic, read, second_read;
  uint32_t value = 0; ///< last stored
  const Parts *parts = nullptr;
  bool is_polled = false, answers = false;
};

Touched touchedOf(ShadowPage &page, uint32_t dword) {
  Touched t;
  t.write = page.write.marks.at(dword), t.value = page.write.valueOf(dword);
  t.read = page.read.at(dword);
  t.second_read = page.second_read.at(dword);
  t.parts = page.partsOf(dword);
  t.is_polled = page.isPolled(dword);
  if (const Meeting *meeting = page.meeting(dword))
    t.atomic = meeting->marks[0], t.answers = meeting->answers;
  return t;
}

bool overlap(const Mark &a, const Mark &b) { return a.time && b.time && (a.bytes & b.bytes); }

struct Conflict {
  Mark now, earlier;
};

/// Whether both store, and the same.
bool storesTheSame(const Touched &now, const Mark &a, const Touched &earlier, const Mark &b) {
  const bool stores = a.accessKind() == AccessKind::store && b.accessKind() == AccessKind::store;
  const auto common = static_cast<unsigned>(a.bytes & b.bytes);
  return stores && ((now.value ^ earlier.value) & maskOfBytes(common)) == 0;
}

/// Of dwords that were touched in parts.
std::optional<Conflict> conflictOfParts(const Touched &now, const Touched &earlier) {
  const auto writesOf = [](const Touched &t) {
    std::vector<Mark> all = t.parts ? t.parts->written : std::vector<Mark>{};
    all.insert(all.end(), {t.write, t.atomic});
    return all;
  };
  const auto readsOf = [](const Touched &t) {
    std::vector<Mark> all = t.parts ? t.parts->read : std::vector<Mark>{};
    all.insert(all.end(), {t.read, t.second_read});
    return all;
  };
  const auto isAtomic = [](const Mark &m) { return m.accessKind() == AccessKind::atomic; };
  const auto first = [&](const std::vector<Mark> &a, const std::vector<Mark> &b) {
    std::optional<Conflict> found;
    for (const Mark &x : a)
      for (const Mark &y : b)
        if (!found && overlap(x, y) && !(isAtomic(x) && isAtomic(y)) &&
            !storesTheSame(now, x, earlier, y))
          found = Conflict{x, y};
    return found;
  };
  auto found = first(writesOf(now), writesOf(earlier));
  if (!found) found = first(writesOf(now), readsOf(earlier));
  if (!found) found = first(readsOf(now), writesOf(earlier));
  return found;
}

std::optional<Conflict> conflictOf(const Touched &now, const Touched &earlier) {
  for (const auto &[a, b] : {std::pair{&now.write, &earlier.write},
                             {&now.write, &earlier.atomic},
                             {&now.write, &earlier.read},
                             {&now.atomic, &earlier.write},
                             {&now.atomic, &earlier.read},
                             {&now.read, &earlier.write},
                             {&now.read, &earlier.atomic},
                             {&now.write, &earlier.second_read},
                             {&now.atomic, &earlier.second_read},
                             {&now.second_read, &earlier.write},
                             {&now.second_read, &earlier.atomic}})
    if (overlap(*a, *b) && !storesTheSame(now, *a, earlier, *b)) return Conflict{*a, *b};
  if (now.parts || earlier.parts) return conflictOfParts(now, earlier);
  return std::nullopt;
}

/// Whether two dispatches tell each other to go on there: one polls or takes what the other leaves.
bool isMeeting(const Touched &a, const Touched &b) {
  const auto tells = [](const Touched &t) { return t.write.time || t.atomic.time; };
  const auto listens = [](const Touched &t) { return t.is_polled || t.answers; };
  return (listens(a) && tells(b)) || (listens(b) && tells(a));
}

using Uses = std::vector<std::shared_ptr<const MemoryUse>>;
using Ranges = std::vector<MemoryUse::Range>;

/// What a pool has handed out between two commands. Who used it before is judged by hipFreeAsync,
/// and who uses it since is in no other conflict with that.
Ranges handedOut(const Uses &uses, const StreamOrder::Ptr &a, const StreamOrder::Ptr &b) {
  Ranges ranges;
  if (!a || !b || !options().has(Check::memory)) return ranges;
  const auto [first, last] = std::minmax(a->issued, b->issued);
  for (const auto &use : uses)
    if (use->kind == MemoryUse::Kind::pool_allocate && use->command->issued > first &&
        use->command->issued < last)
      ranges.insert(ranges.end(), use->writes.begin(), use->writes.end());
  return ranges;
}

bool isAmong(const Ranges &ranges, uint64_t address) {
  return std::ranges::any_of(
      ranges, [&](const MemoryUse::Range &r) { return address >= r.begin && address < r.end; });
}

struct Seen {
  Conflict first;
  uint64_t address = 0, times = 0;
};
using SeenByPlaces = std::map<std::pair<uint32_t, uint32_t>, Seen>;

/// False if they communicate, and may be in order by that.
bool comparePages(uint64_t address, ShadowPage &now, ShadowPage &earlier, const Ranges &left_out,
                  SeenByPlaces &seen) {
  for (uint32_t dword = 0; dword < ShadowPage::kDwords; ++dword) {
    const Touched a = touchedOf(now, dword), b = touchedOf(earlier, dword);
    if (isMeeting(a, b)) return false;
    const auto conflict = conflictOf(a, b);
    if (!conflict || isAmong(left_out, address + dword * 4u)) continue;
    Seen &s = seen[{conflict->now.site, conflict->earlier.site}];
    if (s.times++ == 0)
      s.first = *conflict,
      s.address = address + dword * 4u +
                  static_cast<uint64_t>(
                      std::countr_zero(unsigned{conflict->now.bytes} & conflict->earlier.bytes));
  }
  return true;
}

/// A dispatch that writes flags for the host, or polls what the host writes, may be in order with
/// what the host does.
struct HostTalk {
  bool tells = false, listens = false;
};

HostTalk talkOf(const EndedDispatch &dispatch) {
  HostTalk talk;
  dispatch.races->shadow.forPages([&](uint64_t number, ShadowPage &page) {
    const bool tells = page.meetings != nullptr || page.tells.load(std::memory_order_relaxed);
    bool listens = false;
    for (const uint64_t polled : page.polled) listens |= polled != 0;
    if (!tells && !listens) return;
    const auto memory = AllocationMap::instance().find(number * ShadowPage::kBytes);
    ObservedRegion region;
    const bool on_host =
        memory ? memory->on_host
               : dispatch.races->memory.find(number * ShadowPage::kBytes, region) && !region.local;
    if (!on_host) return;
    talk.tells |= tells, talk.listens |= listens || tells;
  });
  return talk;
}

/// Whether two commands are in order by HIP's rules; nothing if that is not known.
std::optional<bool> isOrdered(const StreamOrder::Ptr &a, const StreamOrder::Ptr &b) {
  if (!a || !b || !StreamOrder::instance().isSure()) return std::nullopt;
  if (a->issued == b->issued) return std::nullopt; // nodes of one launch of a graph
  return a->isOrderedWith(*b);
}

/// Whether a dispatch that is not in order with a call is wrong.
bool isConcerned(const EndedDispatch &dispatch, const MemoryUse &use) {
  switch (use.kind) {
  case MemoryUse::Kind::copy: return true;
  case MemoryUse::Kind::pool_allocate: return dispatch.command->issued > use.command->issued;
  // What is launched later uses freed memory, which MemoryCheck sees.
  case MemoryUse::Kind::unregister:
  case MemoryUse::Kind::pool_free: return dispatch.command->issued < use.command->issued;
  }
  return false;
}

struct UseSeen {
  Mark mark;
  uint64_t address = 0, times = 0;
  bool writes = false; ///< the call does
};

/// The first mark of a dword with some of the bytes: one that writes, if there is any.
const Mark *markOf(const Touched &t, unsigned bytes, bool writes_only) {
  const auto meets = [&](const Mark &m) { return m.time && (m.bytes & bytes); };
  if (meets(t.write)) return &t.write;
  if (meets(t.atomic)) return &t.atomic;
  if (t.parts)
    for (const Mark &m : t.parts->written)
      if (meets(m)) return &m;
  if (writes_only) return nullptr;
  for (const Mark *m : {&t.read, &t.second_read})
    if (meets(*m)) return m;
  if (t.parts)
    for (const Mark &m : t.parts->read)
      if (meets(m)) return &m;
  return nullptr;
}

/// False if the dispatch polls what a copy writes, and may be in order by that.
bool lookAt(uint64_t address, ShadowPage &page, const MemoryUse &use, const Ranges &left_out,
            std::map<uint32_t, UseSeen> &seen) {
  const std::vector<MemoryUse::Range> all{{address, address + ShadowPage::kBytes}};
  if (!MemoryUse::overlap(all, use.writes) && !MemoryUse::overlap(all, use.reads)) return true;
  for (uint32_t dword = 0; dword < ShadowPage::kDwords; ++dword) {
    const uint64_t at = address + dword * 4u;
    const unsigned written = MemoryUse::bytesOf(use.writes, at);
    const unsigned read = MemoryUse::bytesOf(use.reads, at);
    if ((!written && !read) || isAmong(left_out, at)) continue;
    const Touched t = touchedOf(page, dword);
    if (use.kind == MemoryUse::Kind::copy && written && t.is_polled) return false;
    const Mark *mark = written ? markOf(t, written, false) : nullptr;
    const bool is_write = mark != nullptr;
    if (!mark && read) mark = markOf(t, read, true);
    if (!mark) continue;
    UseSeen &s = seen[mark->site];
    const auto byte = static_cast<uint64_t>(
        std::countr_zero(unsigned{mark->bytes} & (is_write ? written : read)));
    if (s.times++ == 0 || at + byte < s.address) {
      s.mark = *mark, s.address = at + byte, s.writes = is_write;
    }
  }
  return true;
}

void setAllocation(Finding &f, const MemoryUse &use) {
  f.allocation = use.memory;
  if (f.allocation.number == 0)
    if (const auto piece = StreamMemory::instance().at(f.address)) f.allocation = *piece;
  if (f.allocation.number == 0)
    if (const auto found = AllocationMap::instance().find(f.address)) f.allocation = found->info();
  if (f.allocation.number == 0) return;
  uint64_t base = f.allocation.base;
  // For a kernel, memory that the host has registered may be elsewhere.
  for (const MemoryUse::Range &range : use.writes)
    if (f.address - base >= f.allocation.size && f.address - range.begin < range.end - range.begin)
      base = range.begin;
  f.distance = static_cast<int64_t>(f.address - base);
}

Problem problemOf(const MemoryUse &use) {
  if (use.kind == MemoryUse::Kind::copy) return Problem::copy_overlap;
  if (use.kind == MemoryUse::Kind::unregister) return Problem::unregistered;
  return use.kind == MemoryUse::Kind::pool_free ? Problem::freed_early : Problem::used_early;
}

/// Whether both are nodes of one launch of a graph, which has no path from one to the other.
bool isApartInGraph(const EndedDispatch &dispatch, const MemoryUse &use) {
  return use.apart && dispatch.command && dispatch.command->issued == use.command->issued &&
         StreamOrder::instance().isSure() && use.apart->contains(dispatch.races->dispatch.kernel);
}

void compare(const EndedDispatch &dispatch, const MemoryUse &use, const Uses &uses) {
  const bool is_ordered = isOrdered(dispatch.command, use.command).value_or(true);
  if ((is_ordered && !isApartInGraph(dispatch, use)) || !isConcerned(dispatch, use)) return;
  std::map<uint32_t, UseSeen> seen;
  bool is_apart = true;
  const Ranges left_out = handedOut(uses, dispatch.command, use.command);
  dispatch.races->shadow.forPages([&](uint64_t number, ShadowPage &page) {
    if (is_apart) is_apart = lookAt(number * ShadowPage::kBytes, page, use, left_out, seen);
  });
  if (!is_apart || seen.empty()) return;
  const bool is_later = use.command->issued > dispatch.command->issued;
  if (const HostTalk talk = talkOf(dispatch); is_later && (talk.tells || talk.listens)) return;
  Reporter reporter(dispatch.races->dispatch);
  for (const auto &[site, s] : seen) {
    const Problem problem = problemOf(use);
    Finding f =
        reporter.begin(problem == Problem::copy_overlap ? Check::race : Check::memory, problem);
    f.space = static_cast<uint32_t>(AccessSpace::global);
    f.place = dispatch.races->place(s.mark, s.address);
    f.address = s.address;
    f.waves = s.writes;
    f.other_api = use.api;
    std::ranges::copy(use.callers, f.other_by);
    setAllocation(f, use);
    reporter.report(f, s.times);
  }
}

/// A copy, and the end or beginning of memory that it uses.
void compare(const MemoryUse &copy, const MemoryUse &end, const Uses &uses) {
  if (isOrdered(copy.command, end.command).value_or(true)) return;
  if (copy.command->issued > end.command->issued && end.kind != MemoryUse::Kind::pool_allocate)
    return;
  if (copy.command->issued < end.command->issued && end.kind == MemoryUse::Kind::pool_allocate)
    return;
  if (const Ranges others = handedOut(uses, copy.command, end.command);
      std::ranges::any_of(end.writes, [&](const auto &r) { return isAmong(others, r.begin); }))
    return;
  const bool writes = MemoryUse::overlap(copy.writes, end.writes);
  if (!writes && !MemoryUse::overlap(copy.reads, end.writes)) return;
  Finding f{};
  f.check = static_cast<uint32_t>(Check::memory);
  f.problem = static_cast<uint32_t>(problemOf(end));
  f.waves = writes;
  f.address = end.writes[0].begin;
  f.allocation = end.memory;
  // The side that is wrong first.
  f.api = end.api, f.other_api = copy.api;
  std::ranges::copy(end.callers, f.called_by);
  std::ranges::copy(copy.callers, f.other_by);
  FindingLog::instance().add(f, 1);
}

void compare(const EndedDispatch &now, const EndedDispatch &earlier, const Uses &uses) {
  const bool in_queue =
      now.queue == earlier.queue || now.before.done(earlier.queue) > earlier.index;
  const auto by_rules = isOrdered(now.command, earlier.command);
  if (by_rules.value_or(in_queue)) return;
  SeenByPlaces seen;
  const Ranges left_out = handedOut(uses, now.command, earlier.command);
  bool is_apart = true;
  now.races->shadow.forPages([&](uint64_t number, ShadowPage &page) {
    ShadowPage *other = is_apart ? earlier.races->shadow.find(number) : nullptr;
    if (other) is_apart = comparePages(number * ShadowPage::kBytes, page, *other, left_out, seen);
  });
  if (!is_apart || seen.empty()) return;
  // What the host has learned from memory, no rule knows.
  if (by_rules && in_queue && (talkOf(earlier).tells || talkOf(now).tells)) return;
  Reporter reporter(now.races->dispatch);
  for (const auto &[places, s] : seen) {
    Finding f = reporter.begin(Check::race, Problem::overlap);
    f.space = static_cast<uint32_t>(AccessSpace::global);
    f.place = now.races->place(s.first.now, s.address);
    f.other = earlier.races->place(s.first.earlier, s.address);
    f.other_kernel = FindingLog::instance().string(earlier.races->dispatch.kernel);
    f.address = s.address;
    setAllocation(f, {});
    reporter.report(f, s.times);
  }
}

} // namespace

void OverlapCheck::called(MemoryUse use) {
  if (!use.command || (use.reads.empty() && use.writes.empty())) return;
  if (!StreamOrder::instance().isSure()) return;
  auto now = std::make_shared<const MemoryUse>(std::move(use));
  std::vector<std::shared_ptr<const EndedDispatch>> dispatches;
  Uses uses;
  {
    const std::lock_guard lock(mutex_);
    dispatches.assign(ended_.begin(), ended_.end());
    uses.assign(uses_.begin(), uses_.end());
    uses_.push_back(now);
    if (uses_.size() > kMostUses) uses_.pop_front();
  }
  const auto wants = [](const MemoryUse &one) {
    return options().has(problemOf(one) == Problem::copy_overlap ? Check::race : Check::memory);
  };
  if (wants(*now))
    for (const auto &one : dispatches) compare(*one, *now, uses);
  const auto is_copy = [](const MemoryUse &one) { return one.kind == MemoryUse::Kind::copy; };
  for (const auto &one : uses)
    if (is_copy(*one) != is_copy(*now) && options().has(Check::memory))
      is_copy(*one) ? compare(*one, *now, uses) : compare(*now, *one, uses);
}

StreamOrder::Ptr OverlapCheck::lastFree(const std::vector<MemoryUse::Range> &bytes) {
  const std::lock_guard lock(mutex_);
  for (auto at = uses_.rbegin(); at != uses_.rend(); ++at)
    if ((*at)->kind == MemoryUse::Kind::pool_free && MemoryUse::overlap(bytes, (*at)->writes))
      return (*at)->command;
  return nullptr;
}

OverlapCheck &OverlapCheck::instance() {
  static auto *check = new OverlapCheck; // outlives every exit handler
  return *check;
}

void OverlapCheck::ended(EndedDispatch dispatch) {
  auto now = std::make_shared<const EndedDispatch>(std::move(dispatch));
  std::vector<std::shared_ptr<const EndedDispatch>> earlier;
  Uses uses;
  {
    const std::lock_guard lock(mutex_);
    earlier.assign(ended_.begin(), ended_.end());
    uses.assign(uses_.begin(), uses_.end());
    ended_.push_back(now);
    bytes_ += now->races->shadow.bytes();
    const uint64_t most =
        StreamOrder::instance().hasSeveralStreams() ? kMostBytes : kMostBytesAlone;
    while (!ended_.empty() && (ended_.size() > kMost || bytes_ > most)) {
      bytes_ -= ended_.front()->races->shadow.bytes();
      ended_.pop_front();
    }
  }
  for (const auto &one : earlier) compare(*now, *one, uses);
  for (const auto &one : uses)
    if (options().has(problemOf(*one) == Problem::copy_overlap ? Check::race : Check::memory))
      compare(*now, *one, uses);
}

void OverlapCheck::forgetQueue(uint64_t queue) {
  const std::lock_guard lock(mutex_);
  std::erase_if(ended_, [&](const auto &one) {
    if (one->queue == queue) bytes_ -= one->races->shadow.bytes();
    return one->queue == queue;
  });
}

} // namespace fade::checks
