// Clocks that waves spend in blocks: read where a block begins and where it ends, and added up in
// scalar registers. Who is called is not part of the block that calls.
#pragma once

#include "rewrite/dialect.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace fade::rewrite {

class BlockTimes {
public:
  struct Block {
    uint64_t place = 0;
    bool is_in_loop = false;
  };

  explicit BlockTimes(const Dialect &dialect) : dialect_(dialect) {}

  /// Gives blocks a pair of registers each, those of loops first, as long as `take` has one.
  template <typename Take> void choose(std::vector<Block> blocks, const Take &take) {
    std::ranges::sort(blocks, {}, [](const Block &b) { return std::pair(!b.is_in_loop, b.place); });
    const auto start = take(), now = take();
    if (!start || !now) return;
    start_ = *start, now_ = *now;
    for (const Block &block : blocks) {
      const auto sum = take();
      if (!sum) return;
      sums_[block.place] = *sum;
    }
  }
  bool empty() const { return sums_.empty(); }
  /// By place: the first of two registers.
  const std::map<uint64_t, unsigned> &sums() const { return sums_; }

  /// Where a block begins, or goes on behind a call.
  Lines start() const { return readClock(start_); }
  /// Where it ends. Changes SCC.
  Lines stop(unsigned sum) const {
    Lines lines = readClock(now_);
    if (dialect_.major() < 11) {
      dialect_.waitForScalars(lines);
      lines.insert(lines.end(), {fmt::format("s_sub_u32 s{0}, s{0}, s{1}", now_, start_),
                                 fmt::format("s_subb_u32 s{0}, s{0}, s{1}", now_ + 1, start_ + 1)});
    } else {
      lines.push_back(fmt::format("s_sub_u32 s{0}, s{0}, s{1}", now_, start_));
      if (dialect_.major() == 11)
        lines.push_back(fmt::format("s_and_b32 s{0}, s{0}, 0xfffff", now_));
    }
    lines.insert(lines.end(),
                 {fmt::format("s_add_u32 s{0}, s{0}, s{1}", sum, now_),
                  fmt::format("s_addc_u32 s{0}, s{0}, {1}", sum + 1,
                              dialect_.major() < 11 ? fmt::format("s{}", now_ + 1) : "0")});
    return lines;
  }

private:
  /// What is read at the beginning has arrived when the end is waited for.
  Lines readClock(unsigned to) const {
    if (dialect_.major() < 11) return {fmt::format("s_memtime {}", scalarPair(to))};
    return {dialect_.major() == 11
                ? fmt::format("s_getreg_b32 s{}, hwreg(HW_REG_SHADER_CYCLES, 0, 20)", to)
                : fmt::format("s_getreg_b32 s{}, hwreg(HW_REG_SHADER_CYCLES_LO)", to)};
  }

  const Dialect dialect_;
  unsigned start_ = 0, now_ = 0; ///< pairs
  std::map<uint64_t, unsigned> sums_;
};

} // namespace fade::rewrite
