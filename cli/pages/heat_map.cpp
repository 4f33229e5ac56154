#include "pages/heat_map.h"

#include "base/json_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

namespace fade::report {
namespace {

constexpr uint64_t kMostColumns = 1024;
constexpr uint64_t kMostRows = 256; // of an allocation
constexpr uint64_t kMostCells = 400'000;

using Counts = std::array<uint64_t, 3>; // reads, writes, atomics

Counts countsOf(const Json &entry) {
  return {number(entry, "reads"), number(entry, "writes"), number(entry, "atomics")};
}
void addTo(Counts &sum, const Counts &more) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

struct Allocation {
  uint64_t number = 0, address = 0, size = 0;
  std::string name;
  uint64_t row_bytes = 4096;
  Counts counts{};
};

/// A dispatch on the axis of time.
struct Span {
  const std::string *line = nullptr;
  uint64_t id = 0;
  uint32_t kernel = 0;
  uint64_t order = 0, from = 0, length = 1;
};

class HeatMap {
public:
  explicit HeatMap(RunLog &log) : log_(log) {}
  Json make();

private:
  void placeDispatches();
  void add(const Span &span, const Json &object);
  void allocations(const Json &object);
  void put(uint64_t number, uint64_t address, uint64_t time, uint64_t length, const Counts &counts);
  void halveColumns();
  std::size_t allocationAt(uint64_t address) const;
  Json result() const;

  RunLog &log_;
  std::vector<Span> spans_;
  uint64_t total_ = 0, column_ns_ = 1;
  std::map<uint64_t, Allocation> allocations_; // by number
  /// How many columns a cell is wide, and what it counts.
  struct Cell {
    uint64_t columns = 1;
    Counts counts{};
  };
  std::map<std::array<uint64_t, 3>, Cell> cells_; // by number, row, column
};

void HeatMap::placeDispatches() {
  std::unordered_map<uint64_t, const Dispatch *> known;
  for (const Dispatch &d : log_.dispatches) known[d.id] = &d;
  for (const std::string &line : log_.heatmaps) {
    const Json object = parsedJson(line); // it was parsed once before
    Span span;
    span.line = &line;
    span.id = number(object, "dispatch_id");
    span.order = span.id;
    if (const auto at = known.find(span.id); at != known.end()) {
      span.kernel = at->second->kernel;
      if (at->second->hasTimes()) {
        span.order = *at->second->start_ns;
        span.length = std::max<uint64_t>(*at->second->end_ns - *at->second->start_ns, 1);
      }
    }
    spans_.push_back(span);
  }
  std::ranges::sort(spans_, {}, [](const Span &s) { return std::pair(s.order, s.id); });
  for (Span &span : spans_) {
    span.from = total_;
    total_ += span.length;
  }
  column_ns_ = std::max<uint64_t>((total_ + kMostColumns - 1) / kMostColumns, 1);
}

void HeatMap::allocations(const Json &object) {
  const uint64_t page = std::max<uint64_t>(number(object, "page_size", 4096), 1);
  for (const Json &entry : objects(object, "allocations")) {
    const auto [at, is_new] = allocations_.try_emplace(number(entry, "number"));
    if (!is_new) continue;
    Allocation &own = at->second;
    own.number = at->first;
    own.address = number(entry, "address");
    own.size = number(entry, "size");
    own.name = text(entry, "name");
    own.row_bytes = page;
    while (own.size / own.row_bytes >= kMostRows) own.row_bytes *= 2;
  }
  if (allocations_.try_emplace(0).second) {
    allocations_[0].name = "elsewhere";
    allocations_[0].row_bytes = page;
  }
}

/// Number of the allocation that holds the address; 0 if none does.
std::size_t HeatMap::allocationAt(uint64_t address) const {
  std::size_t found = 0;
  for (const auto &[number, own] : allocations_)
    if (number != 0 && address - own.address < own.size) found = number; // the newest
  return found;
}

void HeatMap::halveColumns() {
  column_ns_ *= 2;
  std::map<std::array<uint64_t, 3>, Cell> folded;
  for (const auto &[key, cell] : cells_) {
    Cell &into = folded[{key[0], key[1], key[2] / 2}];
    into.columns = std::max(into.columns, (key[2] + cell.columns + 1) / 2 - key[2] / 2);
    addTo(into.counts, cell.counts);
  }
  cells_ = std::move(folded);
}

void HeatMap::put(uint64_t number, uint64_t address, uint64_t time, uint64_t length,
                  const Counts &counts) {
  Allocation &own = allocations_[number];
  addTo(own.counts, counts);
  // A page that begins before its allocation belongs to the first row.
  const uint64_t row = (address - std::min(own.address, address)) / own.row_bytes;
  Cell &cell = cells_[{number, row, time / column_ns_}];
  cell.columns = std::max(cell.columns, (time + length - 1) / column_ns_ - time / column_ns_ + 1);
  addTo(cell.counts, counts);
  if (cells_.size() > kMostCells) halveColumns();
}

void HeatMap::add(const Span &span, const Json &object) {
  allocations(object);
  const auto times = object.find("times");
  if (times != object.end()) {
    const uint64_t step = std::max<uint64_t>(number(*times, "step_bytes", 1), 1);
    const uint64_t stream = std::max<uint64_t>(number(*times, "stream_bytes", 1), 1);
    const auto offsetOf = [&](uint64_t position) {
      const double share = static_cast<double>(position) / static_cast<double>(stream);
      return static_cast<uint64_t>(std::min(share, 1.0) * static_cast<double>(span.length));
    };
    for (const Json &cell : objects(*times, "cells")) {
      const uint64_t at = number(cell, "step") * step;
      const uint64_t from = std::min(offsetOf(at), span.length - 1);
      put(number(cell, "allocation"), number(cell, "address"), span.from + from,
          std::max<uint64_t>(offsetOf(at + step) - from, 1), countsOf(cell));
    }
    return;
  }
  for (const Json &page : objects(object, "pages")) {
    const uint64_t address = number(page, "address");
    put(allocationAt(address), address, span.from, span.length, countsOf(page));
  }
}

Json HeatMap::result() const {
  Json out;
  out["column_ns"] = column_ns_;
  out["total_ns"] = total_;
  Json &marks = out["dispatches"] = Json::array();
  for (const Span &span : spans_)
    if (marks.size() < 20'000) marks.push_back({span.id, span.kernel, span.from, span.length});
  Json &list = out["allocations"] = Json::array();
  std::map<uint64_t, std::size_t> index;
  std::vector<const Allocation *> order;
  for (const auto &[number, own] : allocations_)
    if (own.counts != Counts{}) order.push_back(&own);
  std::ranges::sort(order, {}, [](const Allocation *a) {
    return std::pair(a->number == 0 ? ~uint64_t{0} : a->address, a->number);
  });
  // Memory of nobody has no beginning: it is drawn as the rows that were touched.
  std::map<uint64_t, uint64_t> elsewhere;
  for (const auto &[key, cell] : cells_)
    if (key[0] == 0) elsewhere.try_emplace(key[1], elsewhere.size());
  for (const Allocation *own : order) {
    index[own->number] = list.size();
    const uint64_t rows =
        own->number == 0 ? elsewhere.size()
                         : own->size / own->row_bytes + (own->size % own->row_bytes != 0 ? 1 : 0);
    list.push_back({{"number", own->number},
                    {"name", own->name},
                    {"address", fmt::format("{:#x}", own->address)},
                    {"size", own->size},
                    {"row_bytes", own->row_bytes},
                    {"rows", std::max<uint64_t>(rows, 1)},
                    {"reads", own->counts[0]},
                    {"writes", own->counts[1]},
                    {"atomics", own->counts[2]}});
  }
  Json &cells = out["cells"] = Json::array();
  for (const auto &[key, cell] : cells_) {
    if (!index.contains(key[0])) continue; // nothing was counted in all of it
    const uint64_t row = key[0] == 0 ? elsewhere.at(key[1]) : key[1];
    for (const uint64_t value : {uint64_t{index.at(key[0])}, row, key[2], cell.columns,
                                 cell.counts[0], cell.counts[1], cell.counts[2]})
      cells.push_back(value);
  }
  return out;
}

Json HeatMap::make() {
  placeDispatches();
  for (const Span &span : spans_) {
    try {
      add(span, parsedJson(*span.line));
    } catch (const std::invalid_argument &e) {
      log_.problems.push_back(fmt::format("the heatmap of dispatch {}: {}", span.id, e.what()));
    }
  }
  return result();
}

} // namespace

Json heatMapOf(RunLog &log) {
  if (log.heatmaps.empty()) return nullptr;
  return HeatMap(log).make();
}

} // namespace fade::report
