// How memory serves the accesses of a wave: cache lines for global memory, banks for LDS.
#pragma once

#include <fade/cost.h>
#include <fade/gpu.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

namespace fade::handlers {

/// What differs between processors.
struct MemoryModel {
  uint32_t line = kUsualLine;   ///< bytes of a cache line
  uint32_t banks = kUsualBanks; ///< of LDS, 4 bytes each
  CostRates rates;

  static MemoryModel of(std::string_view target) {
    MemoryModel model;
    model.rates = CostRates::of(target);
    if (const GpuInfo *gpu = findGpu(target)) {
      if (gpu->unit.line != 0) model.line = gpu->unit.line;
      if (gpu->unit.lds_banks != 0) model.banks = gpu->unit.lds_banks;
    }
    return model;
  }
};

/// The addresses of one access of a wave: addresses[lane] for the lanes of the mask.
struct WaveAccess {
  uint64_t mask = 0;
  std::array<uint64_t, 64> addresses;
};

template <typename F> void forEachLane(uint64_t mask, F &&f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<uint32_t>(std::countr_zero(mask)));
}

/// Lines that `lanes` accesses of `size` bytes would need if they lay side by side.
inline uint64_t linesNeeded(uint64_t lanes, uint64_t size, uint32_t line) {
  return (lanes * size + line - 1) / line;
}

/// Counts distinct values of a few at a time.
class DistinctCounter {
public:
  void start() {
    if (++epoch_ == 0) {
      slots_.fill({});
      epoch_ = 1;
    }
    count_ = 0;
  }
  void add(uint64_t value) {
    std::size_t at = (value * kSpread) >> 56;
    while (slots_[at].epoch == epoch_) {
      if (slots_[at].value == value) return;
      at = (at + 1) % kSlots;
    }
    if (count_ + 1 >= kSlots) return; // more than any wave can have
    slots_[at] = {value, epoch_};
    ++count_;
  }
  uint32_t count() const { return count_; }

  /// The same for the lines that addresses lie in, 2^shift bytes each; at most 64 addresses. The
  /// low bits of an address are not needed, so the number of the call stands there.
  uint32_t countLines(std::span<const uint64_t> addresses, uint32_t shift) {
    const uint64_t low = (uint64_t{1} << shift) - 1;
    if (++line_epoch_ > low || shift != line_shift_) {
      lines_.fill(0);
      line_epoch_ = 1;
      line_shift_ = shift;
    }
    const uint64_t epoch = line_epoch_;
    uint64_t *const lines = lines_.data();
    uint32_t count = 0;
    for (const uint64_t address : addresses) {
      const uint64_t value = (address & ~low) | epoch;
      std::size_t at = ((address >> shift) * kSpread) >> (64 - kLineBits);
      // Few meet in this table, so that the branch is nearly always guessed right.
      while (lines[at] != value && (lines[at] & low) == epoch)
        at = (at + 1) % (std::size_t{1} << kLineBits);
      count += lines[at] != value ? 1 : 0;
      lines[at] = value;
    }
    return count;
  }

private:
  static constexpr std::size_t kSlots = 256;
  static constexpr uint32_t kLineBits = 11;
  static constexpr uint64_t kSpread = 0x9e3779b97f4a7c15ull;
  struct Slot {
    uint64_t value = 0;
    uint32_t epoch = 0;
  };
  std::array<Slot, kSlots> slots_{};
  uint32_t epoch_ = 0;
  uint32_t count_ = 0;
  std::array<uint64_t, std::size_t{1} << kLineBits> lines_{};
  uint64_t line_epoch_ = 0;
  uint32_t line_shift_ = 0;
};

/// Distinct lines touched by long accesses: the lanes' intervals of lines, put together.
inline uint64_t linesUsedByRanges(const WaveAccess &access, uint64_t size, uint32_t line) {
  std::array<uint64_t, 64> starts;
  std::size_t n = 0;
  forEachLane(access.mask, [&](uint32_t lane) { starts[n++] = access.addresses[lane]; });
  std::sort(starts.begin(), starts.begin() + static_cast<std::ptrdiff_t>(n));
  uint64_t used = 0, next = 0; // the first line that is not counted yet
  for (std::size_t i = 0; i < n; ++i) {
    const uint64_t from = std::max(starts[i] / line, next);
    const uint64_t to = (starts[i] + size - 1) / line + 1;
    if (to > from) {
      used += to - from;
      next = to;
    }
  }
  return used;
}

/// Distinct lines touched, over all bytes of all lanes.
inline uint64_t linesUsed(const WaveAccess &access, uint64_t size, uint32_t line,
                          DistinctCounter &distinct) {
  if (size > line) return linesUsedByRanges(access, size, line);
  const auto shift = static_cast<uint32_t>(std::countr_zero(line));
  if (access.mask == ~uint64_t{0}) {
    // All lanes, and mostly none that lies in two lines.
    uint64_t furthest = 0;
    for (const uint64_t address : access.addresses)
      furthest = std::max(furthest, address & (line - 1));
    if (furthest + size <= line) return distinct.countLines(access.addresses, shift);
  }
  distinct.start();
  uint64_t before = ~uint64_t{0};
  forEachLane(access.mask, [&](uint32_t lane) {
    const uint64_t first = access.addresses[lane] >> shift;
    const uint64_t last = (access.addresses[lane] + size - 1) >> shift;
    for (uint64_t at = first; at <= last; ++at) {
      if (at != before) distinct.add(at);
      before = at;
    }
  });
  return distinct.count();
}

/// The same for lanes `stride` apart, without looking at each if that can be avoided.
inline uint64_t linesUsedLinear(uint64_t mask, uint64_t base, int64_t stride, uint32_t size,
                                uint32_t line) {
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  const uint32_t reach = 63u - static_cast<uint32_t>(std::countl_zero(mask)) - first;
  if (stride == 0 || reach == 0) return (base + size - 1) / line - base / line + 1;
  const uint64_t far = base + static_cast<uint64_t>(stride * int64_t{reach});
  const uint64_t low = stride > 0 ? base : far;
  const uint64_t high = (stride > 0 ? far : base) + size - 1;
  const auto distance = static_cast<uint64_t>(stride > 0 ? stride : -stride);
  const uint64_t shifted = mask >> first;
  const bool no_holes = (shifted & (shifted + 1)) == 0;
  // Between neighbors there is less than a line: every line from end to end is touched.
  if (no_holes && distance < uint64_t{line} + size) return high / line - low / line + 1;
  // In order of lanes the lines only go up or only go down.
  uint64_t used = 0, edge = ~uint64_t{0};
  forEachLane(mask, [&](uint32_t lane) {
    const uint64_t at = base + static_cast<uint64_t>(stride * int64_t{lane - first});
    uint64_t from = at / line, to = (at + size - 1) / line;
    if (edge != ~uint64_t{0}) {
      if (stride > 0 && from <= edge) from = edge + 1;
      if (stride < 0 && to >= edge) to = edge - 1;
    }
    if (to + 1 > from) {
      used += to - from + 1;
      edge = stride > 0 ? to : from;
    }
  });
  return used;
}

/// Bytes of a lane that one instruction moves at most.
inline constexpr uint64_t kWidestAccess = 16;

/// The most that an instruction moves of so many bytes, if none moves more than `widest`.
constexpr uint64_t firstPiece(uint64_t size, uint64_t widest = kWidestAccess) {
  for (const uint64_t width : {kWidestAccess, uint64_t{12}, uint64_t{8}, uint64_t{4}, uint64_t{2}})
    if (size >= width && widest >= width) return width;
  return 1;
}

/// Calls f(offset, bytes) for each access that instructions make for one of so many bytes.
template <typename F> void forEachPiece(uint64_t size, F &&f, uint64_t widest = kWidestAccess) {
  for (uint64_t offset = 0; offset < size;) {
    const uint64_t bytes = firstPiece(size - offset, widest);
    f(offset, bytes);
    offset += bytes;
  }
}

struct Lines {
  uint64_t needed = 0, used = 0;
};

/// Lines of an access that may be wider than an instruction: it is done in pieces, and each piece
/// goes to its lines. Pieces that are a line apart use as many lines as each other.
inline Lines linesOfPieces(const WaveAccess &access, uint64_t size, uint32_t line,
                           DistinctCounter &distinct, uint64_t widest = kWidestAccess) {
  const auto lanes = static_cast<uint64_t>(std::popcount(access.mask));
  if (size == firstPiece(size, widest))
    return {linesNeeded(lanes, size, line), linesUsed(access, size, line, distinct)};
  Lines sum;
  WaveAccess piece = access;
  const auto count = [&](uint64_t offset, uint64_t bytes, uint64_t times) {
    forEachLane(access.mask,
                [&](uint32_t lane) { piece.addresses[lane] = access.addresses[lane] + offset; });
    sum.needed += times * linesNeeded(lanes, bytes, line);
    sum.used += times * linesUsed(piece, bytes, line, distinct);
  };
  const uint64_t whole = size / widest, per_line = line / widest;
  const bool is_even = line % widest == 0;
  for (uint64_t i = 0; i < (is_even ? std::min(whole, per_line) : whole); ++i)
    count(i * widest, widest, is_even ? (whole - i + per_line - 1) / per_line : 1);
  forEachPiece(
      size % widest,
      [&](uint64_t offset, uint64_t bytes) { count(whole * widest + offset, bytes, 1); }, widest);
  return sum;
}

/// Which lanes LDS serves together, by the size of the access.
inline std::span<const uint64_t> laneSets(uint32_t size) {
  static constexpr std::array<uint64_t, 2> halves = {0x0000'0000'ffff'ffff, 0xffff'ffff'0000'0000};
  static constexpr std::array<uint64_t, 4> quarters = {0xffff, 0xffff'0000, 0xffff'0000'0000,
                                                       0xffff'0000'0000'0000};
  // {0-3,20-23} {4-7,16-19} {8-11,28-31} {12-15,24-27}, and the same in the upper half.
  static constexpr std::array<uint64_t, 8> eighths = {
      0x00f0'000f,           0x000f'00f0,           0xf000'0f00,           0x0f00'f000,
      0x00f0'000f'0000'0000, 0x000f'00f0'0000'0000, 0xf000'0f00'0000'0000, 0x0f00'f000'0000'0000};
  if (size <= 4) return halves;
  if (size <= 8) return quarters;
  return eighths;
}

/// Whether LDS gives a dword to all lanes that want it, or to one after the other, as atomic
/// operations need it.
enum class SameDword : uint8_t { shared, in_turns };

/// Extra cycles that LDS needs: in each set, the most distinct dwords that one bank has to deliver,
/// less one. Every dword of every lane counts.
inline uint32_t setConflicts(const WaveAccess &access, uint64_t set, uint32_t offset, uint32_t size,
                             uint32_t banks, SameDword same) {
  constexpr std::size_t kMost = 64; // a dword for each lane; more would be another bank's
  std::array<std::array<uint64_t, kMost>, 64> seen;
  std::array<uint8_t, 64> count{};
  uint32_t worst = 0;
  forEachLane(access.mask & set, [&](uint32_t lane) {
    const uint64_t start = access.addresses[lane] + offset;
    for (uint64_t dword = start / 4; dword <= (start + size - 1) / 4; ++dword) {
      const std::size_t bank = dword % banks;
      auto &list = seen[bank];
      uint8_t &n = count[bank];
      if (n == kMost) continue;
      if (same == SameDword::shared &&
          std::find(list.begin(), list.begin() + n, dword) != list.begin() + n)
        continue;
      list[n++] = dword;
      worst = std::max<uint32_t>(worst, n);
    }
  });
  return worst > 1 ? worst - 1 : 0;
}

/// Of a whole access, which may take several instructions.
inline uint32_t ldsConflicts(const WaveAccess &access, uint32_t size, uint32_t banks,
                             SameDword same = SameDword::shared, uint64_t widest = kWidestAccess) {
  uint32_t conflicts = 0;
  forEachPiece(
      size,
      [&](uint64_t at, uint64_t bytes) {
        const auto offset = static_cast<uint32_t>(at), part = static_cast<uint32_t>(bytes);
        const auto sets = laneSets(part);
        // More banks serve more sets at a time.
        const std::size_t together = std::max(1u, banks / 32);
        for (std::size_t i = 0; i < sets.size(); i += together) {
          uint64_t set = 0;
          for (std::size_t j = i; j < std::min(i + together, sets.size()); ++j) set |= sets[j];
          conflicts += setConflicts(access, set, offset, part, banks, same);
        }
      },
      widest);
  return conflicts;
}

} // namespace fade::handlers
