#include "checks/memory_check.h"

#include "checks/allocations.h"

#include <algorithm>
#include <bit>

namespace fade::checks {
namespace {

/// How far from an allocation an address may be and still be meant for it.
constexpr uint64_t kReach = 1 << 20;
/// Where it may be meant for one of a runtime's own, which kernels know of seldom.
constexpr uint64_t kGap = 4096;
/// Compilers load what follows the arguments up to such a border.
constexpr uint64_t kArgumentAlign = 16;

template <class F> void forLanes(uint64_t lanes, F &&f) {
  for (; lanes; lanes &= lanes - 1) f(static_cast<unsigned>(std::countr_zero(lanes)));
}

} // namespace

bool MemoryCheck::isKnown(uint64_t first, uint64_t size, bool writes) const {
  return std::ranges::any_of(
      known_, [&](const Extent &e) { return e.holds(first, size) && (!writes || e.writable); });
}

void MemoryCheck::remember(const Extent &extent) { known_[next_++ % known_.size()] = extent; }

/// Whether the bytes are all of a live allocation, or of memory that the runtime has for itself:
/// code, queues, signals.
bool MemoryCheck::isFine(uint64_t address, uint32_t size, bool writes) {
  const AllocationMap &map = AllocationMap::instance();
  ObservedRegion region;
  if (!memory_.find(address, region) || (writes && !region.writable)) return false;
  if (const auto allocation = map.find(address)) {
    const Extent extent{allocation->base, allocation->end(), region.writable};
    if (allocation->is_freed || !extent.holds(address, size)) return false;
    remember(extent);
    return true;
  }
  const Extent extent{region.address, region.address + region.size, region.writable};
  if (!extent.holds(address, size) || map.touches(extent.begin, extent.end)) return false;
  remember(extent);
  return true;
}

Finding MemoryCheck::describe(const ObservedWave &wave, const ObservedAccess &access, unsigned lane,
                              const Reporter &reporter) const {
  Finding f = reporter.begin(Check::memory, Problem::outside);
  f.space = static_cast<uint32_t>(access.space);
  f.address = access.address[lane];
  f.place = reporter.place(wave, lane, access, f.address);
  const AllocationMap &map = AllocationMap::instance();
  // What a freed allocation leaves behind may have been taken by the runtime.
  auto nearest = map.find(f.address);
  if (!nearest) nearest = map.nearest(f.address, kReach, AllocationMap::Owner::application);
  if (!nearest) nearest = map.nearest(f.address, kGap, AllocationMap::Owner::anybody);
  if (nearest) {
    f.allocation = nearest->info();
    const bool begins_inside = nearest->holds(f.address);
    if (begins_inside && nearest->is_freed)
      f.problem = static_cast<uint32_t>(Problem::freed);
    else if (begins_inside && f.address + access.size <= nearest->end())
      f.problem = static_cast<uint32_t>(Problem::read_only);
    else
      f.problem = static_cast<uint32_t>(Problem::gap);
    // Where the part that is wrong begins: behind the end, or so many bytes before the start.
    f.distance = f.address < nearest->base
                     ? -static_cast<int64_t>(nearest->base - f.address)
                     : static_cast<int64_t>(std::max(f.address, nearest->end()) - nearest->end());
    if (begins_inside && f.problem == static_cast<uint32_t>(Problem::gap))
      f.place = reporter.place(wave, lane, access, nearest->end());
    return f;
  }
  ObservedRegion region;
  if (access.kind != AccessKind::load && memory_.find(f.address, region) && !region.writable)
    f.problem = static_cast<uint32_t>(Problem::read_only);
  return f;
}

void MemoryCheck::global(const ObservedWave &wave, const ObservedAccess &access,
                         const LaneSpan &span, Reporter &reporter) {
  const AllocationMap &map = AllocationMap::instance();
  if (const uint64_t now = map.generation(); now != generation_) {
    generation_ = now;
    known_ = {};
  }
  const bool writes = access.kind != AccessKind::load;
  if (span.bytes >= access.size && // else the sum wraps round
      isKnown(span.first, span.bytes, writes))
    return;
  uint64_t wrong = 0;
  forLanes(access.lanes, [&](unsigned lane) {
    const uint64_t address = access.address[lane];
    if (!isKnown(address, access.size, writes) && !isFine(address, access.size, writes))
      wrong |= uint64_t{1} << lane;
  });
  if (!wrong) return;
  const unsigned lane = lowestLane(access, wrong);
  reporter.report(describe(wave, access, lane, reporter),
                  static_cast<uint64_t>(std::popcount(wrong)));
}

void MemoryCheck::pooled(const ObservedWave &wave, const ObservedAccess &access,
                         Reporter &reporter) const {
  AllocationInfo first{};
  const uint64_t wrong = StreamMemory::instance().freedLanes(access, launched_, first);
  if (!wrong) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(wrong));
  Finding f = reporter.begin(Check::memory, Problem::freed);
  f.space = static_cast<uint32_t>(access.space);
  f.address = access.address[lane];
  f.place = reporter.place(wave, lane, access, f.address);
  f.allocation = first;
  f.distance = static_cast<int64_t>(f.address - first.base);
  reporter.report(f, static_cast<uint64_t>(std::popcount(wrong)));
}

/// LDS and private memory: they end somewhere.
void MemoryCheck::bounded(const ObservedWave &wave, const ObservedAccess &access,
                          const LaneSpan &span, uint64_t limit, Problem problem,
                          Reporter &reporter) {
  uint64_t wrong = 0;
  if (span.bytes >= access.size && span.last + access.size <= limit) return;
  forLanes(access.lanes, [&](unsigned lane) {
    if (access.address[lane] + access.size > limit) wrong |= uint64_t{1} << lane;
  });
  if (!wrong) return;
  const unsigned lane = lowestLane(access, wrong);
  Finding f = reporter.begin(Check::memory, problem);
  f.space = static_cast<uint32_t>(access.space);
  f.address = access.address[lane];
  f.place = reporter.place(wave, lane, access, std::max(f.address, limit));
  f.limit = limit;
  reporter.report(f, static_cast<uint64_t>(std::popcount(wrong)));
}

/// The arguments are a part of a larger allocation of the runtime's.
void MemoryCheck::arguments(const ObservedWave &wave, const ObservedAccess &access,
                            const LaneSpan &span, Reporter &reporter) {
  constexpr uint64_t near = 4096;
  const uint64_t end = dispatch_.kernarg_address + (dispatch_.kernarg_bytes + kArgumentAlign - 1) /
                                                       kArgumentAlign * kArgumentAlign;
  if (!dispatch_.kernarg_bytes || span.first < dispatch_.kernarg_address ||
      span.last + access.size <= end || span.last > end + near)
    return;
  unsigned lane = 0;
  forLanes(access.lanes, [&](unsigned one) {
    if (access.address[one] == span.last) lane = one;
  });
  const uint64_t address = span.last;
  Finding f = reporter.begin(Check::memory, Problem::arguments);
  f.place = reporter.place(wave, lane, access.pc, access.kind, access.size);
  f.address = address;
  f.limit = dispatch_.kernarg_bytes;
  f.distance = static_cast<int64_t>(std::max(address, end) - end);
  reporter.report(f);
}

bool MemoryCheck::passesFault(uint64_t address) {
  constexpr uint64_t private_aperture = 0x00020000; // nothing ends there on a card
  return address >> 32 == private_aperture ||
         AllocationMap::instance()
             .nearest(address, kReach, AllocationMap::Owner::anybody)
             .has_value();
}

void MemoryCheck::access(const ObservedWave &wave, const ObservedAccess &access,
                         const LaneSpan &span, Reporter &reporter) {
  switch (access.space) {
  case AccessSpace::lds:
    bounded(wave, access, span, dispatch_.lds_bytes, Problem::lds_bounds, reporter);
    break;
  case AccessSpace::scratch:
    bounded(wave, access, span, dispatch_.scratch_bytes, Problem::scratch_bounds, reporter);
    break;
  case AccessSpace::global:
    if (access.kind == AccessKind::load) arguments(wave, access, span, reporter);
    global(wave, access, span, reporter);
    if (StreamMemory::instance().hasFreed()) pooled(wave, access, reporter);
  }
  if (access.kind != AccessKind::atomic) return;
  forLanes(access.lanes, [&](unsigned lane) {
    if (access.address[lane] % access.size == 0 || access.space == AccessSpace::scratch) return;
    Finding f = reporter.begin(Check::memory, Problem::misaligned);
    f.space = static_cast<uint32_t>(access.space);
    f.place = reporter.place(wave, lane, access.pc, access.kind, access.size);
    f.address = access.address[lane];
    reporter.report(f);
  });
}

} // namespace fade::checks
