#include "session.h"

#include <gtest/gtest.h>

#include <numeric>

namespace {

using namespace fade::test;

TEST(Smoke, Vadd) {
  Session session("gfx90a", KERNELS_DIR "/run_basic_gfx90a.hsaco");
  std::vector<float> a(1000), b(1000);
  std::iota(a.begin(), a.end(), 0.f);
  std::iota(b.begin(), b.end(), 7.f);
  auto da = session.device().upload(a), db = session.device().upload(b);
  auto dc = session.device().allocate<float>(1000);
  Launch launch{"vadd", {1024, 1, 1}, {256, 1, 1}};
  Arguments arguments;
  arguments.add(da.va).add(db.va).add(dc.va).add<int>(1000);
  const auto observed = session.runOriginal(launch, arguments);
  std::vector<float> plain(dc.data, dc.data + 1000);
  std::fill(dc.data, dc.data + 1000, 0.f);
  const auto recorded = session.runTwin(launch, arguments);
  EXPECT_TRUE(std::equal(plain.begin(), plain.end(), dc.data));
  EXPECT_EQ(recorded.waves.size(), 16u);
  EXPECT_EQ(observed.touched, recorded.touched);
  printf("original %lu, twin %lu instructions, %lu records bytes\n", observed.stats.total().waves,
         recorded.stats.total().waves, recorded.bytes.size());
}

} // namespace
