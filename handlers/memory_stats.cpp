#include "memory_stats.h"

#include <algorithm>

namespace fade::handlers {
namespace {

// Lanes that all move on by whole dwords meet in the same numbers, in other banks.
constexpr uint32_t kBankPeriod = 4;

/// The distance that at least three quarters of the neighbouring lanes have, if there is one. Two
/// active lanes are neighbours even if others between them are not active; their distance is then
/// that of one lane to the next.
void addStride(StrideHistogram &strides, const WaveAccess &access) {
  std::array<int64_t, 63> distances;
  std::size_t pairs = 0;
  uint64_t rest = access.mask;
  auto previous = static_cast<uint32_t>(std::countr_zero(rest));
  for (rest &= rest - 1; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const auto distance = static_cast<int64_t>(access.addresses[lane] - access.addresses[previous]);
    const auto gap = static_cast<int64_t>(lane - previous);
    distances[pairs++] = gap == 1 ? distance : distance / gap;
    previous = lane;
  }
  // Whatever has three quarters survives the vote.
  int64_t candidate = 0;
  std::size_t votes = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    if (votes == 0) candidate = distances[i];
    votes = distances[i] == candidate ? votes + 1 : votes - 1;
  }
  const auto agree = std::count(distances.begin(),
                                distances.begin() + static_cast<std::ptrdiff_t>(pairs), candidate);
  if (static_cast<std::size_t>(agree) == pairs)
    strides.add(candidate);
  else if (static_cast<std::size_t>(agree) * 4 >= pairs * 3)
    strides.addRows(candidate);
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
  in_rows_ += other.in_rows_;
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
  const bool is_atomic = site.kind == FADE_SITE_ATOMIC;
  const bool simple = record.isLinear() && !record.hasLength() && site.space != FADE_SPACE_FLAT &&
                      (!is_atomic || record.stride() == 0);
  if (simple)
    linear(record, site.size, site.space == FADE_SPACE_LDS, is_atomic, model);
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
    global_.wasted += last_.used - std::min(last_.used, last_.needed);
    global_.same_address += repeated;
    if (is_atomic) global_.hot.add(base, last_.lanes);
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
  const uint64_t needed = linesNeeded(lanes, size, model.line);
  const uint64_t used = linesUsed(access, size, model.line, distinct);
  global_.needed += needed;
  global_.used += used;
  global_.wasted += used - std::min(used, needed);
  if (site.kind == FADE_SITE_ATOMIC) {
    global_.same_address += sameAddresses(access, distinct);
    forEachLane(access.mask, [&](uint32_t lane) { global_.hot.add(access.addresses[lane], 1); });
  }
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
