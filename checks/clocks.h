// What is known of the waves of a dispatch: up to which time each of them has been heard of.
//
// A dispatch may have a million waves, and in a scan with look-back each of them learns of all
// before it. So clocks are never changed once they are made, and what two of them have in common
// is kept once: joining two of them makes new blocks only where both know something.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace fade::checks {

using Time = uint32_t; ///< of a wave: how many memory accesses it has made; 0: never heard of

class Clocks {
public:
  using Ptr = std::shared_ptr<const Clocks>; ///< null: nothing is known

  static Time of(const Ptr &clocks, uint32_t wave) {
    if (!clocks || wave / kBlock >= clocks->blocks_.size()) return 0;
    const auto &block = clocks->blocks_[wave / kBlock];
    return block ? (*block)[wave % kBlock] : 0;
  }
  /// All that either knows. One of the two themselves if the other adds nothing.
  static Ptr join(const Ptr &a, const Ptr &b);
  /// With the times of the waves from `first` on raised to `times`, where they are later.
  static Ptr raised(const Ptr &clocks, uint32_t first, std::span<const Time> times);

  /// The times of the waves from `first` on, raised to what is known of them.
  static void raise(std::span<Time> times, const Ptr &clocks, uint32_t first) {
    for (uint32_t i = 0; i < times.size(); ++i)
      times[i] = std::max(times[i], of(clocks, first + i));
  }

private:
  static constexpr uint32_t kBlock = 256; ///< waves
  using Block = std::array<Time, kBlock>;
  using BlockPtr = std::shared_ptr<const Block>;
  static BlockPtr joinBlocks(const BlockPtr &a, const BlockPtr &b);

  std::vector<BlockPtr> blocks_;
};

} // namespace fade::checks
