// What each wave of a dispatch knew of the others, and since when. Compiled code does not show that
// a store is one by which a wave tells the others to go on, so this can be asked later, when
// somebody is seen who waited for it.
#pragma once

#include "checks/clocks.h"

#include <atomic>
#include <memory>
#include <span>
#include <vector>

namespace fade::checks {

/// What a wave knows of others.
struct Known {
  Clocks::Ptr far;         ///< waves of other workgroups
  uint32_t first = 0;      ///< wave of the own workgroup
  std::vector<Time> local; ///< of the own workgroup, by number
};
using KnownPtr = std::shared_ptr<const Known>;

class WaveHistories {
public:
  WaveHistories(uint64_t waves, TimesOfWave times);
  ~WaveHistories();
  WaveHistories(const WaveHistories &) = delete;
  WaveHistories &operator=(const WaveHistories &) = delete;

  /// From now on, a wave knows this.
  void add(uint32_t wave, Time since, KnownPtr known);
  /// The wave has ended: only what it knew lately is kept.
  void end(uint32_t wave);
  /// What a wave passes on at a time, when of its own accesses `done` are done. If that is too long
  /// ago, rather too much.
  Clocks::Ptr passedOn(uint32_t wave, Time time, Done done) const;
  /// Likewise, if this is what it knows. `local`: of the waves from `first` on; may be empty.
  Clocks::Ptr passedOn(uint32_t wave, Done done, const Clocks::Ptr &far, uint32_t first,
                       std::span<const Time> local) const;
  /// Its times alone, from TimesOfWave::of() its workgroup's first wave on.
  void putTimes(uint32_t wave, Done done, uint32_t first, std::span<const Time> local,
                std::vector<Time> &times) const;

private:
  struct History;
  History *of(uint32_t wave) const;

  static constexpr std::size_t kMost = 16, kMostAfterEnd = 2; ///< versions that are kept
  static constexpr std::size_t kBlock = 4096;
  using Block = std::vector<std::atomic<History *>>;
  std::vector<std::atomic<Block *>> blocks_;
  const TimesOfWave times_;
};

} // namespace fade::checks
