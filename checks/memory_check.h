// memory: accesses to what is not the kernel's to touch.
#pragma once

#include "checks/lane_span.h"
#include "checks/reporter.h"
#include "checks/stream_memory.h"

#include <array>

namespace fade::checks {

/// One per worker and dispatch: it remembers where it has been.
class MemoryCheck {
public:
  MemoryCheck(const ObservedMemory &memory, const ObservedDispatch &dispatch,
              const HostTime &launched)
      : memory_(memory), dispatch_(dispatch), launched_(launched) {}

  void access(const ObservedWave &wave, const ObservedAccess &access, const LaneSpan &span,
              Reporter &reporter);

  /// Whether an access that faults here might not fault on a card, where small allocations share
  /// their pages: then the kernel goes on.
  static bool passesFault(uint64_t address);

private:
  struct Extent {
    uint64_t begin = 0, end = 0;
    bool writable = false;
    bool holds(uint64_t address, uint64_t size) const {
      return address >= begin && address < end && size <= end - address;
    }
  };

  bool isKnown(uint64_t first, uint64_t size, bool writes) const;
  bool isFine(uint64_t address, uint32_t size, bool writes);
  void remember(const Extent &extent);
  void global(const ObservedWave &wave, const ObservedAccess &access, const LaneSpan &span,
              Reporter &reporter);
  /// Lanes that use what was given back to a pool before the launch.
  void pooled(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter) const;
  void bounded(const ObservedWave &wave, const ObservedAccess &access, const LaneSpan &span,
               uint64_t limit, Problem problem, Reporter &reporter);
  void arguments(const ObservedWave &wave, const ObservedAccess &access, const LaneSpan &span,
                 Reporter &reporter);
  Finding describe(const ObservedWave &wave, const ObservedAccess &access, unsigned lane,
                   const Reporter &reporter) const;

  const ObservedMemory &memory_;
  const ObservedDispatch &dispatch_;
  const HostTime launched_;
  uint64_t generation_ = 0;
  std::array<Extent, 8> known_{};
  unsigned next_ = 0;
};

} // namespace fade::checks
