// init: device memory that is read before anybody wrote it.
#pragma once

#include "checks/allocations.h"
#include "checks/lane_span.h"
#include "checks/reporter.h"
#include "checks/unwritten_values.h"
#include "checks/written_memory.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace fade::checks {

/// A kernel of HIP's or ROCr's own: copies and fills.
bool isOfRuntime(std::string_view kernel);

/// One per worker and dispatch.
class InitCheck {
public:
  /// `reporter` null: only what is written is noted. `values`: where a load puts what nobody wrote.
  void access(const ObservedWave &wave, const ObservedAccess &access, const LaneSpan &span,
              Reporter *reporter, UnwrittenValues *values);

  /// By a copy engine.
  static void noteWritten(uint64_t address, uint64_t size);
  /// By a copy from the host, which HIP may have made with the CPU.
  static void noteHostCopy(uint64_t address, uint64_t size);
  /// All of these are told; or no longer.
  static void knowHostCopies();
  static void doubtHostCopies();
  /// An allocation was made.
  static void noteAllocated(uint64_t address, uint64_t size);

private:
  /// Whether the address is in an allocation whose bytes are followed.
  bool isFollowed(uint64_t address);
  static bool needsOld(const ObservedAccess &access);
  /// Whether all lanes are done with at once, as most are.
  bool isDone(const ObservedAccess &access, const LaneSpan &span);

  /// Whether all of the allocation that was asked for last was written, as far as that is known.
  bool isWhole();

  /// A store of these lanes.
  static void write(const ObservedAccess &access, uint64_t lanes, const UnwrittenValues *values);
  /// Whether a load reads nothing but what nobody wrote, as far as that can be said of all lanes.
  bool isAllUnwritten(const ObservedAccess &access, const LaneSpan &span, HostPages &pages);
  bool read(const ObservedAccess &access, unsigned lane, UnwrittenBytes &bytes,
            HostPages &pages) const;
  static Finding describe(const ObservedWave &wave, const ObservedAccess &access, unsigned lane,
                          uint64_t address, const Reporter &reporter);

  /// What was looked up lately: asking for it takes a lock that all workers share.
  struct Looked {
    uint64_t base = 0, size = 0; ///< in no allocation: the address alone
    uint32_t number = 0;
    bool is_followed = false;

    uint64_t end() const { return base + size; }
    bool holds(uint64_t address) const { return address - base < size; }
  };
  const Looked &look(uint64_t address);

  uint64_t generation_ = 0;
  std::array<Looked, 16> looked_{};
  std::size_t next_ = 0; ///< which of them is replaced
  const Looked *last_ = looked_.data();
  /// Allocations that scattered loads go to. What is written stays so until it is freed.
  struct Whole {
    uint64_t base = 0, generation = 0, unmarked = 0;
    bool is_written = false;
    uint32_t left = 0, patience = 0; ///< loads until it is looked at again
  };
  std::array<Whole, 8> whole_{};
};

} // namespace fade::checks
