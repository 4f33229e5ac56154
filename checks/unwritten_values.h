// init: what a wave does with bytes that nobody wrote, where loading them need not be a mistake.
//
// Compilers load members side by side at once, and copy a structure with what is between its
// members, in pieces or as a whole. So bytes that nobody wrote and that come together with others
// are followed, each of them: from register to register, through private memory, until they are
// overwritten. It is a mistake once something is computed from them or decided by them, or once
// they are stored where they cannot be the same space of another structure. Which bytes of a result
// come from them is found by trying (ObservedTrial), so what masks them out, shifts them out or
// does not select them leaves nothing to follow. Waves that have loaded none cost nothing.
//
// Compilers turn `if (i < n) sum += x[i]` into a sum and a selection. A result of the vector unit
// is therefore reported when it is read, overwritten, or the wave ends, and not at all where a
// selection leaves it out. A few instructions may lie between.
//
// A load of which nothing was written is a mistake, whatever becomes of it, but for two things: it
// may be copied (CopiedValues), and fields of a few bits are set by loading what they lie in,
// masking, and storing it where it was.
#pragma once

#include "checks/reporter.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

namespace fade::checks {

class CopiedValues;

/// Of one load: the lanes for which a byte was written by nobody, byte by byte.
struct UnwrittenBytes {
  static constexpr unsigned kMost = 64; ///< the longest scalar load
  std::array<uint64_t, kMost> lanes{};
  unsigned count = 1; ///< of bytes
  /// What is written and what is not, closer than this, may be of the same structure.
  static constexpr unsigned kWidestUnit = 8;
  unsigned unit = kWidestUnit; ///< the smallest in which something was written

  explicit UnwrittenBytes(uint32_t size) : count(std::clamp(size, 1u, kMost)) {}
  uint64_t all() const {
    uint64_t all = 0;
    for (unsigned k = 0; k < count; ++k) all |= lanes[k];
    return all;
  }
  /// None of a lane's bytes was written, but something in this unit was.
  void addPiece(unsigned lane, unsigned in_unit) {
    unit = std::min(unit, in_unit);
    for (unsigned k = 0; k < count; ++k) lanes[k] |= uint64_t{1} << lane;
  }
  unsigned first(unsigned lane) const;
  unsigned ofLane(unsigned lane) const; ///< how many
};

/// One wave's.
class UnwrittenValues {
public:
  static constexpr uint64_t kUnit = UnwrittenBytes::kWidestUnit;

  void begin();

  /// A load that brings some. `finding` is what to report if they are used.
  void load(const ObservedWave &wave, const ObservedAccess &access, const UnwrittenBytes &bytes,
            const Finding &finding);
  /// A load of which nothing was written, for these lanes. False: it cannot be followed.
  bool loadWhole(const ObservedWave &wave, const ObservedAccess &access, uint64_t lanes,
                 const Finding &finding);
  bool any() const { return !values_.empty(); }
  /// Lanes for which a store stores such a byte as its byte `k`.
  uint64_t stored(const ObservedAccess &access, unsigned k) const;
  /// Likewise, if nothing of what it was loaded with was written.
  uint64_t storedWhole(const ObservedAccess &access, unsigned k) const;
  /// A store or an atomic to global memory, or to LDS. To store it in LDS is to copy it; likewise
  /// elsewhere, if `copies` is there.
  void store(const ObservedWave &wave, const ObservedAccess &access, Reporter &reporter,
             CopiedValues *copies = nullptr);
  /// Private memory keeps them: without optimization all values go through it.
  void scratch(const ObservedWave &wave, const ObservedAccess &access);
  void registers(const ObservedWave &wave, const ObservedInstruction &instruction, uint64_t site,
                 Reporter &reporter);
  /// The wave ends: what was computed counts, although nothing has read it.
  void end(const ObservedWave &wave, Reporter &reporter);

private:
  using Lanes = std::array<uint64_t, 4>; ///< by byte of a register, or of a dword
  /// Where it came from, and what was done with it since.
  struct Origin {
    uint32_t source = 0;  ///< in sources_
    uint8_t shift = 0;    ///< byte b of a register was byte b + shift of the load, modulo kUnit
    bool picked = false;  ///< it was put together with others, or taken out of some
    bool derived = false; ///< it is part of a result
    bool strayed = false; ///< it came from another lane
    bool masked = false;  ///< some of its bits were taken out
    bool mixed = false;   ///< it has bits of something else in it, or may get some
    /// The first instruction that has computed with it, and how many have: not reported yet.
    uint64_t computed_at = 0;
    uint8_t computed = 0;
    bool passed_on = false; ///< something was computed with the result: what becomes of that counts
    uint16_t dword = 0;     ///< of the load
    uint32_t load = 0;      ///< which, of all that the wave made
    bool operator==(const Origin &) const = default;
  };
  struct Value {
    bool vector = false;
    uint16_t number = 0; ///< of the register
    Lanes lanes{};
    Origin origin;
    uint64_t any() const { return lanes[0] | lanes[1] | lanes[2] | lanes[3]; }
    void remove(uint64_t some) {
      for (uint64_t &l : lanes) l &= ~some;
    }
  };
  struct Source {
    Finding finding;
    bool is_private = false;            ///< from private memory
    bool is_piece = false;              ///< of a structure, loaded alone
    uint8_t unit = kUnit;               ///< a structure of this size, or of a multiple, may have it
    bool is_whole = false;              ///< nothing of it was written: only fields may be set in it
    uint32_t size = 0;                  ///< of the load
    std::array<uint64_t, 64> address{}; ///< by lane
  };
  struct Kept {
    Lanes lanes{};
    Origin origin;
  };
  void put(bool vector, unsigned number, const Lanes &lanes, const Origin &origin);
  void drop(const ObservedRange &range, uint64_t lanes);
  /// Of a register that is loaded: the lanes of each byte, from those of each byte of memory.
  static Lanes inRegister(const ObservedAccess &access, const uint64_t *memory, unsigned dword);
  /// The byte of the register that a store takes for byte `k` of memory; -1: of another one.
  static int byteOf(const Value &value, const ObservedAccess &access, unsigned k);
  bool isOutOfPlace(const Value &value, unsigned byte, uint64_t lanes, const ObservedAccess &access,
                    unsigned k) const;
  /// The lanes for which a byte of a register goes back to where it was loaded from.
  uint64_t backInPlace(const Value &value, unsigned byte, uint64_t lanes,
                       const ObservedAccess &access, unsigned k) const;
  uint32_t sourceOf(const ObservedWave &wave, const ObservedAccess &access, const Finding &finding,
                    bool is_whole);
  void follow(const ObservedWave &wave, const ObservedAccess &access, const UnwrittenBytes &bytes,
              uint32_t source);
  void report(const ObservedWave &wave, const Value &value, uint64_t lanes, uint64_t site,
              Reporter &reporter);
  /// False: it was not only copied, or cannot be kept.
  bool isCopied(const ObservedWave &wave, const ObservedAccess &access, const Value &value,
                uint64_t lanes, const Reporter &reporter, CopiedValues &copies) const;
  bool isOfSame(const Origin &a, const Origin &b) const;
  void forget(Origin origin, uint64_t lanes);
  void keep(const ObservedAccess &access);

  struct Step; ///< an instruction that reads some
  bool isWholeDword(const Value &value) const;
  void move(Step &step) const;
  void pick(Step &step) const;
  void compute(Step &step, bool any_use_counts);
  void reportAll(Step &step);
  bool awaits(Step &step, const Value &value, uint64_t lanes) const;
  void report(Step &step, const Value &value, uint64_t lanes);
  void select(Step &step, Value &value);
  void reportComputed(Step &step);
  void reportOverwritten(Step &step, const ObservedRange &range);
  bool mayBeField(const Value &value, const ObservedInstruction &instruction) const;
  void reportWhole(Step &step);

  std::vector<Value> values_;
  std::vector<Source> sources_;
  uint32_t loads_ = 0;
  std::unordered_map<uint64_t, Kept> kept_; ///< private memory, by address / 4
};

} // namespace fade::checks
