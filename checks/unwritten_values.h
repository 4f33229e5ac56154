// init: what a wave does with values that nobody wrote, where loading them need not be a mistake.
//
// Compilers load members side by side at once, and copy a structure with what is between its
// members, in pieces or as a whole. So a dword that nobody wrote and that comes together with
// others, or a piece next to what was written, is followed: from register to register, through
// private memory, until it is overwritten. It is a mistake once something is computed from it or
// decided by it, or once it is stored where it cannot be the same space of another structure. What
// selects, shuffles or takes bytes out of it is given the benefit of the doubt. Waves that have
// loaded no such value cost nothing.
#pragma once

#include "checks/reporter.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

namespace fade::checks {

/// Of one load: the lanes for which a dword was written by nobody, dword by dword. Of one that is
/// shorter, or not aligned, there is one.
struct UnwrittenDwords {
  static constexpr unsigned kMost = 16; ///< the longest scalar load
  std::array<uint64_t, kMost> lanes{};
  unsigned count = 1; ///< of dwords

  explicit UnwrittenDwords(uint32_t size) : count(std::clamp(size / 4, 1u, kMost)) {}
  uint64_t all() const {
    uint64_t all = 0;
    for (unsigned k = 0; k < count; ++k) all |= lanes[k];
    return all;
  }
  unsigned firstDword(unsigned lane) const;
  unsigned ofLane(unsigned lane) const; ///< how many
};

/// One wave's.
class UnwrittenValues {
public:
  /// What is written and what is not, closer than this, may be of the same structure.
  static constexpr uint64_t kUnit = 8;

  void begin();

  /// A load that brings some. `finding` is what to report if they are used.
  void load(const ObservedWave &wave, const ObservedAccess &access, const UnwrittenDwords &dwords,
            const Finding &finding);
  bool any() const { return !values_.empty(); }
  /// Lanes for which a store stores such a value as its dword `k`.
  uint64_t stored(const ObservedAccess &access, unsigned k) const;
  /// A store or an atomic to global memory.
  void store(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter);
  /// Private memory keeps them: without optimization all values go through it.
  void scratch(const ObservedWave &wave, const ObservedAccess &access);
  void registers(const ObservedWave &wave, const ObservedInstruction &instruction, uint64_t site,
                 Reporter &reporter);

private:
  struct Value {
    bool vector = false;
    uint16_t number = 0; ///< of the register
    uint64_t lanes = 0;
    uint32_t source = 0; ///< in sources_
  };
  /// Where it came from.
  struct Source {
    Finding finding;
    bool is_private = false;            ///< from private memory
    bool is_piece = false;              ///< of a structure, loaded alone
    std::array<uint8_t, 64> position{}; ///< by lane: address % kUnit
  };
  struct Kept {
    uint64_t lanes = 0;
    uint32_t source = 0;
  };
  void put(bool vector, unsigned number, uint64_t lanes, uint32_t source);
  void drop(const ObservedRange &range, uint64_t lanes);
  bool holds(const Value &value, const ObservedAccess &access, unsigned k) const {
    return access.data != ObservedAccess::none && value.number == access.data + k &&
           value.vector == (access.path != AccessPath::scalar);
  }
  void report(const ObservedWave &wave, const Value &value, uint64_t lanes, uint64_t site,
              Reporter &reporter);
  void keep(const ObservedAccess &access);

  std::vector<Value> values_;
  std::vector<Source> sources_;
  std::unordered_map<uint64_t, Kept> kept_; ///< private memory, by address / 4
};

} // namespace fade::checks
