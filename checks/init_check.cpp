#include "checks/init_check.h"

#include "base/hip_helpers.h"
#include "checks/copied_values.h"
#include "checks/written_memory.h"

#include <algorithm>
#include <bit>

namespace fade::checks {

bool isOfRuntime(std::string_view kernel) {
  return isHipHelper(kernel) || kernel.starts_with("unnamed_");
}

void InitCheck::noteWritten(uint64_t address, uint64_t size) {
  const auto allocation = AllocationMap::instance().find(address);
  if (allocation && !allocation->on_host) WrittenMemory::instance().mark(address, size);
}

void InitCheck::noteHostCopy(uint64_t address, uint64_t size) {
  const auto allocation = AllocationMap::instance().find(address);
  if (!allocation || allocation->on_host || allocation->is_freed) return;
  WrittenMemory::instance().markHostCopy(address, std::min(size, allocation->end() - address));
}

void InitCheck::knowHostCopies() { WrittenMemory::instance().knowHostCopies(); }
void InitCheck::doubtHostCopies() { WrittenMemory::instance().doubtHostCopies(); }

void InitCheck::noteAllocated(uint64_t address, uint64_t size) {
  WrittenMemory::instance().clear(address, size);
  CopiedValues::instance().forget(address, size);
}

const InitCheck::Looked &InitCheck::look(uint64_t address) {
  const AllocationMap &map = AllocationMap::instance();
  if (const uint64_t now = map.generation(); now != generation_) {
    generation_ = now;
    looked_ = {};
  }
  if (last_->holds(address)) return *last_;
  for (const Looked &one : looked_)
    if (one.holds(address)) return one;
  Looked &made = looked_[next_++ % looked_.size()];
  made = {address, 1};
  if (const auto found = map.find(address))
    made = {found->base, found->size, found->number,
            !found->on_host && !found->is_freed && !found->counts_as_written};
  return made;
}

bool InitCheck::isFollowed(uint64_t address) {
  last_ = &look(address);
  return last_->is_followed;
}

/// An exchange needs no old value; what adds to it, or compares with it, does.
bool InitCheck::needsOld(const ObservedAccess &access) {
  return access.kind == AccessKind::load ||
         (access.kind == AccessKind::atomic && !access.exchanges);
}

bool InitCheck::isWhole() {
  constexpr uint32_t first = 8, most = 1 << 16;
  Whole &whole = whole_[last_->number % whole_.size()];
  const uint64_t unmarked = WrittenMemory::instance().timesUnmarked();
  if (whole.base != last_->base || whole.generation != generation_ || whole.unmarked != unmarked)
    whole = {last_->base, generation_, unmarked, false, first, first};
  if (whole.is_written || --whole.left != 0) return whole.is_written;
  whole.is_written = WrittenMemory::instance().isWritten(last_->base, last_->end() - last_->base);
  whole.left = whole.patience = std::min(whole.patience * 2, most);
  return whole.is_written;
}

bool InitCheck::isDone(const ObservedAccess &access, const LaneSpan &span) {
  constexpr uint64_t near = 4096;
  if (span.bytes < access.size || !isFollowed(span.first) ||
      !last_->holds(span.last + access.size - 1))
    return false;
  if (isWhole()) return true; // then a store changes nothing
  if (span.bytes > near) return false;
  WrittenMemory &memory = WrittenMemory::instance();
  // Where all is written, with what lies between the lanes, a store changes nothing.
  if (needsOld(access) || !span.is_gapless) return memory.isWritten(span.first, span.bytes);
  memory.mark(span.first, span.bytes);
  return true;
}

bool InitCheck::isAllUnwritten(const ObservedAccess &access, const LaneSpan &span,
                               HostPages &pages) {
  constexpr uint64_t near = 4096;
  if (access.kind != AccessKind::load || span.bytes < access.size || span.bytes > near ||
      !isFollowed(span.first) || !last_->holds(span.last + access.size - 1))
    return false;
  // Nor are the pieces next to it written, whose other bytes these may be.
  constexpr uint64_t unit = UnwrittenBytes::kWidestUnit;
  const uint64_t begin = std::max(span.first / unit * unit, last_->base);
  const uint64_t end = std::min((span.last + access.size + unit - 1) / unit * unit, last_->end());
  WrittenMemory &memory = WrittenMemory::instance();
  return !memory.isTouched(begin, end - begin) &&
         memory.isKnownUnwritten(span.first, span.bytes, pages);
}

Finding InitCheck::describe(const ObservedWave &wave, const ObservedAccess &access, unsigned lane,
                            uint64_t address, const Reporter &reporter) {
  Finding f = reporter.begin(Check::init, Problem::uninitialized);
  f.space = static_cast<uint32_t>(access.space);
  f.place = reporter.place(wave, lane, access, address);
  f.address = address;
  if (const auto allocation = AllocationMap::instance().find(f.address)) {
    f.allocation = allocation->info();
    f.distance = static_cast<int64_t>(f.address - allocation->base);
  }
  if (const auto copier = CopiedValues::instance().copierOf(address)) f.between = *copier;
  return f;
}

void InitCheck::access(const ObservedWave &wave, const ObservedAccess &access, const LaneSpan &span,
                       Reporter *reporter, UnwrittenValues *values) {
  if (access.kind == AccessKind::load && !reporter) return;
  const bool stores_unwritten = values && values->any() && access.kind != AccessKind::load;
  if (!stores_unwritten && isDone(access, span)) return;
  if (values && access.kind != AccessKind::load) {
    // Where it is not known what the host reads, it may be anything.
    const bool is_kept = WrittenMemory::instance().knowsHostCopies() &&
                         isFollowed(access.address[std::countr_zero(access.lanes)]);
    values->store(wave, access, *reporter, is_kept ? &CopiedValues::instance() : nullptr);
  }
  UnwrittenBytes bytes(access.size);
  HostPages pages;
  uint64_t wrong = isAllUnwritten(access, span, pages) ? access.lanes : 0, written = 0;
  for (uint64_t lanes = access.lanes & ~wrong; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    if (!isFollowed(access.address[lane])) continue;
    if (access.kind == AccessKind::load) {
      if (!read(access, lane, bytes, pages)) wrong |= uint64_t{1} << lane;
      continue;
    }
    if (reporter && needsOld(access) &&
        WrittenMemory::instance().isUnwritten(access.address[lane], access.size, pages))
      wrong |= uint64_t{1} << lane;
    if (access.kind == AccessKind::atomic)
      WrittenMemory::instance().mark(access.address[lane], access.size);
    else
      written |= uint64_t{1} << lane;
  }
  write(access, written, values);
  if (wrong) {
    const unsigned lane = lowestLane(access, wrong);
    const Finding f = describe(wave, access, lane, access.address[lane], *reporter);
    if (!values || access.kind != AccessKind::load || !values->loadWhole(wave, access, wrong, f))
      reporter->report(f, static_cast<uint64_t>(std::popcount(wrong)));
  }
  const uint64_t some = bytes.all();
  if (!values || !some) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(some));
  Finding f = describe(wave, access, lane, access.address[lane] + bytes.first(lane), *reporter);
  if (bytes.ofLane(lane) < access.size) f.limit = bytes.ofLane(lane);
  values->load(wave, access, bytes, f);
}

/// What is stored without ever having been written stays so.
void InitCheck::write(const ObservedAccess &access, uint64_t lanes, const UnwrittenValues *values) {
  WrittenMemory &memory = WrittenMemory::instance();
  uint64_t some = 0, never = values && values->any() ? lanes : 0; // bytes were not written, or all
  for (uint32_t k = 0; k < access.size && values && values->any(); ++k)
    some |= values->stored(access, k), never &= values->storedWhole(access, k);
  forRuns(access, never, [&](uint64_t at, uint64_t size, uint64_t) { memory.unmark(at, size); });
  const uint64_t mixed = lanes & some & ~never;
  for (uint32_t k = 0; k < access.size && mixed; ++k) {
    const uint64_t stored = values->stored(access, k), whole = values->storedWhole(access, k);
    for (uint64_t left = mixed; left; left &= left - 1) {
      const uint64_t bit = left & -left, at = access.address[std::countr_zero(left)] + k;
      if (!(stored & bit))
        memory.mark(at, 1);
      else if (whole & bit)
        memory.unmark(at, 1);
    }
  }
  // Last, in case another lane stores the same bytes: nobody is accused without need.
  forRuns(access, lanes & ~some,
          [&](uint64_t at, uint64_t size, uint64_t) { memory.mark(at, size); });
}

/// Whether a lane's load is fine, apart from what is put into `bytes`.
bool InitCheck::read(const ObservedAccess &access, unsigned lane, UnwrittenBytes &bytes,
                     HostPages &pages) const {
  WrittenMemory &memory = WrittenMemory::instance();
  const uint64_t address = access.address[lane], bit = uint64_t{1} << lane;
  if (memory.isWritten(address, access.size)) return true;
  if (memory.isUnwritten(address, access.size, pages)) {
    for (unsigned unit = 2; access.size <= 4 && unit <= UnwrittenBytes::kWidestUnit; unit *= 2) {
      const uint64_t begin = std::max(address / unit * unit, last_->base);
      const uint64_t end = (address + access.size + unit - 1) / unit * unit;
      if (!memory.isTouched(begin, std::min(end, last_->end()) - begin)) continue;
      bytes.addPiece(lane, unit);
      return true;
    }
    return false;
  }
  if (memory.isWritten(address, access.size)) return true;
  bool is_sure = false; // the system was asked, which takes its time
  for (unsigned k = 0; k < bytes.count && last_->holds(address + k); ++k) {
    if (memory.isWritten(address + k, 1)) continue;
    if (!is_sure && !memory.isUnwritten(address + k, 1, pages)) continue;
    is_sure = true;
    bytes.lanes[k] |= bit;
  }
  return true;
}

} // namespace fade::checks
