#include "heatmap_totals.h"

#include <cinttypes>

namespace fade::handlers {
namespace {

constexpr std::size_t kNumbers = 58; // characters before a bar

/// As many letters for each kind as its share of the longest bar, which has `longest`; at least one
/// if there is any.
std::string bar(const Counts &counts, uint64_t most, uint64_t longest) {
  const uint64_t total = sumOf(counts);
  const auto length = static_cast<std::size_t>((total * longest + most - 1) / most);
  std::string text;
  uint64_t before = 0;
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    before += counts[kind];
    const auto end = static_cast<std::size_t>((before * length + total - 1) / total);
    text.append(end - text.size(), "rwa"[kind]);
  }
  return text;
}

std::string line(const std::string &place, const Counts &counts, uint64_t most, uint64_t longest) {
  std::array<char, 128> numbers;
  std::snprintf(numbers.data(), numbers.size(),
                "    %-16s%10" PRIu64 " r%10" PRIu64 " w%10" PRIu64 " a  ", place.c_str(),
                counts[0], counts[1], counts[2]);
  return numbers.data() + bar(counts, most, longest) + '\n';
}

struct Bar {
  std::string place;
  Counts counts{};
};

/// The pages of an allocation, as many to a bar as it takes; those of no allocation one by one.
std::vector<Bar> barsOf(const HeatmapTotals::AllocationTotal &total, uint64_t page, uint64_t most) {
  std::vector<Bar> bars;
  if (total.allocation.number == 0) {
    for (const auto &entry : total.pages)
      bars.push_back({hex(entry.key.place * page), entry.counts});
    return bars;
  }
  const uint64_t first = total.allocation.address / page;
  const uint64_t last = (total.allocation.address + total.allocation.size - 1) / page;
  const uint64_t together = (last - first + most) / most;
  uint64_t open = ~uint64_t{0};
  for (const auto &entry : total.pages) {
    const uint64_t number = (entry.key.place - first) / together;
    if (number != open) {
      const uint64_t start = (first + number * together) * page;
      const uint64_t offset = start - std::min(start, total.allocation.address);
      bars.push_back({"+" + humanSize(offset), {}});
      open = number;
    }
    addTo(bars.back().counts, entry.counts);
  }
  return bars;
}

} // namespace

std::string hex(uint64_t value) {
  std::array<char, 24> text;
  std::snprintf(text.data(), text.size(), "0x%" PRIx64, value);
  return text.data();
}

void HeatmapTotals::add(const PageCounts &pages, uint64_t size, AllocationFinder &finder) {
  pages.forEach([&](uint64_t address, const Counts &counts) {
    const uint32_t index = finder.find(address).index;
    const uint32_t number = index != 0 ? finder[index].number : 0;
    if (number != 0 && !allocations_.contains(number))
      allocations_.emplace(number, finder.allocation(index));
    pages_.add({address / size, number}, counts);
  });
}

void HeatmapTotals::add(const HeatmapTotals &other) {
  pages_.add(other.pages_);
  allocations_.insert(other.allocations_.begin(), other.allocations_.end());
  dispatches_ += other.dispatches_;
}

std::vector<HeatmapTotals::AllocationTotal> HeatmapTotals::byAllocation() const {
  std::map<uint32_t, AllocationTotal> totals;
  for (const auto &entry : pages_.sorted()) {
    AllocationTotal &total = totals[static_cast<uint32_t>(entry.key.part)];
    addTo(total.counts, entry.counts);
    total.pages.push_back(entry);
  }
  std::vector<AllocationTotal> list;
  for (auto &[number, total] : totals) {
    if (number != 0) total.allocation = allocations_.at(number);
    list.push_back(std::move(total));
  }
  std::ranges::sort(list, {}, [](const AllocationTotal &total) {
    const Allocation &own = total.allocation;
    // Memory that was freed and allocated again has an older number at the same address.
    return std::pair(own.number == 0 ? ~uint64_t{0} : own.address, own.number);
  });
  return list;
}

std::map<uint64_t, Counts> HeatmapTotals::byPage() const {
  std::map<uint64_t, Counts> pages;
  pages_.forEach(
      [&](const CountTable::Entry &entry) { addTo(pages[entry.key.place], entry.counts); });
  return pages;
}

std::string HeatmapTotals::table(uint64_t page, const Paint &paint, std::size_t columns) const {
  TextTable table({"allocation", "address", "reads", "writes", "atomics", "pages touched"}, 2);
  for (const AllocationTotal &total : byAllocation()) {
    const Allocation &own = total.allocation;
    std::string pages = std::to_string(total.pages.size());
    if (own.number != 0)
      pages +=
          " of " + std::to_string((own.address + own.size - 1) / page - own.address / page + 1);
    // Who made it stands over its bars.
    table.row({own.briefName(), own.number == 0 ? std::string("-") : hex(own.address),
               total.counts[0], total.counts[1], total.counts[2], pages});
  }
  return table.text(paint, columns);
}

std::string HeatmapTotals::bars(uint64_t page, uint64_t most_bars, const Paint &paint,
                                std::size_t columns) const {
  const uint64_t longest =
      std::clamp<std::size_t>(columns, kNumbers + 12, kNumbers + 36) - kNumbers;
  std::string text;
  const auto totals = byAllocation();
  std::vector<std::vector<Bar>> all;
  uint64_t most = 1;
  for (const AllocationTotal &total : totals) {
    all.push_back(barsOf(total, page, most_bars));
    for (const Bar &one : all.back()) most = std::max(most, sumOf(one.counts));
  }
  for (std::size_t i = 0; i < totals.size(); ++i) {
    text += "  " + paint(Tone::bold, totals[i].allocation.name()) + '\n';
    const std::size_t shown = std::min<std::size_t>(all[i].size(), most_bars);
    for (std::size_t j = 0; j < shown; ++j)
      text += line(all[i][j].place, all[i][j].counts, most, longest);
    if (shown < all[i].size())
      text += "    and " + plural(all[i].size() - shown, "page") + " more\n";
  }
  return text;
}

} // namespace fade::handlers
