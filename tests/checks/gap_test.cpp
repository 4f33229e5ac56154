#include "checks/gap.h"

#include <gtest/gtest.h>

namespace fade::checks {
namespace {

TEST(Gap, IsThereBehindEverySizeThatCanBeHad) {
  EXPECT_EQ(gapBehind(100), 4096u + 3996u) << "up to the end of a page";
  EXPECT_EQ(gapBehind(8192), 4096u);
  EXPECT_EQ(gapBehind(uint64_t{2} << 20), uint64_t{2} << 20);
}

TEST(Gap, NeverMakesASmallSizeOfTheLargest) {
  for (uint64_t below = 0; below < 10'000; ++below) {
    const uint64_t size = UINT64_MAX - below;
    EXPECT_GE(size + gapBehind(size), size) << below;
  }
  EXPECT_EQ(gapBehind(UINT64_MAX - (uint64_t{2} << 20) + 1), 0u) << "whole large pages";
}

} // namespace
} // namespace fade::checks
