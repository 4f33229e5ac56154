// Two levels of cache, as a model: each compute unit has an L1, all of them share an L2.
//
// L1 holds what was loaded, keeps the lines used last (LRU, fully associative), and lets stores and
// atomics through. L2 has sets of 16 lines, LRU each, takes stores without fetching the line, and
// writes back what was stored when the line has to go. What is behind L2 is called memory here.
// A line remembers which of its dwords were used, so that it can be said how much of what was
// fetched nobody wanted.
#pragma once

#include <fade/gpu.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace fade::handlers {

struct CacheSizes {
  uint32_t units = 1; ///< compute units, each with an L1
  uint32_t l1_lines = 256, l1_line = 64;
  uint32_t l2_lines = 65536, l2_line = kUsualLine;

  /// Of a processor; of an MI210 where the table has no card.
  static CacheSizes of(std::string_view target) {
    const GpuInfo *gpu = findGpu(target);
    if (!gpu || gpu->card.l2.kib == 0) gpu = findGpu("gfx90a");
    const GpuCard &card = gpu->card;
    CacheSizes sizes;
    sizes.units = std::max(card.compute_units, 1u);
    sizes.l1_line = card.l1.line != 0 ? card.l1.line : kUsualLine;
    sizes.l2_line = card.l2.line != 0 ? card.l2.line : kUsualLine;
    sizes.l1_lines = std::max(card.l1.kib * 1024 / sizes.l1_line, 1u);
    // An address belongs to the L2 of one die; seen from it all of them are one.
    sizes.l2_lines = std::max(card.l2.kib, 1u) * 1024 / sizes.l2_line * std::max(card.dies, 1u);
    return sizes;
  }
};

/// The lines that were used last, as many as fit.
class LruCache {
public:
  explicit LruCache(std::size_t lines) : capacity_(lines) {}

  /// Whether the line was there. It is afterwards, and the one not used for longest may be gone.
  bool touch(uint64_t line) {
    if (const auto at = index_.find(line); at != index_.end()) {
      moveToFront(at->second);
      return true;
    }
    uint32_t slot = 0;
    if (slots_.size() < capacity_) {
      slot = static_cast<uint32_t>(slots_.size());
      slots_.push_back({line, kNone, kNone});
    } else {
      slot = last_;
      unlink(slot);
      index_.erase(slots_[slot].line);
      slots_[slot].line = line;
    }
    index_[line] = slot;
    pushFront(slot);
    return false;
  }

private:
  static constexpr uint32_t kNone = ~0u;
  struct Slot {
    uint64_t line;
    uint32_t before, after;
  };
  void unlink(uint32_t slot) {
    const Slot &s = slots_[slot];
    (s.before == kNone ? first_ : slots_[s.before].after) = s.after;
    (s.after == kNone ? last_ : slots_[s.after].before) = s.before;
  }
  void pushFront(uint32_t slot) {
    slots_[slot].before = kNone;
    slots_[slot].after = first_;
    if (first_ != kNone) slots_[first_].before = slot;
    first_ = slot;
    if (last_ == kNone) last_ = slot;
  }
  void moveToFront(uint32_t slot) {
    if (first_ == slot) return;
    unlink(slot);
    pushFront(slot);
  }

  std::size_t capacity_;
  uint32_t first_ = kNone, last_ = kNone;
  std::vector<Slot> slots_;
  std::unordered_map<uint64_t, uint32_t> index_;
};

/// What became of requests, summed up for whatever `who` stands for.
struct Traffic {
  uint64_t requests = 0; ///< a line wanted by an instruction of a wave
  uint64_t l1_hits = 0, l2_hits = 0;
  uint64_t fetched = 0;  ///< bytes of memory that loads and atomics brought into L2
  uint64_t unused = 0;   ///< of those, never wanted before they had to go
  uint64_t written = 0;  ///< bytes that went to memory, in sectors
  uint64_t unwanted = 0; ///< of those, in a sector without having been stored

  uint64_t misses() const { return requests - l1_hits - l2_hits; }
  void add(const Traffic &other) {
    requests += other.requests;
    l1_hits += other.l1_hits;
    l2_hits += other.l2_hits;
    fetched += other.fetched;
    unused += other.unused;
    written += other.written;
    unwanted += other.unwanted;
  }
};

class SharedCache {
public:
  static constexpr uint32_t kWays = 16;
  static constexpr uint32_t kSector = 32; ///< bytes, the least that memory is written in

  explicit SharedCache(const CacheSizes &sizes)
      : line_(sizes.l2_line), sets_(std::max(std::bit_floor(sizes.l2_lines / kWays), 1u)) {}

  /// `dwords`: which of the line are wanted. Traffic is charged to who brought the line in, or was
  /// first to store to it.
  bool access(uint64_t line, uint32_t dwords, bool is_store, uint32_t who,
              std::vector<Traffic> &traffic) {
    Way *const set = setOf(line);
    ++now_;
    Way *found = nullptr, *oldest = set;
    for (Way *way = set; way != set + kWays; ++way) {
      if (way->used != 0 && way->line == line) found = way;
      if (way->used < oldest->used) oldest = way;
    }
    const bool is_hit = found != nullptr;
    if (!found) {
      leave(*oldest, traffic);
      found = oldest;
      *found = {line, 0, 0, 0, who, who, false};
    }
    found->used = now_;
    if (is_store) {
      if (found->stored == 0) found->writer = who;
      found->stored |= dwords;
    } else {
      // What was stored before is there, and need not be fetched.
      if (!found->is_fetched && (dwords & ~found->stored) != 0) {
        found->is_fetched = true;
        found->fetcher = who;
        traffic[who].fetched += line_;
      }
      found->wanted |= dwords;
    }
    return is_hit;
  }

  /// Of a line that L1 still has: these dwords are wanted, too.
  void want(uint64_t line, uint32_t dwords) {
    Way *const set = setOf(line);
    for (Way *way = set; way != set + kWays; ++way)
      if (way->used != 0 && way->line == line) way->wanted |= dwords;
  }

  /// At the end of a dispatch: what is there goes, so that all is accounted for.
  void flush(std::vector<Traffic> &traffic) {
    for (Way &way : ways_) leave(way, traffic);
    ways_.clear();
    numbers_.clear();
  }

private:
  struct Way {
    uint64_t line = 0, used = 0;
    uint32_t wanted = 0, stored = 0; ///< dwords
    uint32_t fetcher = 0, writer = 0;
    bool is_fetched = false;
  };

  /// Sets are made when they are first used: most dispatches need few of them.
  Way *setOf(uint64_t line) {
    if (numbers_.empty()) numbers_.resize(sets_);
    uint32_t &number = numbers_[line % sets_];
    if (number == 0) {
      ways_.resize(ways_.size() + kWays);
      number = static_cast<uint32_t>(ways_.size() / kWays);
    }
    return &ways_[std::size_t{number - 1} * kWays];
  }

  void leave(Way &way, std::vector<Traffic> &traffic) const {
    if (way.used == 0) return;
    if (way.is_fetched) {
      const auto wanted = static_cast<uint32_t>(std::popcount(way.wanted | way.stored));
      traffic[way.fetcher].unused += line_ - std::min(line_, wanted * 4);
    }
    if (way.stored != 0) {
      constexpr uint32_t kOfSector = kSector / 4, kMask = (1u << kOfSector) - 1;
      uint32_t sectors = 0;
      for (uint32_t at = 0; at * kSector < line_; ++at)
        sectors += (way.stored >> (at * kOfSector) & kMask) != 0 ? 1 : 0;
      Traffic &of = traffic[way.writer];
      of.written += uint64_t{sectors} * kSector;
      of.unwanted += uint64_t{sectors} * kSector - 4 * std::popcount(way.stored);
    }
    way.used = 0;
  }

  uint32_t line_, sets_;
  uint64_t now_ = 0;
  std::vector<uint32_t> numbers_; ///< of the sets in use, from 1; 0: not in use
  std::vector<Way> ways_;         ///< kWays of each of them
};

} // namespace fade::handlers
