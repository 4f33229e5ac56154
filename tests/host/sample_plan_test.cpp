// Which dispatches and workgroups a sample takes.
#include "dispatch/sample_plan.h"

#include <gtest/gtest.h>

namespace fade {
namespace {

using SampleShape = SamplePlan::Shape;

/// A row of workgroups with so many waves each.
SampleShape rowOfGroups(uint32_t groups, uint32_t waves = 4) {
  return {{groups * waves * 64, 1, 1}, {waves * 64, 1, 1}};
}

TEST(SamplePlan, WhatIsSmallIsRecordedAsAWhole) {
  SamplePlan plan(256);
  EXPECT_EQ(plan.next(1, rowOfGroups(256)), 1u); // 1024 waves
  EXPECT_EQ(plan.next(1, rowOfGroups(257)), 4u | 1u);
  EXPECT_EQ(plan.next(2, {{1, 1, 1}, {1, 1, 1}}), 1u);
  EXPECT_EQ(plan.next(2, {{0, 0, 0}, {0, 0, 0}}), 1u) << "a shape that makes no sense";
}

TEST(SamplePlan, OfALargeDispatchAboutAsManyWavesAreRecordedAsWanted) {
  SamplePlan plan(256);
  EXPECT_EQ(plan.next(1, {{512, 512, 1}, {32, 32, 1}}), 17u) << "4096 waves in 256 workgroups";
  EXPECT_EQ(plan.next(1, rowOfGroups(1'000'000)), 15625u);
  // Eight workgroups at least: of few large ones nothing could be said.
  EXPECT_EQ(plan.next(2, rowOfGroups(40, 100)), 5u);
}

TEST(SamplePlan, OfDispatchesOfOneShapeTheFirstTwoAndThenEverFewerAreRecorded) {
  SamplePlan plan(256);
  std::vector<uint64_t> recorded;
  for (uint64_t i = 1; i <= 40; ++i)
    if (plan.next(1, rowOfGroups(4096)) != 0) recorded.push_back(i);
  EXPECT_EQ(recorded, (std::vector<uint64_t>{1, 2, 4, 8, 16, 32}));
  EXPECT_NE(plan.next(1, rowOfGroups(4097)), 0u) << "another shape";
  EXPECT_NE(plan.next(2, rowOfGroups(4096)), 0u) << "another kernel";
  // Small ones until there are enough.
  std::size_t small = 0;
  for (int i = 0; i < 1000; ++i) small += plan.next(3, rowOfGroups(16)) != 0;
  EXPECT_EQ(small, 256u + 1) << "16384 waves, and the 512th";
}

TEST(SamplePlan, ManyShapesCostNoMoreMemory) {
  SamplePlan plan(1);
  for (uint32_t i = 1; i < 10'000; ++i) EXPECT_NE(plan.next(1, rowOfGroups(i)), 0u);
}

} // namespace
} // namespace fade
