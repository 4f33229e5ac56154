// Which dispatches are recorded, and how many of their workgroups, where recording all of them
// would take long (--sample auto).
//
// Workgroups of one kernel are mostly alike, and so are dispatches of the same size: some of them
// say what all do. What is chosen depends on nothing but the order of dispatches, so that two runs
// choose the same.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>

namespace fade {

class SamplePlan {
public:
  struct Shape {
    std::array<uint32_t, 3> grid{}, workgroup{};
  };

  /// `waves`: about how many of a large dispatch are recorded.
  explicit SamplePlan(uint32_t waves) : waves_(waves) {}

  /// Of the next dispatch of a kernel: 0: it is not recorded; 1: all of it is; N: one workgroup in
  /// N, by the sum of its numbers. Any thread.
  uint32_t next(uint64_t kernel, const Shape &shape);

private:
  struct Seen {
    uint64_t dispatches = 0, waves = 0; ///< all, and recorded
  };
  using Key = std::array<uint64_t, 7>;

  const uint32_t waves_;
  std::mutex mutex_;
  std::map<Key, Seen> seen_; ///< by kernel and shape
};

} // namespace fade
