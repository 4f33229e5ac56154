// Before which cooperative launches a replay sets the GPU's counter.
#include "replay/hsa/cooperative_code.h"

#include <gtest/gtest.h>

namespace fade::replay {
namespace {

TEST(CooperativeReplay, TheCounterIsSetWhereHipSetsIt) {
  for (const char *gpu : {"gfx906", "gfx908", "gfx90a", "gfx1010", "gfx1030", "gfx1036"})
    EXPECT_TRUE(meetAtCounter(gpu)) << gpu;
  for (const char *gpu : {"gfx942", "gfx950", "gfx1100", "gfx1103", "gfx1151", "gfx1201", "none"})
    EXPECT_FALSE(meetAtCounter(gpu)) << gpu;
}

} // namespace
} // namespace fade::replay
