#include "memory_stats.h"

#include <algorithm>
#include <cstring>

namespace fade::handlers {
namespace {

// Lanes that all move on by whole dwords meet in the same numbers, in other banks.
constexpr uint32_t kBankPeriod = 4;

/// The distance that at least three quarters of the neighboring lanes have, if there is one. Two
/// active lanes are neighbors even if others between them are not active; their distance is then
/// that of one lane to the next.
void findStride(Execution &execution, const WaveAccess &access) {
  std::array<int64_t, 63> distances;
  std::size_t pairs = 0;
  if (access.mask == ~uint64_t{0}) {
    for (; pairs < distances.size(); ++pairs)
      distances[pairs] =
          static_cast<int64_t>(access.addresses[pairs + 1] - access.addresses[pairs]);
  } else {
    uint64_t rest = access.mask;
    auto previous = static_cast<uint32_t>(std::countr_zero(rest));
    for (rest &= rest - 1; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
      const auto distance =
          static_cast<int64_t>(access.addresses[lane] - access.addresses[previous]);
      distances[pairs++] = distance / static_cast<int64_t>(lane - previous);
      previous = lane;
    }
  }
  // Of neighboring pairs at least half must be equal for a distance that three quarters have. It
  // survives a vote of those.
  int64_t candidate = pairs != 0 ? distances[pairs - 1] : 0;
  int votes = 0;
  for (std::size_t i = 0; i + 1 < pairs; i += 2) {
    if (distances[i] != distances[i + 1]) continue;
    if (votes == 0) candidate = distances[i];
    votes += distances[i] == candidate ? 1 : -1;
  }
  std::size_t agree = 0;
  for (std::size_t i = 0; i < pairs; ++i) agree += distances[i] == candidate ? 1 : 0;
  execution.stride = candidate;
  execution.kind = agree == pairs           ? Execution::Stride::same
                   : agree * 4 >= pairs * 3 ? Execution::Stride::rows
                                            : Execution::Stride::irregular;
  // Where the first row ends, if its lanes are all there.
  std::size_t last = 0;
  while (last < pairs && distances[last] == candidate) ++last;
  const uint64_t first_row = (uint64_t{2} << last) - 1;
  if (execution.kind == Execution::Stride::rows && last + 1 < 64 &&
      (access.mask & first_row) == first_row && access.mask >> (last + 1) & 1)
    execution.rows = {static_cast<uint32_t>(last + 1),
                      static_cast<int64_t>(access.addresses[last + 1] - access.addresses[0])};
}

void addStride(StrideHistogram &strides, const Execution &execution, uint64_t times) {
  switch (execution.kind) {
  case Execution::Stride::same: strides.add(execution.stride, times); break;
  case Execution::Stride::rows: strides.addRows(execution.stride, execution.rows, times); break;
  case Execution::Stride::irregular: strides.addIrregular(times); break;
  }
}

uint64_t sameAddresses(const WaveAccess &access, DistinctCounter &distinct) {
  distinct.start();
  forEachLane(access.mask, [&](uint32_t lane) { distinct.add(access.addresses[lane]); });
  return static_cast<uint64_t>(std::popcount(access.mask)) - distinct.count();
}

/// The addresses of the active lanes. Irregular records of full waves are copied in one go.
void readAddresses(const Record &record, WaveAccess &access) {
  access.mask = record.mask();
  const std::byte *payload =
      record.bytes().data() + sizeof(fade_record) + (record.hasLength() ? 8 : 0);
  const bool is_full = access.mask == ~uint64_t{0};
  if (is_full && record.encoding() == FADE_ENCODING_RAW) {
    access.addresses[0] = record.base();
    std::memcpy(access.addresses.data() + 1, payload, 63 * sizeof(uint64_t));
  } else if (is_full && record.encoding() == FADE_ENCODING_DELTA32) {
    std::array<int32_t, 63> deltas;
    std::memcpy(deltas.data(), payload, sizeof deltas);
    access.addresses[0] = record.base();
    for (std::size_t i = 0; i < deltas.size(); ++i)
      access.addresses[i + 1] = record.base() + static_cast<uint64_t>(int64_t{deltas[i]});
  } else {
    record.forEachLane([&](uint32_t lane, uint64_t address) { access.addresses[lane] = address; });
  }
}

Execution execute(const WaveAccess &access, uint64_t size, const fade_site &site, bool is_lds,
                  const MemoryModel &model, DistinctCounter &distinct) {
  const bool is_atomic = site.kind == FADE_SITE_ATOMIC;
  const uint64_t widest = widestOf(site);
  Execution result;
  result.pieces = piecesOf(site);
  result.lanes = static_cast<uint32_t>(std::popcount(access.mask));
  result.bytes = result.lanes * size;
  if (is_lds) {
    // No workgroup has more LDS than this; a longer copy is not one of LDS alone.
    const auto part = static_cast<uint32_t>(std::min<uint64_t>(size, 320 << 10));
    result.conflicts = ldsConflicts(access, part, model.banks, SameDword::shared, widest);
    if (is_atomic)
      result.same_turns =
          ldsConflicts(access, part, model.banks, SameDword::in_turns, widest) - result.conflicts;
  } else {
    const Lines lines = linesOfPieces(access, size, model.line, distinct, widest);
    result.needed = lines.needed;
    result.used = lines.used;
  }
  if (is_atomic) result.same_address = sameAddresses(access, distinct);
  findStride(result, access);
  return result;
}

/// The same for lanes in global memory that are all as far apart, without looking at each.
Execution executeLinear(const Record &record, uint32_t size, bool is_atomic,
                        const MemoryModel &model) {
  Execution result;
  result.lanes = record.laneCount();
  result.bytes = uint64_t{result.lanes} * size;
  result.needed = linesNeeded(result.lanes, size, model.line);
  result.used = linesUsedLinear(record.mask(), record.base(), record.stride(), size, model.line);
  result.stride = record.stride();
  if (is_atomic && result.stride == 0) result.same_address = result.lanes - 1;
  return result;
}

} // namespace

void StrideHistogram::add(int64_t stride, uint64_t n) {
  for (std::size_t i = 0; i < size_; ++i)
    if (entries_[i].stride == stride) {
      entries_[i].count += n;
      // The most frequent is found first.
      if (i != 0 && entries_[i].count > entries_[i - 1].count)
        std::swap(entries_[i], entries_[i - 1]);
      return;
    }
  if (size_ < kMost) {
    entries_[size_++] = {stride, n};
    return;
  }
  const auto at = std::ranges::lower_bound(more_, stride, {}, &Entry::stride);
  if (at != more_.end() && at->stride == stride)
    at->count += n;
  else if (kMost + more_.size() < kCounted)
    more_.insert(at, {stride, n});
  else
    others_ += n;
}

void StrideHistogram::add(const StrideHistogram &other) {
  for (std::size_t i = 0; i < other.size_; ++i)
    add(other.entries_[i].stride, other.entries_[i].count);
  for (const Entry &entry : other.more_) add(entry.stride, entry.count);
  irregular_ += other.irregular_;
  others_ += other.others_;
  in_rows_ += other.in_rows_;
  keepLonger(other.rows_);
}

std::vector<StrideHistogram::Entry> StrideHistogram::sorted() const {
  std::vector<Entry> all(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(size_));
  all.insert(all.end(), more_.begin(), more_.end());
  std::ranges::sort(all, [](const Entry &a, const Entry &b) {
    return a.count != b.count ? a.count > b.count : a.stride < b.stride;
  });
  if (all.size() > kMost) all.resize(kMost);
  return all;
}

uint64_t StrideHistogram::total() const {
  uint64_t total = irregular_ + others_;
  for (std::size_t i = 0; i < size_; ++i) total += entries_[i].count;
  for (const Entry &entry : more_) total += entry.count;
  return total;
}

uint64_t StrideHistogram::others() const {
  uint64_t others = total() - irregular_;
  for (const Entry &entry : sorted()) others -= entry.count;
  return others;
}

void HotAddresses::add(uint64_t address, uint64_t n) {
  if (slots_.empty()) slots_.resize(2 * kMost);
  std::size_t at = (address * 0x9e3779b97f4a7c15ull) >> 51;
  while (slots_[at].count != 0 && slots_[at].address != address) at = (at + 1) % slots_.size();
  if (slots_[at].count == 0) {
    if (isFull()) return;
    ++size_;
    slots_[at].address = address;
  }
  slots_[at].count += n;
}

void HotAddresses::add(const HotAddresses &other) {
  for (const Entry &entry : other.slots_)
    if (entry.count != 0) add(entry.address, entry.count);
}

HotAddresses::Entry HotAddresses::hottest() const {
  Entry best;
  for (const Entry &entry : slots_)
    if (entry.count > best.count ||
        (entry.count == best.count && entry.count != 0 && entry.address < best.address))
      best = entry;
  return best;
}

void GlobalStats::add(const GlobalStats &other) {
  executions += other.executions;
  lanes += other.lanes;
  slots += other.slots;
  bytes += other.bytes;
  needed += other.needed;
  used += other.used;
  wasted += other.wasted;
  same_address += other.same_address;
  strides.add(other.strides);
  hot.add(other.hot);
}

void LdsStats::add(const LdsStats &other) {
  executions += other.executions;
  lanes += other.lanes;
  slots += other.slots;
  bytes += other.bytes;
  conflicts += other.conflicts;
  same_address += other.same_address;
  same_turns += other.same_turns;
  strides.add(other.strides);
}

void SiteStats::add(const SiteStats &other) {
  global_.add(other.global_);
  lds_.add(other.lds_);
}

void SiteStats::record(const Record &record, const fade_site &site, const fade_batch &batch,
                       const MemoryModel &model, DistinctCounter &distinct) {
  if (!regular(record, site, batch, model, distinct)) general(record, site, batch, model, distinct);
}

/// Accesses whose addresses follow a rule. False if it is not one, or if it would have to be looked
/// at lane by lane anyway.
bool SiteStats::regular(const Record &record, const fade_site &site, const fade_batch &batch,
                        const MemoryModel &model, DistinctCounter &distinct) {
  if (record.hasLength() || record.encoding() > FADE_ENCODING_TILED) return false;
  const bool is_tiled = record.encoding() == FADE_ENCODING_TILED;
  const bool is_flat = site.space == FADE_SPACE_FLAT;
  const bool is_atomic = site.kind == FADE_SITE_ATOMIC;
  const uint64_t base = record.base();
  if (is_flat && (is_tiled || (base ^ record.lastLinear()) >> 32 != 0)) return false;
  const Space space = is_flat ? spaceOf(site.space, base, batch)
                              : (site.space == FADE_SPACE_LDS ? Space::lds : Space::global);
  if (space == Space::scratch) return true;
  const bool is_lds = space == Space::lds;
  if (is_atomic && !is_lds && record.stride() != 0) return false; // each address is counted

  Pattern pattern{record.mask(),
                  static_cast<uint32_t>(base % (is_lds ? kBankPeriod : model.line)),
                  record.stride(),
                  0,
                  0,
                  is_lds};
  if (is_tiled) {
    const fade_tile tile = record.tile();
    pattern.row_stride = tile.row_stride;
    pattern.width = tile.width;
  }
  if (pattern != last_) {
    last_ = pattern;
    if (is_tiled || is_lds || site.size != firstPiece(site.size, widestOf(site))) {
      WaveAccess access;
      readAddresses(record, access);
      answer_ = execute(access, site.size, site, is_lds, model, distinct);
    } else {
      answer_ = executeLinear(record, site.size, is_atomic, model);
    }
  }
  const uint64_t times = record.weight();
  if (is_lds) {
    countLds(answer_, times, batch);
  } else {
    countGlobal(answer_, times, batch);
    if (is_atomic && is_tiled)
      record.forEachLane([&](uint32_t, uint64_t address) { global_.hot.add(address, times); });
    else if (is_atomic)
      global_.hot.add(base, times * answer_.lanes);
  }
  return true;
}

void SiteStats::general(const Record &record, const fade_site &site, const fade_batch &batch,
                        const MemoryModel &model, DistinctCounter &distinct) {
  WaveAccess global, lds;
  if (site.space == FADE_SPACE_FLAT) {
    record.forEachLane([&](uint32_t lane, uint64_t address) {
      const Space space = spaceOf(site.space, address, batch);
      if (space == Space::scratch) return;
      WaveAccess &to = space == Space::lds ? lds : global;
      to.mask |= uint64_t{1} << lane;
      to.addresses[lane] = space == Space::lds ? address & 0xffff'ffffu : address;
    });
  } else {
    readAddresses(record, site.space == FADE_SPACE_LDS ? lds : global);
  }
  const bool is_atomic = site.kind == FADE_SITE_ATOMIC;
  const uint64_t size = std::max<uint64_t>(record.hasLength() ? record.length() : site.size, 1);
  const uint64_t times = record.weight();
  if (lds.mask != 0) countLds(execute(lds, size, site, true, model, distinct), times, batch);
  if (global.mask == 0) return;
  countGlobal(execute(global, size, site, false, model, distinct), times, batch);
  if (is_atomic)
    forEachLane(global.mask,
                [&](uint32_t lane) { global_.hot.add(global.addresses[lane], times); });
}

void SiteStats::sums(const fade_sums_record &sums, const fade_site &site, const fade_batch &batch) {
  // The device has looked at the first piece. All of them are as wide, and whole dwords apart, so
  // that they meet as often, in other banks.
  const uint64_t pieces = piecesOf(site);
  const auto both = [&](auto &to) {
    to.executions += pieces * sums.count;
    to.lanes += pieces * sums.lanes;
    to.slots += pieces * sums.count * batch.wave_size;
    to.bytes += sums.lanes * site.size;
    to.same_address += pieces * sums.same_address;
    if (sums.header.encoding == FADE_ENCODING_AFFINE)
      to.strides.add(sums.stride, pieces * sums.count);
    else
      to.strides.addIrregular(pieces * sums.count);
  };
  if (site.space == FADE_SPACE_LDS) {
    both(lds_);
    lds_.conflicts += pieces * sums.wasted;
    lds_.same_turns += pieces * sums.needed;
    return;
  }
  both(global_);
  global_.needed += pieces * sums.needed;
  global_.used += pieces * sums.used;
  global_.wasted += pieces * sums.wasted;
}

void SiteStats::countGlobal(const Execution &e, uint64_t times, const fade_batch &batch) {
  const uint64_t accesses = times * e.pieces;
  global_.executions += accesses;
  global_.lanes += accesses * e.lanes;
  global_.slots += accesses * batch.wave_size;
  global_.bytes += times * e.bytes;
  global_.needed += times * e.needed;
  global_.used += times * e.used;
  global_.wasted += times * (e.used - std::min(e.used, e.needed));
  global_.same_address += accesses * e.same_address;
  addStride(global_.strides, e, accesses);
}

void SiteStats::countLds(const Execution &e, uint64_t times, const fade_batch &batch) {
  const uint64_t accesses = times * e.pieces;
  lds_.executions += accesses;
  lds_.lanes += accesses * e.lanes;
  lds_.slots += accesses * batch.wave_size;
  lds_.bytes += times * e.bytes;
  lds_.conflicts += times * e.conflicts;
  lds_.same_address += accesses * e.same_address;
  lds_.same_turns += times * e.same_turns;
  addStride(lds_.strides, e, accesses);
}

} // namespace fade::handlers
