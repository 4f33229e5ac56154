// What the lanes of an access cover together: most of them are side by side, and can be looked at
// as one piece.
#pragma once

#include <fade/observer.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace fade::checks {

/// Of some lanes, the one with the lowest address.
inline unsigned lowestLane(const ObservedAccess &access, uint64_t lanes) {
  auto lowest = static_cast<unsigned>(std::countr_zero(lanes));
  for (; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    if (access.address[lane] < access.address[lowest]) lowest = lane;
  }
  return lowest;
}

/// Calls f(address, bytes, lanes) for some lanes of an access, once for those that follow each
/// other in memory without a gap.
template <class F> void forRuns(const ObservedAccess &access, uint64_t lanes, F &&f) {
  uint64_t begin = 0, end = 0, of_run = 0;
  for (; lanes; lanes &= lanes - 1) {
    const uint64_t address = access.address[std::countr_zero(lanes)];
    if (of_run && address != end) f(begin, end - begin, of_run), of_run = 0;
    if (!of_run) begin = address;
    end = address + access.size;
    of_run |= lanes & -lanes;
  }
  if (of_run) f(begin, end - begin, of_run);
}

struct LaneSpan {
  uint64_t first = ~uint64_t{0}, last = 0; ///< lowest and highest address of a lane
  bool is_gapless = true;                  ///< each lane begins where the one before it ends

  explicit LaneSpan(const ObservedAccess &access) {
    if (access.lane_stride && access.lanes) {
      const auto low = std::countr_zero(access.lanes), high = 63 - std::countl_zero(access.lanes);
      first = access.address[low], last = access.address[high];
      is_gapless = access.lane_stride == access.size &&
                   access.lanes >> low == ~uint64_t{0} >> (63 - (high - low));
      bytes = last - first + access.size;
      return;
    }
    if ((access.lanes & (access.lanes + 1)) == 0 && access.lanes != 0) {
      const auto count = static_cast<unsigned>(std::popcount(access.lanes));
      ofFirst(access.address, count, access.size);
      return;
    }
    uint64_t next = 0;
    for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
      const uint64_t address = access.address[std::countr_zero(lanes)];
      is_gapless &= address == next || lanes == access.lanes;
      next = address + access.size;
      first = std::min(first, address);
      last = std::max(last, address);
    }
    bytes = last - first + access.size;
  }

  /// Without a gap between lanes, from the first lane on: a loop that compilers make vectors of.
  void ofFirst(const uint64_t *address, unsigned count, uint64_t size) {
    uint64_t lowest = address[0], highest = address[0], differs = 0;
    for (unsigned i = 0; i < count; ++i) {
      const uint64_t one = address[i];
      lowest = one < lowest ? one : lowest;
      highest = one > highest ? one : highest;
      differs |= one - address[0] - i * size;
    }
    first = lowest, last = highest, is_gapless = differs == 0;
    bytes = last - first + size;
  }

  uint64_t bytes = 0; ///< from the first to the end of the last; may wrap around, if addresses are
                      ///< far apart; then it is below the size
};

} // namespace fade::checks
