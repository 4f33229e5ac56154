// race, within a wave: whether what lanes store to a place was made of what they loaded from it, as
// in `h[x]++`, so that of two updates at the same place one is lost.
//
// Values that two lanes have loaded from one place are followed: from register to register, through
// private memory and calls, until they are overwritten. Which results depend on them is found by
// trying (ObservedTrial), and of a maximum or minimum by its result: what a selection leaves out is
// not followed. What comes back to its place is an update if a sum, product or shift was made of it
// on the way; doing twice what selects or sets bits is the same as doing it once.
//
// Many loads are of one place for all lanes, and few of them are updates. So each one in the code
// is followed a few times, and each time for some instructions.
#pragma once

#include "checks/reporter.h"

#include <array>
#include <atomic>
#include <unordered_map>
#include <vector>

namespace fade::checks {

/// Loads in the code: how often they were followed. Known to all workers and dispatches.
class UpdateSites {
public:
  static UpdateSites &instance();
  /// Whether to follow this one; counts it.
  bool takes(uint64_t site);
  bool isSpent(uint64_t site) const;
  /// It was followed to a store at the same place, which was no update: what the code looks like
  /// does not matter then.
  void cameBack(uint64_t site);
  bool hasComeBack(uint64_t site) const;

private:
  static constexpr std::size_t kEntries = 8192, kProbes = 8;
  static constexpr uint32_t kMostTimes = 16, kCameBack = 1u << 31;
  struct Entry {
    std::atomic<uint64_t> site{0};
    std::atomic<uint32_t> times{0};
  };
  const Entry *find(uint64_t site) const;
  std::array<Entry, kEntries> entries_;
};

/// One wave's. Costs nothing until lanes have loaded from the same place.
class UpdatedValues {
public:
  void begin();
  bool any() const { return !values_.empty() || !kept_.empty(); }

  /// A load, and which two or more of its lanes meet, is to be followed.
  void load(const ObservedWave &wave, const ObservedAccess &access);
  /// Private memory: without optimization all values go through it.
  void scratch(const ObservedWave &wave, const ObservedAccess &access);
  void registers(const ObservedWave &wave, const ObservedInstruction &instruction);

  struct Origin {
    bool is_known = false;  ///< what is stored was loaded from there, and followed
    bool is_update = false; ///< and changed
    uint64_t site = 0;      ///< of the load
    uint32_t size = 0;
  };
  /// Of what these two lanes store.
  Origin originOf(const ObservedAccess &access, unsigned first, unsigned second) const;
  /// What this lane loaded there, by this load, was followed until now: if it is not the origin of
  /// what is stored, nothing was made of it.
  bool hasFollowed(uint64_t site, uint64_t address, unsigned lane) const;

private:
  struct Value {
    bool vector = false, changed = false;
    uint16_t number = 0; ///< of the register
    uint16_t source = 0; ///< in sources_
    uint64_t lanes = 0;
  };
  struct Source {
    uint64_t site = 0, lanes = 0;
    uint32_t size = 0;
    AccessSpace space = AccessSpace::global;
    std::array<uint64_t, 64> address{};
  };
  struct Kept {
    uint64_t lanes[4] = {}; ///< by byte
    uint16_t source = 0;
    bool changed = false;
  };
  /// A maximum: its result, and the operands that are followed.
  struct Choice {
    std::vector<std::array<uint32_t, 64>> operands;
    std::vector<uint16_t> results;
    uint32_t mask = ~0u; ///< bits that are compared
  };
  void put(const Value &value);
  void drop(const ObservedInstruction &instruction);
  void follow(const ObservedWave &wave, const ObservedInstruction &instruction, uint16_t source,
              std::vector<Value> &after);
  void settle(const ObservedWave &wave);
  void forgetAll();

  std::vector<Value> values_;
  std::vector<Source> sources_;
  std::unordered_map<uint64_t, Kept> kept_; ///< private memory, by address / 4
  Choice choice_;
  uint32_t left_ = 0; ///< instructions
};

} // namespace fade::checks
