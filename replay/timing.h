// Times of several runs: their middle, how far they spread, and how many times as fast one version
// is as another.
#pragma once

#include <cstddef>
#include <vector>

namespace fade::replay {

struct Times {
  double median = 0; ///< half are faster, half are slower
  double spread = 0; ///< of the middle half
  double total = 0, least = 0, most = 0;
};
Times timesOf(std::vector<double> seconds);

struct Speedup {
  double ratio = 0; ///< of the medians: above 1 the second is faster
  /// Where it lies with a confidence of 95 %, found by drawing from the runs again and again. Too
  /// few runs say nothing about that: then both are 0.
  double low = 0, high = 0;
};
inline constexpr std::size_t kFewestRuns = 5;
/// What `other` gains over `captured`. Their runs were made in turn, so that what slows the machine
/// down meets both.
Speedup speedupOf(const std::vector<double> &captured, const std::vector<double> &other);

} // namespace fade::replay
