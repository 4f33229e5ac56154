// What a store stores, dword by dword of memory. Stores of the same value do not race, and that is
// decided by what is stored: memory holds whatever was there when somebody looks.
#pragma once

#include <fade/observer.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace fade::checks {

/// Bytes of a dword, one bit each, as a mask for its value.
constexpr uint32_t maskOfBytes(unsigned bytes) {
  return (bytes & 1 ? 0xffu : 0) | (bytes & 2 ? 0xff00u : 0) | (bytes & 4 ? 0xff0000u : 0) |
         (bytes & 8 ? 0xff000000u : 0);
}

/// What a lane stores into the dword that holds `at`, from `at` on; each byte at its place.
inline uint32_t storedAt(const ObservedAccess &access, unsigned lane, uint64_t at) {
  if (!access.stored) return 0;
  const auto word = [&](uint64_t k) { return access.stored[k * access.stored_stride + lane]; };
  const uint64_t offset = at - access.address[lane];
  if (offset % 4 == 0 && at % 4 == 0 && access.size % 4 == 0) return word(offset / 4);
  if (access.size < 4) return word(0) >> 8 * access.stored_byte >> 8 * offset << 8 * (at % 4);
  uint32_t value = word(offset / 4) >> 8 * (offset % 4);
  if (offset % 4 && offset / 4 + 1 < access.size / 4)
    value |= word(offset / 4 + 1) << (32 - 8 * (offset % 4));
  return value << 8 * (at % 4);
}

/// What all lanes leave in a dword of which lane `lane` stores `bytes`: of several lanes that store
/// the same byte, the last one's.
inline uint32_t leftAt(const ObservedAccess &access, unsigned lane, uint64_t dword, unsigned bytes,
                       uint32_t value) {
  const uint64_t later = lane == 63 ? 0 : access.lanes >> (lane + 1) << (lane + 1);
  for (uint64_t lanes = later; lanes; lanes &= lanes - 1) {
    const auto other = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t begin = std::max(access.address[other], dword * 4);
    const uint64_t end = std::min(access.address[other] + access.size, dword * 4 + 4);
    if (begin >= end) continue;
    const unsigned theirs = ((1u << (end - begin)) - 1) << begin % 4;
    const uint32_t mask = maskOfBytes(theirs & bytes);
    value = (value & ~mask) | (storedAt(access, other, begin) & mask);
  }
  return value;
}

} // namespace fade::checks
