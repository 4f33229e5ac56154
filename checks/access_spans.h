// memory: from where to where each instruction reaches in LDS, and in the memory of the code
// object.
//
// Variables lie side by side there, so that an index beyond the end of one hits another. Which
// variable an instruction means is known to debug information and the source alone, so fadeprobe
// decides when the application has ended.
#pragma once

#include "checks/lane_span.h"
#include "checks/reporter.h"

#include <array>
#include <compare>
#include <unordered_map>

namespace fade::checks {

/// One per worker and dispatch.
class AccessSpans {
public:
  explicit AccessSpans(const ObservedDispatch &dispatch);
  /// Passes them on.
  ~AccessSpans();
  AccessSpans(const AccessSpans &) = delete;
  AccessSpans &operator=(const AccessSpans &) = delete;

  /// Its pc is a site.
  void access(const ObservedWave &wave, const ObservedAccess &access, const LaneSpan &span,
              const Reporter &reporter) {
    if (access.space == AccessSpace::scratch || !access.lanes) return;
    if (access.space == AccessSpace::global &&
        (span.last < code_.base || span.first - code_.base >= code_.size) &&
        span.first <= span.last)
      return;
    const Known *known = cached(access);
    if (known && isWithin(*known, wave, span)) return;
    widen(wave, access, reporter);
  }

private:
  /// In what order they are, whichever worker runs them.
  struct Who {
    uint64_t group = ~uint64_t{0};
    uint32_t wave = 0;
    auto operator<=>(const Who &) const = default;
  };
  struct Known {
    Span span{};
    Who low, high;
  };
  Who whoIs(const ObservedWave &wave) const {
    const uint32_t(&id)[3] = wave.group->id;
    return {(uint64_t{id[2]} * groups_[1] + id[1]) * groups_[0] + id[0], wave.number};
  }
  bool isWithin(const Known &known, const ObservedWave &wave, const LaneSpan &span) const {
    const Span &s = known.span;
    if (span.first < s.lowest || span.last > s.highest) return false;
    if (span.first != s.lowest && span.last != s.highest) return true;
    const Who who = whoIs(wave);
    return (span.first != s.lowest || who >= known.low) &&
           (span.last != s.highest || who >= known.high);
  }
  static uint64_t keyOf(const ObservedAccess &access) {
    return addressOf(access.pc) << 2 | static_cast<uint64_t>(access.space);
  }
  const Known *cached(const ObservedAccess &access) const {
    const Cached &at = cache_[slotOf(keyOf(access))];
    return at.key == keyOf(access) ? at.known : nullptr;
  }
  static std::size_t slotOf(uint64_t key) { return key >> 4 & 255; }
  void widen(const ObservedWave &wave, const ObservedAccess &access, const Reporter &reporter);

  struct Cached {
    uint64_t key = 0;
    Known *known = nullptr;
  };
  static constexpr std::size_t kMost = 4096;
  const ObservedDispatch &dispatch_;
  CodeInfo code_;
  uint64_t groups_[3];
  std::unordered_map<uint64_t, Known> spans_;
  std::array<Cached, 256> cache_{};
};

} // namespace fade::checks
