// Tables for accesses that a kernel adds up (SUMMARIES in message.h): how they lie in memory, and
// how they become records.
#pragma once

#include "decode.h"
#include "message.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

namespace fade {

// Pages that hold an end of an allocation (FADE_PARTED_BIT).
struct PartedPages {
  std::array<uint32_t, FADE_PARTED_BITS / 32> bits{};

  // An address at which an allocation begins or ends.
  void add(uint64_t end, uint32_t page) {
    if ((end & (page - 1)) == 0) return; // pages are whole on both sides
    const uint32_t bit = FADE_PARTED_BIT(end & ~uint64_t{page - 1});
    bits[bit / 32] |= 1u << bit % 32;
  }
};

// What is asked of a kernel's summaries.
struct SummaryRequest {
  uint32_t site_count = 0;
  uint32_t line = 64; // bytes of a cache line, or a multiple
  uint32_t page = 0;  // bytes of the pages that are told apart, a power of two; 0: they are not
  std::shared_ptr<const PartedPages> parted{}; // null: no page is
  uint32_t wave_size = 64;                     // the smallest it may be
  bool records_only = false;
  uint32_t irregular = 0;                // FADE_IRREGULAR(), or 0: what has no class is recorded
  std::array<uint32_t, 3> grid{1, 1, 1}; // in work-items
  std::array<uint32_t, 3> workgroup{1, 1, 1};

  uint32_t groups(std::size_t i) const {
    return static_cast<uint32_t>((uint64_t{grid[i]} + workgroup[i] - 1) / workgroup[i]);
  }
  uint32_t wavesPerGroup() const {
    const uint64_t items = uint64_t{workgroup[0]} * workgroup[1] * workgroup[2];
    return static_cast<uint32_t>((items + wave_size - 1) / wave_size);
  }
  uint64_t waves() const { return uint64_t{groups(0)} * groups(1) * groups(2) * wavesPerGroup(); }
  bool operator==(const SummaryRequest &) const = default;
};

// Where the tables lie.
struct SummaryLayout {
  uint32_t site_count = 0;
  uint32_t slots = 0;  // of each table, beyond those of the sites; a power of two
  uint32_t copies = 0; // tables, a power of two
  uint64_t waves = 0;
  bool has_pages = false;
  bool has_sums = false; // of what has no class

  // So many tables that waves seldom meet in one, but no more than the host can look through for
  // each dispatch. None if there are more waves than offsets reach.
  static SummaryLayout of(const SummaryRequest &request) {
    constexpr uint32_t most_copies = 64, slots = 256, most_slots = 32768;
    constexpr uint64_t largest = 8 << 20, most_waves = 1 << 26;
    SummaryLayout l{request.site_count,    slots, 1, request.waves(), request.page != 0,
                    request.irregular != 0};
    if (request.records_only) l.slots = 1; // nobody looks for any
    // Classes in pages are about as many as there are pages, which are the more the more waves.
    while (l.has_pages && l.slots < most_slots && l.slots < 2 * l.waves) l.slots *= 2;
    if (l.waves > most_waves || l.tableSize() > (1u << 30)) return {};
    // A table is worth its room if some waves come by.
    while (!request.records_only && l.copies < most_copies && l.copies * uint64_t{32} < l.waves &&
           2 * (l.copies + 1) * l.tableSize() <= largest)
      l.copies *= 2;
    return l;
  }
  uint64_t tableSize() const {
    return sumsOffset() + (has_sums ? (uint64_t{site_count} + slots) * sizeof(fade_sums) : 0);
  }
  uint64_t sumsOffset() const { // in a table
    return sizeof(fade_summary) + (uint64_t{site_count} + slots) * sizeof(fade_class);
  }
  // With one more, which stays empty.
  uint64_t wavesOffset() const { return (copies + 1) * tableSize(); }
  uint64_t partedOffset() const { return wavesOffset() + (waves * sizeof(uint32_t) + 7) / 8 * 8; }
  uint64_t size() const {
    return copies == 0 ? 0 : partedOffset() + (has_pages ? sizeof(PartedPages) : 0);
  }
  bool operator==(const SummaryLayout &) const = default;

  void describe(fade_control &control, uint64_t address) const {
    control.copies = address;
    control.copy_size = static_cast<uint32_t>(tableSize());
    control.copy_mask = copies - 1;
  }
  // What stands at the beginning of each table but the last. All else is zero.
  fade_summary header(const SummaryRequest &request, uint64_t control, uint64_t address,
                      uint64_t module, uint32_t kernel) const {
    fade_summary h{};
    h.control = control;
    h.waves = address + wavesOffset();
    h.module = module;
    h.kernel_index = kernel;
    h.flags = request.records_only ? FADE_SUMMARY_STREAM : 0;
    h.site_count = site_count;
    h.slot_mask = slots - 1;
    std::copy(request.grid.begin(), request.grid.end(), h.grid);
    std::copy(request.workgroup.begin(), request.workgroup.end(), h.workgroup);
    h.groups[0] = request.groups(0);
    h.groups[1] = request.groups(1);
    h.waves_per_group = request.wavesPerGroup();
    h.key = request.line - 1;
    h.irregular = request.irregular;
    if (has_pages) {
      h.page_mask = request.page - 1;
      h.parted = address + partedOffset();
    }
    return h;
  }
  void initialize(std::span<std::byte> memory, const fade_summary &header,
                  const SummaryRequest &request = {}) const {
    std::memset(memory.data(), 0, size());
    if (has_pages && request.parted)
      std::memcpy(memory.data() + partedOffset(), request.parted.get(), sizeof *request.parted);
    for (uint32_t i = 0; i < copies; ++i)
      std::memcpy(memory.data() + i * tableSize(), &header, sizeof header);
  }
};

namespace detail {

// The classes of all tables, each once, in the order in which waves met them.
inline std::vector<fade_class> classesOf(const SummaryLayout &layout,
                                         std::span<const std::byte> memory) {
  std::map<std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>, fade_class> classes;
  for (uint32_t table = 0; table < layout.copies; ++table)
    for (uint64_t i = 0; i < uint64_t{layout.site_count} + layout.slots; ++i) {
      fade_class c;
      std::memcpy(&c,
                  memory.data() + table * layout.tableSize() + sizeof(fade_summary) + i * sizeof c,
                  sizeof c);
      if (c.mask == 0 || c.count == 0) continue;
      const auto [at, is_new] = classes.try_emplace({c.line, c.key, c.tile, c.mask}, c);
      if (is_new) continue;
      const uint64_t count = at->second.count + c.count;
      if (c.sequence < at->second.sequence) at->second = c;
      at->second.count = count;
    }
  std::vector<fade_class> list;
  list.reserve(classes.size());
  for (const auto &entry : classes) list.push_back(entry.second);
  std::sort(list.begin(), list.end(), [](const fade_class &a, const fade_class &b) {
    return std::tuple(a.sequence, a.line) < std::tuple(b.sequence, b.line);
  });
  return list;
}

template <typename T> void append(std::vector<std::byte> &to, const T &value) {
  const auto *bytes = reinterpret_cast<const std::byte *>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

inline fade_header headerOf(uint32_t site, std::size_t size, uint32_t kind, uint32_t encoding) {
  return {site, static_cast<uint16_t>(size / FADE_RECORD_ALIGN), static_cast<uint8_t>(kind),
          static_cast<uint8_t>(encoding)};
}

// The sums of all tables, by site and stride; those without one are the first of their site.
inline std::vector<fade_sums_record> sumsOf(const SummaryLayout &layout,
                                            std::span<const std::byte> memory) {
  std::map<std::pair<uint64_t, uint64_t>, fade_sums_record> all;
  const uint64_t entries = layout.has_sums ? uint64_t{layout.site_count} + layout.slots : 0;
  for (uint32_t table = 0; table < layout.copies; ++table)
    for (uint64_t i = 0; i < entries; ++i) {
      fade_sums sums;
      const uint64_t at = table * layout.tableSize() + layout.sumsOffset() + i * sizeof sums;
      std::memcpy(&sums, memory.data() + at, sizeof sums);
      const bool has_stride = i >= layout.site_count;
      const uint64_t site = has_stride ? (sums.line >> 32) - 1 : i;
      if (sums.count == 0 || site >= layout.site_count) continue;
      fade_sums_record &r = all[{site, has_stride ? sums.line : 0}];
      r.header = headerOf(static_cast<uint32_t>(site), sizeof r, FADE_RECORD_SUMS,
                          has_stride ? FADE_ENCODING_AFFINE : FADE_ENCODING_RAW);
      r.mask = 1;
      if (has_stride)
        r.stride = static_cast<int32_t>(static_cast<uint32_t>(sums.line) ^ FADE_CLASS_STRIDE);
      r.count += sums.count;
      r.lanes += sums.lanes;
      r.needed += sums.needed;
      r.used += sums.used;
      r.wasted += sums.wasted;
      r.same_address += sums.same_address;
    }
  std::vector<fade_sums_record> list;
  for (const auto &entry : all) list.push_back(entry.second);
  return list;
}

// The announcement that a wave would have made.
inline fade_wave_begin waveBegin(const fade_summary &summary, uint32_t wave) {
  const auto upTo = [&](uint32_t i, uint32_t group) {
    return std::max(1u,
                    std::min(summary.workgroup[i], summary.grid[i] - group * summary.workgroup[i]));
  };
  fade_wave_begin w{};
  const uint32_t flags = summary.wave_size == 32 ? FADE_WAVE_IS_WAVE32 : 0;
  w.header = headerOf(summary.kernel_index, sizeof w, FADE_RECORD_WAVE_BEGIN, flags);
  w.mask = summary.wave_size == 32 ? 0xffffffff : ~uint64_t{0};
  w.wave = wave;
  const uint32_t group = wave / summary.waves_per_group;
  w.workgroup_x = group % summary.groups[0];
  w.workgroup_y = group / summary.groups[0] % summary.groups[1];
  w.workgroup_z = group / summary.groups[0] / summary.groups[1];
  const uint32_t item = wave % summary.waves_per_group * summary.wave_size;
  const uint32_t width = upTo(0, w.workgroup_x), height = upTo(1, w.workgroup_y);
  w.work_item = item % width | item / width % height << 10 | item / width / height << 20;
  w.module = summary.module;
  w.shared_base = summary.shared_base;
  w.private_base = summary.private_base;
  return w;
}

} // namespace detail

// How far apart executions of a class may begin, see fade_summary_record.
inline uint32_t spreadOf(const fade_class &c, const fade_summary &summary) {
  if ((static_cast<uint32_t>(c.line >> 32) & FADE_CLASS_IN_PAGE) != 0)
    return static_cast<uint32_t>(std::countr_one(summary.page_mask));
  // Addresses in LDS, of which two bits are kept, may be as small as that.
  return (c.key | FADE_CLASS_LINE_KEY) == ~c.base && c.base >= 4096 ? 0 : 64;
}

// Records of all that was added up: announcements of waves that were first at something, SUMMARY
// records, SUMS, and one of WAVES. Empty if there is nothing. What does not fit the site table is
// left out: the memory may have been overwritten.
inline std::vector<std::byte> recordsOf(const SummaryLayout &layout, const fade_summary &header,
                                        std::span<const std::byte> memory) {
  std::vector<std::byte> out;
  if (memory.size() < layout.size() || header.waves_per_group == 0 || header.groups[0] == 0 ||
      header.groups[1] == 0)
    return out;
  const std::vector<fade_class> classes = detail::classesOf(layout, memory);
  fade_summary told = header;
  for (uint32_t i = 0; i < layout.copies && told.wave_size == 0; ++i) {
    fade_summary seen;
    std::memcpy(&seen, memory.data() + i * layout.tableSize(), sizeof seen);
    told.shared_base = seen.shared_base;
    told.private_base = seen.private_base;
    told.wave_size = seen.wave_size;
  }
  std::vector<uint32_t> announced;
  for (const fade_class &c : classes)
    if (c.wave < layout.waves) announced.push_back(c.wave);
  std::sort(announced.begin(), announced.end());
  announced.erase(std::unique(announced.begin(), announced.end()), announced.end());
  if (told.wave_size != 0)
    for (const uint32_t wave : announced) detail::append(out, detail::waveBegin(told, wave));
  for (const fade_class &c : classes) {
    const auto high = static_cast<uint32_t>(c.line >> 32);
    const bool is_tiled = (high & FADE_CLASS_TILED) != 0;
    const uint32_t site = (high & ~(FADE_CLASS_TILED | FADE_CLASS_IN_PAGE)) - 1;
    const auto stride = static_cast<int32_t>(static_cast<uint32_t>(c.line) ^ FADE_CLASS_STRIDE);
    const fade_tile tile{static_cast<int32_t>(static_cast<uint32_t>(c.tile)),
                         static_cast<uint32_t>(c.tile >> 32)};
    if (site >= layout.site_count || c.wave >= layout.waves) continue;
    if (is_tiled && (!std::has_single_bit(tile.width) || tile.width < 2 || tile.width > 32))
      continue;
    const uint32_t encoding = is_tiled      ? FADE_ENCODING_TILED
                              : stride != 0 ? FADE_ENCODING_AFFINE
                                            : FADE_ENCODING_UNIFORM;
    const std::size_t size = sizeof(fade_summary_record) + (is_tiled ? sizeof tile : 0);
    fade_summary_record r{};
    r.common.header = detail::headerOf(site, size, FADE_RECORD_SUMMARY, encoding);
    r.common.mask = c.mask;
    r.common.value = c.base;
    r.common.wave = c.wave;
    r.common.extra = stride;
    r.count = c.count;
    r.first = c.first;
    r.spread = spreadOf(c, told);
    detail::append(out, r);
    if (is_tiled) detail::append(out, tile);
  }
  for (const fade_sums_record &sums : detail::sumsOf(layout, memory)) detail::append(out, sums);
  fade_waves_record waves{};
  waves.header = detail::headerOf(0, sizeof waves, FADE_RECORD_WAVES, 0);
  waves.mask = 1;
  for (uint64_t i = 0; i < layout.waves; ++i) {
    uint32_t count;
    std::memcpy(&count, memory.data() + layout.wavesOffset() + i * sizeof count, sizeof count);
    count &= ~FADE_WAVE_IS_ANNOUNCED;
    waves.waves += count != 0;
    waves.executions += count;
    waves.most = std::max<uint64_t>(waves.most, count);
  }
  if (waves.waves != 0) detail::append(out, waves);
  return out;
}

} // namespace fade
