// The picture of a run: address x time, as SVG that needs nothing else.
//
// Time is the time in which kernels ran: gaps between dispatches are left out, dispatches that
// overlap lie over each other. Within a dispatch an access stands where it is in the stream.
#pragma once

#include "allocation_map.h"
#include "time_map.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fade::handlers {

class HeatmapPicture {
public:
  explicit HeatmapPicture(uint64_t page) : page_(page) {}

  /// `map` has the dispatch's allocations as the finder numbers them, and positions in the stream
  /// as times.
  void add(const Dispatch &dispatch, const TimeMap &map, const AllocationFinder &allocations);
  std::string svg() const;

  /// Rows of memory outside of all allocations.
  static uint64_t elsewhereRow(uint64_t page) { return std::max<uint64_t>(page, 2 << 20); }

private:
  struct Mark {
    std::string kernel;
    uint64_t first_id = 0, dispatches = 0;
    uint64_t from = 0, to = 0;
  };
  struct Row {
    uint64_t address = 0, bytes = 0;
    std::map<uint64_t, Counts> steps;
  };
  struct Band {
    Allocation allocation;
    std::vector<Row> rows;
    uint64_t total = 0;
  };

  void place(const Dispatch &dispatch, uint64_t &from, uint64_t &to);
  std::vector<Band> bands() const;
  std::string cells(const std::vector<Band> &bands, const std::vector<double> &tops,
                    double row_height, uint64_t most) const;
  std::string strip(double bottom) const;
  std::string labels(const std::vector<Band> &bands, const std::vector<double> &tops,
                     double row_height) const;
  std::string axis(double y) const;
  std::string legend(uint64_t most) const;
  double xOf(double time) const;

  uint64_t page_;
  TimeMap map_{TimeMap::kMostSteps};
  std::map<uint32_t, Allocation> allocations_; ///< by number
  std::vector<Mark> marks_;
  uint64_t dispatches_ = 0;
  uint64_t clock_end_ = 0; ///< of the dispatches so far, in the system's time
  uint64_t end_ = 0;       ///< of the picture
};

} // namespace fade::handlers
