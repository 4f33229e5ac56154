// Memory that HIP hands out of pools: hipMallocAsync and hipFreeAsync.
//
// For HSA a pool is one allocation. What is freed here may be used by what was launched before, and
// by nothing that the same thread launches after.
#pragma once

#include "checks/finding_file.h"

#include <fade/observer.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <shared_mutex>

namespace fade::checks {

/// A moment of a thread of the host, as far as memory is concerned.
struct HostTime {
  uint64_t thread = 0; ///< from 1; 0: none
  uint64_t time = 0;
  static HostTime now();
  bool isAfter(const HostTime &other) const {
    return thread != 0 && thread == other.thread && time > other.time;
  }
};

class StreamMemory {
public:
  static StreamMemory &instance();

  /// `info`: its number is set here.
  void add(AllocationInfo info);
  /// False: it is none of these, or freed already.
  bool free(uint64_t base, const HostCall (&by)[kMostCallers]);
  /// The one that holds an address, freed or not.
  std::optional<AllocationInfo> at(uint64_t address) const;
  /// One that was freed and not handed out since.
  std::optional<AllocationInfo> freed(uint64_t base) const;
  /// Lanes of an access in what was freed before `launched`, and not handed out again before that;
  /// `first`: that of the first lane.
  uint64_t freedLanes(const ObservedAccess &access, const HostTime &launched,
                      AllocationInfo &first) const;
  bool hasFreed() const { return freed_.load(std::memory_order_relaxed) != 0; }

private:
  struct Piece {
    AllocationInfo info{};
    HostTime freed_at{}, reused_at{};
    bool isFreedFor(uint64_t address, const HostTime &launched) const;
  };
  const Piece *find(uint64_t address, const HostTime &launched) const;

  static constexpr std::size_t kMost = 1 << 16, kMostPast = 32;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Piece> pieces_; ///< by base
  std::deque<Piece> past_;           ///< freed, and handed out again lately: kernels may come late
  std::atomic<std::size_t> freed_{0};
};

} // namespace fade::checks
