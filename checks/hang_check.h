// hang: where the waves of a dispatch that does not end are, and what they wait for.
//
// The software GPU says that nothing moves (every wave comes back to the same registers at the same
// instruction, over and over) or that the time is over, and where each wave is. What is kept here
// meanwhile says what they wait for: the places that a wave polls, and who last wrote there. Locks
// and flags are written by one lane, or by all lanes to one place; only such stores are remembered.
#pragma once

#include "checks/reporter.h"

#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace fade::checks {

/// What one wave loads again and again.
class WavePolls {
public:
  struct Poll {
    uint64_t site = 0, address = 0, lanes = 0; ///< the first lane's address
    uint64_t last = 0;                         ///< when, in loads of the wave
    uint32_t times = 0, size = 0;
    AccessKind kind = AccessKind::load;
    AccessSpace space = AccessSpace::global;
  };

  void begin() { *this = {}; }
  /// A load, or an atomic that returns a value. Its pc is a site.
  void note(const ObservedAccess &access);
  void branch() { ++branches_; }

  /// A lane of this wave that made the atomic with which a place is polled there, and has left the
  /// loop in which others of its wave are still: the one that has the lock.
  std::optional<unsigned> laneBefore(const Poll &poll) const;

  /// What it polls at the moment, the most recent first; null if there is none.
  const Poll *current() const;
  template <class Visit> void each(Visit visit) const {
    for (const Poll &poll : polls_)
      if (isRecent(poll)) visit(poll);
  }

private:
  bool isRecent(const Poll &poll) const;

  /// The atomic that was made last, and where each lane made it.
  struct Atomics {
    uint64_t site = 0, lanes = 0, last = 0; ///< lanes that made it ever, and the last time
    std::array<uint64_t, 64> address{};
  };
  void noteAtomic(const ObservedAccess &access);

  std::array<Poll, 4> polls_{};
  Atomics atomics_;
  uint64_t loads_ = 0;
  uint32_t branches_ = 0; ///< since the last load
};

/// Who last wrote where, of stores that may be flags or locks.
class LastWrites {
public:
  struct Write {
    uint64_t site = 0;
    uint32_t group[3] = {}, item[3] = {};
    uint32_t wave = 0, lane = 0;
    AccessKind kind = AccessKind::store;
    bool of_one_lane = true; ///< else one of several, of which `lane` is the first
  };

  /// A store, told before it is made. Its pc is a site.
  void store(const ObservedWave &wave, const ObservedAccess &access);
  /// An atomic, told before it is made; atomicDone() follows. Other workers' at the same place
  /// wait.
  void atomic(const ObservedWave &wave, const ObservedAccess &access, const ObservedMemory &memory);
  void atomicDone(const ObservedMemory &memory);

  std::optional<Write> find(const ObservedGroup &group, AccessSpace space, uint64_t address) const;
  /// Whether somebody may have written without being remembered.
  bool hasForgotten(AccessSpace space) const {
    return has_forgotten_ || (space == AccessSpace::lds && has_lds_atomics_);
  }

private:
  static constexpr std::size_t kStripes = 64, kMostPerStripe = 16384;
  struct Stripe {
    mutable std::mutex mutex;
    std::unordered_map<uint64_t, Write> writes; ///< by address / 4
  };
  static uint64_t keyOf(const ObservedGroup &group, AccessSpace space, uint64_t address);
  Stripe &stripeOf(uint64_t key) { return stripes_[key % kStripes]; }
  const Stripe &stripeOf(uint64_t key) const { return stripes_[key % kStripes]; }
  void keep(Stripe &stripe, uint64_t key, const Write &write);

  std::array<Stripe, kStripes> stripes_;
  std::atomic<bool> has_forgotten_{false}, has_lds_atomics_{false};
};

/// Of what is about to be made by this thread: see LastWrites::atomic().
struct PendingAtomic;

/// What a wave waits for; filled in by whoever knows the workgroup.
struct WaitingWave {
  ObservedWaitingWave wave;
  uint64_t site = 0; ///< of the barrier, what it polls, or its next instruction
  const WavePolls *polls = nullptr;
};

/// Whether somebody besides the dispatch may change what its waves poll: the host.
bool mayBeWoken(const std::vector<WaitingWave> &waves);

/// FADE_CHECK_PATIENCE (10 s if it is not set) and FADE_CHECK_TIMEOUT.
HangLimits hangLimitsFromEnvironment();

/// "no wave made progress for 10 s; 2 of 4 workgroups have ended".
std::string summaryOf(const ObservedHang &hang);

/// Ends the process as timeout(1) ends one that takes too long. What it has written to stdout is
/// not lost.
[[noreturn]] void endHung();

/// One finding for each kind of wait and place. `summary`: how it stands as a whole.
void reportHang(const std::vector<WaitingWave> &waves, const LastWrites &writes,
                const ObservedMemory &memory, const std::string &summary, Reporter &reporter);

} // namespace fade::checks
