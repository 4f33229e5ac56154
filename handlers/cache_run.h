// A dispatch through the cache model, in an order that does not depend on who ran it.
//
// Accesses are kept until the dispatch has ended, or until there are too many of them. Then
// workgroups go to compute units one after the other, as many at a time as fit, and the waves of a
// unit take turns, an access each. So the result is the same on every machine, though no GPU would
// take exactly this order.
#pragma once

#include "cache_levels.h"
#include "reuse_distance.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace fade::handlers {

enum class CacheUse : uint8_t { load, store, atomic };

/// A line of L1 that an instruction of a wave wants, once for all its lanes.
struct CacheRequest {
  uint64_t line = 0;   ///< address divided by the size of a line of L1
  uint32_t dwords = 0; ///< wanted ones, of the line of L2
  uint32_t who = 0;    ///< whom to charge
};

/// From the first to the last.
struct LineRange {
  uint64_t first = UINT64_MAX, last = 0;
  void add(uint64_t line) { first = std::min(first, line), last = std::max(last, line); }
  void add(const LineRange &other) {
    first = std::min(first, other.first), last = std::max(last, other.last);
  }
  uint64_t count() const { return first > last ? 0 : last - first + 1; }
};

class CacheRun {
public:
  /// `waves_per_unit`: that a compute unit holds at a time.
  CacheRun(const CacheSizes &sizes, uint32_t waves_per_unit)
      : sizes_(sizes), waves_per_unit_(std::max(waves_per_unit, 1u)), shared_(sizes),
        own_(sizes.units) {}

  /// Says which workgroup a wave belongs to; before its first access.
  void wave(uint32_t id, uint64_t workgroup) { waves_[id].workgroup = workgroup; }
  void access(uint32_t wave, CacheUse use, std::span<const CacheRequest> requests);
  /// Runs what is left; caches are empty afterwards.
  void finish();

  /// By whom.
  const std::vector<Traffic> &traffic() const { return traffic_; }
  const std::vector<ReuseHistogram> &reuse() const { return reuse_; }
  const std::vector<LineRange> &lines() const { return lines_; } ///< of L1
  bool wasCut() const { return was_cut_; } ///< too much at once: run in several parts

  static constexpr std::size_t kMostRequests = std::size_t{1} << 20;

private:
  struct Event {
    uint32_t first = 0, count = 0; ///< in requests_
    CacheUse use = CacheUse::load;
  };
  struct Wave {
    uint64_t workgroup = 0;
    std::vector<Event> events;
    std::size_t next = 0;
  };
  /// The waves of a unit: those that are there, and those that wait for a place.
  struct Unit {
    std::vector<std::vector<Wave *>> groups;
    std::size_t next_group = 0;
    std::vector<Wave *> resident;
    std::size_t turn = 0;
  };

  void runWaiting();
  void admit(Unit &unit) const;
  void execute(uint32_t unit, const Event &event);
  void load(uint32_t unit, const CacheRequest &request);
  LruCache &own(uint32_t unit) {
    if (!own_[unit]) own_[unit] = std::make_unique<LruCache>(sizes_.l1_lines);
    return *own_[unit];
  }

  CacheSizes sizes_;
  uint32_t waves_per_unit_;
  SharedCache shared_;
  std::vector<std::unique_ptr<LruCache>> own_;
  ReuseDistance distance_;
  std::map<uint32_t, Wave> waves_;
  std::vector<CacheRequest> requests_;
  std::vector<Traffic> traffic_;
  std::vector<ReuseHistogram> reuse_;
  std::vector<LineRange> lines_;
  bool was_cut_ = false;
};

} // namespace fade::handlers
