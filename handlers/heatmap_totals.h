// What Heatmap adds up over dispatches: accesses by page and allocation, for a kernel or for all.
#pragma once

#include "allocation_map.h"
#include "page_counts.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fade::handlers {

class HeatmapTotals {
public:
  struct AllocationTotal {
    Allocation allocation;
    Counts counts{};
    std::vector<CountTable::Entry> pages; ///< that were touched, by address; key.place is a number
  };

  /// Pages of one dispatch, of `size` bytes, whose allocations are those of the finder.
  void add(const PageCounts &pages, uint64_t size, AllocationFinder &finder);
  void add(const HeatmapTotals &other);
  void countDispatch() { ++dispatches_; }
  uint64_t dispatches() const { return dispatches_; }

  /// By address; memory that is in no allocation last.
  std::vector<AllocationTotal> byAllocation() const;
  /// Pages whatever they belong to, by number.
  std::map<uint64_t, Counts> byPage() const;

  /// A table of the allocations.
  std::string table(uint64_t page, const Paint &paint, std::size_t columns) const;
  /// Bars for the pages of each allocation, at most so many.
  std::string bars(uint64_t page, uint64_t most, const Paint &paint, std::size_t columns) const;

private:
  CountTable pages_; ///< place: number of the page, part: number of the allocation
  std::map<uint32_t, Allocation> allocations_;
  uint64_t dispatches_ = 0;
};

/// An address, for people.
std::string hex(uint64_t value);

} // namespace fade::handlers
