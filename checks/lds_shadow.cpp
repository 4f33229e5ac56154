#include "checks/lds_shadow.h"

#include <algorithm>
#include <bit>

namespace fade::checks {

void LdsShadow::begin(uint32_t waves, uint32_t bytes) {
  for (const Clock c : clocks_) base_ = std::max(base_, c);
  constexpr Clock nearly_over = 0xf0000000;
  if (base_ > nearly_over) {
    base_ = 0;
    std::ranges::fill(cells_, Cell{});
  }
  waves_ = waves, bytes_ = bytes;
  clocks_.assign(std::size_t{waves} * waves, base_);
  for (uint32_t w = 0; w < waves; ++w) heard(w, w) = base_ + 1;
  if (cells_.size() < (bytes + 3) / 4) cells_.resize((bytes + 3) / 4);
  meetings_.clear();
  has_released_ = false;
  written_.assign((bytes + 63) / 64, 0);
}

void LdsShadow::barrier() {
  Clock latest = 0;
  for (uint32_t w = 0; w < waves_; ++w) latest = std::max(latest, heard(w, w));
  std::ranges::fill(clocks_, latest);
  for (uint32_t w = 0; w < waves_; ++w) heard(w, w) = latest + 1;
}

void LdsShadow::acquire(uint32_t wave, const Meeting &meeting) {
  for (uint32_t w = 0; w < waves_; ++w)
    if (w != wave) heard(wave, w) = std::max(heard(wave, w), meeting.left[w]);
}

void LdsShadow::release(uint32_t wave, Meeting &meeting) {
  for (uint32_t w = 0; w < waves_; ++w) meeting.left[w] = std::max(meeting.left[w], heard(wave, w));
  has_released_ = true;
}

void LdsShadow::endAccess(uint32_t wave) {
  if (!has_released_) return;
  has_released_ = false;
  ++heard(wave, wave); // what comes now was not left anywhere
}

bool LdsShadow::raceInDword(uint32_t wave, unsigned lane, const ObservedAccess &access,
                            uint64_t dword, uint8_t bytes, Other &other) {
  Cell &cell = cells_[dword];
  const bool reads = access.kind == AccessKind::load;
  bool is_atomic = access.kind == AccessKind::atomic;
  Meeting *meeting = nullptr;
  if (is_atomic) {
    meeting = &meetings_[dword];
    meeting->left.resize(waves_, base_);
    meeting->answers |= access.returns;
    if (access.returns) acquire(wave, *meeting);
  } else if (!meetings_.empty()) {
    const auto at = meetings_.find(dword);
    is_atomic = at != meetings_.end() && at->second.answers;
    if (is_atomic) meeting = &at->second;
    if (is_atomic && reads) acquire(wave, *meeting);
  }
  const Mark *met = nullptr;
  const auto atomic = static_cast<uint8_t>(AccessKind::atomic);
  if (conflicts(cell.write, wave, bytes)) met = &cell.write;
  if (!met && !is_atomic && conflicts(cell.atomic, wave, bytes)) met = &cell.atomic;
  for (const Mark &read : cell.read)
    if (!met && !reads && !(is_atomic && read.kind == atomic) && conflicts(read, wave, bytes))
      met = &read;
  if (meeting && !reads) release(wave, *meeting);
  if (met) other = {met->pc, met->wave, met->lane, static_cast<AccessKind>(met->kind)};

  const Mark now{heard(wave, wave),
                 static_cast<uint8_t>(wave),
                 static_cast<uint8_t>(lane),
                 bytes,
                 is_atomic ? atomic : static_cast<uint8_t>(access.kind),
                 access.pc};
  const auto put = [&](Mark &mark) {
    const bool is_same = mark.wave == now.wave && mark.time == now.time;
    const auto before = mark.bytes;
    mark = now;
    if (is_same) mark.bytes |= before;
  };
  if (!reads) {
    put(is_atomic ? cell.atomic : cell.write);
  } else {
    // A reader that the wave has heard of need not be kept: who comes later hears of both.
    Mark &first = cell.read[0];
    const bool may_replace =
        !isLive(first) || first.wave == wave || heard(wave, first.wave) >= first.time;
    put(cell.read[may_replace ? 0 : 1]);
  }
  return met != nullptr;
}

bool LdsShadow::race(uint32_t wave, unsigned lane, const ObservedAccess &access, Other &other) {
  const uint64_t begin = access.address[lane], end = begin + access.size;
  if (end > bytes_ || end < begin) return false; // not LDS: another check's matter
  bool found = false;
  for (uint64_t at = begin; at < end; at = at / 4 * 4 + 4) {
    const uint64_t n = std::min(end, at / 4 * 4 + 4) - at;
    const auto bytes = static_cast<uint8_t>(((1u << n) - 1) << at % 4);
    Other met;
    if (raceInDword(wave, lane, access, at / 4, bytes, met) && !found) found = true, other = met;
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

void LdsShadow::write(uint64_t address, uint32_t size) {
  if (!isInside(address, size)) return;
  const uint64_t word = address / 64, shift = address % 64;
  written_[word] |= maskOf(size) << shift;
  if (shift + size > 64) written_[word + 1] |= maskOf(size) >> (64 - shift);
}

} // namespace fade::checks
