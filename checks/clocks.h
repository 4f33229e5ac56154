// What is known of the waves of a dispatch: up to which time each of them has been heard of. Where
// a wave's loads may be done before its earlier stores, or the other way round, it has two times.
//
// A dispatch may have a million waves, and in a scan with look-back each of them learns of all
// before it. So clocks are never changed once they are made, and what two of them have in common
// is kept once: joining two of them makes new blocks only where both know something.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <boost/container/small_vector.hpp>

namespace fade::checks {

using Time = uint32_t; ///< of a wave: how many memory accesses it has made; 0: never heard of

/// Up to when what a wave has accessed is done. Atomics count as stores.
struct Done {
  Time loads = 0, stores = 0;
};

/// Which times of Clocks are those of a wave.
struct TimesOfWave {
  uint32_t count = 1; ///< 1 where loads and stores are done in order; else 2, loads first
  uint32_t of(uint32_t wave, bool writes) const { return wave * count + (writes ? count - 1 : 0); }
};

class Clocks {
public:
  using Ptr = std::shared_ptr<const Clocks>; ///< null: nothing is known

  /// `number`: TimesOfWave::of().
  static Time of(const Ptr &clocks, uint32_t number) {
    if (!clocks || number / kBlock >= clocks->blocks_.size()) return 0;
    const auto &block = clocks->blocks_[number / kBlock];
    return block ? (*block)[number % kBlock] : 0;
  }
  /// All that either knows. One of the two themselves if the other adds nothing.
  static Ptr join(const Ptr &a, const Ptr &b);
  struct Range { ///< from number `first` on
    uint32_t first;
    std::span<const Time> times;
  };
  /// With these times raised, where they are later.
  static Ptr raised(const Ptr &clocks, std::span<const Range> ranges);
  static Ptr raised(const Ptr &clocks, uint32_t first, std::span<const Time> times) {
    const Range range{first, times};
    return raised(clocks, std::span(&range, 1));
  }

private:
  static constexpr uint32_t kBlock = 256; ///< times
  using Block = std::array<Time, kBlock>;
  using BlockPtr = std::shared_ptr<const Block>;
  static BlockPtr joinBlocks(const BlockPtr &a, const BlockPtr &b);

  std::vector<BlockPtr> blocks_;
};

/// Times of a workgroup's waves. Lanes of an access pass on the same ones.
using TimesPtr = std::shared_ptr<const std::vector<Time>>;

/// What was joined lately. Lanes of an access meet the same waves at many places (the bins of a
/// histogram): what comes out is the same, too, and made once.
class ClockJoins {
public:
  Clocks::Ptr join(const Clocks::Ptr &a, const Clocks::Ptr &b) {
    if (a == b || !b) return a;
    if (!a) return b;
    for (const auto &known : known_)
      if (known.a == a && known.b == b) return known.joined;
    auto &made = known_[next_++ % known_.size()];
    made = {a, b, Clocks::join(a, b)};
    return made.joined;
  }
  /// The later one of each of as many times.
  TimesPtr later(const TimesPtr &a, const TimesPtr &b);

private:
  friend class GatheredClocks;
  template <class T> struct Pair { T a, b, joined; };
  static constexpr std::size_t kMost = 8;
  std::array<Pair<Clocks::Ptr>, kMost> known_;
  std::array<Pair<TimesPtr>, kMost> known_times_;
  std::size_t next_ = 0, next_times_ = 0;

  struct Part {           ///< of GatheredClocks
    uint32_t first, wave; ///< the wave that knows `far`, or kSeveral
    TimesPtr times;       ///< from number `first` on
    Clocks::Ptr far;
    bool operator==(const Part &) const = default;
  };
  using Parts = boost::container::small_vector<Part, 1>;
  struct Gathered {
    Clocks::Ptr before, after;
    Parts parts;
  } gathered_;
};

/// What many waves pass on at one place. Where nobody learns from it (a histogram), or knows it
/// already, putting it together each time would be most of the work: so it is done when somebody
/// asks, or when there is much of it.
class GatheredClocks {
public:
  /// By a wave that knows `far` of others, and the times of its workgroup from number `first` on.
  void add(uint32_t wave, const Clocks::Ptr &far, uint32_t first, const TimesPtr &times,
           ClockJoins &joins);
  const Clocks::Ptr &all(ClockJoins &joins) {
    if (!parts_.empty()) gather(joins);
    return known_;
  }

private:
  static constexpr std::size_t kMost = 16; ///< parts
  static constexpr uint32_t kSeveral = ~uint32_t{0};
  using Part = ClockJoins::Part;
  void gather(ClockJoins &joins);

  Clocks::Ptr known_;
  ClockJoins::Parts parts_; ///< of different workgroups
};

} // namespace fade::checks
