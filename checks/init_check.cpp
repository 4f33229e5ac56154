#include "checks/init_check.h"

#include "checks/written_memory.h"

#include <algorithm>
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

Finding InitCheck::describe(const ObservedWave &wave, const ObservedAccess &access, unsigned lane,
                            uint64_t address, const Reporter &reporter) {
  Finding f = reporter.begin(Check::init, Problem::uninitialized);
  f.space = static_cast<uint32_t>(access.space);
  f.place = reporter.place(wave, lane, access.pc, access.kind, access.size);
  f.address = address;
  if (const auto allocation = AllocationMap::instance().find(f.address)) {
    f.allocation = allocation->info();
    f.distance = static_cast<int64_t>(f.address - allocation->base);
  }
  return f;
}

void InitCheck::access(const ObservedWave &wave, const ObservedAccess &access, const LaneSpan &span,
                       Reporter *reporter, UnwrittenValues *values) {
  if (access.kind == AccessKind::load && !reporter) return;
  const bool stores_unwritten = values && values->any() && access.kind != AccessKind::load;
  if (!stores_unwritten && isDone(access, span)) return;
  if (values && access.kind != AccessKind::load) values->store(wave, access, *reporter);
  UnwrittenDwords dwords(access.size);
  uint64_t wrong = 0;
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    if (!isFollowed(access.address[lane])) continue;
    if (access.kind != AccessKind::load)
      write(access, lane, values);
    else if (!read(access, lane, dwords))
      wrong |= uint64_t{1} << lane;
  }
  // Atomics are left out: an exchange needs no old value, and code does not show what it is for.
  if (wrong) {
    const auto lane = static_cast<unsigned>(std::countr_zero(wrong));
    reporter->report(describe(wave, access, lane, access.address[lane], *reporter),
                     static_cast<uint64_t>(std::popcount(wrong)));
  }
  const uint64_t some = dwords.all();
  if (!values || !some) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(some));
  Finding f =
      describe(wave, access, lane, access.address[lane] + 4 * dwords.firstDword(lane), *reporter);
  if (access.size > 4) f.limit = 4 * dwords.ofLane(lane);
  values->load(wave, access, dwords, f);
}

/// What is stored without ever having been written stays so.
void InitCheck::write(const ObservedAccess &access, unsigned lane, const UnwrittenValues *values) {
  WrittenMemory &memory = WrittenMemory::instance();
  const uint64_t address = access.address[lane];
  if (!values || !values->any() || access.kind != AccessKind::store)
    return memory.mark(address, access.size);
  for (uint32_t at = 0; at < access.size; at += 4)
    if (!(values->stored(access, at / 4) >> lane & 1))
      memory.mark(address + at, std::min(4u, access.size - at));
}

/// Whether a lane's load is fine, apart from what is put into `dwords`.
bool InitCheck::read(const ObservedAccess &access, unsigned lane, UnwrittenDwords &dwords) const {
  WrittenMemory &memory = WrittenMemory::instance();
  const uint64_t address = access.address[lane], bit = uint64_t{1} << lane;
  constexpr uint64_t unit = UnwrittenValues::kUnit;
  if (memory.isUnwritten(address, access.size)) {
    const uint64_t begin = std::max(address / unit * unit, last_.base);
    const uint64_t end = (address + access.size + unit - 1) / unit * unit;
    if (access.size > 4 || !memory.isTouched(begin, std::min(end, last_.end()) - begin))
      return false;
    dwords.lanes[0] |= bit;
    return true;
  }
  if (access.size <= 4 || memory.isWritten(address, access.size)) return true;
  for (unsigned k = 0; k < dwords.count && last_.holds(address + 4 * k + 3); ++k)
    if (memory.isUnwritten(address + 4 * k, 4)) dwords.lanes[k] |= bit;
  return true;
}

} // namespace fade::checks
