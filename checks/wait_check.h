// wait: registers that are used while a load into them is still under way, and LDS while a load
// to it is.
//
// A load returns when it likes; the program waits for it with s_waitcnt, which names counters, or
// on gfx12 with an instruction for each: there LDS has a counter of its own. What
// is counted in order is done when at most so many are left; what is not (scalar loads, flat
// accesses, several kinds at once) only when the counter is 0. Compilers get this right; assembly
// and compilers in the making may not. The software GPU loads at once, so nothing goes wrong there.
#pragma once

#include "checks/reporter.h"

#include <array>
#include <deque>
#include <string_view>
#include <vector>

namespace fade::checks {

/// One wave's loads.
class WaitCheck {
public:
  /// `gpu`: "gfx90a". From gfx10 on flat accesses return in order with others.
  void begin(std::string_view gpu);
  void registers(const ObservedWave &wave, const ObservedInstruction &instruction,
                 Reporter &reporter);
  void wait(const ObservedWait &wait);
  /// Whether an access to LDS is that of the load which this wave has issued last.
  bool loadsToLds(const ObservedAccess &access);
  /// An access to LDS by this wave or by another one of its workgroup.
  void usesLds(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter);

private:
  struct Bytes {
    uint64_t first, end;
  };
  /// An instruction that is not done yet.
  struct Load {
    uint64_t pc = 0;
    WaitCounter counter = WaitCounter::none;
    std::vector<ObservedRange> writes;
    unsigned counters = 0;    ///< in which it still counts
    std::vector<Bytes> lds{}; ///< that it writes
  };
  using Number = uint32_t; ///< of a load, from 1
  enum class Queue : uint8_t { vector, stores, scalar, lds, count };

  static std::size_t slot(bool vector, unsigned number) { return vector ? number : 512 + number; }
  Load &load(Number number) { return loads_[number - first_]; }
  const Load &load(Number number) const { return loads_[number - first_]; }
  void issue(const ObservedInstruction &instruction);
  void retire(Queue queue, uint32_t left);
  void finish(Number number);
  bool isInOrder(Number number) const;
  Number pendingIn(const ObservedRange &range, unsigned &at) const;
  uint64_t stillLeft(Number number) const;
  bool isSafe(const ObservedInstruction &instruction, Number number) const;
  void report(const ObservedWave &wave, const ObservedInstruction &instruction, Number number,
              const ObservedRange &range, unsigned at, bool reads, Reporter &reporter);

  Queue ldsQueue() const { return lds_apart_ ? Queue::lds : Queue::scalar; }

  bool flat_in_order_ = false;
  bool lds_apart_ = false; ///< from scalar loads: gfx12
  std::deque<Load> loads_;
  Number first_ = 1; ///< of loads_
  std::array<std::deque<Number>, static_cast<std::size_t>(Queue::count)> queues_;
  std::array<Number, 512 + 256> pending_{}; ///< by register: who writes it
  unsigned pending_count_ = 0;
  Number issued_ = 0;         ///< by the instruction that was seen last
  unsigned loads_to_lds_ = 0; ///< that are under way
};

} // namespace fade::checks
