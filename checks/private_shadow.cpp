#include "checks/private_shadow.h"

#include <algorithm>
#include <bit>

namespace fade::checks {

void PrivateShadow::begin(uint32_t bytes) {
  bytes_ = bytes;
  written_.clear(); // keeps its memory
}

void PrivateShadow::write(const ObservedAccess &access) {
  for (uint64_t lanes = access.lanes; lanes;) {
    // Lanes that write to the same place are taken together: mostly that is all of them.
    const uint64_t address = access.address[std::countr_zero(lanes)];
    uint64_t same = 0;
    for (uint64_t left = lanes; left; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      if (access.address[lane] == address) same |= uint64_t{1} << lane;
    }
    lanes &= ~same;
    if (!isInside(address, access.size)) continue;
    if (written_.size() < address + access.size) written_.resize(address + access.size);
    for (uint64_t at = address; at < address + access.size; ++at) written_[at] |= same;
  }
}

uint64_t PrivateShadow::unwritten(const ObservedAccess &access) const {
  uint64_t unwritten = 0;
  bool is_of_program = access.path == AccessPath::flat;
  const uint64_t first = access.lanes ? access.address[std::countr_zero(access.lanes)] : 0;
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t address = access.address[lane], bit = uint64_t{1} << lane;
    is_of_program |= address != first;
    if (!isInside(address, access.size)) continue; // another check's matter
    const uint64_t end = std::min<uint64_t>(address + access.size, written_.size());
    bool is_written = false;
    for (uint64_t at = address; at < end; ++at) is_written |= (written_[at] & bit) != 0;
    if (!is_written) unwritten |= bit;
  }
  return is_of_program ? unwritten : 0;
}

} // namespace fade::checks
