#include "checks/overlap_check.h"

#include "checks/allocations.h"
#include "checks/stored_value.h"

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
  if (page.write) t.write = page.write->marks[dword], t.value = page.write->values[dword];
  if (page.read) t.read = (*page.read)[dword];
  if (page.second_read) t.second_read = (*page.second_read)[dword];
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

struct Seen {
  Conflict first;
  uint64_t address = 0, times = 0;
};
using SeenByPlaces = std::map<std::pair<uint32_t, uint32_t>, Seen>;

/// False if they communicate, and may be in order by that.
bool comparePages(uint64_t address, ShadowPage &now, ShadowPage &earlier, SeenByPlaces &seen) {
  for (uint32_t dword = 0; dword < ShadowPage::kDwords; ++dword) {
    const Touched a = touchedOf(now, dword), b = touchedOf(earlier, dword);
    if (isMeeting(a, b)) return false;
    const auto conflict = conflictOf(a, b);
    if (!conflict) continue;
    Seen &s = seen[{conflict->now.site, conflict->earlier.site}];
    if (s.times++ == 0)
      s.first = *conflict,
      s.address = address + dword * 4u +
                  static_cast<uint64_t>(
                      std::countr_zero(unsigned{conflict->now.bytes} & conflict->earlier.bytes));
  }
  return true;
}

} // namespace

OverlapCheck &OverlapCheck::instance() {
  static auto *check = new OverlapCheck; // outlives every exit handler
  return *check;
}

void OverlapCheck::compare(const EndedDispatch &now, const EndedDispatch &earlier) const {
  if (now.queue == earlier.queue || now.before.done(earlier.queue) > earlier.index) return;
  SeenByPlaces seen;
  bool is_apart = true;
  now.races->shadow.forPages([&](uint64_t number, ShadowPage &page) {
    ShadowPage *other = is_apart ? earlier.races->shadow.find(number) : nullptr;
    if (other) is_apart = comparePages(number * ShadowPage::kBytes, page, *other, seen);
  });
  if (!is_apart) return;
  Reporter reporter(now.races->dispatch);
  for (const auto &[places, s] : seen) {
    Finding f = reporter.begin(Check::race, Problem::overlap);
    f.space = static_cast<uint32_t>(AccessSpace::global);
    f.place = now.races->place(s.first.now, s.address);
    f.other = earlier.races->place(s.first.earlier, s.address);
    f.other_kernel = FindingLog::instance().string(earlier.races->dispatch.kernel);
    f.address = s.address;
    if (const auto allocation = AllocationMap::instance().find(f.address)) {
      f.allocation = allocation->info();
      f.distance = static_cast<int64_t>(f.address - allocation->base);
    }
    reporter.report(f, s.times);
  }
}

void OverlapCheck::ended(EndedDispatch dispatch) {
  auto now = std::make_shared<const EndedDispatch>(std::move(dispatch));
  std::vector<std::shared_ptr<const EndedDispatch>> earlier;
  {
    const std::lock_guard lock(mutex_);
    earlier.assign(ended_.begin(), ended_.end());
    ended_.push_back(now);
    bytes_ += now->races->shadow.bytes();
    while (!ended_.empty() && (ended_.size() > kMost || bytes_ > kMostBytes)) {
      bytes_ -= ended_.front()->races->shadow.bytes();
      ended_.pop_front();
    }
  }
  for (const auto &one : earlier) compare(*now, *one);
}

void OverlapCheck::forgetQueue(uint64_t queue) {
  const std::lock_guard lock(mutex_);
  std::erase_if(ended_, [&](const auto &one) {
    if (one->queue == queue) bytes_ -= one->races->shadow.bytes();
    return one->queue == queue;
  });
}

} // namespace fade::checks
