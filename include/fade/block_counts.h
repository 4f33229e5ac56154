// From the counters of a twin without a stream (FADE_KERNEL_NO_STREAM) to counts of blocks.
//
// Its waves add to fade_counter[copies][counters]. Which counter is that of a block is in the site
// table; several blocks may share one. Some count what is missing of all waves (FADE_SITE_MISSING).
#pragma once

#include "message.h"
#include "site_table.h"

#include <algorithm>
#include <array>
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

// The waves of a dispatch, and their lanes.
struct AllWaves {
  uint64_t waves = 0;
  uint64_t lanes = 0;
};

// How many of the workgroups from `first` to before `end` in each dimension have numbers whose sum
// is a multiple of n.
inline uint64_t sampledGroups(const std::array<uint64_t, 3> &first,
                              const std::array<uint64_t, 3> &end, uint64_t n) {
  uint64_t count = 1;
  for (std::size_t i = 0; i < 3; ++i) count *= first[i] < end[i] ? end[i] - first[i] : 0;
  if (n <= 1 || count == 0) return count;
  count = 0;
  // Sums of y and z, how often each occurs, and how many x go with it.
  for (uint64_t sum = first[1] + first[2]; sum + 1 < end[1] + end[2]; ++sum) {
    const uint64_t lowest = std::max(first[1], sum < end[2] ? 0 : sum - end[2] + 1);
    const uint64_t highest = std::min(end[1] - 1, sum - first[2]);
    const uint64_t rest = (n - sum % n) % n;
    const auto below = [&](uint64_t x) { return x > rest ? (x - rest - 1) / n + 1 : 0; };
    count += (highest - lowest + 1) * (below(end[0]) - below(first[0]));
  }
  return count;
}

// Of those workgroups that a control block wants. A workgroup at the end of the grid may be
// smaller.
inline AllWaves allWaves(const std::array<uint32_t, 3> &grid,
                         const std::array<uint32_t, 3> &workgroup, uint32_t wave_size,
                         const fade_control &control) {
  AllWaves all;
  const bool is_filtered = control.sample_workgroups != 0;
  for (unsigned ends = 0; ends < 8; ++ends) { // in which dimensions workgroups are at the end
    uint64_t lanes = 1;
    std::array<uint64_t, 3> first{}, end{};
    for (std::size_t i = 0; i < 3; ++i) {
      const uint32_t size = std::max(workgroup[i], 1u), whole = std::max(grid[i], 1u) / size;
      const uint32_t rest = std::max(grid[i], 1u) % size;
      const bool at_end = (ends >> i & 1) != 0;
      lanes *= at_end ? rest : size;
      first[i] = at_end ? whole : 0;
      end[i] = at_end ? uint64_t{whole} + 1 : whole;
      if (!is_filtered) continue;
      first[i] = std::max<uint64_t>(first[i], control.first_workgroup[i]);
      end[i] = std::min<uint64_t>(end[i], uint64_t{control.last_workgroup[i]} + 1);
    }
    if (lanes == 0) continue;
    const uint64_t groups = sampledGroups(first, end, control.sample_workgroups);
    all.waves += groups * ((lanes + wave_size - 1) / wave_size);
    all.lanes += groups * lanes;
  }
  return all;
}

// What has to be known of a dispatch.
struct CountedDispatch {
  uint32_t kernel = 0; // index in the site table
  std::array<uint32_t, 3> grid{}, workgroup{};
};

// The counts by site, from all that was counted, and the control block.
inline std::vector<fade_counter> countersBySite(const SiteTable &table,
                                                std::span<const fade_counter> copies,
                                                const CountedDispatch &dispatch,
                                                const fade_control &control) {
  const std::vector<fade_counter> sums = addCopies(table, copies);
  std::vector<fade_counter> by_site(table.sites().size());
  const auto kernels = table.kernels();
  const bool is_wave32 = dispatch.kernel < kernels.size() &&
                         (kernels[dispatch.kernel].flags & FADE_KERNEL_WAVE32) != 0;
  const AllWaves all = allWaves(dispatch.grid, dispatch.workgroup, is_wave32 ? 32 : 64, control);
  for (std::size_t i = 0; i < by_site.size(); ++i)
    if (const fade_site &site = table.sites()[i];
        site.kind == FADE_SITE_BLOCK && site.counter != 0) {
      by_site[i] = sums[site.counter - 1];
      if ((site.flags & FADE_SITE_MISSING) != 0 && site.kernel == dispatch.kernel)
        by_site[i] = {all.waves - by_site[i].entries, all.lanes - by_site[i].more_lanes};
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
