// MemoryAnalysis: how well each access in the source fits the memory it goes to.
//
// Options: rows=N   findings in the text report for each kernel (20)
//
// Global memory: cache lines that a wave's lanes would need if they lay side by side, and lines
// that they use. LDS: extra turns because of bank conflicts. Accesses through flat pointers are
// told apart by their addresses. Sites with the same place, kind and size are one access: a loop
// that was unrolled is still one line of source.
#include "advice.h"
#include "memory_stats.h"
#include "source_text.h"
#include "text_table.h"

#include <fade/handler.h>

namespace {

using namespace fade::handlers;

struct MemoryAnalysis : fade::Handler {
  static constexpr const char *name = "MemoryAnalysis";
  static constexpr const char *summary = "coalescing and LDS bank conflicts by source line";
  static constexpr uint32_t needs = FADE_NEEDS_ACCESSES;

  MemoryAnalysis(const fade::Sink &to, const fade::Options &options) : Handler(to, options) {
    options.allow({"rows"});
    rows = std::max<uint64_t>(options.size("rows", 20), 1);
  }

  struct Shard {
    Shard(const MemoryAnalysis &, const fade::Dispatch &dispatch)
        : table(dispatch.kernel().sites()->sites()),
          model(MemoryModel::of(dispatch.kernel().target())), sites(table.size()) {}
    void records(const fade::Batch &batch) {
      batch.forEachAccess([&](const fade::Record &record) {
        sites[record.site()].record(record, table[record.site()], *batch.operator->(), model,
                                    distinct);
      });
    }

    std::span<const fade_site> table;
    MemoryModel model;
    std::vector<SiteStats> sites;
    DistinctCounter distinct;
  };

  // A place in all dispatches of a kernel.
  struct Total {
    PlaceStats stats;
    uint64_t worst_dispatch = 0; // the one with the most wasted lines or conflicts per execution
    double worst = -1;
  };
  struct KernelTotal {
    std::map<Place, Total> places;
    MemoryModel model;
    uint64_t dispatches = 0;
  };

  static Places placesOf(const fade::Dispatch &dispatch, std::span<Shard *const> shards);
  void dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards);
  void addToTotal(const fade::Dispatch &dispatch, const Places &places);
  void writeJson(const fade::Dispatch &dispatch, const Places &places) const;
  void writeCsv(const fade::Dispatch &dispatch, const Places &places);
  void report();
  std::string globalText(const KernelTotal &total);
  std::string ldsText(const KernelTotal &total);

  uint64_t rows = 20;
  std::map<std::string, KernelTotal> kernels;
  SourceText source;
  bool csv_header = false;
};

Places MemoryAnalysis::placesOf(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
  const fade::SiteTable &table = *dispatch.kernel().sites();
  Places places;
  for (std::size_t i = 0; i < table.sites().size(); ++i) {
    SiteStats sum;
    for (const Shard *shard : shards) sum.add(shard->sites[i]);
    if (sum.global().executions == 0 && sum.lds().executions == 0) continue;
    const fade_site &site = table.sites()[i];
    PlaceStats &place = places[{std::string(table.string(site.file)), site.line, site.column,
                                kindOf(site), site.size}];
    place.global.add(sum.global());
    place.lds.add(sum.lds());
    place.function = table.string(site.function);
  }
  return places;
}

void MemoryAnalysis::dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
  if (!dispatch.kernel().sites()) return;
  const Places places = placesOf(dispatch, shards);
  if (sink().isJson()) writeJson(dispatch, places);
  if (sink().isCsv()) writeCsv(dispatch, places);
  addToTotal(dispatch, places);
}

void MemoryAnalysis::addToTotal(const fade::Dispatch &dispatch, const Places &places) {
  KernelTotal &kernel = kernels[dispatch.kernel().name()];
  kernel.model = MemoryModel::of(dispatch.kernel().target());
  ++kernel.dispatches;
  for (const auto &[place, stats] : places) {
    Total &total = kernel.places[place];
    total.stats.global.add(stats.global);
    total.stats.lds.add(stats.lds);
    total.stats.function = stats.function;
    const auto executions = static_cast<double>(stats.global.executions + stats.lds.executions);
    const double badness =
        static_cast<double>(stats.global.wasted() + stats.lds.conflicts) / executions;
    if (badness > total.worst) {
      total.worst = badness;
      total.worst_dispatch = dispatch->id;
    }
  }
}

void writePlace(fade::JsonWriter &json, const Place &place) {
  json.field("file", place.file);
  json.field("line", place.line);
  json.field("column", place.column);
  json.field("op", nameOf(place.kind));
  json.field("bytes", place.bytes);
}

void writeStrides(fade::JsonWriter &json, const StrideHistogram &strides) {
  json.list("strides", [&] {
    for (const auto &entry : strides.sorted())
      json.object([&] {
        json.field("stride", entry.stride);
        json.field("executions", entry.count);
      });
  });
  json.field("irregular", strides.irregular());
}

void writeGlobal(fade::JsonWriter &json, const Place &place, const GlobalStats &stats) {
  writePlace(json, place);
  json.field("executions", stats.executions);
  json.field("lanes", stats.lanes);
  json.field("total_bytes", stats.bytes);
  json.field("lines_needed", stats.needed);
  json.field("lines_used", stats.used);
  json.field("same_address", stats.same_address);
  writeStrides(json, stats.strides);
}

void writeLds(fade::JsonWriter &json, const Place &place, const LdsStats &stats) {
  writePlace(json, place);
  json.field("executions", stats.executions);
  json.field("lanes", stats.lanes);
  json.field("total_bytes", stats.bytes);
  json.field("conflicts", stats.conflicts);
  json.field("same_address", stats.same_address);
  writeStrides(json, stats.strides);
}

void MemoryAnalysis::writeJson(const fade::Dispatch &dispatch, const Places &places) const {
  const MemoryModel model = MemoryModel::of(dispatch.kernel().target());
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", "memory");
    json.field("version", FADE_REPORT_VERSION);
    json.field("kernel", dispatch.kernel().name());
    json.field("dispatch_id", dispatch->id);
    json.field("line_size", model.line);
    json.field("banks", model.banks);
    json.list("global", [&] {
      for (const auto &[place, stats] : places)
        if (stats.global.executions != 0)
          json.object([&] { writeGlobal(json, place, stats.global); });
    });
    json.list("lds", [&] {
      for (const auto &[place, stats] : places)
        if (stats.lds.executions != 0) json.object([&] { writeLds(json, place, stats.lds); });
    });
  });
  sink().write(json.text());
}

void MemoryAnalysis::writeCsv(const fade::Dispatch &dispatch, const Places &places) {
  fade::CsvWriter csv;
  if (!std::exchange(csv_header, true))
    csv.row("type", "version", "kernel", "dispatch_id", "space", "file", "line", "column", "op",
            "bytes", "executions", "lanes", "total_bytes", "lines_needed", "lines_used",
            "conflicts", "same_address");
  const auto row = [&](const char *space, const Place &place, const auto &stats, uint64_t needed,
                       uint64_t used, uint64_t conflicts) {
    csv.row("memory", FADE_REPORT_VERSION, dispatch.kernel().name(), dispatch->id, space,
            place.file, place.line, place.column, nameOf(place.kind), place.bytes, stats.executions,
            stats.lanes, stats.bytes, needed, used, conflicts, stats.same_address);
  };
  for (const auto &[place, stats] : places) {
    const auto &[global, lds, function] = stats;
    if (global.executions != 0) row("global", place, global, global.needed, global.used, 0);
    if (lds.executions != 0) row("lds", place, lds, 0, 0, lds.conflicts);
  }
  sink().write(csv.take());
}

std::string placeText(const Place &place) {
  if (place.line == 0) return place.file.empty() ? "(no debug information)" : place.file;
  const auto slash = place.file.rfind('/');
  return place.file.substr(slash == std::string::npos ? 0 : slash + 1) + ":" +
         std::to_string(place.line) + ":" + std::to_string(place.column);
}

/// The rows of a table, worst first, each with its source and advice below it.
template <typename Badness>
std::vector<const std::pair<const Place, MemoryAnalysis::Total> *>
worstFirst(const MemoryAnalysis::KernelTotal &kernel, Badness &&badness) {
  std::vector<const std::pair<const Place, MemoryAnalysis::Total> *> rows;
  for (const auto &row : kernel.places) rows.push_back(&row);
  std::ranges::sort(rows, [&](const auto *a, const auto *b) {
    const auto x = badness(a->second.stats), y = badness(b->second.stats);
    return x != y ? x > y : a->first < b->first;
  });
  return rows;
}

std::string MemoryAnalysis::globalText(const KernelTotal &kernel) {
  TextTable table({"global memory", "op", "bytes", "executions", "lanes", "needed", "used",
                   "efficiency", "worst dispatch"});
  uint64_t left = rows;
  for (const auto *row :
       worstFirst(kernel, [](const PlaceStats &s) { return s.global.wasted(); })) {
    const GlobalStats &s = row->second.stats.global;
    if (s.executions == 0) continue;
    const double efficiency =
        s.used == 0
            ? 100
            : std::min(100.0, 100.0 * static_cast<double>(s.needed) / static_cast<double>(s.used));
    table.row({placeText(row->first), nameOf(row->first.kind), std::to_string(row->first.bytes),
               std::to_string(s.executions), std::to_string(s.lanes), std::to_string(s.needed),
               std::to_string(s.used), percent(efficiency),
               s.wasted() != 0 ? std::to_string(row->second.worst_dispatch) : "-"});
    table.below(source.line(row->first.file, row->first.line), "| ");
    table.below(adviceFor(row->first, s, kernel.model), "-> ");
    if (--left == 0) break;
  }
  return table.text();
}

std::string MemoryAnalysis::ldsText(const KernelTotal &kernel) {
  TextTable table({"LDS", "op", "bytes", "executions", "lanes", "conflicts", "per execution",
                   "worst dispatch"});
  uint64_t left = rows;
  for (const auto *row : worstFirst(kernel, [](const PlaceStats &s) { return s.lds.conflicts; })) {
    const LdsStats &s = row->second.stats.lds;
    if (s.executions == 0) continue;
    table.row({placeText(row->first), nameOf(row->first.kind), std::to_string(row->first.bytes),
               std::to_string(s.executions), std::to_string(s.lanes), std::to_string(s.conflicts),
               decimal(static_cast<double>(s.conflicts) / static_cast<double>(s.executions)),
               s.conflicts != 0 ? std::to_string(row->second.worst_dispatch) : "-"});
    table.below(source.line(row->first.file, row->first.line), "| ");
    table.below(adviceFor(row->first, s, kernel.model), "-> ");
    if (--left == 0) break;
  }
  return table.text();
}

void MemoryAnalysis::report() {
  if (!sink().isText()) return;
  for (const auto &[kernel, total] : kernels)
    sink().write("memory of " + kernel + ": " + std::to_string(total.dispatches) +
                 " dispatches, cache lines of " + std::to_string(total.model.line) + " bytes, " +
                 std::to_string(total.model.banks) + " LDS banks\n" + globalText(total) +
                 ldsText(total));
}

} // namespace

FADE_HANDLER(MemoryAnalysis)
