// sync: values that a shuffle took from a lane that is not active.
//
// To read such a lane is no mistake in itself: programs shuffle first and look afterwards whether
// the other lane was there. So these values, and what is computed from them, are followed from
// register to register and through private memory, lane by lane. It is a mistake once one is
// stored, used as an address, or decides what is. Which lanes of a result depend on them is found
// by trying (ObservedTrial), so what a selection leaves out is not followed.
//
// Where there is no work-item, at the end of the last wave, nothing can be missing: the 0 that is
// read there counts only if it changes what it is combined with. A sum does not mind.
#pragma once

#include "checks/reporter.h"

#include <array>
#include <unordered_map>
#include <vector>

namespace fade::checks {

/// One wave's. Costs nothing until it has read an inactive lane.
class StrayValues {
public:
  void begin();
  bool any() const { return !values_.empty() || !kept_.empty() || decided_; }

  void crossing(const ObservedWave &wave, const ObservedCrossing &crossing, uint64_t site,
                const Reporter &reporter);
  void registers(const ObservedWave &wave, const ObservedInstruction &instruction, uint64_t site,
                 Reporter &reporter);
  /// After registers() of the same instruction.
  void access(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter);

private:
  struct Value {
    bool vector = false;
    uint16_t number = 0;  ///< of the register
    uint64_t lanes = 0;   ///< scalar: bits of the register
    uint32_t source = 0;  ///< in sources_
    bool is_weak = false; ///< the lane that was read has no work-item
  };
  struct Source {
    uint64_t site = 0;
    Finding finding{};
    std::array<uint8_t, 64> from{};
    uint64_t lanes = 0; ///< that have read an inactive one, the last time
  };
  struct Kept {
    uint64_t lanes = 0;
    uint32_t source = 0;
    bool is_weak = false;
  };
  /// What the last instruction has written that counts only if it differs from this.
  struct Doubt {
    std::vector<std::array<uint32_t, 64>> others;
    bool is_there = false;
  };
  struct Inputs; ///< of one instruction, from one source
  void put(const Value &value);
  void drop(const ObservedInstruction &instruction);
  void follow(const ObservedWave &wave, const ObservedInstruction &instruction,
              const Inputs &inputs, std::vector<Value> &after);
  void settle(const ObservedWave &wave);
  void decide(uint64_t lanes, uint64_t of, uint32_t source);
  void report(const ObservedWave &wave, uint32_t source, uint64_t lanes, uint64_t site,
              AccessKind kind, Reporter &reporter);
  void keep(const ObservedAccess &access);
  void restore(const ObservedWave &wave, const ObservedAccess &access);

  std::vector<Value> values_;
  std::vector<Source> sources_;
  std::unordered_map<uint64_t, Kept> kept_; ///< private memory, by address / 4
  Doubt doubt_;
  std::vector<Value> read_; ///< by the memory instruction that is under way
  uint64_t read_site_ = 0;
  uint64_t decided_ = 0;    ///< lanes that are, or are not, active because of such a value
  uint64_t decided_of_ = 0; ///< all that were active then
  uint32_t decided_by_ = 0; ///< source
  bool widens_ = false;     ///< the last instruction made lanes active again
};

} // namespace fade::checks
