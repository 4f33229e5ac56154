// Heatmap: which pages of memory a kernel touches, and how often.
//
// Options: page=SIZE   size of a page, a power of two (4K)
//          rows=N      bars in the text report for each kernel (20)
//
// An access counts once for each active lane, in the page of the lane's first byte; a copy or fill
// counts in every page it reaches. LDS has no pages.
#include "access_kind.h"
#include "page_counts.h"

#include <fade/handler.h>

#include <bit>
#include <map>

namespace {

using fade::handlers::AccessKind;
using fade::handlers::PageCounts;
using fade::handlers::Space;

struct Heatmap : fade::Handler {
  static constexpr const char *name = "Heatmap";
  static constexpr const char *summary = "accesses per page of memory";
  static constexpr uint32_t needs = FADE_NEEDS_ACCESSES | FADE_NEEDS_ALLOCATIONS;

  Heatmap(const fade::Sink &to, const fade::Options &options) : Handler(to, options) {
    options.allow({"page", "rows"});
    page_size = options.size("page", 4096);
    if (!std::has_single_bit(page_size) || page_size < 64)
      throw std::invalid_argument("page must be a power of two, at least 64");
    rows = options.size("rows", 20);
  }

  struct Shard {
    Shard(const Heatmap &heatmap, const fade::Dispatch &dispatch)
        : sites(dispatch.kernel().sites()->sites()), pages(heatmap.page_size) {}
    void records(const fade::Batch &batch);
    void access(const fade::Record &record, const fade_batch &batch);

    std::span<const fade_site> sites;
    PageCounts pages;
  };

  void dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards);
  void report();
  void writeJson(const fade::Dispatch &dispatch, const PageCounts &pages) const;
  void writeCsv(const fade::Dispatch &dispatch, const PageCounts &pages);
  std::string bars(const PageCounts &pages) const;

  uint64_t page_size = 4096, rows = 20;
  std::map<std::string, PageCounts> kernels;
  bool csv_header = false;
};

void Heatmap::Shard::records(const fade::Batch &batch) {
  batch.forEachAccess([&](const fade::Record &record) { access(record, *batch.operator->()); });
}

void Heatmap::Shard::access(const fade::Record &record, const fade_batch &batch) {
  const fade_site &site = sites[record.site()];
  if (site.space == FADE_SPACE_LDS) return;
  const AccessKind kind = fade::handlers::kindOf(site);
  const uint64_t page = pages.pageSize();
  // Most accesses lie in one page from the first lane to the last.
  if (!record.hasLength() && site.space != FADE_SPACE_FLAT) {
    if (record.isLinear() && ((record.base() ^ record.lastLinear()) & ~(page - 1)) == 0) {
      pages.add(record.base(), kind, record.laneCount());
      return;
    }
  }
  const uint64_t length = record.hasLength() ? record.length() : 1;
  record.forEachLane([&](uint32_t, uint64_t address) {
    if (fade::handlers::spaceOf(site.space, address, batch) != Space::global) return;
    const uint64_t last = (address + std::max<uint64_t>(length, 1) - 1) & ~(page - 1);
    for (uint64_t at = address & ~(page - 1);; at += page) {
      pages.add(at, kind, 1);
      if (at == last) break;
    }
  });
}

void Heatmap::dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
  PageCounts pages(page_size);
  for (const Shard *shard : shards) pages.add(shard->pages);
  if (sink().isJson()) writeJson(dispatch, pages);
  if (sink().isCsv()) writeCsv(dispatch, pages);
  if (sink().isText())
    kernels.try_emplace(dispatch.kernel().name(), page_size).first->second.add(pages);
}

void Heatmap::writeJson(const fade::Dispatch &dispatch, const PageCounts &pages) const {
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", "heatmap");
    json.field("version", FADE_REPORT_VERSION);
    json.field("kernel", dispatch.kernel().name());
    json.field("dispatch_id", dispatch->id);
    json.field("page_size", page_size);
    json.list("pages", [&] {
      for (const auto &page : pages.sorted())
        json.object([&] {
          json.field("address", page.address);
          json.field("reads", page.counts[0]);
          json.field("writes", page.counts[1]);
          json.field("atomics", page.counts[2]);
        });
    });
  });
  sink().write(json.text());
}

void Heatmap::writeCsv(const fade::Dispatch &dispatch, const PageCounts &pages) {
  fade::CsvWriter csv;
  if (!std::exchange(csv_header, true))
    csv.row("type", "version", "kernel", "dispatch_id", "page_size", "address", "reads", "writes",
            "atomics");
  for (const auto &page : pages.sorted())
    csv.row("heatmap", FADE_REPORT_VERSION, dispatch.kernel().name(), dispatch->id, page_size,
            page.address, page.counts[0], page.counts[1], page.counts[2]);
  sink().write(csv.take());
}

std::string Heatmap::bars(const PageCounts &pages) const {
  std::string text;
  const auto all = pages.sorted();
  uint64_t most = 1;
  for (const auto &page : all) most = std::max(most, page.total());
  for (const auto &page : all) {
    char line[160];
    const int width = static_cast<int>((page.total() * 40 + most - 1) / most);
    std::snprintf(line, sizeof line, "  %#16llx %10llu r %10llu w %10llu a  ",
                  static_cast<unsigned long long>(page.address),
                  static_cast<unsigned long long>(page.counts[0]),
                  static_cast<unsigned long long>(page.counts[1]),
                  static_cast<unsigned long long>(page.counts[2]));
    text += line + std::string(static_cast<std::size_t>(width), '#') + '\n';
  }
  return text;
}

void Heatmap::report() {
  for (const auto &[kernel, pages] : kernels)
    sink().write("heatmap of " + kernel + ", pages of " + std::to_string(page_size) + " bytes\n" +
                 bars(pages));
}

} // namespace

FADE_HANDLER(Heatmap)
