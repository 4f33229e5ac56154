// AccessPatterns: two examples of each access in the source, lane by lane: its first execution and
// the worst one. A report draws them: which lane touches which cache line, or which LDS bank.
//
// The worst execution is the one with the most cache lines beyond those needed, or the most
// bank conflicts; the earliest of several. Copies and fills of more than kLongest bytes have no
// examples.
#include "access_kind.h"
#include "coalescing_and_bank_conflicts.h"
#include "site_place.h"
#include "text_layout.h"

#include <fade/handler.h>

#include <cinttypes>
#include <map>
#include <optional>
#include <tuple>

namespace {

using namespace fade::handlers;

constexpr uint64_t kLongest = 256; // bytes of a lane

std::string hex(uint64_t value) {
  std::array<char, 24> text;
  std::snprintf(text.data(), text.size(), "0x%" PRIx64, value);
  return text.data();
}

/// One execution of an access.
struct Example {
  WaveAccess access;
  uint64_t bytes = 0; // of a lane
  Space space = Space::global;
  uint64_t needed = 0, used = 0, conflicts = 0;
  uint64_t dispatch = 0, position = 0; // in the stream of the dispatch
  uint64_t rank = 0;                   // of several at the same position
  std::optional<fade_wave_begin> wave;

  uint64_t badness() const {
    return space == Space::lds ? conflicts : used - std::min(needed, used);
  }
  bool isBefore(const Example &other) const {
    return std::tuple(dispatch, position, rank) <
           std::tuple(other.dispatch, other.position, other.rank);
  }
  bool isWorseThan(const Example &other) const {
    if (badness() != other.badness()) return badness() > other.badness();
    return isBefore(other);
  }
};

struct Examples {
  std::optional<Example> first, worst;

  void see(const Example &one) {
    if (!first || one.isBefore(*first)) first = one;
    if (!worst || one.isWorseThan(*worst)) worst = one;
  }
  void add(const Examples &other) {
    if (other.first) see(*other.first);
    if (other.worst) see(*other.worst);
  }
};

struct Place {
  std::string file;
  uint32_t line = 0, column = 0;
  AccessKind kind = AccessKind::read;
  uint32_t bytes = 0;
  Space space = Space::global;
  std::string code{}; ///< the instruction, where there is no line
  auto operator<=>(const Place &) const = default;
};

/// What makes two executions alike: the same lanes, as far apart, from the same place in a line.
struct Shape {
  uint64_t mask = 0, phase = 0;
  int32_t stride = 0;
  bool operator==(const Shape &) const = default;
};

struct AccessPatterns : fade::Handler {
  static constexpr const char *name = "AccessPatterns";
  static constexpr const char *summary = "the first and the worst execution of each access";
  static constexpr uint32_t needs = FADE_NEEDS_ACCESSES | FADE_NEEDS_WAVES;

  AccessPatterns(const fade::Sink &to, const fade::Options &options) : Handler(to, options) {
    options.allow({});
  }
  /// Of irregular executions the first and the worst are recorded.
  static uint32_t takes() { return FADE_TAKES_SUMMARIES | FADE_TAKES_SUMS; }

  class Shard {
  public:
    Shard(const AccessPatterns &, const fade::Dispatch &dispatch)
        : sites(dispatch.kernel().siteCount()), table_(dispatch.kernel().sites()->sites()),
          shapes_(table_.size()), model_(MemoryModel::of(dispatch.kernel().target())),
          dispatch_(dispatch->id) {}
    void records(const fade::Batch &batch) {
      const auto *start = static_cast<const std::byte *>(batch->bytes);
      if (batch->wave_size != 0) wave_size = batch->wave_size; // 0: no wave has begun in it
      batch.forEachAccessOrSummary([&](const fade::Record &record) {
        const auto offset = static_cast<uint64_t>(record.bytes().data() - start);
        one(record, batch, batch->position + offset);
      });
    }

    /// By site; accesses through flat pointers may go to either memory.
    struct BySpace {
      Examples global, lds;
    };
    std::vector<BySpace> sites;
    uint32_t wave_size = 0; // it has seen no waves

  private:
    void one(const fade::Record &record, const fade::Batch &batch, uint64_t position);
    void measure(Example &example);

    std::span<const fade_site> table_;
    std::vector<std::optional<Shape>> shapes_;
    MemoryModel model_;
    DistinctCounter distinct_;
    uint64_t dispatch_;
  };

  struct KernelTotal {
    const fade::Kernel *kernel = nullptr;
    std::map<Place, Examples> places;
    uint32_t wave_size = 64;
  };

  void dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards);
  void report();
  void writeJson(const KernelTotal &total, const Place &place, const char *which,
                 const Example &example) const;
  void writeText(const KernelTotal &total) const;

  std::map<uint32_t, KernelTotal> kernels; // by id: another site table is another kernel
};

void AccessPatterns::Shard::measure(Example &example) {
  if (example.space == Space::lds) {
    example.conflicts =
        ldsConflicts(example.access, static_cast<uint32_t>(example.bytes), model_.banks);
    return;
  }
  const Lines lines = linesOfPieces(example.access, example.bytes, model_.line, distinct_);
  example.needed = lines.needed;
  example.used = lines.used;
}

void AccessPatterns::Shard::one(const fade::Record &record, const fade::Batch &batch,
                                uint64_t position) {
  const fade_site &site = table_[record.site()];
  const uint64_t bytes = record.hasLength() ? record.length() : bytesOf(site);
  if (bytes == 0 || bytes > kLongest) return;
  // Waves mostly do the same as the one before, shifted by whole lines.
  const bool is_flat = site.space == FADE_SPACE_FLAT;
  auto &shape = shapes_[record.site()];
  if (record.isSummary()) {
    // Not where the record stands, but where the stream was when it happened: before the record
    // that was written next. Summaries are in the order in which they happened.
  } else if (!is_flat && !record.hasLength() && record.isLinear()) {
    const Shape now{record.mask(), record.base() % model_.line, record.stride()};
    if (shape == now && sites[record.site()].global.first) return;
    if (shape == now && sites[record.site()].lds.first) return;
    shape = now;
  } else {
    shape.reset();
  }
  std::array<Example, 2> found; // global memory, LDS
  record.forEachLane([&](uint32_t lane, uint64_t address) {
    const Space space = spaceOf(site.space, address, *batch.operator->());
    if (space == Space::scratch) return;
    Example &example = found[space == Space::lds ? 1 : 0];
    example.space = space;
    example.access.mask |= uint64_t{1} << lane;
    example.access.addresses[lane] = address;
  });
  for (Example &example : found) {
    if (example.access.mask == 0) continue;
    example.bytes = bytes;
    example.dispatch = dispatch_;
    example.position = record.isSummary() ? record.first() : position;
    example.rank = record.isSummary() ? position : ~uint64_t{0};
    measure(example);
    auto &by_space = sites[record.site()];
    Examples &examples = example.space == Space::lds ? by_space.lds : by_space.global;
    const bool is_news = !examples.worst || example.isBefore(*examples.first) ||
                         example.isWorseThan(*examples.worst);
    if (!is_news) continue;
    example.wave = batch.wave(record.wave());
    examples.see(example);
  }
}

void AccessPatterns::dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
  const fade::SiteTable *table = dispatch.kernel().sites();
  if (!table) return;
  KernelTotal &total = kernels[dispatch.kernel().id()];
  total.kernel = &dispatch.kernel();
  for (const Shard *shard : shards) {
    if (shard->wave_size != 0) total.wave_size = shard->wave_size;
    for (std::size_t i = 0; i < shard->sites.size() && i < table->sites().size(); ++i) {
      const fade_site &site = table->sites()[i];
      const SitePlace at = placeOf(*table, site);
      Place place{std::string(at.file),
                  at.line,
                  at.column,
                  kindOf(site),
                  bytesOf(site),
                  Space::global,
                  std::string(codeOf(*table, at))};
      if (shard->sites[i].global.first) total.places[place].add(shard->sites[i].global);
      place.space = Space::lds;
      if (shard->sites[i].lds.first) total.places[place].add(shard->sites[i].lds);
    }
  }
}

void AccessPatterns::writeJson(const KernelTotal &total, const Place &place, const char *which,
                               const Example &example) const {
  const MemoryModel model = MemoryModel::of(total.kernel->target());
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", "pattern");
    json.field("version", FADE_REPORT_VERSION);
    total.kernel->identity().writeTo(json);
    json.field("symbol", total.kernel->symbol());
    json.field("target", total.kernel->target());
    json.field("dispatch_id", example.dispatch);
    json.field("which", which);
    json.field("file", place.file);
    json.field("line", place.line);
    json.field("column", place.column);
    json.field("op", nameOf(place.kind));
    json.field("bytes", place.bytes);
    json.field("space", place.space == Space::lds ? "lds" : "global");
    json.field("wave_size", total.wave_size);
    if (example.wave) {
      json.list("workgroup", [&] {
        json.value(example.wave->workgroup_x);
        json.value(example.wave->workgroup_y);
        json.value(example.wave->workgroup_z);
      });
      json.field("work_item", example.wave->work_item & 0x3ff);
    }
    json.field("line_size", model.line);
    json.field("banks", model.banks);
    json.field("lane_bytes", example.bytes);
    if (place.space == Space::lds) {
      json.field("conflicts", example.conflicts);
    } else {
      json.field("lines_needed", example.needed);
      json.field("lines_used", example.used);
    }
    json.field("mask", hex(example.access.mask));
    json.list("addresses", [&] {
      forEachLane(example.access.mask,
                  [&](uint32_t lane) { json.value(example.access.addresses[lane]); });
    });
  });
  sink().write(json.text());
}

void AccessPatterns::writeText(const KernelTotal &total) const {
  TextTable table({"access", "op", "example", "lanes", "cache lines", "needed", "extra cycles"}, 3);
  for (const auto &[place, examples] : total.places)
    for (const auto &[which, example] :
         {std::pair("first", &examples.first), std::pair("worst", &examples.worst)}) {
      const Example &e = **example;
      const bool is_lds = place.space == Space::lds;
      const auto only = [](bool is_so, uint64_t n) {
        return is_so ? TextTable::Cell(n) : TextTable::Cell("-");
      };
      table.row({placeText(place.file, place.line, place.column, 28, place.code),
                 nameOf(place.kind), which, static_cast<uint64_t>(std::popcount(e.access.mask)),
                 only(!is_lds, e.used), only(!is_lds, e.needed), only(is_lds, e.conflicts)});
    }
  const Paint paint(sink().hasColor());
  sink().write(paint(Tone::bold, "AccessPatterns") + ": " +
               paint(Tone::bold, shortName(total.kernel->name(), sink().columns() - 16)) + '\n' +
               table.text(paint, sink().columns()));
}

void AccessPatterns::report() {
  if (sink().isCsv()) return; // a row of a table cannot hold a picture
  for (const auto &[id, total] : kernels) {
    if (sink().isText()) {
      writeText(total);
      continue;
    }
    for (const auto &[place, examples] : total.places) {
      writeJson(total, place, "first", *examples.first);
      writeJson(total, place, "worst", *examples.worst);
    }
  }
}

} // namespace

FADE_HANDLER(AccessPatterns)
