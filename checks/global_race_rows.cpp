// Lanes side by side, as most are: a row of a page at a time. See global_race.h.
#include "checks/global_race.h"

#include "checks/stored_value.h"

#include <algorithm>
#include <bit>
#include <span>

namespace fade::checks {

/// Of the part of a row: whether nobody was there of whom the wave has not heard.
bool GroupRaces::hasHeardAll(const WaveRaces &w, const Clocks::Ptr &far, const PageMarks &marks,
                             const RowPart &part) const {
  const auto isFine = [&](const Mark &mark) {
    return mark.wave == w.id || !mark.time || hasHeard(w, far, mark);
  };
  const uint32_t row = part.first / PageMarks::kRow;
  if (marks.isEmpty(row)) return true;
  if (marks.isRow(row)) return isFine(*marks.who(part.first));
  for (uint32_t i = 0; i < part.count; ++i)
    if (!isFine(*marks.who(part.first + i))) return false;
  return true;
}

/// Likewise, lanes side by side in one row of a page.
bool GroupRaces::isQuickRow(Lane &lane, const RowPart &part) {
  if (!lane.may_be_quick || lane.page->parts) return false;
  ShadowPage &page = *lane.page;
  const WaveRaces &w = lane.wave;
  const bool stores = lane.access.kind == AccessKind::store;
  const Clocks::Ptr &far = stores ? w.seen : w.fresh;
  if (!hasHeardAll(w, far, page.write.marks, part) ||
      !hasHeardAll(w, far, page.earlier_write.marks, part))
    return false;
  if (!stores) {
    loadRow(lane, part);
    return true;
  }
  if (!hasHeardAll(w, far, page.read, part) || !hasHeardAll(w, far, page.second_read, part))
    return false;
  storeRow(lane, part);
  return true;
}

void GroupRaces::loadRow(const Lane &lane, const RowPart &part) {
  ShadowPage &page = *lane.page;
  GlobalShadow &shadow = dispatch_->shadow;
  const WaveRaces &w = lane.wave;
  const uint32_t row = part.first / PageMarks::kRow;
  if (part.isWhole()) {
    if (hasHeardAll(w, w.seen, page.read, part)) return page.read.putRow(row, lane.mark, shadow);
    if (page.read.isRow(row)) return page.second_read.putRow(row, lane.mark, shadow);
  }
  for (uint32_t i = 0; i < part.count; ++i) {
    Mark &first = page.read.of(part.first + i, shadow);
    const bool may_replace = !first.time || first.wave == w.id || hasHeard(w, w.seen, first);
    (may_replace ? first : page.second_read.of(part.first + i, shadow)) = lane.mark.behind(i);
  }
}

namespace {

/// The dword `i` of those that lanes side by side store, from the lane `first` on.
uint32_t storedInRow(const ObservedAccess &access, unsigned first, uint32_t i) {
  if (!access.stored) return 0;
  if (access.size >= 4) {
    const uint32_t of_lane = access.size / 4;
    return access.stored[i % of_lane * access.stored_stride + first + i / of_lane];
  }
  uint32_t value = 0;
  for (uint32_t at = 0; at < 4; at += access.size) {
    const unsigned lane = first + (i * 4 + at) / access.size;
    const uint32_t one = storedAt(access, lane, access.address[lane]);
    value |= one & maskOfBytes(((1u << access.size) - 1) << at);
  }
  return value;
}

} // namespace

/// See putWrite(). All who were here before are known.
void GroupRaces::storeRow(const Lane &lane, const RowPart &part) {
  GlobalShadow &shadow = dispatch_->shadow;
  ShadowPage::Writes &last = lane.page->write, &earlier = lane.page->earlier_write;
  uint32_t *values = &shadow.made(last.values)[part.first];
  const ObservedAccess &access = lane.access;
  std::array<uint32_t, PageMarks::kRow> stored;
  for (uint32_t i = 0; i < part.count; ++i) stored[i] = storedInRow(access, lane.mark.lane, i);
  const uint32_t row = part.first / PageMarks::kRow;
  const bool is_first = last.marks.isEmpty(row);
  if (!is_first && !(part.isWhole() && putEarlierRow(lane, part, stored.data()))) {
    for (uint32_t i = 0; i < part.count; ++i) {
      const Mark mark = last.marks.at(part.first + i);
      if (!mark.time || !((stored[i] ^ values[i]) & maskOfBytes(mark.bytes))) continue;
      earlier.marks.of(part.first + i, shadow) = mark;
      shadow.made(earlier.values)[part.first + i] = values[i];
    }
  }
  std::copy_n(stored.begin(), part.count, values);
  if (part.isWhole()) return last.marks.putRow(row, lane.mark, shadow);
  for (uint32_t i = 0; i < part.count; ++i)
    last.marks.of(part.first + i, shadow) = lane.mark.behind(i);
}

/// The last stores of a whole row become the earlier ones, or need not. False: some do, and some
/// must not.
bool GroupRaces::putEarlierRow(const Lane &lane, const RowPart &part, const uint32_t *stored) {
  ShadowPage::Writes &last = lane.page->write, &earlier = lane.page->earlier_write;
  const uint32_t row = part.first / PageMarks::kRow;
  if (!last.marks.isRow(row)) return false;
  const Mark &mark = *last.marks.who(part.first);
  const uint32_t *values = &(*last.values)[part.first];
  uint32_t equal = 0;
  for (uint32_t i = 0; i < PageMarks::kRow; ++i) equal += stored[i] == values[i];
  if (equal == PageMarks::kRow) return true;
  if (equal) {
    // One more of the same wave and value does no harm, unless it takes the place of another value.
    if (mark.wave != lane.wave.id) return false;
    const auto isInUse = [&](uint32_t i) {
      const Mark *before = earlier.marks.who(part.first + i);
      return before && before->time && earlier.valueOf(part.first + i) != stored[i];
    };
    for (uint32_t i = 0; i < PageMarks::kRow; ++i)
      if (stored[i] == values[i] && isInUse(i)) return false;
  }
  GlobalShadow &shadow = dispatch_->shadow;
  std::copy_n(values, part.count, &shadow.made(earlier.values)[part.first]);
  earlier.marks.putRow(row, mark, shadow);
  return true;
}

/// Lanes side by side, as most are, row by row. Returns those that are to be looked at one by one.
uint64_t GroupRaces::lookAtRows(Lane &lane) {
  const ObservedAccess &access = lane.access;
  if (!access.lanes || access.size > 16 || !std::has_single_bit(access.size)) return access.lanes;
  const auto low = static_cast<uint32_t>(std::countr_zero(access.lanes));
  const auto count = static_cast<uint32_t>(std::popcount(access.lanes));
  const uint64_t begin = access.address[low], end = begin + uint64_t{count} * access.size;
  if (access.lanes >> low != ~uint64_t{0} >> (64 - count)) return access.lanes;
  uint64_t differs = begin % access.size;
  for (uint32_t i = 0; i < count && access.lane_stride != access.size; ++i)
    differs |= access.address[low + i] - begin - uint64_t{i} * access.size;
  if (differs) return access.lanes;
  constexpr uint64_t row_bytes = PageMarks::kRow * 4;
  uint64_t left = access.lanes;
  const uint64_t last = end / 4 * 4; // whole dwords
  for (uint64_t at = (begin + 3) / 4 * 4, next; at < last; at = next) {
    next = std::min(last, (at / row_bytes + 1) * row_bytes);
    if (at / ShadowPage::kBytes != lane.page_number) enter(lane, at / ShadowPage::kBytes);
    if (!lane.page) continue;
    const auto first = static_cast<uint32_t>(low + (at - begin) / access.size);
    const auto lanes = static_cast<uint32_t>((next - at) / access.size);
    lane.mark.lane = first & 63, lane.mark.bytes = 15;
    lane.mark.part = access.size < 4 ? Mark::kOfLanes : 1;
    const RowPart part{static_cast<uint32_t>(at % ShadowPage::kBytes / 4),
                       static_cast<uint32_t>((next - at) / 4)};
    if (isQuickRow(lane, part)) left &= ~(~uint64_t{0} >> (64 - lanes) << first);
  }
  return left;
}
} // namespace fade::checks
