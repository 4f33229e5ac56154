#include "checks/lds_shadow.h"

#include "checks/stored_value.h"

#include <algorithm>
#include <bit>

namespace fade::checks {

void LdsShadow::begin(uint32_t waves, uint32_t bytes) {
  for (const Clock c : clocks_) base_ = std::max(base_, c);
  constexpr Clock nearly_over = 0xf0000000;
  if (base_ > nearly_over) {
    base_ = 0;
    std::ranges::fill(cells_, Cell{});
    std::ranges::fill(atomics_, Atomics{});
  }
  waves_ = waves, bytes_ = bytes;
  clocks_.assign(std::size_t{waves} * waves, base_);
  for (uint32_t w = 0; w < waves; ++w) heard(w, w) = base_ + 1;
  arriving_.assign(waves, base_), arrived_.assign(waves, base_);
  if (cells_.size() < (bytes + 3) / 4)
    cells_.resize((bytes + 3) / 4), values_.resize(cells_.size());
  for (const Meeting &meeting : meetings_) meeting_at_[meeting.dword] = 0;
  meetings_.clear(), left_.clear();
  parts_.clear();
  has_released_ = has_stored_ = false;
  reads_count_ = 0;
  written_.assign((bytes + 63) / 64, 0);
}

void LdsShadow::barrier() {
  Clock latest = 0;
  for (uint32_t w = 0; w < waves_; ++w) latest = std::max(latest, heard(w, w));
  std::ranges::fill(clocks_, latest);
  for (uint32_t w = 0; w < waves_; ++w) heard(w, w) = latest + 1;
  parts_.clear();
  reads_count_ = 0, has_stored_ = false;
}

void LdsShadow::arrive(uint32_t wave) {
  markReads();
  for (uint32_t w = 0; w < waves_; ++w) arriving_[w] = std::max(arriving_[w], heard(wave, w));
  ++heard(wave, wave); // what comes now was not told
}

void LdsShadow::leave(uint32_t wave) {
  markReads();
  for (uint32_t w = 0; w < waves_; ++w)
    if (w != wave) heard(wave, w) = std::max(heard(wave, w), arrived_[w]);
}

void LdsShadow::keepRest(uint64_t dword, const Mark &before, const Mark &mark,
                         std::vector<Mark> Parts::*displaced) {
  const uint32_t rest = isLive(before) ? before.bytes & ~mark.bytes & 15 : 0;
  if (!rest && !parts_.contains(dword)) return;
  constexpr std::size_t most = 8;
  auto &parts = parts_[dword].*displaced;
  // A write takes the place of whatever was there; of reads, of the same wave's alone.
  std::erase_if(parts, [&](Mark &part) {
    if (displaced == &Parts::written || part.wave == mark.wave) part.bytes &= ~mark.bytes & 15;
    return part.bytes == 0;
  });
  if (!rest) return;
  if (parts.size() == most) parts.erase(parts.begin());
  parts.push_back(before);
  parts.back().bytes = rest & 15;
}

/// Without time, wave, bytes and kind. Of accesses that are not aligned the part is not known.
LdsShadow::Mark LdsShadow::markOf(const ObservedAccess &access, unsigned lane, uint64_t at) {
  Mark mark;
  mark.lane = lane & 63;
  mark.pc = access.pc;
  mark.more = std::min<uint32_t>(3, access.size > 4 ? access.size / 4 - 1 : 0) & 3;
  const uint64_t begin = access.address[lane];
  if (access.data >= kNoData || begin % std::min(4u, access.size) != 0 || access.size > 16)
    return mark;
  mark.part = ((at - begin) / 4) & 3;
  mark.data = access.data & kNoData;
  return mark;
}

LdsShadow::Other LdsShadow::otherOf(const Mark &mark, uint64_t dword, unsigned common) {
  const auto kind = mark.kind == kTold ? AccessKind::store : static_cast<AccessKind>(mark.kind);
  Other other{mark.pc, mark.wave, mark.lane, kind};
  const auto in_dword = static_cast<uint32_t>(std::countr_zero(common | 8));
  other.address = dword * 4 + in_dword;
  other.size =
      mark.more ? mark.more * 4 + 4 : static_cast<uint32_t>(std::popcount(uint32_t{mark.bytes}));
  const bool is_whole = mark.more || mark.bytes == 15; // else it may be two accesses
  if (mark.data != kNoData && is_whole)
    other.data = mark.data, other.byte = mark.part * 4 + in_dword;
  return other;
}

LdsShadow::Meeting &LdsShadow::makeMeeting(uint64_t dword) {
  if (Meeting *meeting = meetingAt(dword)) return *meeting;
  if (meeting_at_.size() < cells_.size())
    meeting_at_.resize(cells_.size()), atomics_.resize(cells_.size());
  const auto number = static_cast<uint32_t>(meetings_.size());
  meeting_at_[dword] = number + 1;
  left_.resize(left_.size() + waves_, base_);
  return meetings_.emplace_back(Meeting{static_cast<uint32_t>(dword), number});
}

void LdsShadow::acquire(uint32_t wave, const Meeting &meeting) {
  const Clock *left = &left_[std::size_t{meeting.number} * waves_];
  for (uint32_t w = 0; w < waves_; ++w)
    if (w != wave) heard(wave, w) = std::max(heard(wave, w), left[w]);
}

void LdsShadow::release(uint32_t wave, const Meeting &meeting) {
  Clock *left = &left_[std::size_t{meeting.number} * waves_];
  for (uint32_t w = 0; w < waves_; ++w) left[w] = std::max(left[w], heard(wave, w));
  has_released_ = true;
}

void LdsShadow::hear(uint32_t wave, const Mark &store) {
  if (!isLive(store) || store.kind != kTold || store.wave == wave) return;
  for (uint32_t w = 0; w < waves_; ++w)
    if (w != wave && w != store.wave)
      heard(wave, w) = std::max(heard(wave, w), heard(store.wave, w));
  heard(wave, store.wave) = std::max(heard(wave, store.wave), store.time);
}

void LdsShadow::endAccess(uint32_t wave) {
  if (!has_released_) return;
  has_released_ = false;
  ++heard(wave, wave); // what comes now was not left anywhere
}

bool LdsShadow::raceInDword(uint32_t wave, unsigned lane, const ObservedAccess &access, uint64_t at,
                            uint8_t bytes, Manner manner, Other &other) {
  const uint64_t dword = at / 4;
  Cell &cell = cells_[dword];
  const bool stores = access.kind == AccessKind::store;
  const uint32_t value = stores ? storedAt(access, lane, at) : 0;
  const bool reads = access.kind == AccessKind::load;
  bool is_atomic = access.kind == AccessKind::atomic;
  Meeting *meeting = nullptr;
  if (is_atomic) {
    meeting = &makeMeeting(dword);
    meeting->answers |= access.returns;
    if (access.returns) acquire(wave, *meeting);
  } else if (Meeting *met_before = meetingAt(dword)) {
    is_atomic = met_before->answers;
    if (is_atomic) meeting = met_before;
    if (reads && (is_atomic || manner == Manner::polls)) acquire(wave, *met_before);
  }
  const bool polls = manner == Manner::polls;
  if (polls) is_atomic = true, hear(wave, cell.write);
  const Mark *met = nullptr;
  const auto atomic = static_cast<uint8_t>(AccessKind::atomic);
  const auto meet = [&](const Mark &mark) {
    if (!met && conflicts(mark, wave, bytes)) met = &mark;
  };
  // Compilers begin loops of compare-and-swap with a plain load.
  const bool answers = access.kind == AccessKind::atomic && access.returns;
  const auto meetRead = [&](const Mark &read) {
    const bool is_told = is_atomic || manner == Manner::tells;
    if (!reads && !answers && !(is_told && read.kind == atomic)) meet(read);
  };
  const auto meetWrite = [&](const Mark &write) {
    if (met || !conflicts(write, wave, bytes)) return;
    const unsigned common = write.bytes & bytes;
    const auto differs = [&](uint32_t mine) {
      return ((mine ^ values_[dword]) & maskOfBytes(common)) != 0;
    };
    if (!stores || (differs(value) && differs(leftAt(access, lane, dword, common, value))))
      met = &write;
  };
  meetWrite(cell.write);
  if (!is_atomic && !meetings_.empty())
    for (const Mark &mark : atomics_[dword].marks) meet(mark);
  for (const Mark &read : cell.read) meetRead(read);
  if (const auto parts = parts_.empty() ? parts_.end() : parts_.find(dword);
      parts != parts_.end()) {
    for (const Mark &part : parts->second.written) meetWrite(part);
    for (const Mark &part : parts->second.read) meetRead(part);
  }
  if (meeting && !reads) release(wave, *meeting);
  if (manner == Manner::tells) has_released_ = true;
  if (met) other = otherOf(*met, dword, met->bytes & bytes);

  Mark now = markOf(access, lane, at);
  now.time = heard(wave, wave), now.wave = wave & 63, now.bytes = bytes & 15u;
  now.kind = (is_atomic                 ? atomic
              : manner == Manner::tells ? kTold
                                        : static_cast<uint8_t>(access.kind)) &
             3;
  if (reads)
    put(dword, placeFor(cell.read, wave), now, &Parts::read);
  else if (is_atomic)
    placeFor(atomics_[dword].marks, wave) = now;
  else
    put(dword, cell.write, now, &Parts::written);
  if (stores) {
    const uint32_t mask = maskOfBytes(bytes);
    values_[dword] = (values_[dword] & ~mask) | (value & mask);
  }
  return met != nullptr;
}

bool LdsShadow::readsOnly(uint32_t wave, const ObservedAccess &access) {
  if (access.kind != AccessKind::load || has_stored_ || !meetings_.empty()) return false;
  if (reads_count_ == kMostReads) markReads();
  if (reads_.size() <= reads_count_) reads_.resize(std::max<std::size_t>(16, 2 * reads_.size()));
  Read &read = reads_[reads_count_++];
  read.pc = access.pc, read.lanes = access.lanes, read.wave = wave;
  read.size = access.size, read.data = access.data;
  constexpr uint64_t outside = ~uint32_t{0};
  for (std::size_t i = 0; i < read.address.size(); ++i)
    read.address[i] = static_cast<uint32_t>(std::min(access.address[i], outside));
  return true;
}

/// Clocks are still as they were when each of them was made.
void LdsShadow::markReads() {
  for (std::size_t i = 0; i < reads_count_; ++i) {
    const Read &read = reads_[i];
    std::array<uint64_t, 64> address;
    std::ranges::copy(read.address, address.begin());
    ObservedAccess access;
    access.pc = read.pc, access.lanes = read.lanes, access.address = address.data();
    access.size = read.size, access.data = read.data, access.space = AccessSpace::lds;
    Other other;
    for (uint64_t lanes = read.lanes; lanes; lanes &= lanes - 1)
      raceInLane(read.wave, static_cast<unsigned>(std::countr_zero(lanes)), access, other,
                 Manner::plain);
  }
  reads_count_ = 0;
}

bool LdsShadow::race(uint32_t wave, unsigned lane, const ObservedAccess &access, Other &other,
                     Manner manner) {
  if (reads_count_) markReads();
  has_stored_ |= access.kind != AccessKind::load;
  return raceInLane(wave, lane, access, other, manner);
}

bool LdsShadow::raceInLane(uint32_t wave, unsigned lane, const ObservedAccess &access, Other &other,
                           Manner manner) {
  const uint64_t begin = access.address[lane], end = begin + access.size;
  if (end > bytes_ || end < begin) return false; // not LDS: another check's matter
  bool found = false;
  for (uint64_t at = begin; at < end; at = at / 4 * 4 + 4) {
    const uint64_t n = std::min(end, at / 4 * 4 + 4) - at;
    const auto bytes = static_cast<uint8_t>(((1u << n) - 1) << at % 4);
    Other met;
    if (raceInDword(wave, lane, access, at, bytes, manner, met) && !found)
      found = true, other = met;
  }
  return found;
}

/// Bits of the bytes from `address` on, at most 64, as the lower bits of a word.
uint64_t LdsShadow::bitsAt(uint64_t address, uint32_t size) const {
  const uint64_t word = address / 64, shift = address % 64;
  uint64_t bits = written_[word] >> shift;
  if (shift + size > 64) bits |= written_[word + 1] << (64 - shift);
  return bits & maskOf(size);
}

bool LdsShadow::isUnwritten(uint64_t address, uint32_t size) const {
  return isInside(address, size) && bitsAt(address, size) == 0;
}

bool LdsShadow::isWritten(uint64_t address, uint32_t size) const {
  return !isInside(address, size) || bitsAt(address, size) == maskOf(size);
}

bool LdsShadow::isTouchedNear(uint64_t address, uint32_t size, uint64_t unit) const {
  const uint64_t end = std::min<uint64_t>((address + size + unit - 1) / unit * unit, bytes_);
  for (uint64_t at = address / unit * unit; at < end; ++at)
    if (written_[at / 64] >> at % 64 & 1) return true;
  return false;
}

bool LdsShadow::isAllWritten(uint64_t address, uint64_t size) const {
  if (address > bytes_ || size > bytes_ - address) return false;
  for (uint64_t at = address, end = address + size; at < end;) {
    const auto n = static_cast<uint32_t>(std::min<uint64_t>(64 - at % 64, end - at));
    if ((written_[at / 64] >> at % 64 & maskOf(n)) != maskOf(n)) return false;
    at += n;
  }
  return true;
}

bool LdsShadow::writeAll(uint64_t address, uint64_t size) {
  if (address > bytes_ || size > bytes_ - address) return false;
  for (uint64_t at = address, end = address + size; at < end;) {
    const auto n = static_cast<uint32_t>(std::min<uint64_t>(64 - at % 64, end - at));
    written_[at / 64] |= maskOf(n) << at % 64;
    at += n;
  }
  return true;
}

void LdsShadow::write(uint64_t address, uint32_t size) {
  if (!isInside(address, size)) return;
  const uint64_t word = address / 64, shift = address % 64;
  written_[word] |= maskOf(size) << shift;
  if (shift + size > 64) written_[word + 1] |= maskOf(size) >> (64 - shift);
}

} // namespace fade::checks
