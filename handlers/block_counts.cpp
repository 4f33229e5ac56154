// BlockCounts: how often each basic block runs, with how many lanes, and for how long.
//
// Options: rows=N   blocks in the text report for each kernel (30)
//
// Counts come from the device's counters where the kernel was compiled with them (`counts`), else
// from block records (`blocks`). Records also tell times (until the wave's next record) and which
// executions were divergent: with fewer lanes than the wave has.
#include "text_table.h"

#include <fade/handler.h>

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

namespace {

using namespace fade::handlers;

struct BlockStats {
  uint64_t executions = 0, lanes = 0;
  uint64_t recorded = 0, divergent = 0; // of those seen as records
  uint64_t timed = 0, clocks = 0;

  void add(const BlockStats &other) {
    executions += other.executions;
    lanes += other.lanes;
    recorded += other.recorded;
    divergent += other.divergent;
    timed += other.timed;
    clocks += other.clocks;
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
        : sites(dispatch.kernel().siteCount()) {}
    void records(const fade::Batch &batch) {
      wave_size = batch->wave_size;
      batch.forEach([&](const fade::Record &record) { one(record); });
    }
    void one(const fade::Record &record);

    struct Running {
      uint64_t lanes = 0; // of the whole wave
      uint32_t block = 0;
      uint64_t clock = 0;
      bool in_block = false;
    };
    // Waves that never say they ended must not fill the memory.
    static constexpr std::size_t kMostWaves = 1 << 18;

    std::vector<BlockStats> sites;
    std::unordered_map<uint32_t, Running> waves;
    uint32_t wave_size = 0;
  };

  struct KernelTotal {
    std::vector<BlockStats> blocks;
    const fade::Kernel *kernel = nullptr;
    uint32_t wave_size = 64;
    uint64_t dispatches = 0;
  };

  void dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards);
  void writeJson(const fade::Dispatch &dispatch, std::span<const BlockStats> blocks,
                 uint32_t wave_size) const;
  void writeCsv(const fade::Dispatch &dispatch, std::span<const BlockStats> blocks,
                uint32_t wave_size);
  void report();

  uint64_t rows = 30;
  std::map<uint32_t, KernelTotal> kernels; // by id: another site table is another kernel
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
    before.clocks += record.clock() - at->second.clock;
    ++before.timed;
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
  at->second.clock = record.clock();
  at->second.in_block = true;
}

double laneShare(const BlockStats &stats, uint32_t wave_size) {
  const auto most = static_cast<double>(stats.executions) * wave_size;
  return most == 0 ? 0 : static_cast<double>(stats.lanes) / most;
}

/// Counters hold either all active lanes or those beyond the first of each entry.
template <typename Counter> uint64_t lanesOf(const Counter &counter) {
  if constexpr (requires { counter.more_lanes; })
    return counter.entries + counter.more_lanes;
  else
    return counter.lanes;
}

bool isBlock(const fade_site &site) { return site.kind == FADE_SITE_BLOCK; }

void BlockCounts::dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
  const fade::SiteTable *table = dispatch.kernel().sites();
  if (!table) return;
  std::vector<BlockStats> blocks(table->sites().size());
  uint32_t wave_size = dispatch.kernel().target().starts_with("gfx9") ? 64 : 32;
  for (const Shard *shard : shards) {
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i].add(shard->sites[i]);
    if (shard->wave_size != 0) wave_size = shard->wave_size;
  }
  for (std::size_t i = 0; i < dispatch.counters().size() && i < blocks.size(); ++i)
    if (isBlock(table->sites()[i]) && blocks[i].recorded == 0) {
      const fade_counter &counter = dispatch.counters()[i];
      blocks[i].executions = counter.entries;
      blocks[i].lanes = lanesOf(counter);
    }
  if (sink().isJson()) writeJson(dispatch, blocks, wave_size);
  if (sink().isCsv()) writeCsv(dispatch, blocks, wave_size);
  if (!sink().isText()) return;
  KernelTotal &total = kernels[dispatch.kernel().id()];
  total.kernel = &dispatch.kernel();
  total.wave_size = wave_size;
  ++total.dispatches;
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
    json.field("kernel", dispatch.kernel().name());
    json.field("dispatch_id", dispatch->id);
    json.field("wave_size", wave_size);
    json.list("blocks", [&] {
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const fade_site &site = table.sites()[i];
        if (!isBlock(site)) continue;
        const BlockStats &stats = blocks[i];
        json.object([&] {
          json.field("block", i);
          json.field("function", table.string(site.function));
          json.field("file", table.string(site.file));
          json.field("line", site.line);
          json.field("column", site.column);
          json.list("lines", [&] {
            for (const fade_site_line &line : table.lines(site)) json.value(line.line);
          });
          json.field("executions", stats.executions);
          json.field("lanes", stats.lanes);
          json.field("lane_share", laneShare(stats, wave_size));
          if (stats.recorded != 0) json.field("divergent", stats.divergent);
          if (stats.timed != 0) json.field("clocks", stats.clocks);
        });
      }
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
            "executions", "lanes", "lane_share", "divergent", "clocks");
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const fade_site &site = table.sites()[i];
    if (!isBlock(site)) continue;
    csv.row("blocks", FADE_REPORT_VERSION, dispatch.kernel().name(), dispatch->id, i,
            table.string(site.file), site.line, site.column, blocks[i].executions, blocks[i].lanes,
            laneShare(blocks[i], wave_size), blocks[i].divergent, blocks[i].clocks);
  }
  sink().write(csv.take());
}

/// "12-15, 20": the source lines of a block, without its file.
std::string linesText(const fade::SiteTable &table, const fade_site &site) {
  std::vector<uint32_t> lines;
  for (const fade_site_line &line : table.lines(site)) lines.push_back(line.line);
  if (lines.empty() && site.line != 0) lines.push_back(site.line);
  std::ranges::sort(lines);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  std::string text;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t end = i;
    while (end + 1 < lines.size() && lines[end + 1] == lines[end] + 1) ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(lines[i]);
    if (end != i) text += "-" + std::to_string(lines[end]);
    i = end + 1;
  }
  return text.empty() ? "-" : text;
}

void BlockCounts::report() {
  for (const auto &[id, total] : kernels) {
    const fade::SiteTable &table = *total.kernel->sites();
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < total.blocks.size(); ++i)
      if (isBlock(table.sites()[i])) order.push_back(i);
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      const uint64_t x = total.blocks[a].executions, y = total.blocks[b].executions;
      return x != y ? x > y : a < b;
    });
    TextTable text(
        {"block", "lines", "executions", "lanes", "lane share", "divergent", "clocks/execution"});
    for (const std::size_t i : order) {
      const fade_site &site = table.sites()[i];
      const BlockStats &stats = total.blocks[i];
      const std::string file(table.string(site.file));
      const auto slash = file.rfind('/');
      text.row({file.substr(slash == std::string::npos ? 0 : slash + 1) + ":" +
                    std::to_string(site.line),
                linesText(table, site), std::to_string(stats.executions),
                std::to_string(stats.lanes), percent(100 * laneShare(stats, total.wave_size)),
                stats.recorded ? std::to_string(stats.divergent) : "-",
                stats.timed
                    ? decimal(static_cast<double>(stats.clocks) / static_cast<double>(stats.timed))
                    : "-"});
      if (&i - order.data() + 1 == static_cast<std::ptrdiff_t>(rows)) break;
    }
    sink().write("blocks of " + total.kernel->name() + ": " + std::to_string(total.dispatches) +
                 " dispatches, waves of " + std::to_string(total.wave_size) + "\n" + text.text());
  }
}

} // namespace

FADE_HANDLER(BlockCounts)
