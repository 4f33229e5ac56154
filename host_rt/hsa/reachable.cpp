#include "hsa/reachable.h"

#include <algorithm>
#include <cstring>

namespace fade {

Reachable::Reachable(const std::vector<VisibleRegion> &regions)
    : regions_(regions), found_(regions.size()) {
  if (regions.empty()) return;
  lowest_ = regions.front().region.address;
  highest_ = regions.back().region.end();
}

void Reachable::scan(std::span<const uint8_t> bytes) {
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if (word - lowest_ < highest_ - lowest_) addAddress(word);
  }
}

void Reachable::addAddress(uint64_t address) {
  if (regions_.empty() || regions_[last_].region.contains(address, 1)) {
    if (!regions_.empty()) add(last_);
    return;
  }
  const auto after = std::ranges::upper_bound(
      regions_, address, {}, [](const VisibleRegion &each) { return each.region.address; });
  if (after == regions_.begin() || !std::prev(after)->region.contains(address, 1)) return;
  last_ = static_cast<std::size_t>(std::prev(after) - regions_.begin());
  add(last_);
}

void Reachable::add(std::size_t region) {
  if (found_[region]) return;
  found_[region] = true;
  waiting_.push_back(region);
}

std::optional<std::size_t> Reachable::next() {
  if (waiting_.empty()) return std::nullopt;
  const std::size_t region = waiting_.front();
  waiting_.pop_front();
  return region;
}

} // namespace fade
