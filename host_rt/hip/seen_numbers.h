// Numbers that were seen before: any thread, without a lock, for the life of the process. A hash
// table of fixed size from which nothing is removed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fade::hip {

enum class Seen : uint8_t {
  first,
  before,
  no_room, ///< it is not there, and cannot be kept
};

/// With 1 << Bits places. Tries: how many of them are looked at for a number, which is not 0.
template <unsigned Bits, std::size_t Tries> class SeenNumbers {
public:
  /// The top bits of `hash` choose where a number is looked for first.
  Seen see(uint64_t number, uint64_t hash) noexcept {
    std::size_t slot = placeOf(hash);
    for (std::size_t i = 0; i < Tries; ++i, slot = (slot + 1) % kSlots) {
      uint64_t there = slots_[slot].load(std::memory_order_relaxed);
      if (there == 0 && slots_[slot].compare_exchange_strong(there, number)) return Seen::first;
      if (there == number) return Seen::before; // perhaps another thread was quicker
    }
    return Seen::no_room;
  }
  /// Whether it is where it is looked for first: true for nearly all that was seen.
  bool isAtOnce(uint64_t number, uint64_t hash) const noexcept {
    return slots_[placeOf(hash)].load(std::memory_order_relaxed) == number;
  }

private:
  static constexpr std::size_t kSlots = std::size_t{1} << Bits;
  static std::size_t placeOf(uint64_t hash) noexcept { return hash >> (64 - Bits); }

  std::array<std::atomic<uint64_t>, kSlots> slots_{};
};

inline uint64_t spreadBits(uint64_t number) noexcept { return number * 0x9e3779b97f4a7c15u; }

} // namespace fade::hip
