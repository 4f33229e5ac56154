// Times of several runs, and how many times as fast one version is as another.
#include "replay/timing.h"

#include <gtest/gtest.h>

namespace fade::replay {
namespace {

TEST(Timing, MedianAndSpreadAreThoseOfTheMiddle) {
  const Times odd = timesOf({5, 1, 3});
  EXPECT_DOUBLE_EQ(odd.median, 3);
  EXPECT_DOUBLE_EQ(odd.total, 9);
  const Times even = timesOf({4, 1, 100, 2});
  EXPECT_DOUBLE_EQ(even.median, 3);
  EXPECT_DOUBLE_EQ(even.spread, 2); // 2 to 4: the middle half
  EXPECT_DOUBLE_EQ(timesOf({}).median, 0);
  EXPECT_DOUBLE_EQ(timesOf({7}).spread, 0);
}

TEST(Timing, SpeedupIsTheRatioOfTheMedians) {
  const Speedup s = speedupOf({10, 20, 30}, {5, 10, 15});
  EXPECT_DOUBLE_EQ(s.ratio, 2);
  EXPECT_DOUBLE_EQ(s.low, 0); // three runs say nothing about how sure that is
  EXPECT_DOUBLE_EQ(s.high, 0);
}

TEST(Timing, ConfidenceHoldsTheRatioAndGrowsWithTheNumberOfRuns) {
  const auto noisy = [](double base, int n) {
    std::vector<double> all;
    for (int i = 0; i < n; ++i) all.push_back(base * (1 + 0.01 * ((i * 7) % 11)));
    return all;
  };
  const Speedup few = speedupOf(noisy(3, 6), noisy(2, 6)),
                many = speedupOf(noisy(3, 60), noisy(2, 60));
  for (const Speedup &s : {few, many}) {
    EXPECT_LE(s.low, s.ratio);
    EXPECT_GE(s.high, s.ratio);
    EXPECT_NEAR(s.ratio, 1.5, 0.08);
  }
  EXPECT_LT(many.high - many.low, few.high - few.low);
  EXPECT_GT(many.low, 1.4);
}

TEST(Timing, TheSameRunsAreNotFaster) {
  const std::vector<double> runs = {1, 1.1, 0.9, 1.05, 0.95, 1.2, 0.8, 1.01};
  const Speedup s = speedupOf(runs, runs);
  EXPECT_DOUBLE_EQ(s.ratio, 1);
  EXPECT_LT(s.low, 1);
  EXPECT_GT(s.high, 1);
}

} // namespace
} // namespace fade::replay
