// How many workgroups of a kernel and of its twin fit at once; numbers are worked out by hand.
#include "dispatch/residency.h"

#include <gtest/gtest.h>

namespace fade {
namespace {

ResidencyNeeds needs(const char *gpu, codeobj::OccupancyInput original,
                     codeobj::OccupancyInput replacement) {
  return {*codeobj::parseTarget(gpu), original, replacement};
}
/// A kernel with so many registers, in workgroups of 256.
codeobj::OccupancyInput registers(unsigned vgprs, unsigned sgprs = 32, unsigned lanes = 64) {
  return {.vgprs = vgprs, .sgprs = sgprs, .workgroup_size = 256, .wavefront_size = lanes};
}
ResidentLaunch launch(uint64_t workgroups, uint32_t compute_units, uint32_t lds = 0) {
  return {workgroups, 256, lds, lds, compute_units};
}

TEST(Residency, ATwinWithMoreRegistersHasRoomForFewer) {
  // gfx90a: 512 registers of a SIMD are 8 waves of 64 registers, but 5 of 96. Workgroups of 4 waves
  // take one of each of 4 SIMDs.
  const auto found =
      residencyOf(needs("gfx90a", registers(64), registers(96)), launch(8 * 104, 104));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->original, 8u * 104);
  EXPECT_EQ(found->replacement, 5u * 104);
  EXPECT_TRUE(found->isLost());
}

TEST(Residency, AGridThatStillFitsLosesNothing) {
  const auto needed = needs("gfx90a", registers(64), registers(96));
  EXPECT_FALSE(residencyOf(needed, launch(5 * 104, 104))->isLost());
  EXPECT_TRUE(residencyOf(needed, launch(5 * 104 + 1, 104))->isLost());
}

TEST(Residency, AGridThatNeverFittedDoesNotWaitForItself) {
  EXPECT_FALSE(residencyOf(needs("gfx90a", registers(64), registers(96)), launch(8 * 104 + 1, 104))
                   ->isLost());
}

TEST(Residency, ComputeUnitsAreThoseOfTheAgent) {
  // A partition of an MI300X has 38 of its 304.
  const auto found = residencyOf(needs("gfx942", registers(64), registers(64)), launch(1, 38));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->original, 8u * 38);
}

TEST(Residency, ScalarRegistersAreAllocatedBySixteen) {
  // 800 of a SIMD: 8 waves of 96, but 7 of 112, which is what 97 take.
  const auto found =
      residencyOf(needs("gfx90a", registers(32, 96), registers(32, 97)), launch(1, 1));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->original, 8u);
  EXPECT_EQ(found->replacement, 7u);
}

TEST(Residency, LdsOfTheLaunchCountsInBlocks) {
  // 64 KiB: 8 times 8192 bytes, but 7 times 8193, which are 8704.
  const auto needed = needs("gfx90a", registers(32), registers(32));
  EXPECT_EQ(residencyOf(needed, launch(1, 1, 8192))->original, 8u);
  EXPECT_EQ(residencyOf(needed, launch(1, 1, 8193))->original, 7u);
}

TEST(Residency, InWgpModeAWorkgroupHasTwoComputeUnits) {
  // gfx1030, waves of 32: 16 waves of a SIMD with 64 registers, 4 SIMDs in a pair, 8 waves in a
  // workgroup: 8 of them in a pair.
  codeobj::OccupancyInput input = registers(64, 0, 32);
  input.wgp_mode = true;
  EXPECT_EQ(residencyOf(needs("gfx1030", input, input), launch(1, 72))->original, 8u * 36);
}

TEST(Residency, OfAnUnknownGpuNothingIsSaid) {
  EXPECT_FALSE(residencyOf(needs("gfx90a", registers(64), registers(96)), launch(1, 0)));
  EXPECT_FALSE(residencyOf(needs("gfx1399", registers(64), registers(96)), launch(1, 104)));
}

} // namespace
} // namespace fade
