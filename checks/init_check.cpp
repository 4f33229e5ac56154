#include "checks/init_check.h"

#include "checks/written_memory.h"

#include <bit>

namespace fade::checks {

bool isOfRuntime(std::string_view kernel) {
  return kernel.starts_with("__amd_rocclr_") || kernel.starts_with("unnamed_");
}

void InitCheck::noteWritten(uint64_t address, uint64_t size) {
  const auto allocation = AllocationMap::instance().find(address);
  if (allocation && !allocation->on_host) WrittenMemory::instance().mark(address, size);
}

void InitCheck::noteAllocated(uint64_t address, uint64_t size) {
  WrittenMemory::instance().clear(address, size);
}

bool InitCheck::isFollowed(uint64_t address) {
  const AllocationMap &map = AllocationMap::instance();
  if (const uint64_t now = map.generation(); now != generation_ || !last_.holds(address)) {
    const auto found = map.find(address);
    if (!found) return false;
    last_ = *found;
    generation_ = now;
  }
  return !last_.on_host && !last_.is_freed && !last_.counts_as_written;
}

bool InitCheck::isDone(const ObservedAccess &access, const LaneSpan &span) {
  constexpr uint64_t near = 4096;
  if (span.bytes < access.size || span.bytes > near || !isFollowed(span.first) ||
      !last_.holds(span.last + access.size - 1))
    return false;
  WrittenMemory &memory = WrittenMemory::instance();
  if (access.kind == AccessKind::load) return memory.isWritten(span.first, span.bytes);
  if (!span.is_gapless) return false;
  memory.mark(span.first, span.bytes);
  return true; // of atomics only what they write is noted
}

void InitCheck::access(const ObservedWave &wave, const ObservedAccess &access, const LaneSpan &span,
                       Reporter *reporter) {
  if (access.kind == AccessKind::load && !reporter) return;
  if (isDone(access, span)) return;
  WrittenMemory &memory = WrittenMemory::instance();
  uint64_t wrong = 0;
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t address = access.address[lane];
    if (!isFollowed(address)) continue;
    if (access.kind != AccessKind::store && reporter && memory.isUnwritten(address, access.size))
      wrong |= uint64_t{1} << lane;
    if (access.kind != AccessKind::load) memory.mark(address, access.size);
  }
  // An exchange needs no old value, and code does not show what an atomic does with it.
  if (!wrong || access.kind == AccessKind::atomic) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(wrong));
  Finding f = reporter->begin(Check::init, Problem::uninitialized);
  f.space = static_cast<uint32_t>(access.space);
  f.place = reporter->place(wave, lane, access.pc, access.kind, access.size);
  f.address = access.address[lane];
  if (const auto allocation = AllocationMap::instance().find(f.address)) {
    f.allocation = allocation->info();
    f.distance = static_cast<int64_t>(f.address - allocation->base);
  }
  reporter->report(f, static_cast<uint64_t>(std::popcount(wrong)));
}

} // namespace fade::checks
