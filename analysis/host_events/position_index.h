// Which call of many begins at a place of the file: it is asked several times for each operation,
// so one table without a node for each call.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace fade::host_trace {

class PositionIndex {
public:
  PositionIndex() = default;
  /// For at most so many.
  explicit PositionIndex(std::size_t count)
      : places_(std::bit_ceil(2 * count + 1)), shift_(64 - std::countr_zero(places_.size())) {}

  /// What was set before at the same position is forgotten.
  void set(uint64_t position, uint32_t number) {
    Place &place = places_[placeOf(position)];
    place = {position, number};
  }
  std::optional<std::size_t> find(uint64_t position) const {
    if (places_.empty()) return std::nullopt;
    const Place &place = places_[placeOf(position)];
    if (place.number == kNone) return std::nullopt;
    return place.number;
  }

private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Place {
    uint64_t position = 0;
    uint32_t number = kNone;
  };

  /// Where it is, or where it would be. More than half of all places are free.
  std::size_t placeOf(uint64_t position) const {
    constexpr uint64_t golden = 0x9e3779b97f4a7c15;
    std::size_t at = shift_ == 64 ? 0 : position * golden >> shift_;
    while (places_[at].number != kNone && places_[at].position != position)
      at = (at + 1) & (places_.size() - 1);
    return at;
  }

  std::vector<Place> places_;
  int shift_ = 64;
};

} // namespace fade::host_trace
