// MemoryAnalysis: how well each access in the source fits the memory it goes to.
//
// Options: rows=N   findings in the text report for each kernel (20)
//
// Global memory: cache lines that a wave's lanes would need if they lay side by side, and lines
// that they use. LDS: extra cycles because of bank conflicts. Accesses through flat pointers are
// told apart by their addresses. Sites with the same place, kind and size are one access: a loop
// that was unrolled is still one line of source.
#include "access_cost.h"
#include "advice.h"
#include "memory_stats.h"
#include "site_place.h"
#include "source_text.h"
#include "text_layout.h"

#include <fade/handler.h>

#include <optional>
#include <unordered_map>

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
  static uint32_t takes() { return FADE_TAKES_SUMMARIES | FADE_TAKES_SUMS; }

  // How evenly the waves of a dispatch share its accesses to global memory.
  struct Waves {
    uint64_t count = 0, executions = 0, most = 0;
  };

  struct Shard {
    Shard(const MemoryAnalysis &, const fade::Dispatch &dispatch)
        : table(dispatch.kernel().sites()->sites()),
          model(MemoryModel::of(dispatch.kernel().target())), sites(table.size()) {}
    void records(const fade::Batch &batch) {
      batch.forEach([&](const fade::Record &record) {
        if (record.kind() == FADE_RECORD_WAVES) {
          const fade_waves_record w = record.waves();
          waves = {w.waves, w.executions, w.most};
        }
        if (record.isSums())
          sites[record.site()].sums(record.sums(), table[record.site()], *batch.operator->());
        if (!record.isAccess() && !record.isSummary()) return;
        sites[record.site()].record(record, table[record.site()], *batch.operator->(), model,
                                    distinct);
        if (record.isSummary() || table[record.site()].space == FADE_SPACE_LDS) return;
        if (record.wave() != last_wave || !of_last_wave) {
          last_wave = record.wave();
          of_last_wave = &by_wave[last_wave];
        }
        ++*of_last_wave;
      });
    }

    std::span<const fade_site> table;
    MemoryModel model;
    std::vector<SiteStats> sites;
    DistinctCounter distinct;
    std::unordered_map<uint32_t, uint64_t> by_wave; // executions of accesses to global memory
    uint32_t last_wave = 0;
    uint64_t *of_last_wave = nullptr; // values of the map stay where they are
    std::optional<Waves> waves;       // where the device has counted them, records included
  };

  static Waves wavesOf(std::span<Shard *const> shards);

  // The dispatch with the most waste per execution; the first of several, whichever ended first.
  struct Worst {
    uint64_t dispatch = 0;
    double waste = 0;
    void see(uint64_t id, uint64_t wasted, uint64_t executions) {
      if (executions == 0) return;
      const double each = static_cast<double>(wasted) / static_cast<double>(executions);
      if (dispatch != 0 && (each < waste || (each == waste && id > dispatch))) return;
      dispatch = id;
      waste = each;
    }
  };
  // A place in all dispatches of a kernel.
  struct Total {
    PlaceStats stats;
    Worst global, lds;
  };
  struct KernelTotal {
    std::map<Place, Total> places;
    std::set<Place> removed; ///< of the source, and not in the machine code
    MemoryModel model;
    uint64_t dispatches = 0;
  };

  static Places placesOf(const fade::Dispatch &dispatch, std::span<Shard *const> shards);
  static std::set<Place> removedOf(const fade::Dispatch &dispatch);
  void dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards);
  void addToTotal(const fade::Dispatch &dispatch, const Places &places);
  void writeJson(const fade::Dispatch &dispatch, const Places &places, const Waves &waves);
  void writeCsv(const fade::Dispatch &dispatch, const Places &places);
  void report();
  void writeTotal(const fade::KernelId &kernel, const KernelTotal &total);
  std::string globalText(const KernelTotal &total);
  std::string ldsText(const KernelTotal &total);
  std::string removedText(const KernelTotal &total);
  std::string worstText();
  std::string below(const Place &place, const PlaceStats &stats, const std::string &advice);
  bool isMember(const Place &place) {
    return isMemberAt(source.whole(place.file, place.line), place.column);
  }

  uint64_t rows = 20;
  std::map<std::pair<fade::KernelId, std::string>, KernelTotal> kernels; // and by processor
  SourceText source;
  bool csv_header = false;
};

Places MemoryAnalysis::placesOf(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
  const fade::SiteTable &table = *dispatch.kernel().sites();
  const bool has_lines =
      std::ranges::any_of(table.sites(), [](const fade_site &site) { return site.line != 0; });
  Places places;
  for (std::size_t i = 0; i < table.sites().size(); ++i) {
    SiteStats sum;
    for (const Shard *shard : shards) sum.add(shard->sites[i]);
    if (sum.global().executions == 0 && sum.lds().executions == 0) continue;
    const fade_site &site = table.sites()[i];
    const SitePlace at = placeOf(table, site);
    PlaceStats &place = places[{std::string(at.file), at.line, at.column, kindOf(site),
                                bytesOf(site), std::string(codeOf(table, at))}];
    place.global.add(sum.global());
    place.lds.add(sum.lds());
    place.function = at.function;
    place.via = at.via;
    place.is_scalar = (site.flags & FADE_SITE_IS_SCALAR) != 0;
    place.is_combined = (site.flags & FADE_SITE_IS_COMBINED) != 0;
    place.is_loop = (site.flags & FADE_SITE_IS_LOOP) != 0;
    place.is_before_merging = (table.modes() & FADE_MODE_MACHINE) == 0;
    // The optimizer takes the line away from what it moves out of a loop or makes one of several.
    place.is_moved = at.line == 0 && has_lines;
    place.shares_line = place.shares_line || (site.flags & FADE_SITE_SHARES_LINE) != 0;
    if ((site.flags & FADE_SITE_IS_OTHERWISE) != 0) place.instead = table.string(site.instead);
    if (i < dispatch.counters().size())
      place.all_executions += piecesOf(site) * dispatch.counters()[i].entries;
  }
  // Who makes the accesses that have gone up in others.
  for (const fade_site &part : table.sites()) {
    if ((part.flags & FADE_SITE_IS_GONE) == 0 || part.done_by == 0) continue;
    const fade_site &whole = table.sites()[part.done_by - 1];
    const SitePlace at = placeOf(table, whole), of = placeOf(table, part);
    const auto place = places.find({std::string(at.file), at.line, at.column, kindOf(whole),
                                    bytesOf(whole), std::string(codeOf(table, at))});
    if (place == places.end() || of.file != at.file) continue;
    if (of.line != at.line || of.column != at.column)
      place->second.parts.emplace(of.line, of.column);
  }
  return places;
}

/// Accesses of the source that the code generator does without: no other access makes them.
std::set<Place> MemoryAnalysis::removedOf(const fade::Dispatch &dispatch) {
  const fade::SiteTable &table = *dispatch.kernel().sites();
  std::set<Place> removed, there;
  for (const fade_site &site : table.sites()) {
    if (site.kind == FADE_SITE_BLOCK || site.line == 0) continue;
    const SitePlace at = placeOf(table, site);
    const Place place{std::string(at.file), at.line, at.column, kindOf(site), bytesOf(site)};
    const bool is_removed = (site.flags & FADE_SITE_IS_GONE) != 0 && site.done_by == 0;
    if (!is_removed)
      there.insert(place);
    else if (site.kernel < table.kernels().size() &&
             table.string(table.kernels()[site.kernel].name) == dispatch.kernel().symbol())
      removed.insert(place);
  }
  // A part of an unrolled loop may be gone while the others are there.
  std::erase_if(removed, [&](const Place &place) {
    return std::ranges::any_of(there, [&](const Place &other) {
      return std::tie(other.file, other.line, other.column, other.kind) ==
             std::tie(place.file, place.line, place.column, place.kind);
    });
  });
  return removed;
}

MemoryAnalysis::Waves MemoryAnalysis::wavesOf(std::span<Shard *const> shards) {
  std::unordered_map<uint32_t, uint64_t> all;
  for (const Shard *shard : shards) {
    if (shard->waves) return *shard->waves;
    for (const auto &[wave, executions] : shard->by_wave) all[wave] += executions;
  }
  Waves waves;
  for (const auto &[wave, executions] : all) {
    ++waves.count;
    waves.executions += executions;
    waves.most = std::max(waves.most, executions);
  }
  return waves;
}

void MemoryAnalysis::dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
  if (!dispatch.kernel().sites()) return;
  const Places places = placesOf(dispatch, shards);
  if (sink().isJson()) writeJson(dispatch, places, wavesOf(shards));
  if (sink().isCsv()) writeCsv(dispatch, places);
  addToTotal(dispatch, places);
}

void MemoryAnalysis::addToTotal(const fade::Dispatch &dispatch, const Places &places) {
  KernelTotal &kernel = kernels[{dispatch.kernel().identity(), dispatch.kernel().target()}];
  kernel.model = MemoryModel::of(dispatch.kernel().target());
  ++kernel.dispatches;
  kernel.removed.merge(removedOf(dispatch));
  for (const auto &[place, stats] : places) {
    Total &total = kernel.places[place];
    total.stats.global.add(stats.global);
    total.stats.lds.add(stats.lds);
    total.stats.addFacts(stats);
    total.global.see(dispatch->id, stats.global.wasted, stats.global.executions);
    total.lds.see(dispatch->id, stats.lds.conflicts, stats.lds.executions);
  }
}

void writePlace(fade::JsonWriter &json, const Place &place) {
  json.field("file", place.file);
  json.field("line", place.line);
  json.field("column", place.column);
  json.field("op", nameOf(place.kind));
  json.field("bytes", place.bytes);
}

void writeExecutions(fade::JsonWriter &json, const PlaceStats &all, uint64_t recorded) {
  json.field("executions", recorded);
  // Those through a flat pointer may be of either memory: nobody has counted which.
  const bool is_both = all.global.executions != 0 && all.lds.executions != 0;
  if (all.all_executions != 0 && !is_both) json.field("all_executions", all.all_executions);
}

void writeStrides(fade::JsonWriter &json, const StrideHistogram &strides) {
  json.list("strides", [&] {
    for (const auto &entry : strides.sorted())
      json.object([&] {
        json.field("stride", entry.stride);
        json.field("executions", entry.count);
      });
  });
  json.field("other_strides", strides.others());
  json.field("irregular", strides.irregular());
}

/// What accesses to global memory and to LDS have in common.
template <typename Stats>
void writeAccesses(fade::JsonWriter &json, const Place &place, const PlaceStats &all,
                   const Stats &stats) {
  writePlace(json, place);
  json.field("function", all.function);
  json.field("via", all.via);
  json.field("machine", all.machine());
  if (!all.instead.empty()) json.field("instructions", all.instead);
  if (!all.parts.empty())
    json.list("parts", [&] {
      for (const auto &[line, column] : all.parts)
        json.object([&] {
          json.field("line", line);
          json.field("column", column);
        });
    });
  writeExecutions(json, all, stats.executions);
  json.field("lanes", stats.lanes);
  json.field("lane_slots", stats.slots);
  json.field("total_bytes", stats.bytes);
}

void writeCost(fade::JsonWriter &json, const AccessCost &cost) {
  json.field("cycles", cost.cycles);
  json.field("wasted_cycles", cost.wasted);
}

void writeGlobal(fade::JsonWriter &json, const Place &place, const PlaceStats &all,
                 const MemoryModel &model, bool is_member) {
  const GlobalStats &stats = all.global;
  writeAccesses(json, place, all, stats);
  writeCost(json, costOf(stats, all.is_scalar, model, model.rates));
  json.field("lines_needed", stats.needed);
  json.field("lines_used", stats.used);
  json.field("lines_wasted", stats.wasted);
  json.field("efficiency", stats.efficiency());
  json.field("same_address", stats.same_address);
  if (!stats.hot.empty()) {
    json.field("addresses", stats.hot.size());
    json.field("addresses_complete", !stats.hot.isFull());
    json.object("hottest", [&] {
      json.field("address", stats.hot.hottest().address);
      json.field("operations", stats.hot.hottest().count);
    });
  }
  writeStrides(json, stats.strides);
  json.field("advice", adviceFor(place, all, model, is_member));
}

void writeLds(fade::JsonWriter &json, const Place &place, const PlaceStats &all,
              const MemoryModel &model) {
  const LdsStats &stats = all.lds;
  writeAccesses(json, place, all, stats);
  writeCost(json, costOf(stats));
  json.field("conflicts", stats.conflicts);
  json.field("same_address", stats.same_address);
  if (place.kind == AccessKind::atomic) json.field("same_address_turns", stats.same_turns);
  writeStrides(json, stats.strides);
  json.field("advice", adviceFor(place, stats, model));
}

/// The entries of a list, worst first.
template <typename Map, typename Badness> auto worstFirst(const Map &places, Badness &&badness) {
  std::vector<const typename Map::value_type *> list;
  for (const auto &entry : places)
    if (badness(entry.second).first != 0) list.push_back(&entry);
  std::ranges::sort(list, [&](const auto *a, const auto *b) {
    const uint64_t x = badness(a->second).second, y = badness(b->second).second;
    return x != y ? x > y : a->first < b->first;
  });
  return list;
}
std::pair<uint64_t, uint64_t> globalWaste(const PlaceStats &stats) {
  return {stats.global.executions, stats.global.wasted};
}
std::pair<uint64_t, uint64_t> ldsWaste(const PlaceStats &stats) {
  return {stats.lds.executions, stats.lds.conflicts};
}
std::pair<uint64_t, uint64_t> globalWaste(const MemoryAnalysis::Total &total) {
  return globalWaste(total.stats);
}
std::pair<uint64_t, uint64_t> ldsWaste(const MemoryAnalysis::Total &total) {
  return ldsWaste(total.stats);
}
constexpr auto kByGlobal = [](const auto &stats) { return globalWaste(stats); };
constexpr auto kByLds = [](const auto &stats) { return ldsWaste(stats); };

void MemoryAnalysis::writeJson(const fade::Dispatch &dispatch, const Places &places,
                               const Waves &waves) {
  const MemoryModel model = MemoryModel::of(dispatch.kernel().target());
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", "memory");
    json.field("version", FADE_REPORT_VERSION);
    dispatch.kernel().identity().writeTo(json);
    json.field("dispatch_id", dispatch->id);
    json.field("line_size", model.line);
    json.field("banks", model.banks);
    json.object("waves", [&] {
      json.field("count", waves.count);
      json.field("executions", waves.executions);
      json.field("most", waves.most);
    });
    json.list("global", [&] {
      for (const auto *entry : worstFirst(places, kByGlobal))
        json.object(
            [&] { writeGlobal(json, entry->first, entry->second, model, isMember(entry->first)); });
    });
    json.list("lds", [&] {
      for (const auto *entry : worstFirst(places, kByLds))
        json.object([&] { writeLds(json, entry->first, entry->second, model); });
    });
  });
  sink().write(json.text());
}

/// A kernel in all its dispatches.
void MemoryAnalysis::writeTotal(const fade::KernelId &kernel, const KernelTotal &total) {
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", "memory_total");
    json.field("version", FADE_REPORT_VERSION);
    kernel.writeTo(json);
    json.field("dispatches", total.dispatches);
    json.field("line_size", total.model.line);
    json.field("banks", total.model.banks);
    json.list("global", [&] {
      for (const auto *entry : worstFirst(total.places, kByGlobal))
        json.object([&] {
          writeGlobal(json, entry->first, entry->second.stats, total.model, isMember(entry->first));
          json.field("worst_dispatch", entry->second.global.dispatch);
          json.field("source", source.line(entry->first.file, entry->first.line));
        });
    });
    json.list("lds", [&] {
      for (const auto *entry : worstFirst(total.places, kByLds))
        json.object([&] {
          writeLds(json, entry->first, entry->second.stats, total.model);
          json.field("worst_dispatch", entry->second.lds.dispatch);
          json.field("source", source.line(entry->first.file, entry->first.line));
        });
    });
    if (!total.removed.empty())
      json.list("removed", [&] {
        for (const Place &place : total.removed) json.object([&] { writePlace(json, place); });
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
    const GlobalStats &global = stats.global;
    const LdsStats &lds = stats.lds;
    if (global.executions != 0) row("global", place, global, global.needed, global.used, 0);
    if (lds.executions != 0) row("lds", place, lds, 0, 0, lds.conflicts);
  }
  sink().write(csv.take());
}

constexpr std::size_t kPlaceWidth = 28;

std::string bytesText(const Place &place) {
  return place.bytes == 0 ? "varies" : std::to_string(place.bytes);
}

/// The share of lanes that took part.
template <typename Stats> TextTable::Cell activeCell(const Stats &stats) {
  if (stats.slots == 0) return "-";
  const double active = 100 * static_cast<double>(stats.lanes) / static_cast<double>(stats.slots);
  return {percent(active), active < 50 ? Tone::fair : Tone::plain};
}

/// What the compiler made of it.
std::string machineText(const Place &place, const PlaceStats &stats) {
  if (stats.is_combined)
    return "the compiler has combined the lanes' atomics: one lane does them for its wave";
  if (stats.is_loop)
    return "in a loop of compare and swap: the GPU has no instruction for this atomic here";
  std::string text;
  for (const auto &[line, column] : stats.parts)
    text += (text.empty() ? "one access together with " : ", ") +
            (line == place.line ? "column " + std::to_string(column)
                                : std::to_string(line) + ":" + std::to_string(column));
  const char *more = stats.is_scalar  ? "by the scalar unit, once for all lanes"
                     : stats.is_moved ? "the compiler has moved it, so it has no line of its own"
                                      : nullptr;
  const auto add = [&](const std::string &what) { text += (text.empty() ? "" : "; ") + what; };
  if (more) add(more);
  if (!stats.instead.empty())
    add("counted as " + std::to_string(place.bytes) + " bytes per lane; the machine code has " +
        stats.instead);
  if (stats.shares_line)
    add("may belong to a nearby line: all instructions of a clause have the same line");
  return text;
}

/// The source and the advice, below a row of the table.
std::string MemoryAnalysis::below(const Place &place, const PlaceStats &stats,
                                  const std::string &advice) {
  const std::size_t columns = sink().columns();
  std::string text;
  if (const std::string line = printable(source.line(place.file, place.line)); !line.empty())
    text += "    | " + line.substr(0, columns - 6) + '\n';
  if (const std::string how = machineText(place, stats); !how.empty())
    text += paragraph(how, columns, "    = ", "      ");
  if (!advice.empty()) text += paragraph(advice, columns, "    -> ", "       ");
  return text;
}

std::string MemoryAnalysis::globalText(const KernelTotal &kernel) {
  TextTable table({"global memory", "op", "B/lane", "executions", "active", "needed", "used",
                   "efficiency", "worst"},
                  2);
  uint64_t left = rows;
  for (const auto *row : worstFirst(kernel.places, kByGlobal)) {
    if (left-- == 0) break;
    const auto &[place, total] = *row;
    const GlobalStats &s = total.stats.global;
    const double efficiency = 100 * s.efficiency();
    table.row({placeText(place.file, place.line, place.column, kPlaceWidth, place.code),
               nameOf(place.kind),
               bytesText(place),
               s.executions,
               activeCell(s),
               s.needed,
               s.used,
               {percent(efficiency), toneOfPercent(efficiency)},
               s.wasted != 0 ? "#" + std::to_string(total.global.dispatch) : "-"});
    table.below(
        below(place, total.stats, adviceFor(place, total.stats, kernel.model, isMember(place))));
  }
  return table.text(Paint(sink().hasColor()), sink().columns());
}

std::string MemoryAnalysis::ldsText(const KernelTotal &kernel) {
  TextTable table(
      {"LDS", "op", "B/lane", "executions", "active", "conflicts", "per execution", "worst"}, 2);
  uint64_t left = rows;
  for (const auto *row : worstFirst(kernel.places, kByLds)) {
    if (left-- == 0) break;
    const auto &[place, total] = *row;
    const LdsStats &s = total.stats.lds;
    const double each = static_cast<double>(s.conflicts) / static_cast<double>(s.executions);
    table.row({placeText(place.file, place.line, place.column, kPlaceWidth, place.code),
               nameOf(place.kind),
               bytesText(place),
               s.executions,
               activeCell(s),
               s.conflicts,
               {decimal(each), each == 0  ? Tone::good
                               : each < 4 ? Tone::fair
                                          : Tone::bad},
               s.conflicts != 0 ? "#" + std::to_string(total.lds.dispatch) : "-"});
    table.below(below(place, total.stats, adviceFor(place, s, kernel.model)));
  }
  return table.text(Paint(sink().hasColor()), sink().columns());
}

std::string MemoryAnalysis::removedText(const KernelTotal &kernel) {
  if (kernel.removed.empty()) return "";
  constexpr std::size_t kMost = 8;
  std::string text;
  std::size_t shown = 0;
  for (const Place &place : kernel.removed) {
    if (shown++ == kMost) break;
    text += (text.empty() ? "removed by the compiler: " : ", ") +
            placeText(place.file, place.line, place.column, kPlaceWidth) + " " + nameOf(place.kind);
  }
  if (kernel.removed.size() > kMost)
    text += " and " + std::to_string(kernel.removed.size() - kMost) + " more";
  return paragraph(text, sink().columns(), "  ", "    ");
}

/// The accesses of all kernels that waste most, in the same unit: the last lines are those that
/// people see first.
std::string MemoryAnalysis::worstText() {
  struct Row {
    uint64_t wasted;
    const std::string *kernel;
    const Place *place;
    std::string what;
  };
  std::vector<Row> rows_of_all;
  for (const auto &[key, kernel] : kernels)
    for (const auto &[place, total] : kernel.places) {
      const PlaceStats &stats = total.stats;
      if (const uint64_t wasted =
              costOf(stats.global, stats.is_scalar, kernel.model, kernel.model.rates).wasted;
          wasted != 0)
        rows_of_all.push_back({wasted, &key.first.name, &place,
                               decimal(static_cast<double>(stats.global.used) /
                                       static_cast<double>(stats.global.executions)) +
                                   " lines"});
      if (stats.lds.conflicts != 0)
        rows_of_all.push_back({stats.lds.conflicts, &key.first.name, &place,
                               decimal(static_cast<double>(stats.lds.conflicts) /
                                       static_cast<double>(stats.lds.executions)) +
                                   " extra cycles"});
    }
  if (rows_of_all.size() < 2) return "";
  std::ranges::sort(rows_of_all, [](const Row &a, const Row &b) {
    return a.wasted != b.wasted ? a.wasted > b.wasted
                                : std::tie(*a.kernel, *a.place) < std::tie(*b.kernel, *b.place);
  });
  TextTable table({"most wasted", "op", "per execution", "kernel", "cycles"}, 4);
  for (std::size_t i = 0; i < std::min<std::size_t>(rows_of_all.size(), 5); ++i) {
    const Row &row = rows_of_all[i];
    table.row({placeText(row.place->file, row.place->line, row.place->column, kPlaceWidth,
                         row.place->code),
               nameOf(row.place->kind), row.what, shortName(*row.kernel, 28), row.wasted});
  }
  return table.text(Paint(sink().hasColor()), sink().columns());
}

void MemoryAnalysis::report() {
  if (sink().isJson())
    for (const auto &[key, total] : kernels) writeTotal(key.first, total);
  if (!sink().isText()) return;
  const Paint paint(sink().hasColor());
  for (const auto &[key, total] : kernels) {
    const std::string about = std::to_string(total.dispatches) +
                              (total.dispatches == 1 ? " dispatch" : " dispatches") +
                              ", cache lines of " + std::to_string(total.model.line) + " bytes, " +
                              std::to_string(total.model.banks) + " LDS banks";
    constexpr auto nothing =
        "  no access was recorded: the kernel has none, or was compiled without them\n";
    std::string text = paint(Tone::bold, "MemoryAnalysis") + ": " +
                       paint(Tone::bold, shortName(key.first.name, sink().columns() - 16)) +
                       "\n  " + about + "\n" +
                       (total.places.empty() ? nothing : globalText(total) + ldsText(total)) +
                       removedText(total);
    sink().write(text);
  }
  if (const std::string worst = worstText(); !worst.empty()) sink().write(worst);
}

} // namespace

FADE_HANDLER(MemoryAnalysis)
