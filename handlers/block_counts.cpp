// BlockCounts: how often each basic block runs, with how many lanes, and for how long.
//
// Options: rows=N   blocks in the text report for each kernel (30)
//
// Counts come from the device's counters where the kernel was compiled with them (`counts`), else
// from block records (`blocks`). Records also tell times (until the wave's next block), which
// executions were divergent (with fewer lanes than the wave has), and where waves split: the branch
// at the end of a block sent only a part of its lanes to the block that the wave ran next.
#include "log_histogram.h"
#include "site_place.h"
#include "source_text.h"
#include "text_layout.h"

#include <fade/gpu.h>
#include <fade/handler.h>

#include <algorithm>
#include <bit>
#include <map>
#include <ranges>
#include <unordered_map>

namespace {

using namespace fade::handlers;

struct BlockStats {
  uint64_t executions = 0, lanes = 0;
  uint64_t recorded = 0, divergent = 0, splits = 0; // of those seen as records
  uint64_t timed = 0, clocks = 0;
  LogHistogram spread; // of clocks

  void add(const BlockStats &other) {
    executions += other.executions;
    lanes += other.lanes;
    recorded += other.recorded;
    divergent += other.divergent;
    splits += other.splits;
    timed += other.timed;
    clocks += other.clocks;
    spread.add(other.spread);
  }
};

struct BlockCounts : fade::Handler {
  static constexpr const char *name = "BlockCounts";
  static constexpr const char *summary = "executions, lanes and times of basic blocks";
  static constexpr uint32_t needs = FADE_NEEDS_BLOCKS | FADE_NEEDS_COUNTS | FADE_NEEDS_ORDER;

  BlockCounts(const fade::Sink &to, const fade::Options &options) : Handler(to, options) {
    options.allow({"rows"});
    rows = std::max<uint64_t>(options.size("rows", 30), 1);
  }

  struct Shard {
    Shard(const BlockCounts &, const fade::Dispatch &dispatch)
        : sites(dispatch.kernel().siteCount()) {
      const fade::GpuInfo *gpu = fade::findGpu(dispatch.kernel().target());
      if (gpu && gpu->clockBits() < 64) clock_mask = (uint64_t{1} << gpu->clockBits()) - 1;
    }
    void records(const fade::Batch &batch) {
      wave_size = batch->wave_size;
      batch.forEach([&](const fade::Record &record) { one(record); });
    }
    void one(const fade::Record &record);

    struct Running {
      uint64_t lanes = 0; // of the whole wave
      uint64_t mask = 0;  // in the block
      uint32_t block = 0;
      uint64_t clock = 0;
      bool in_block = false;
    };
    // Waves that never say they ended must not fill the memory.
    static constexpr std::size_t kMostWaves = 1 << 18;

    std::vector<BlockStats> sites;
    std::unordered_map<uint32_t, Running> waves;
    uint32_t wave_size = 0;
    uint64_t clock_mask = ~uint64_t{0}; // of differences: gfx11 has a clock of 20 bits
  };

  struct KernelTotal {
    std::vector<BlockStats> blocks;
    const fade::Kernel *kernel = nullptr;
    uint32_t wave_size = 64;
    uint64_t dispatches = 0;
    bool in_software = false; // clocks are this machine's
  };

  void dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards);
  void writeJson(const fade::Dispatch &dispatch, std::span<const BlockStats> blocks,
                 uint32_t wave_size) const;
  void writeCsv(const fade::Dispatch &dispatch, std::span<const BlockStats> blocks,
                uint32_t wave_size);
  void report();
  void writeTimes(const KernelTotal &total) const;
  std::string blockText(const KernelTotal &total) const;
  std::string lineText(const KernelTotal &total);

  uint64_t rows = 30;
  std::map<uint32_t, KernelTotal> kernels; // by id: another site table is another kernel
  SourceText source;
  bool csv_header = false;
};

void BlockCounts::Shard::one(const fade::Record &record) {
  const uint32_t kind = record.kind();
  const bool is_block = kind == FADE_RECORD_BLOCK;
  if (kind == FADE_RECORD_WAVE_BEGIN) {
    if (waves.size() >= kMostWaves) waves.clear();
    waves[record.wave()].lanes = record.mask();
    return;
  }
  if (!is_block && kind != FADE_RECORD_WAVE_END) return;
  const auto at = waves.find(record.wave());
  if (at != waves.end() && at->second.in_block) {
    BlockStats &before = sites[at->second.block];
    const uint64_t clocks = (record.clock() - at->second.clock) & clock_mask;
    before.clocks += clocks;
    before.spread.add(clocks);
    ++before.timed;
    const uint64_t mask = at->second.mask;
    if (is_block && (record.mask() & mask) == record.mask() && record.mask() != mask)
      ++before.splits;
  }
  if (!is_block) {
    if (at != waves.end()) waves.erase(at);
    return;
  }
  BlockStats &stats = sites[record.site()];
  ++stats.executions;
  ++stats.recorded;
  stats.lanes += record.laneCount();
  if (at == waves.end()) return;
  if (record.mask() != at->second.lanes) ++stats.divergent;
  at->second.block = record.site();
  at->second.mask = record.mask();
  at->second.clock = record.clock();
  at->second.in_block = true;
}

constexpr std::pair<const char *, unsigned> kPercentiles[] = {
    {"p50", 50}, {"p90", 90}, {"p99", 99}};

/// Whether every timed execution was timed by itself: clocks that kernels add up (`times`) have no
/// percentiles.
bool hasPercentiles(const BlockStats &stats) {
  return stats.timed != 0 && stats.spread.count() == stats.timed;
}

double laneShare(const BlockStats &stats, uint32_t wave_size) {
  const auto most = static_cast<double>(stats.executions) * wave_size;
  return most == 0 ? 0 : static_cast<double>(stats.lanes) / most;
}

/// A line of source is run by every block that holds a part of it.
using Lines = std::map<std::pair<std::string, uint32_t>, BlockStats>;

bool isBlock(const fade_site &site) { return site.kind == FADE_SITE_BLOCK; }

/// Whether an entry of the table is about the kernel.
bool isNamed(const fade::SiteTable &table, const fade_site_kernel &entry,
             const fade::Kernel &kernel) {
  std::string_view symbol = kernel.symbol();
  if (symbol.ends_with(".kd")) symbol.remove_suffix(3); // the descriptor's name
  return table.string(entry.name) == symbol || table.string(entry.clone) == symbol;
}

/// The kernel's own blocks, and those of functions it may share with others if they ran. A table
/// is about all kernels of a module.
std::vector<std::size_t> blocksOf(const fade::Kernel &kernel, std::span<const BlockStats> blocks) {
  const fade::SiteTable &table = *kernel.sites();
  const auto isOwn = [&](uint32_t index) { return isNamed(table, table.kernels()[index], kernel); };
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const fade_site &site = table.sites()[i];
    if (!isBlock(site)) continue;
    const bool is_own = site.kernel != FADE_NO_INDEX && isOwn(site.kernel);
    if (is_own || blocks[i].executions != 0) list.push_back(i);
  }
  return list;
}

/// Lines of the system's headers are left out, unless there are no others.
Lines linesOf(const fade::Kernel &kernel, std::span<const BlockStats> blocks) {
  const fade::SiteTable &table = *kernel.sites();
  Lines own, system;
  for (const std::size_t i : blocksOf(kernel, blocks))
    for (const fade_site_line &line : table.lines(table.sites()[i])) {
      if (line.line == 0) continue;
      const std::string file(table.string(line.file));
      (isSystemHeader(file) ? system : own)[{file, line.line}].add(blocks[i]);
    }
  return own.empty() ? system : own;
}

/// The first line of its own source that a block holds, or else where it begins.
SitePlace placeOfBlock(const fade::SiteTable &table, const fade_site &site) {
  const SitePlace place = placeOf(table, site);
  if (!isSystemHeader(place.file)) return place;
  for (const fade_site_line &line : table.lines(site))
    if (const auto file = table.string(line.file); !isSystemHeader(file) && line.line != 0)
      return {file, place.function, line.line, 0, ""};
  return place;
}

/// The lines that a block holds in the file where it begins.
std::vector<uint32_t> linesIn(const fade::SiteTable &table, const fade_site &site,
                              std::string_view file) {
  std::vector<uint32_t> lines;
  for (const fade_site_line &line : table.lines(site))
    if (line.line != 0 && table.string(line.file) == file) lines.push_back(line.line);
  std::ranges::sort(lines);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

/// The size of its waves, as far as that is known without records.
uint32_t waveSizeOf(const fade::Kernel &kernel) {
  const fade::GpuInfo *gpu = fade::findGpu(kernel.target());
  uint32_t size = gpu ? gpu->unit.smallest_wave : 32;
  const fade::SiteTable &table = *kernel.sites();
  for (const fade_site_kernel &of : table.kernels())
    if (isNamed(table, of, kernel)) {
      if ((of.flags & FADE_KERNEL_WAVE32) != 0) size = 32;
      if ((of.flags & FADE_KERNEL_WAVE64) != 0) size = 64;
    }
  return size;
}

void BlockCounts::dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
  const fade::SiteTable *table = dispatch.kernel().sites();
  if (!table) return;
  std::vector<BlockStats> blocks(table->sites().size());
  uint32_t wave_size = waveSizeOf(dispatch.kernel());
  for (const Shard *shard : shards) {
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i].add(shard->sites[i]);
    if (shard->wave_size != 0) wave_size = shard->wave_size;
  }
  for (std::size_t i = 0; i < dispatch.counters().size() && i < blocks.size(); ++i)
    if (isBlock(table->sites()[i]) && blocks[i].recorded == 0) {
      const fade_counter &counter = dispatch.counters()[i];
      blocks[i].executions = counter.entries;
      blocks[i].lanes = counter.entries + counter.more_lanes;
    }
  for (std::size_t i = 0; i < dispatch.clocks().size() && i < blocks.size(); ++i)
    if (isBlock(table->sites()[i]) && table->sites()[i].size != 0 && blocks[i].timed == 0) {
      blocks[i].clocks = dispatch.clocks()[i];
      blocks[i].timed = blocks[i].executions;
    }
  if (sink().isJson()) writeJson(dispatch, blocks, wave_size);
  if (sink().isCsv()) writeCsv(dispatch, blocks, wave_size);
  if (sink().isCsv()) return;
  KernelTotal &total = kernels[dispatch.kernel().id()];
  total.kernel = &dispatch.kernel();
  total.wave_size = wave_size;
  ++total.dispatches;
  total.in_software = total.in_software || dispatch.isInSoftware();
  total.blocks.resize(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) total.blocks[i].add(blocks[i]);
}

void BlockCounts::writeJson(const fade::Dispatch &dispatch, std::span<const BlockStats> blocks,
                            uint32_t wave_size) const {
  const fade::SiteTable &table = *dispatch.kernel().sites();
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", "blocks");
    json.field("version", FADE_REPORT_VERSION);
    dispatch.kernel().identity().writeTo(json);
    json.field("dispatch_id", dispatch->id);
    json.field("wave_size", wave_size);
    json.field("software", dispatch.isInSoftware());
    json.list("blocks", [&] {
      for (const std::size_t i : blocksOf(dispatch.kernel(), blocks)) {
        const fade_site &site = table.sites()[i];
        const SitePlace place = placeOfBlock(table, site);
        const BlockStats &stats = blocks[i];
        json.object([&] {
          json.field("block", i);
          json.field("function", place.function);
          json.field("file", place.file);
          json.field("line", place.line);
          json.field("column", place.column);
          json.list("lines", [&] {
            for (const uint32_t line : linesIn(table, site, place.file)) json.value(line);
          });
          json.field("executions", stats.executions);
          json.field("lanes", stats.lanes);
          json.field("lane_share", laneShare(stats, wave_size));
          if (stats.recorded != 0) {
            json.field("divergent", stats.divergent);
            json.field("splits", stats.splits);
          }
          if (stats.timed != 0) json.field("clocks", stats.clocks);
        });
      }
    });
    json.list("lines", [&] {
      for (const auto &[place, stats] : linesOf(dispatch.kernel(), blocks))
        json.object([&] {
          json.field("file", place.first);
          json.field("line", place.second);
          json.field("executions", stats.executions);
          json.field("lanes", stats.lanes);
          json.field("lane_share", laneShare(stats, wave_size));
        });
    });
  });
  sink().write(json.text());
}

void BlockCounts::writeCsv(const fade::Dispatch &dispatch, std::span<const BlockStats> blocks,
                           uint32_t wave_size) {
  const fade::SiteTable &table = *dispatch.kernel().sites();
  fade::CsvWriter csv;
  if (!std::exchange(csv_header, true))
    csv.row("type", "version", "kernel", "dispatch_id", "block", "file", "line", "column",
            "executions", "lanes", "lane_share", "divergent", "splits", "clocks", "function");
  for (const std::size_t i : blocksOf(dispatch.kernel(), blocks)) {
    const SitePlace place = placeOfBlock(table, table.sites()[i]);
    csv.row("blocks", FADE_REPORT_VERSION, dispatch.kernel().name(), dispatch->id, i, place.file,
            place.line, place.column, blocks[i].executions, blocks[i].lanes,
            laneShare(blocks[i], wave_size), blocks[i].divergent, blocks[i].splits,
            blocks[i].clocks, place.function);
  }
  sink().write(csv.take());
}

/// "12-15, 20": as many as fit.
std::string linesText(const std::vector<uint32_t> &lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t end = i;
    while (end + 1 < lines.size() && lines[end + 1] == lines[end] + 1) ++end;
    std::string next = std::to_string(lines[i]);
    if (end != i) next += "-" + std::to_string(lines[end]);
    if (text.size() + next.size() > 10) return text.empty() ? next : text + ", ..";
    text += (text.empty() ? "" : ", ") + next;
    i = end + 1;
  }
  return text.empty() ? "-" : text;
}

/// How the times of executions spread, over all dispatches.
void BlockCounts::writeTimes(const KernelTotal &total) const {
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", "block_times");
    json.field("version", FADE_REPORT_VERSION);
    total.kernel->identity().writeTo(json);
    json.field("software", total.in_software);
    json.list("blocks", [&] {
      for (std::size_t i = 0; i < total.blocks.size(); ++i)
        if (const BlockStats &stats = total.blocks[i]; stats.timed != 0)
          json.object([&] {
            json.field("block", i);
            json.field("executions", stats.timed);
            json.field("clocks", stats.clocks);
            if (!hasPercentiles(stats)) return;
            for (const auto &[key, share] : kPercentiles)
              json.field(key, stats.spread.percentile(share));
          });
    });
  });
  sink().write(json.take());
}

std::string BlockCounts::blockText(const KernelTotal &total) const {
  const fade::SiteTable &table = *total.kernel->sites();
  std::vector<std::size_t> order = blocksOf(*total.kernel, total.blocks);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const uint64_t x = total.blocks[a].executions, y = total.blocks[b].executions;
    return x != y ? x > y : a < b;
  });
  // Clocks of the software GPU are this machine's.
  std::vector<TextTable::Cell> heads{"block",  "lines",     "executions", "lanes",
                                     "lane %", "divergent", "splits"};
  if (!total.in_software) heads.insert(heads.end(), {"clocks", "p50", "p99"});
  TextTable text(heads, 2);
  for (const std::size_t i : order | std::views::take(rows)) {
    const fade_site &site = table.sites()[i];
    const SitePlace place = placeOfBlock(table, site);
    const BlockStats &stats = total.blocks[i];
    const double share = 100 * laneShare(stats, total.wave_size);
    const auto ifRecorded = [&](uint64_t n) {
      return stats.recorded ? TextTable::Cell(n) : TextTable::Cell("-");
    };
    std::vector<TextTable::Cell> cells{
        placeText(place.file, place.line, 0, 22, codeOf(table, place)),
        linesText(linesIn(table, site, place.file)),
        stats.executions,
        stats.lanes,
        {percent(share), stats.executions ? toneOfPercent(share) : Tone::dim},
        ifRecorded(stats.divergent),
        ifRecorded(stats.splits)};
    if (!total.in_software) {
      const double each = static_cast<double>(stats.clocks) / static_cast<double>(stats.timed);
      cells.emplace_back(stats.timed ? decimal(each) : std::string("-"));
      for (const unsigned of : {50u, 99u})
        cells.push_back(hasPercentiles(stats) ? TextTable::Cell(stats.spread.percentile(of))
                                              : TextTable::Cell("-"));
    }
    text.row(std::move(cells));
  }
  if (order.size() > rows)
    text.below("  and " + plural(order.size() - rows, "block") + " more (rows=N shows more)\n");
  const bool is_timed = std::ranges::any_of(
      total.blocks, [](const BlockStats &one) { return one.timed != 0 && one.recorded == 0; });
  if (total.in_software && is_timed)
    text.below("  no clocks: the software GPU's clock is its own, not a card's\n");
  return text.text(Paint(sink().hasColor()), sink().columns());
}

/// The lines of source, with their text, in order.
std::string BlockCounts::lineText(const KernelTotal &total) {
  TextTable text({"line", "executions", "lanes", "lane %"}, 1);
  const Lines lines = linesOf(*total.kernel, total.blocks);
  for (const auto &[place, stats] : lines | std::views::take(rows)) {
    const double share = 100 * laneShare(stats, total.wave_size);
    text.row({placeText(place.first, place.second, 0, 28),
              stats.executions,
              stats.lanes,
              {percent(share), stats.executions ? toneOfPercent(share) : Tone::dim}});
    if (const std::string line = printable(source.line(place.first, place.second)); !line.empty())
      text.below("    | " + line.substr(0, sink().columns() - 6) + '\n');
  }
  if (lines.size() > rows)
    text.below("  and " + plural(lines.size() - rows, "line") + " more (rows=N shows more)\n");
  return text.text(Paint(sink().hasColor()), sink().columns());
}

void BlockCounts::report() {
  if (sink().isJson())
    for (const auto &[id, total] : kernels) writeTimes(total);
  if (!sink().isText()) return;
  const Paint paint(sink().hasColor());
  constexpr auto nothing =
      "  no block was recorded: compile with FADE_INSTRUMENT=times or 'accesses;blocks'\n";
  for (const auto &[id, total] : kernels)
    sink().write(
        paint(Tone::bold, "BlockCounts") + ": " +
        paint(Tone::bold, shortName(total.kernel->name(), sink().columns() - 13)) + "\n  " +
        std::to_string(total.dispatches) + (total.dispatches == 1 ? " dispatch" : " dispatches") +
        ", waves of " + std::to_string(total.wave_size) + " lanes\n" +
        (blocksOf(*total.kernel, total.blocks).empty() ? nothing
                                                       : blockText(total) + lineText(total)));
}

} // namespace

FADE_HANDLER(BlockCounts)
