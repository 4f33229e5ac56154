// CacheModel: what the caches would do with the accesses of a kernel.
//
// Options: rows=N    accesses in the text report for each kernel (20)
//
// Every access goes through a model of L1 and L2 (cache_levels.h) in an order of its own
// (cache_run.h): hits by level, bytes that come from memory, how many of those nobody wants, and
// after how many other lines a line is used again; by access in the source, and by allocation.
// Caches are empty when a dispatch begins.
#include "access_kind.h"
#include "allocation_map.h"
#include "cache_run.h"
#include "coalescing_and_bank_conflicts.h"
#include "site_place.h"
#include "source_text.h"

#include <fade/handler.h>

#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>

namespace {

using namespace fade::handlers;

constexpr uint64_t kLongest = 64 << 10; // bytes of a lane; more of a copy is left out

struct Place {
  std::string file;
  uint32_t line = 0, column = 0;
  AccessKind kind = AccessKind::read;
  uint32_t bytes = 0;
  std::string code{}; ///< the instruction, where there is no line
  auto operator<=>(const Place &) const = default;
};

struct Sum {
  Traffic traffic;
  ReuseHistogram reuse;
  void add(const Traffic &more, const ReuseHistogram &distances) {
    traffic.add(more);
    reuse.add(distances);
  }
};

struct CacheModel : fade::Handler {
  static constexpr const char *name = "CacheModel";
  static constexpr const char *summary = "cache hits and reuse by source line and allocation";
  static constexpr uint32_t needs =
      FADE_NEEDS_ACCESSES | FADE_NEEDS_WAVES | FADE_NEEDS_ALLOCATIONS | FADE_NEEDS_ORDER;

  CacheModel(const fade::Sink &to, const fade::Options &options) : Handler(to, options) {
    options.allow({"rows"});
    rows = std::max<uint64_t>(options.size("rows", 20), 1);
  }

  class Shard {
  public:
    Shard(const CacheModel &, const fade::Dispatch &dispatch)
        : run(CacheSizes::of(dispatch.kernel().target()), wavesPerUnit(dispatch)),
          sizes_(CacheSizes::of(dispatch.kernel().target())), finder(dispatch),
          table_(dispatch.kernel().sites()->sites()) {
      for (std::size_t i = 0; i < groups_.size(); ++i)
        groups_[i] =
            dispatch->workgroup[i] == 0
                ? 1
                : (dispatch->grid[i] + dispatch->workgroup[i] - 1) / dispatch->workgroup[i];
    }
    void records(const fade::Batch &batch) {
      batch.forEachAccess([&](const fade::Record &record) { one(record, batch); });
    }

    CacheRun run;
    /// Whom traffic is charged to: site, and 1 + index of the allocation.
    std::vector<std::pair<uint32_t, uint32_t>> charged;

  private:
    void one(const fade::Record &record, const fade::Batch &batch);
    void announce(uint32_t wave, const fade::Batch &batch);
    void want(uint64_t address, uint64_t bytes, uint32_t site);
    uint32_t who(uint32_t site, uint64_t address);
    static uint32_t wavesPerUnit(const fade::Dispatch &dispatch);

    CacheSizes sizes_;

  public:
    AllocationFinder finder;

  private:
    std::span<const fade_site> table_;
    std::array<uint64_t, 3> groups_{1, 1, 1};
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> who_;
    std::optional<uint32_t> last_wave_;
    std::unordered_set<uint32_t> known_;
    std::vector<CacheRequest> requests_;
  };

  struct KernelTotal {
    CacheSizes sizes;
    std::string target;
    std::map<Place, Sum> places;
    struct OfMemory {
      Allocation allocation;
      Sum sum;
      uint64_t extent = 0; ///< bytes from the first to the last that a dispatch accesses
    };
    std::map<uint32_t, OfMemory> allocations;
    Sum all;
    uint64_t dispatches = 0;
    bool was_cut = false;
  };

  void dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards);
  void report();
  void writeJson(const fade::KernelId &kernel, const KernelTotal &total);
  void writeCsv(const std::string &kernel, const KernelTotal &total);
  void writeText(const std::string &kernel, const KernelTotal &total);

  uint64_t rows = 20;
  std::map<std::pair<fade::KernelId, std::string>, KernelTotal> kernels; // and by processor
  SourceText source;
  bool csv_header = false;
};

/// As many as there is room for, going by LDS; what registers allow is not known here.
uint32_t CacheModel::Shard::wavesPerUnit(const fade::Dispatch &dispatch) {
  const fade::GpuInfo *gpu = fade::findGpu(dispatch.kernel().target());
  if (!gpu) gpu = fade::findGpu("gfx90a");
  const fade::GpuUnit &unit = gpu->unit;
  const uint32_t most = uint32_t{unit.simds} * unit.waves_per_simd;
  if (dispatch->group_segment == 0 || unit.lds_bytes == 0) return most;
  const uint64_t items =
      uint64_t{dispatch->workgroup[0]} * dispatch->workgroup[1] * dispatch->workgroup[2];
  const uint64_t waves = (items + unit.smallest_wave - 1) / unit.smallest_wave;
  const uint64_t groups = std::max(1u, unit.lds_bytes / dispatch->group_segment);
  return static_cast<uint32_t>(std::min<uint64_t>(most, groups * waves));
}

void CacheModel::Shard::announce(uint32_t wave, const fade::Batch &batch) {
  if (last_wave_ == wave) return;
  last_wave_ = wave;
  if (!known_.insert(wave).second) return;
  const auto begin = batch.wave(wave);
  run.wave(wave, begin ? begin->workgroup_x +
                             groups_[0] * (begin->workgroup_y + groups_[1] * begin->workgroup_z)
                       : wave);
}

uint32_t CacheModel::Shard::who(uint32_t site, uint64_t address) {
  const std::pair key(site, finder.find(address).index);
  const auto [at, is_new] = who_.try_emplace(key, static_cast<uint32_t>(charged.size()));
  if (is_new) charged.push_back(key);
  return at->second;
}

/// Adds to the lines that the instruction wants.
void CacheModel::Shard::want(uint64_t address, uint64_t bytes, uint32_t site) {
  const uint64_t end = address + bytes;
  while (address < end) {
    const uint64_t line = address / sizes_.l1_line;
    const uint64_t stop = std::min(end, (line + 1) * sizes_.l1_line);
    const auto from = static_cast<uint32_t>(address % sizes_.l2_line / 4);
    const auto to = static_cast<uint32_t>((stop - 1) % sizes_.l2_line / 4);
    const uint32_t dwords = (to - from == 31 ? ~0u : ((1u << (to - from + 1)) - 1)) << from;
    // Neighboring lanes mostly want the same line.
    const auto known = std::find_if(requests_.rbegin(), requests_.rend(),
                                    [&](const CacheRequest &r) { return r.line == line; });
    if (known != requests_.rend())
      known->dwords |= dwords;
    else
      requests_.push_back({line, dwords, who(site, address)});
    address = stop;
  }
}

void CacheModel::Shard::one(const fade::Record &record, const fade::Batch &batch) {
  const fade_site &site = table_[record.site()];
  if (site.space == FADE_SPACE_LDS) return;
  announce(record.wave(), batch);
  const uint64_t size =
      std::min(std::max<uint64_t>(record.hasLength() ? record.length() : site.size, 1), kLongest);
  const CacheUse use = site.kind == FADE_SITE_ATOMIC          ? CacheUse::atomic
                       : (site.flags & FADE_SITE_WRITES) != 0 ? CacheUse::store
                                                              : CacheUse::load;
  const auto piece = [&](uint64_t offset, uint64_t bytes) {
    requests_.clear();
    record.forEachLane([&](uint32_t, uint64_t address) {
      if (spaceOf(site.space, address, *batch.operator->()) != Space::global) return;
      want(address + offset, bytes, record.site());
    });
    if (!requests_.empty()) run.access(record.wave(), use, requests_);
  };
  if ((site.flags & FADE_SITE_IS_SCALAR) != 0)
    piece(0, size);
  else
    forEachPiece(size, piece, widestOf(site));
}

void CacheModel::dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
  const fade::SiteTable *table = dispatch.kernel().sites();
  if (!table || shards.empty()) return;
  KernelTotal &total = kernels[{dispatch.kernel().identity(), dispatch.kernel().target()}];
  total.target = dispatch.kernel().target();
  total.sizes = CacheSizes::of(total.target);
  ++total.dispatches;
  std::map<uint32_t, LineRange> accessed; // of each allocation
  for (Shard *shard : shards) {
    shard->run.finish();
    total.was_cut = total.was_cut || shard->run.wasCut();
    for (std::size_t i = 0; i < shard->run.traffic().size(); ++i) {
      const Traffic &traffic = shard->run.traffic()[i];
      const ReuseHistogram &reuse = shard->run.reuse()[i];
      const auto [number, index] = shard->charged[i];
      const fade_site &site = table->sites()[number];
      const SitePlace at = placeOf(*table, site);
      total.all.add(traffic, reuse);
      total
          .places[{std::string(at.file), at.line, at.column, kindOf(site), bytesOf(site),
                   std::string(codeOf(*table, at))}]
          .add(traffic, reuse);
      const Allocation memory = index == 0 ? Allocation() : shard->finder.allocation(index);
      KernelTotal::OfMemory &of_memory = total.allocations[memory.number];
      of_memory.allocation = memory;
      of_memory.sum.add(traffic, reuse);
      accessed[memory.number].add(shard->run.lines()[i]);
    }
  }
  for (const auto &[number, lines] : accessed) {
    uint64_t &extent = total.allocations[number].extent;
    extent = std::max(extent, lines.count() * total.sizes.l1_line);
  }
}

// --- Output ---------------------------------------------------------------------------------

double share(uint64_t part, uint64_t of) {
  return of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of);
}

void writeSum(fade::JsonWriter &json, const Sum &sum) {
  const Traffic &t = sum.traffic;
  json.field("requests", t.requests);
  json.field("l1_hits", t.l1_hits);
  json.field("l2_hits", t.l2_hits);
  json.field("misses", t.misses());
  json.field("fetched", t.fetched);
  json.field("unused", t.unused);
  json.field("written", t.written);
  json.field("unwanted", t.unwanted);
  json.field("first_uses", sum.reuse.first);
  json.list("reuse", [&] {
    for (std::size_t i = 0; i < sum.reuse.buckets.size(); ++i)
      if (sum.reuse.buckets[i] != 0)
        json.object([&] {
          json.field("below", uint64_t{1} << i);
          json.field("requests", sum.reuse.buckets[i]);
        });
  });
}

template <typename Map, typename Of> auto mostTraffic(const Map &map, Of &&of) {
  std::vector<const typename Map::value_type *> list;
  for (const auto &entry : map) list.push_back(&entry);
  std::ranges::sort(list, [&](const auto *a, const auto *b) {
    const Traffic &x = of(*a).traffic, &y = of(*b).traffic;
    const uint64_t p = x.fetched + x.written, q = y.fetched + y.written;
    if (p != q) return p > q;
    return x.requests != y.requests ? x.requests > y.requests : a->first < b->first;
  });
  return list;
}
constexpr auto kOfPlace = [](const auto &entry) -> const Sum & { return entry.second; };
constexpr auto kOfMemory = [](const auto &entry) -> const Sum & { return entry.second.sum; };

void CacheModel::writeJson(const fade::KernelId &kernel, const KernelTotal &total) {
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", "cache");
    json.field("version", FADE_REPORT_VERSION);
    kernel.writeTo(json);
    json.field("target", total.target);
    json.field("dispatches", total.dispatches);
    json.field("units", total.sizes.units);
    json.field("l1_bytes", uint64_t{total.sizes.l1_lines} * total.sizes.l1_line);
    json.field("l1_line", total.sizes.l1_line);
    json.field("l2_bytes", uint64_t{total.sizes.l2_lines} * total.sizes.l2_line);
    json.field("l2_line", total.sizes.l2_line);
    json.field("in_parts", total.was_cut);
    json.object("all", [&] { writeSum(json, total.all); });
    json.list("accesses", [&] {
      for (const auto *entry : mostTraffic(total.places, kOfPlace))
        json.object([&] {
          json.field("file", entry->first.file);
          json.field("line", entry->first.line);
          json.field("column", entry->first.column);
          json.field("op", nameOf(entry->first.kind));
          json.field("bytes", entry->first.bytes);
          writeSum(json, entry->second);
        });
    });
    json.list("allocations", [&] {
      for (const auto *entry : mostTraffic(total.allocations, kOfMemory))
        json.object([&] {
          json.field("name", entry->second.allocation.name());
          json.field("number", entry->second.allocation.number);
          json.field("size", entry->second.allocation.size);
          json.field("extent", entry->second.extent);
          writeSum(json, entry->second.sum);
        });
    });
  });
  sink().write(json.text());
}

void CacheModel::writeCsv(const std::string &kernel, const KernelTotal &total) {
  fade::CsvWriter csv;
  if (!std::exchange(csv_header, true))
    csv.row("type", "version", "kernel", "file", "line", "column", "op", "bytes", "requests",
            "l1_hits", "l2_hits", "fetched", "unused", "written", "unwanted");
  for (const auto &[place, sum] : total.places) {
    const Traffic &t = sum.traffic;
    csv.row("cache", FADE_REPORT_VERSION, kernel, place.file, place.line, place.column,
            nameOf(place.kind), place.bytes, t.requests, t.l1_hits, t.l2_hits, t.fetched, t.unused,
            t.written, t.unwanted);
  }
  sink().write(csv.take());
}

/// Half of the uses that are not first ones are at most so far apart.
std::string medianReuse(const ReuseHistogram &reuse) {
  uint64_t all = 0, seen = 0;
  for (const uint64_t n : reuse.buckets) all += n;
  if (all == 0) return "-";
  for (std::size_t i = 0; i < reuse.buckets.size(); ++i)
    if ((seen += reuse.buckets[i]) * 2 >= all) return "< " + humanCount(uint64_t{1} << i);
  return "-";
}

std::vector<TextTable::Cell> cellsOf(const std::string &what, const char *op, const Sum &sum) {
  const Traffic &t = sum.traffic;
  const uint64_t moved = t.fetched + t.written, useless = t.unused + t.unwanted;
  return {what,
          op,
          t.requests,
          percent(100 * share(t.l1_hits, t.requests)),
          percent(100 * share(t.l2_hits, t.requests)),
          t.fetched != 0 ? humanSize(t.fetched) : "-",
          t.written != 0 ? humanSize(t.written) : "-",
          moved == 0 ? TextTable::Cell("-")
                     : TextTable::Cell(percent(100 * share(useless, moved)),
                                       toneOfPercent(100 - 100 * share(useless, moved))),
          medianReuse(sum.reuse)};
}

/// An allocation's name, without who made it and where it is if there is no room for that.
std::string columnName(const std::string &name) {
  constexpr std::size_t kRoom = 28;
  std::string out = name;
  for (const char *part : {" from ", " of agent "})
    if (out.size() > kRoom) out = out.substr(0, out.find(part));
  return out.substr(0, kRoom);
}

void CacheModel::writeText(const std::string &kernel, const KernelTotal &total) {
  const Paint paint(sink().hasColor());
  std::string text = paint(Tone::bold, "CacheModel") + ": " +
                     paint(Tone::bold, shortName(kernel, sink().columns() - 12)) + "\n  " +
                     std::to_string(total.dispatches) +
                     (total.dispatches == 1 ? " dispatch" : " dispatches") + "; model of " +
                     humanSize(uint64_t{total.sizes.l1_lines} * total.sizes.l1_line) +
                     " of L1 in each of " + std::to_string(total.sizes.units) + " compute units, " +
                     humanSize(uint64_t{total.sizes.l2_lines} * total.sizes.l2_line) + " of L2" +
                     (total.was_cut ? "; run in parts, being long" : "") + "\n";
  TextTable table(
      {"access", "op", "requests", "L1 hits", "L2 hits", "fetched", "written", "useless", "reuse"},
      2);
  uint64_t left = rows;
  for (const auto *entry : mostTraffic(total.places, kOfPlace)) {
    if (left-- == 0) break;
    const Place &place = entry->first;
    table.row(cellsOf(placeText(place.file, place.line, place.column, 28, place.code),
                      nameOf(place.kind), entry->second));
    if (const std::string line = printable(source.line(place.file, place.line)); !line.empty())
      table.below("    | " + line.substr(0, sink().columns() - 6) + '\n');
  }
  for (const auto *entry : mostTraffic(total.allocations, kOfMemory))
    table.row(cellsOf(columnName(entry->second.allocation.name()), "", entry->second.sum));
  sink().write(text + table.text(paint, sink().columns()));
}

void CacheModel::report() {
  for (const auto &[key, total] : kernels) {
    if (sink().isJson())
      writeJson(key.first, total);
    else if (sink().isCsv())
      writeCsv(key.first.name, total);
    else
      writeText(key.first.name, total);
  }
}

} // namespace

FADE_HANDLER(CacheModel)
