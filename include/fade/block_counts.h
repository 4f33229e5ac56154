// From the counters of a twin without a stream (FADE_KERNEL_NO_STREAM) to counts of blocks.
//
// Its waves add to fade_counter[copies][counters]. Which counter is that of a block is in the site
// table; several blocks may share one.
#pragma once

#include "message.h"
#include "site_table.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace fade {

// Counters of one copy.
inline uint32_t counterCount(const SiteTable &table) {
  uint32_t count = 0;
  for (const fade_site &site : table.sites())
    if (site.kind == FADE_SITE_BLOCK) count = std::max({count, site.counter, site.size});
  return count;
}

// Copies, and how they lie in memory: each in lines of its own, and so many that waves seldom meet,
// but no more than the host can look through for each dispatch.
struct CounterCopies {
  uint32_t counters = 0; // of one copy
  uint32_t stride = 0;   // the same with those that are only there to fill a line
  uint32_t copies = 0;

  static CounterCopies of(uint32_t counters) {
    constexpr uint32_t per_line = 8, most = 128, largest = 128 << 10;
    CounterCopies c{counters, (counters + per_line - 1) / per_line * per_line, 1};
    while (c.copies < most && c.total() * sizeof(fade_counter) * 2 <= largest) c.copies *= 2;
    return c;
  }
  // With one more, for what is not wanted.
  uint64_t total() const { return uint64_t{stride} * (copies + 1); }
  bool operator==(const CounterCopies &) const = default;

  // Says in a control block where they are.
  void describe(fade_control &control, uint64_t address) const {
    control.copies = address;
    control.copy_size = stride * static_cast<uint32_t>(sizeof(fade_counter));
    control.copy_mask = (copies - 1) | (control.sample_workgroups != 0 ? FADE_COPY_FILTERED : 0);
  }
};

// The sums of all copies.
inline std::vector<fade_counter> addCopies(const SiteTable &table,
                                           std::span<const fade_counter> copies) {
  const CounterCopies layout = CounterCopies::of(counterCount(table));
  std::vector<fade_counter> sums(layout.stride);
  const uint64_t wanted =
      std::min<uint64_t>(uint64_t{layout.stride} * layout.copies, copies.size());
  for (std::size_t i = 0; i < wanted; ++i) {
    sums[i % layout.stride].entries += copies[i].entries;
    sums[i % layout.stride].more_lanes += copies[i].more_lanes;
  }
  return sums;
}

// The counts by site, from all that was counted.
inline std::vector<fade_counter> countersBySite(const SiteTable &table,
                                                std::span<const fade_counter> copies) {
  const std::vector<fade_counter> sums = addCopies(table, copies);
  std::vector<fade_counter> by_site(table.sites().size());
  for (std::size_t i = 0; i < by_site.size(); ++i)
    if (const fade_site &site = table.sites()[i];
        site.kind == FADE_SITE_BLOCK && site.counter != 0) {
      by_site[i] = sums[site.counter - 1];
      if ((site.flags & FADE_SITE_ALL_LANES) != 0) by_site[i].more_lanes -= by_site[i].entries;
    }
  return by_site;
}

// The clocks by site; empty if none were counted.
inline std::vector<uint64_t> clocksBySite(const SiteTable &table,
                                          std::span<const fade_counter> copies) {
  if ((table.modes() & FADE_MODE_TIMES) == 0) return {};
  const std::vector<fade_counter> sums = addCopies(table, copies);
  std::vector<uint64_t> by_site(table.sites().size());
  for (std::size_t i = 0; i < by_site.size(); ++i)
    if (const fade_site &site = table.sites()[i]; site.kind == FADE_SITE_BLOCK && site.size != 0)
      by_site[i] = sums[site.size - 1].entries;
  return by_site;
}

} // namespace fade
