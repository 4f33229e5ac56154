// BlockFlow: the ways lanes took from block to block, the edges of the control-flow graph that were
// really used. For kernels compiled with block records (`blocks`).
//
// A wave runs both sides of a divergent branch one after the other, so the block a wave runs next
// need not be a successor of the one before. A lane's way is exact: the blocks whose records have
// the lane in their mask, in order.
#include "site_place.h"
#include "text_layout.h"

#include <fade/handler.h>

#include <array>
#include <bit>
#include <map>
#include <unordered_map>

namespace {

using namespace fade::handlers;

constexpr uint32_t kEntry = FADE_NO_INDEX; // where lanes come from that enter the kernel

struct Edge {
  uint32_t from = kEntry, to = 0;
  auto operator<=>(const Edge &) const = default;
};
struct EdgeCounts {
  uint64_t waves = 0, lanes = 0;
};
using Edges = std::map<Edge, EdgeCounts>;

struct BlockFlow : fade::Handler {
  static constexpr const char *name = "BlockFlow";
  static constexpr const char *summary = "edges that lanes took between basic blocks";
  static constexpr uint32_t needs = FADE_NEEDS_BLOCKS | FADE_NEEDS_ORDER;

  BlockFlow(const fade::Sink &to, const fade::Options &options) : Handler(to, options) {
    options.allow({});
  }

  class Shard {
  public:
    Shard(const BlockFlow &, const fade::Dispatch &) {}
    void records(const fade::Batch &batch) {
      batch.forEach([&](const fade::Record &record) { one(record); });
    }
    Edges edges;

  private:
    // Waves that never say they ended must not fill the memory.
    static constexpr std::size_t kMostWaves = 1 << 16;
    using LastBlocks = std::array<uint32_t, 64>;

    void one(const fade::Record &record);
    std::unordered_map<uint32_t, LastBlocks> waves_;
  };

  struct KernelTotal {
    const fade::Kernel *kernel = nullptr;
    Edges edges;
  };

  void dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards);
  void report();
  void writeJson(const KernelTotal &total) const;
  void writeText(const KernelTotal &total) const;

  std::map<uint32_t, KernelTotal> kernels;
};

void BlockFlow::Shard::one(const fade::Record &record) {
  if (record.kind() == FADE_RECORD_WAVE_END) {
    waves_.erase(record.wave());
    return;
  }
  if (record.kind() == FADE_RECORD_WAVE_BEGIN) {
    if (waves_.size() >= kMostWaves) waves_.clear();
    waves_[record.wave()].fill(kEntry);
    return;
  }
  const auto wave = waves_.find(record.wave());
  if (record.kind() != FADE_RECORD_BLOCK || wave == waves_.end()) return;
  LastBlocks &last = wave->second;
  // Nearly always all lanes come from one or two blocks.
  for (uint64_t rest = record.mask(); rest != 0;) {
    const uint32_t from = last[static_cast<std::size_t>(std::countr_zero(rest))];
    uint64_t together = 0;
    for (uint64_t left = rest; left != 0; left &= left - 1)
      if (last[static_cast<std::size_t>(std::countr_zero(left))] == from)
        together |= left & (~left + 1);
    EdgeCounts &counts = edges[{from, record.site()}];
    ++counts.waves;
    counts.lanes += static_cast<uint64_t>(std::popcount(together));
    rest &= ~together;
  }
  for (uint64_t rest = record.mask(); rest != 0; rest &= rest - 1)
    last[static_cast<std::size_t>(std::countr_zero(rest))] = record.site();
}

void BlockFlow::dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
  if (!dispatch.kernel().sites()) return;
  KernelTotal &total = kernels[dispatch.kernel().id()];
  total.kernel = &dispatch.kernel();
  for (const Shard *shard : shards)
    for (const auto &[edge, counts] : shard->edges) {
      total.edges[edge].waves += counts.waves;
      total.edges[edge].lanes += counts.lanes;
    }
}

/// The lines that a block holds, in the application's own files if there are any.
void writeLines(fade::JsonWriter &json, const fade::SiteTable &table, const fade_site &site) {
  bool has_own = false;
  for (const fade_site_line &line : table.lines(site))
    has_own |= line.line != 0 && !isSystemHeader(table.string(line.file));
  json.list("lines", [&] {
    for (const fade_site_line &line : table.lines(site)) {
      if (line.line == 0 || (has_own && isSystemHeader(table.string(line.file)))) continue;
      json.object([&] {
        json.field("file", table.string(line.file));
        json.field("line", line.line);
      });
    }
  });
}

void BlockFlow::writeJson(const KernelTotal &total) const {
  const fade::SiteTable &table = *total.kernel->sites();
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", "flow");
    json.field("version", FADE_REPORT_VERSION);
    total.kernel->identity().writeTo(json);
    json.field("symbol", total.kernel->symbol());
    json.field("target", total.kernel->target());
    json.list("blocks", [&] {
      for (std::size_t i = 0; i < table.sites().size(); ++i) {
        const fade_site &site = table.sites()[i];
        if (site.kind != FADE_SITE_BLOCK || site.kernel == FADE_NO_INDEX) continue;
        if (table.string(table.kernels()[site.kernel].name) != total.kernel->symbol()) continue;
        json.object([&] {
          json.field("block", i);
          if (const auto code = codeOf(table, placeOf(table, site)); !code.empty())
            json.field("function", code);
          writeLines(json, table, site);
        });
      }
    });
    json.list("edges", [&] {
      for (const auto &way : total.edges)
        json.object([&] {
          if (way.first.from == kEntry)
            json.field("from", nullptr);
          else
            json.field("from", way.first.from);
          json.field("to", way.first.to);
          json.field("executions", way.second.waves);
          json.field("lanes", way.second.lanes);
        });
    });
  });
  sink().write(json.text());
}

void BlockFlow::writeText(const KernelTotal &total) const {
  const fade::SiteTable &table = *total.kernel->sites();
  const auto place = [&](uint32_t block) {
    if (block == kEntry) return std::string("entry");
    const fade_site &site = table.sites()[block];
    const SitePlace at{table.string(site.file), table.string(site.function), site.line, site.column,
                       ""};
    return placeText(at.file, at.line, at.column, 28, codeOf(table, at));
  };
  TextTable text({"from", "to", "executions", "lanes"}, 2);
  for (const auto &[edge, counts] : total.edges)
    text.row({place(edge.from), place(edge.to), counts.waves, counts.lanes});
  sink().write("BlockFlow: " + shortName(total.kernel->name(), sink().columns() - 11) + '\n' +
               text.text(Paint(sink().hasColor())));
}

void BlockFlow::report() {
  for (const auto &[id, total] : kernels) {
    if (total.edges.empty()) continue;
    if (sink().isJson()) writeJson(total);
    if (sink().isText()) writeText(total);
  }
}

} // namespace

FADE_HANDLER(BlockFlow)
