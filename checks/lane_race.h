// race, within a wave: lanes run in step, so what they store at once to the same place is lost but
// for one of them. Two kinds are errors:
// - different values are stored;
// - `h[x]++`: lanes load the same place, change the value, and store the same result: of two
//   additions one is lost. Whether the result depends on what was loaded is seen from the code,
//   which fadeprobe looks at.
#pragma once

#include "checks/reporter.h"

#include <fade/observer.h>

#include <array>
#include <cstdint>

namespace fade::checks {

/// Whether any two lanes of an access have a byte in common.
class LaneOverlap {
public:
  struct Pair {
    unsigned first = 0, second = 0; ///< lanes
    uint64_t byte = 0;              ///< address of the first one that differs, or is common
    bool differs = false;           ///< what they store there
  };
  /// Of stores: a pair that stores different values, or else any. False: there is none.
  bool find(const ObservedAccess &access, Pair &pair);

private:
  static constexpr std::size_t kEntries = 1024;
  struct Entry {
    uint64_t dword = 0;
    uint32_t turn = 0;
    uint16_t lane = 0;
  };
  std::array<Entry, kEntries> entries_; ///< by dword; those of other turns are empty
  uint32_t turn_ = 0;
};

/// One wave's.
class LaneRaces {
public:
  void begin() { count_ = 0; }
  void load(const ObservedAccess &access);
  /// `old`: reads memory as it is before the store: old(address, to, size).
  template <class Old>
  void store(const ObservedWave &wave, const ObservedAccess &access, LaneOverlap &overlap,
             Old &&old, Reporter &reporter) {
    LaneOverlap::Pair pair;
    if (!overlap.find(access, pair)) return;
    if (pair.differs) return report(wave, access, pair, nullptr, reporter);
    const Load *load = loadOf(access, pair);
    if (!load) return;
    std::array<std::byte, 16> before{};
    const uint32_t size = access.size < before.size() ? access.size : 16;
    if (old(access.address[pair.first], before.data(), size) &&
        !isStored(access, pair.first, before.data(), size))
      report(wave, access, pair, load, reporter);
  }

private:
  struct Load {
    uint64_t pc = 0, lanes = 0;
    uint32_t size = 0;
    AccessSpace space = AccessSpace::global;
    std::array<uint64_t, 64> address;
  };
  static constexpr std::size_t kLoads = 4;

  /// The last load by which both lanes have read what they store to.
  const Load *loadOf(const ObservedAccess &access, const LaneOverlap::Pair &pair) const;
  static bool isStored(const ObservedAccess &access, unsigned lane, const std::byte *bytes,
                       uint32_t size);
  static void report(const ObservedWave &wave, const ObservedAccess &access,
                     const LaneOverlap::Pair &pair, const Load *load, Reporter &reporter);

  std::array<Load, kLoads> loads_;
  std::size_t count_ = 0;
};

} // namespace fade::checks
