// race, within a wave: lanes run in step, so what they store at once to the same place is lost but
// for one of them. Two kinds are errors:
// - different values are stored;
// - `h[x]++`: lanes load the same place, change the value, and store the same result: of two
//   additions one is lost. Whether the result was made of what was loaded is known where the value
//   was followed (UpdatedValues). Elsewhere the code tells, which fadeprobe looks at.
#pragma once

#include "checks/reporter.h"
#include "checks/updated_values.h"

#include <fade/observer.h>

#include <array>
#include <cstdint>
#include <optional>

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
  /// Of loads: whether any two begin at the same place.
  bool meets(const ObservedAccess &access);

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
             const UpdatedValues &updates, Old &&old, Reporter &reporter) {
    LaneOverlap::Pair pair;
    if (!overlap.find(access, pair)) return;
    if (pair.differs) return report(wave, access, pair, nullptr, reporter);
    const std::optional<Update> update = updateOf(access, pair, updates);
    if (!update) return;
    std::array<std::byte, 16> before{};
    const uint32_t size = access.size < before.size() ? access.size : 16;
    if (old(access.address[pair.first], before.data(), size) &&
        !isStored(access, pair.first, before.data(), size))
      report(wave, access, pair, &*update, reporter);
  }

private:
  struct Load {
    uint64_t pc = 0, lanes = 0;
    uint32_t size = 0;
    AccessSpace space = AccessSpace::global;
    std::array<uint64_t, 64> address;
  };
  static constexpr std::size_t kLoads = 4;
  /// The load of what is stored back.
  struct Update {
    uint64_t site = 0;
    uint32_t size = 0;
    bool is_certain = false; ///< the value was followed
  };

  std::optional<Update> updateOf(const ObservedAccess &access, const LaneOverlap::Pair &pair,
                                 const UpdatedValues &updates) const;

  /// The last load by which both lanes have read what they store to.
  const Load *loadOf(const ObservedAccess &access, const LaneOverlap::Pair &pair) const;
  static bool isStored(const ObservedAccess &access, unsigned lane, const std::byte *bytes,
                       uint32_t size);
  static void report(const ObservedWave &wave, const ObservedAccess &access,
                     const LaneOverlap::Pair &pair, const Update *update, Reporter &reporter);

  std::array<Load, kLoads> loads_;
  std::size_t count_ = 0;
};

} // namespace fade::checks
