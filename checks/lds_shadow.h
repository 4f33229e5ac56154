// What is known about each byte of a workgroup's LDS: who touched it last, and whether anybody
// wrote it.
//
// Order between waves is kept in vector clocks. A wave has a time of its own; it also knows how far
// it has "heard" of each of the others. A barrier tells everybody everything; if it is split, a
// wave tells when it arrives, and hears when it has waited. An atomic leaves what its wave knows at
// the place that it changes, and one that returns the old value takes what others left there: so
// locks and counters in LDS order what they protect. (At such a place plain loads and stores do the
// same: compiled code does not show that a store is an atomic one.) A load in a loop that waits
// takes what atomics left, and what the wave knew that has stored to this place alone, a flag: LDS
// is in order, so a release needs no instruction of its own. An access is in order with an earlier
// one of another wave if the wave has heard of it; if it has not and one of them writes, they race.
#pragma once

#include <fade/observer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace fade::checks {

class LdsShadow {
public:
  /// The next workgroup. Nothing of the one before is left.
  void begin(uint32_t waves, uint32_t bytes);

  /// The other side of a race.
  struct Other {
    uint64_t pc = 0;
    uint32_t wave = 0, lane = 0;
    AccessKind kind = AccessKind::load;
    uint64_t address = 0;                 ///< of the first byte that both touch
    uint32_t size = 0;                    ///< of that access
    uint32_t byte = 0;                    ///< of it, the one at `address`
    uint32_t data = ObservedAccess::none; ///< its first register
  };
  /// What is known of an access besides.
  enum class Manner : uint8_t {
    plain,
    polls, ///< a load in a loop that waits
    tells, ///< a store to one place, which may be a flag
  };
  /// Whether a lane's access races with an earlier one. Takes note of it. Stores of the same value
  /// do not race.
  bool race(uint32_t wave, unsigned lane, const ObservedAccess &access, Other &other,
            Manner manner = Manner::plain);
  /// All lanes of a load at once, where it races with nobody: none has stored since the last
  /// barrier. False: each lane is to be looked at by race().
  bool readsOnly(uint32_t wave, const ObservedAccess &access);
  /// All lanes of an access were looked at by race().
  void endAccess(uint32_t wave);
  void barrier();
  /// A split barrier: a wave arrives, all have arrived, a wave has waited for that.
  void arrive(uint32_t wave);
  void completeBarrier() { arrived_ = arriving_; }
  void leave(uint32_t wave);

  /// Whether no byte of a lane's access was written yet, and whether all were.
  bool isUnwritten(uint64_t address, uint32_t size) const;
  bool isWritten(uint64_t address, uint32_t size) const;
  /// Whether any byte was, of the units that it is in.
  bool isTouchedNear(uint64_t address, uint32_t size, uint64_t unit) const;
  void write(uint64_t address, uint32_t size);
  /// Pieces of any size; false if they are not all inside.
  bool isAllWritten(uint64_t address, uint64_t size) const;
  bool writeAll(uint64_t address, uint64_t size);

private:
  using Clock = uint32_t;
  static constexpr uint32_t kNoData = 1023;
  static constexpr uint8_t kTold = 3; ///< a kind of mark, beside those of accesses
  bool isInside(uint64_t address, uint32_t size) const {
    return address <= bytes_ && size <= bytes_ - address && size <= 64;
  }
  static uint64_t maskOf(uint32_t size) {
    return size >= 64 ? ~uint64_t{0} : (uint64_t{1} << size) - 1;
  }
  uint64_t bitsAt(uint64_t address, uint32_t size) const;
  struct Mark {
    Clock time = 0;
    uint32_t wave : 6 = 0;
    uint32_t lane : 6 = 0;
    uint32_t bytes : 4 = 0; ///< of the dword, one bit each
    uint32_t kind : 2 = 0;
    uint32_t part : 2 = 0;        ///< which dword of the access it is
    uint32_t more : 2 = 0;        ///< dwords that the access has beyond one
    uint32_t data : 10 = kNoData; ///< its first register
    uint64_t pc = 0;
  };
  static_assert(sizeof(Mark) == 16);
  static Mark markOf(const ObservedAccess &access, unsigned lane, uint64_t at);
  static Other otherOf(const Mark &mark, uint64_t dword, unsigned common);
  struct Cell { ///< a dword
    Mark write;
    Mark read[2]; ///< of two different waves, so that a writer meets one that is not itself
  };
  struct Atomics { ///< of a dword, likewise
    Mark marks[2];
  };
  /// Of a dword that is accessed in parts: marks of bytes that later accesses did not touch.
  struct Parts {
    std::vector<Mark> written, read;
  };

  Clock &heard(uint32_t wave, uint32_t of) { return clocks_[wave * waves_ + of]; }
  bool isLive(const Mark &mark) const { return mark.time > base_; }
  bool conflicts(const Mark &mark, uint32_t wave, uint8_t bytes) {
    return isLive(mark) && mark.wave != wave && (mark.bytes & bytes) != 0 &&
           heard(wave, mark.wave) < mark.time;
  }
  /// The same wave's mark, or one that it has heard of: who comes later hears of both.
  Mark &placeFor(Mark (&marks)[2], uint32_t wave) {
    const Mark &first = marks[0];
    const bool may_replace =
        !isLive(first) || first.wave == wave || heard(wave, first.wave) >= first.time;
    return marks[may_replace ? 0 : 1];
  }
  void put(uint64_t dword, Mark &at, const Mark &mark, std::vector<Mark> Parts::*displaced) {
    const Mark before = at;
    at = mark;
    if (before.wave == mark.wave && before.time == mark.time) at.bytes |= before.bytes;
    if (!parts_.empty() || ((before.bytes & ~at.bytes) && isLive(before)))
      keepRest(dword, before, at, displaced);
  }
  /// Of `before`, what `mark` has not touched, and of what was kept so far.
  void keepRest(uint64_t dword, const Mark &before, const Mark &mark,
                std::vector<Mark> Parts::*displaced);
  bool raceInLane(uint32_t wave, unsigned lane, const ObservedAccess &access, Other &other,
                  Manner manner);
  bool raceInDword(uint32_t wave, unsigned lane, const ObservedAccess &access, uint64_t at,
                   uint8_t bytes, Manner manner, Other &other);
  /// A poll has seen this store.
  void hear(uint32_t wave, const Mark &store);

  uint32_t waves_ = 0, bytes_ = 0;
  Clock base_ = 0; ///< times up to here are of earlier workgroups
  std::vector<Clock> clocks_;
  std::vector<Clock> arriving_, arrived_; ///< split barriers: what those knew who came, by wave
  std::vector<Cell> cells_;
  std::vector<uint32_t> values_; ///< what was last stored, by dword
  std::vector<Atomics> atomics_; ///< by dword; empty until there is one
  struct Meeting {               ///< a dword that atomics change
    uint32_t dword = 0;
    uint32_t number = 0;
    bool answers = false; ///< an atomic has taken the old value
  };
  Meeting *meetingAt(uint64_t dword) {
    return meetings_.empty() || !meeting_at_[dword] ? nullptr : &meetings_[meeting_at_[dword] - 1];
  }
  Meeting &makeMeeting(uint64_t dword);
  void acquire(uint32_t wave, const Meeting &meeting);
  void release(uint32_t wave, const Meeting &meeting);

  /// Loads that race with nobody are marked when somebody stores; a barrier comes before that
  /// mostly, after which nobody asks for them.
  struct Read {
    uint64_t pc, lanes;
    uint32_t wave, size;
    uint16_t data;
    std::array<uint32_t, 64> address;
  };
  static constexpr std::size_t kMostReads = 256;
  void markReads();

  std::vector<Read> reads_;
  std::size_t reads_count_ = 0;
  bool has_stored_ = false; ///< anybody, since the last barrier
  std::vector<Meeting> meetings_;
  std::vector<uint32_t> meeting_at_;          ///< by dword: one more than its number, or 0
  std::vector<Clock> left_;                   ///< of each meeting, by wave: what those knew
  std::unordered_map<uint64_t, Parts> parts_; ///< since the last barrier
  bool has_released_ = false;                 ///< in the access that is being looked at
  std::vector<uint64_t> written_;
};

} // namespace fade::checks
