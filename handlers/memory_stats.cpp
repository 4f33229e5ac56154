#include "memory_stats.h"

#include <algorithm>

namespace fade::handlers {
namespace {

constexpr uint32_t kBankPeriod = 256; // bytes after which any number of banks starts over

/// The distance between neighbouring lanes if it is the same everywhere.
void addStride(StrideHistogram &strides, const WaveAccess &access) {
  uint64_t previous = 0;
  uint32_t previous_lane = 64;
  int64_t stride = 0;
  bool known = false, regular = true;
  forEachLane(access.mask, [&](uint32_t lane) {
    const uint64_t address = access.addresses[lane];
    if (previous_lane != 64) {
      const auto distance = static_cast<int64_t>(address - previous);
      const auto gap = static_cast<int64_t>(lane - previous_lane);
      regular = regular && distance % gap == 0 && (!known || distance / gap == stride);
      stride = distance / gap;
      known = true;
    }
    previous = address;
    previous_lane = lane;
  });
  if (regular)
    strides.add(stride);
  else
    strides.addIrregular();
}

uint64_t sameAddresses(const WaveAccess &access, DistinctCounter &distinct) {
  distinct.start();
  forEachLane(access.mask, [&](uint32_t lane) { distinct.add(access.addresses[lane]); });
  return static_cast<uint64_t>(std::popcount(access.mask)) - distinct.count();
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
  if (size_ < kMost)
    entries_[size_++] = {stride, n};
  else
    others_ += n;
}

void StrideHistogram::add(const StrideHistogram &other) {
  for (std::size_t i = 0; i < other.size_; ++i)
    add(other.entries_[i].stride, other.entries_[i].count);
  irregular_ += other.irregular_;
  others_ += other.others_;
}

std::vector<StrideHistogram::Entry> StrideHistogram::sorted() const {
  std::vector<Entry> all(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(size_));
  std::ranges::sort(all, [](const Entry &a, const Entry &b) {
    return a.count != b.count ? a.count > b.count : a.stride < b.stride;
  });
  return all;
}

uint64_t StrideHistogram::total() const {
  uint64_t total = irregular_ + others_;
  for (std::size_t i = 0; i < size_; ++i) total += entries_[i].count;
  return total;
}

void GlobalStats::add(const GlobalStats &other) {
  executions += other.executions;
  lanes += other.lanes;
  bytes += other.bytes;
  needed += other.needed;
  used += other.used;
  same_address += other.same_address;
  strides.add(other.strides);
}

void LdsStats::add(const LdsStats &other) {
  executions += other.executions;
  lanes += other.lanes;
  bytes += other.bytes;
  conflicts += other.conflicts;
  same_address += other.same_address;
  strides.add(other.strides);
}

void SiteStats::add(const SiteStats &other) {
  global_.add(other.global_);
  lds_.add(other.lds_);
}

void SiteStats::record(const Record &record, const fade_site &site, const fade_batch &batch,
                       const MemoryModel &model, DistinctCounter &distinct) {
  const bool simple = record.isLinear() && !record.hasLength() && site.space != FADE_SPACE_FLAT;
  if (simple)
    linear(record, site.size, site.space == FADE_SPACE_LDS, site.kind == FADE_SITE_ATOMIC, model);
  else
    general(record, site, batch, model, distinct);
}

void SiteStats::linear(const Record &record, uint32_t size, bool is_lds, bool is_atomic,
                       const MemoryModel &model) {
  const uint64_t mask = record.mask(), base = record.base();
  const int32_t stride = record.stride();
  const auto phase = static_cast<uint32_t>(base % (is_lds ? kBankPeriod : model.line));
  if (mask != last_.mask || phase != last_.phase || stride != last_.stride) {
    last_ = {mask, phase, stride, 0, 0, 0, record.laneCount()};
    if (is_lds) {
      WaveAccess access;
      access.mask = mask;
      record.forEachLane(
          [&](uint32_t lane, uint64_t address) { access.addresses[lane] = address; });
      last_.conflicts = ldsConflicts(access, size, model.banks);
    } else {
      last_.needed = static_cast<uint32_t>(linesNeeded(last_.lanes, size, model.line));
      last_.used = static_cast<uint32_t>(linesUsedLinear(mask, base, stride, size, model.line));
    }
  }
  const uint64_t repeated = is_atomic && stride == 0 ? last_.lanes - 1 : 0;
  if (is_lds) {
    ++lds_.executions;
    lds_.lanes += last_.lanes;
    lds_.bytes += uint64_t{last_.lanes} * size;
    lds_.conflicts += last_.conflicts;
    lds_.same_address += repeated;
    lds_.strides.add(stride);
  } else {
    ++global_.executions;
    global_.lanes += last_.lanes;
    global_.bytes += uint64_t{last_.lanes} * size;
    global_.needed += last_.needed;
    global_.used += last_.used;
    global_.same_address += repeated;
    global_.strides.add(stride);
  }
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
    WaveAccess &to = site.space == FADE_SPACE_LDS ? lds : global;
    to.mask = record.mask();
    record.forEachLane([&](uint32_t lane, uint64_t address) { to.addresses[lane] = address; });
  }
  const uint64_t size = std::max<uint64_t>(record.hasLength() ? record.length() : site.size, 1);
  if (global.mask != 0) addGlobal(global, size, site, model, distinct);
  if (lds.mask != 0) addLds(lds, size, site, model, distinct);
}

void SiteStats::addGlobal(const WaveAccess &access, uint64_t size, const fade_site &site,
                          const MemoryModel &model, DistinctCounter &distinct) {
  const auto lanes = static_cast<uint64_t>(std::popcount(access.mask));
  ++global_.executions;
  global_.lanes += lanes;
  global_.bytes += lanes * size;
  global_.needed += linesNeeded(lanes, size, model.line);
  global_.used += linesUsed(access, size, model.line, distinct);
  if (site.kind == FADE_SITE_ATOMIC) global_.same_address += sameAddresses(access, distinct);
  addStride(global_.strides, access);
}

void SiteStats::addLds(const WaveAccess &access, uint64_t size, const fade_site &site,
                       const MemoryModel &model, DistinctCounter &distinct) {
  const auto lanes = static_cast<uint64_t>(std::popcount(access.mask));
  ++lds_.executions;
  lds_.lanes += lanes;
  lds_.bytes += lanes * size;
  // No workgroup has more LDS than this; a longer copy is not one of LDS alone.
  const auto part = static_cast<uint32_t>(std::min<uint64_t>(size, 320 << 10));
  lds_.conflicts += ldsConflicts(access, part, model.banks);
  if (site.kind == FADE_SITE_ATOMIC) lds_.same_address += sameAddresses(access, distinct);
  addStride(lds_.strides, access);
}

} // namespace fade::handlers
