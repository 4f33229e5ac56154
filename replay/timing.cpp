#include "replay/timing.h"

#include <algorithm>
#include <random>

namespace fade::replay {
namespace {

double medianOf(std::vector<double> &values) {
  const std::size_t n = values.size();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(n / 2);
  std::ranges::nth_element(values, middle);
  if (n % 2 != 0) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double ratioOf(double captured, double other) { return other > 0 ? captured / other : 0; }

} // namespace

Times timesOf(std::vector<double> seconds) {
  Times times;
  const std::size_t n = seconds.size();
  if (n == 0) return times;
  for (const double s : seconds) times.total += s;
  std::ranges::sort(seconds);
  times.least = seconds.front();
  times.most = seconds.back();
  times.spread = seconds[n - 1 - n / 4] - seconds[n / 4];
  times.median = medianOf(seconds);
  return times;
}

Speedup speedupOf(const std::vector<double> &captured, const std::vector<double> &other) {
  Speedup result;
  result.ratio = ratioOf(timesOf(captured).median, timesOf(other).median);
  if (std::min(captured.size(), other.size()) < kFewestRuns) return result;
  constexpr std::size_t draws = 2000;
  std::mt19937_64 random(1); // the same runs have the same confidence
  const auto drawn = [&](const std::vector<double> &from) {
    std::vector<double> values(from.size());
    for (double &value : values) value = from[random() % from.size()];
    return medianOf(values);
  };
  std::vector<double> ratios(draws);
  for (double &ratio : ratios) {
    const double first = drawn(captured);
    ratio = ratioOf(first, drawn(other));
  }
  std::ranges::sort(ratios);
  result.low = ratios[draws / 40]; // 2.5 % on either side
  result.high = ratios[draws - 1 - draws / 40];
  return result;
}

} // namespace fade::replay
