// What is known of strides does not depend on which execution comes first.
#include "memory_stats.h"

#include <gtest/gtest.h>

namespace fade::handlers {
namespace {

TEST(StrideHistogram, RowsAreTheLongestWhateverComesFirst) {
  StrideHistogram one, other, both;
  one.addRows(4, {16, 256});
  other.addRows(4, {32, 512});
  both.add(one);
  both.add(other);
  StrideHistogram reversed = other;
  reversed.add(one);
  for (const StrideHistogram *sum : {&both, &reversed}) {
    EXPECT_EQ(sum->rows().lanes, 32u);
    EXPECT_EQ(sum->rows().step, 512);
    EXPECT_EQ(sum->inRows(), 2u);
  }
  reversed.addRows(4, {8, 64});
  EXPECT_EQ(reversed.rows().lanes, 32u);
}

} // namespace
} // namespace fade::handlers
