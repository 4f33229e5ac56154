// Heatmap: which pages of memory a kernel touches, and how often.
//
// Options: page=SIZE   size of a page, a power of two (4K)
//          rows=N      bars for each allocation in the text report (16)
//          svg=FILE    a picture of address x time
//          steps=N     JSON: accesses by place and time, in at most so many steps per dispatch
//
// An access counts once for each active lane, in the page of the lane's first byte; a copy or fill
// counts in every page it reaches. LDS and scratch have no pages.
#include "access_kind.h"
#include "heatmap_picture.h"
#include "heatmap_totals.h"
#include "page_counts.h"

#include <fade/handler.h>

#include <array>
#include <bit>

namespace {

using namespace fade::handlers;

constexpr uint32_t kPictureSteps = 128; // of each dispatch
// That one copy or fill is counted in, over all its lanes. A wrong length reaches over all of
// memory, and it is recorded before the kernel faults.
constexpr uint64_t kMostPages = 1 << 16;

struct Heatmap : fade::Handler {
  static constexpr const char *name = "Heatmap";
  static constexpr const char *summary = "accesses per page of memory";
  static constexpr uint32_t needs = FADE_NEEDS_ACCESSES | FADE_NEEDS_ALLOCATIONS;

  Heatmap(const fade::Sink &to, const fade::Options &options) : Handler(to, options) {
    options.allow({"page", "rows", "svg", "steps"});
    page_size = options.size("page", 4096);
    if (!std::has_single_bit(page_size) || page_size < 64)
      throw std::invalid_argument("page must be a power of two, at least 64");
    rows = std::max<uint64_t>(options.size("rows", 16), 1);
    svg_file = options.text("svg", "");
    if (svg_file == "true") throw std::invalid_argument("svg needs a file: svg=heatmap.svg");
    const uint64_t wanted = options.size("steps", 0);
    if (wanted != 0 && (wanted < TimeMap::kFewestSteps || wanted > TimeMap::kMostSteps))
      throw std::invalid_argument("steps must be between 8 and 512");
    json_steps = static_cast<uint32_t>(wanted);
  }
  /// What is added up says nothing of time, and pages of 4 GiB and more are none of a GPU's.
  uint32_t takes() const {
    const auto shift = static_cast<uint32_t>(std::countr_zero(page_size));
    return wantsTimes() || shift > 31 ? 0 : FADE_TAKES_PAGES(shift);
  }
  uint32_t steps() const { return json_steps != 0 ? json_steps : kPictureSteps; }
  bool wantsTimes() const { return !svg_file.empty() || json_steps != 0; }

  class Shard {
  public:
    Shard(const Heatmap &heatmap, const fade::Dispatch &dispatch)
        : pages(heatmap.page_size), times(heatmap.steps()),
          sites_(dispatch.kernel().sites()->sites()), finder_(dispatch), page_(heatmap.page_size),
          wants_times_(heatmap.wantsTimes()), takes_summaries_(heatmap.takes() != 0) {}
    void records(const fade::Batch &batch);

    bool lacks_pages = false; // there were summaries that do not tell its pages apart
    PageCounts pages;         // by the first address of a page that belongs to the same allocation
    TimeMap times;

  private:
    void access(const fade::Record &record, const fade_batch &batch, uint64_t position);
    bool tellsPages(const fade::Record &record);
    bool rows(const fade::Record &record, AccessKind kind, uint64_t position);
    void line(uint64_t address, int64_t stride, uint64_t lanes, AccessKind kind, uint64_t position);
    void lanes(const fade::Record &record, const fade_batch &batch, AccessKind kind,
               uint64_t position);
    bool inOneAllocation(std::span<const uint64_t> addresses, AccessKind kind);
    void range(const fade::Record &record, const fade_batch &batch, uint64_t position);
    /// Addresses that are counted under the same key as this one.
    Stretch stretchOf(uint64_t address) {
      Stretch stretch = finder_.find(address);
      const uint64_t page = address & ~(page_ - 1);
      const uint64_t from = std::max(stretch.from, page);
      const uint64_t to = std::min(stretch.from + stretch.bytes, page + page_);
      return {from, to - from, stretch.index};
    }
    void count(uint64_t from, uint32_t index, AccessKind kind, uint64_t n, uint64_t position) {
      n *= weight_;
      pages[from][static_cast<std::size_t>(kind)] += n;
      if (wants_times_) countTime(from, index, kind, n, position);
    }
    void countTime(uint64_t from, uint32_t index, AccessKind kind, uint64_t n, uint64_t position);

    std::span<const fade_site> sites_;
    AllocationFinder finder_;
    uint64_t page_;
    bool wants_times_;
    bool takes_summaries_;
    uint64_t weight_ = 1; // of the record in hand: so many executions
  };

  void dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards);
  void report();
  void writeJson(const fade::Dispatch &dispatch, const HeatmapTotals &totals, const TimeMap &times);
  void writeTimes(fade::JsonWriter &json, const fade::Dispatch &dispatch,
                  const TimeMap &times) const;
  void writeTotal(const fade::KernelId *kernel, const HeatmapTotals &totals) const;
  void writeCsv(const fade::Dispatch &dispatch, const HeatmapTotals &totals);
  void writeText(const HeatmapTotals &all) const;

  uint64_t page_size = 4096, rows = 16;
  std::string svg_file;
  uint32_t json_steps = 0;
  std::map<fade::KernelId, HeatmapTotals> kernels;
  std::unique_ptr<HeatmapPicture> picture;
  bool csv_header = false, said_lack = false;
};

void Heatmap::Shard::records(const fade::Batch &batch) {
  const auto *start = static_cast<const std::byte *>(batch->bytes);
  batch.forEach([&](const fade::Record &record) {
    lacks_pages |=
        record.isSums() && takes_summaries_ && sites_[record.site()].space != FADE_SPACE_LDS;
    if (!record.isAccess() && !record.isSummary()) return;
    if (record.isSummary() && !takes_summaries_) return; // FADE says so
    const auto offset = static_cast<uint64_t>(record.bytes().data() - start);
    weight_ = record.weight();
    if (record.hasLength())
      range(record, *batch.operator->(), batch->position + offset);
    else
      access(record, *batch.operator->(), batch->position + offset);
  });
}

void Heatmap::Shard::countTime(uint64_t from, uint32_t index, AccessKind kind, uint64_t n,
                               uint64_t position) {
  uint64_t row = from / HeatmapPicture::elsewhereRow(page_);
  if (index != 0) {
    const fade_allocation &own = finder_[index];
    row = (from - own.address) / TimeMap::rowSize(own.size, page_);
  }
  times.add(index, row, position, kind, n);
}

void Heatmap::Shard::access(const fade::Record &record, const fade_batch &batch,
                            uint64_t position) {
  const fade_site &site = sites_[record.site()];
  if (site.space == FADE_SPACE_LDS) return;
  const AccessKind kind = kindOf(site);
  if (record.isLinear()) {
    const uint64_t base = record.base(), last = record.lastLinear();
    // An aperture of LDS or scratch has 4 GiB: with the same upper half, all lanes are in it or
    // not.
    if (site.space == FADE_SPACE_FLAT && (base ^ last) >> 32 != 0)
      return lanes(record, batch, kind, position);
    if (spaceOf(site.space, base, batch) != Space::global) return;
    if (!tellsPages(record)) return;
    const Stretch stretch = stretchOf(std::min(base, last));
    if (stretch.holds(std::max(base, last)))
      return count(stretch.from, stretch.index, kind, record.laneCount(), position);
    if (rows(record, kind, position)) return;
  } else {
    if (spaceOf(site.space, record.base(), batch) == Space::global && !tellsPages(record)) return;
    if (site.space != FADE_SPACE_FLAT && rows(record, kind, position)) return;
  }
  lanes(record, batch, kind, position);
}

/// Whether all executions that the record stands for are in the same pages.
bool Heatmap::Shard::tellsPages(const fade::Record &record) {
  if (!record.isSummary() || record.spread() == 0 ||
      record.spread() <= static_cast<uint32_t>(std::countr_zero(page_)))
    return true;
  lacks_pages = true;
  return false;
}

/// Lanes in rows whose addresses are all as far apart: page by page instead of lane by lane. False
/// if they are not, or if there are gaps in the mask.
bool Heatmap::Shard::rows(const fade::Record &record, AccessKind kind, uint64_t position) {
  const uint64_t mask = record.mask() >> record.firstLane();
  if ((mask & (mask + 1)) != 0) return false;
  if (record.isLinear()) {
    line(record.base(), record.stride(), record.laneCount(), kind, position);
    return true;
  }
  if (record.encoding() != FADE_ENCODING_TILED) return false;
  const fade_tile tile = record.tile();
  uint64_t address = record.base();
  for (uint64_t left = record.laneCount(); left != 0;) {
    const uint64_t here = std::min<uint64_t>(left, tile.width);
    line(address, record.stride(), here, kind, position);
    left -= here;
    address += static_cast<uint64_t>(int64_t{tile.row_stride});
  }
  return true;
}

/// Lanes that are all as far apart, without gaps.
void Heatmap::Shard::line(uint64_t address, int64_t stride, uint64_t lanes, AccessKind kind,
                          uint64_t position) {
  // From the lowest address upwards.
  const auto step = static_cast<uint64_t>(stride < 0 ? -stride : stride);
  if (stride < 0) address -= step * (lanes - 1);
  while (true) {
    const Stretch stretch = stretchOf(address);
    const uint64_t left = stretch.from + stretch.bytes - address;
    const uint64_t here = step == 0 ? lanes : std::min(lanes, (left + step - 1) / step);
    count(stretch.from, stretch.index, kind, here, position);
    lanes -= here;
    if (lanes == 0) return;
    address += here * step;
  }
}

/// Lanes that go anywhere.
void Heatmap::Shard::lanes(const fade::Record &record, const fade_batch &batch, AccessKind kind,
                           uint64_t position) {
  std::array<uint64_t, 64> buffer; // NOLINT(cppcoreguidelines-pro-type-member-init): written next
  uint32_t count_of_lanes = record.addresses(buffer);
  const uint32_t space = sites_[record.site()].space;
  if (space == FADE_SPACE_FLAT) {
    const auto elsewhere =
        std::remove_if(buffer.begin(), buffer.begin() + count_of_lanes, [&](uint64_t address) {
          return spaceOf(space, address, batch) != Space::global;
        });
    count_of_lanes = static_cast<uint32_t>(elsewhere - buffer.begin());
  }
  const std::span addresses(buffer.data(), count_of_lanes);
  if (addresses.empty() || (!wants_times_ && inOneAllocation(addresses, kind))) return;
  for (const uint64_t address : addresses) {
    const Stretch stretch = stretchOf(address);
    count(stretch.from, stretch.index, kind, 1, position);
  }
}

/// If all pages belong to the same allocation as a whole, only the pages matter. False if not.
bool Heatmap::Shard::inOneAllocation(std::span<const uint64_t> addresses, AccessKind kind) {
  uint64_t least = ~uint64_t{0}, most = 0;
  for (const uint64_t address : addresses) {
    least = std::min(least, address);
    most = std::max(most, address);
  }
  const Stretch &own = finder_.find(least);
  if ((least & ~(page_ - 1)) < own.from || !own.holds(most | (page_ - 1))) return false;
  std::array<Counts *, 64> counts; // NOLINT(cppcoreguidelines-pro-type-member-init): written next
  // First where, then how often: meanwhile the counts are on their way from memory.
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    counts[i] = &pages.ofPage(addresses[i]);
    __builtin_prefetch(counts[i], 1);
  }
  for (std::size_t i = 0; i < addresses.size(); ++i)
    (*counts[i])[static_cast<std::size_t>(kind)] += weight_;
  return true;
}

/// Copies and fills: every page that a lane reaches.
void Heatmap::Shard::range(const fade::Record &record, const fade_batch &batch, uint64_t position) {
  const fade_site &site = sites_[record.site()];
  if (site.space == FADE_SPACE_LDS || record.length() == 0) return;
  const AccessKind kind = kindOf(site);
  uint64_t pages_left = kMostPages;
  record.forEachLane([&](uint32_t, uint64_t address) {
    if (spaceOf(site.space, address, batch) != Space::global) return;
    for (uint64_t left = record.length(); pages_left != 0; --pages_left) {
      const Stretch stretch = stretchOf(address);
      count(stretch.from, stretch.index, kind, 1, position);
      const uint64_t here = stretch.from + stretch.bytes - address;
      if (here >= left) break;
      left -= here;
      address += here;
    }
  });
}

void Heatmap::dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
  AllocationFinder finder(dispatch);
  PageCounts pages(page_size);
  TimeMap times(steps());
  for (const Shard *shard : shards) {
    pages.add(shard->pages);
    times.add(shard->times);
    if (shard->lacks_pages && !std::exchange(said_lack, true))
      sink().warn("accesses that kernels have added up are missing in the report of Heatmap: this "
                  "is a recording of summaries, which do not tell such pages apart; --record with "
                  "-a Heatmap has pages, with --stream every access");
  }
  HeatmapTotals own;
  own.add(pages, page_size, finder);
  own.countDispatch();
  kernels[dispatch.kernel().identity()].add(own);
  if (!svg_file.empty()) {
    if (!picture) picture = std::make_unique<HeatmapPicture>(page_size);
    picture->add(dispatch, times, finder);
  }
  if (sink().isJson()) writeJson(dispatch, own, times);
  if (sink().isCsv()) writeCsv(dispatch, own);
}

void writeCounts(fade::JsonWriter &json, const Counts &counts) {
  json.field("reads", counts[0]);
  json.field("writes", counts[1]);
  json.field("atomics", counts[2]);
}

void writeAllocations(fade::JsonWriter &json, const HeatmapTotals &totals) {
  json.list("allocations", [&] {
    for (const auto &total : totals.byAllocation())
      json.object([&] {
        const Allocation &own = total.allocation;
        json.field("number", own.number);
        json.field("name", own.name());
        if (!own.variable.empty()) json.field("variable", own.variable);
        if (!own.argument.empty()) json.field("argument", own.argument);
        if (!own.origin.empty()) json.field("origin", own.origin);
        if (own.number != 0) {
          json.field("agent", own.agent);
          json.field("host", own.on_host);
          json.field("address", own.address);
          json.field("size", own.size);
        }
        writeCounts(json, total.counts);
        json.field("pages_touched", total.pages.size());
      });
  });
}

void writePages(fade::JsonWriter &json, const HeatmapTotals &totals, uint64_t page_size) {
  json.field("page_size", page_size);
  json.list("pages", [&] {
    for (const auto &[number, counts] : totals.byPage())
      json.object([&] {
        json.field("address", number * page_size);
        writeCounts(json, counts);
      });
  });
}

void Heatmap::writeTimes(fade::JsonWriter &json, const fade::Dispatch &dispatch,
                         const TimeMap &times) const {
  const AllocationFinder finder(dispatch);
  json.object("times", [&] {
    json.field("stream_bytes", dispatch->bytes);
    json.field("step_bytes", times.stepSize());
    json.list("cells", [&] {
      times.forEach([&](uint32_t index, uint64_t row, uint64_t step, const Counts &counts) {
        const uint64_t bytes = index != 0 ? TimeMap::rowSize(finder[index].size, page_size)
                                          : HeatmapPicture::elsewhereRow(page_size);
        json.object([&] {
          json.field("allocation", index != 0 ? finder[index].number : 0);
          json.field("address", row * bytes + (index != 0 ? finder[index].address : 0));
          json.field("bytes", bytes);
          json.field("step", step);
          writeCounts(json, counts);
        });
      });
    });
  });
}

void Heatmap::writeJson(const fade::Dispatch &dispatch, const HeatmapTotals &totals,
                        const TimeMap &times) {
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", "heatmap");
    json.field("version", FADE_REPORT_VERSION);
    dispatch.kernel().identity().writeTo(json);
    json.field("dispatch_id", dispatch->id);
    writePages(json, totals, page_size);
    writeAllocations(json, totals);
    if (json_steps != 0) writeTimes(json, dispatch, times);
  });
  sink().write(json.text());
}

/// For a kernel, or for all of them together.
void Heatmap::writeTotal(const fade::KernelId *kernel, const HeatmapTotals &totals) const {
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", "heatmap_total");
    json.field("version", FADE_REPORT_VERSION);
    if (kernel)
      kernel->writeTo(json);
    else
      json.field("kernel", nullptr);
    json.field("dispatches", totals.dispatches());
    writePages(json, totals, page_size);
    writeAllocations(json, totals);
  });
  sink().write(json.text());
}

void Heatmap::writeCsv(const fade::Dispatch &dispatch, const HeatmapTotals &totals) {
  fade::CsvWriter csv;
  if (!std::exchange(csv_header, true))
    csv.row("type", "version", "kernel", "dispatch_id", "page_size", "address", "reads", "writes",
            "atomics", "allocation", "allocation_agent", "allocation_size");
  for (const auto &total : totals.byAllocation())
    for (const auto &page : total.pages)
      csv.row("heatmap", FADE_REPORT_VERSION, dispatch.kernel().name(), dispatch->id, page_size,
              page.key.place * page_size, page.counts[0], page.counts[1], page.counts[2],
              total.allocation.number, total.allocation.agent, total.allocation.size);
  sink().write(csv.take());
}

void Heatmap::writeText(const HeatmapTotals &all) const {
  const Paint paint(sink().hasColor());
  std::string text = paint(Tone::bold, "Heatmap") + ": " + plural(kernels.size(), "kernel") + ", " +
                     std::to_string(all.dispatches()) +
                     (all.dispatches() == 1 ? " dispatch" : " dispatches") + ", pages of " +
                     humanSize(page_size) + "\n" + all.table(page_size, paint, sink().columns());
  for (const auto &[kernel, totals] : kernels)
    text += paint(Tone::bold, shortName(kernel.name, sink().columns())) + "\n" +
            totals.bars(page_size, rows, paint, sink().columns());
  sink().write(text);
}

void Heatmap::report() {
  HeatmapTotals all;
  for (const auto &[kernel, totals] : kernels) all.add(totals);
  if (!kernels.empty() && sink().isText()) writeText(all);
  if (!kernels.empty() && sink().isJson()) {
    for (const auto &[kernel, totals] : kernels) writeTotal(&kernel, totals);
    writeTotal(nullptr, all);
  }
  if (picture)
    sink().writeFile(svg_file, picture->svg());
  else if (!svg_file.empty())
    sink().warn("Heatmap: no instrumented dispatch, so there is no picture to write");
}

} // namespace

FADE_HANDLER(Heatmap)
