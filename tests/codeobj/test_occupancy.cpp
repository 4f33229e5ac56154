// Occupancy against the numbers the compiler writes into its assembly ("; Occupancy: 8").
#include "codeobj/occupancy.h"
#include "support.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sstream>

namespace fade::codeobj {
namespace {

std::map<std::string, unsigned> occupancy_by_compiler(const std::string &assembly) {
  std::map<std::string, unsigned> found;
  std::string name;
  auto bytes = testing::contents_of(assembly);
  for (const std::string &line : testing::lines_of(std::string(asText(bytes)))) {
    std::istringstream in(line);
    std::string first, second, third;
    in >> first >> second >> third;
    if (first == ".globl") name = second;
    if (second == "Occupancy:") found[name] = static_cast<unsigned>(std::stoul(third));
  }
  return found;
}

unsigned least_of(const Occupancy &o) {
  return std::min({o.by_vgprs, o.by_sgprs, o.by_lds, o.by_workgroup});
}

class OccupancyOfProcessor : public ::testing::TestWithParam<std::string> {};

TEST_P(OccupancyOfProcessor, EqualsTheCompilersForEveryKernel) {
  auto object = testing::open_object(testing::sample("registers-" + GetParam()));
  auto expected = occupancy_by_compiler(testing::built_file("registers-" + GetParam() + ".s"));
  std::size_t compared = 0;
  for (std::size_t i = 0; i < object->kernelCount(); ++i) {
    auto kernel = object->kernel(i);
    ASSERT_TRUE(kernel);
    auto found = occupancy(object->target(), *kernel);
    ASSERT_TRUE(found);
    ASSERT_TRUE(expected.contains(kernel->name)) << kernel->name;
    // The compiler takes the least of what each resource allows and does not look at whole
    // workgroups.
    EXPECT_EQ(least_of(*found), expected[kernel->name]) << kernel->name;
    EXPECT_LE(found->waves_per_simd, expected[kernel->name]) << kernel->name;
    EXPECT_GE(found->waves_per_simd, 1u);
    ++compared;
  }
  EXPECT_GT(compared, 20u);
}

INSTANTIATE_TEST_SUITE_P(All, OccupancyOfProcessor,
                         ::testing::Values("gfx803", "gfx900", "gfx90a", "gfx942", "gfx1010",
                                           "gfx1030", "gfx1100", "gfx1102", "gfx1201",
                                           "gfx1100-wave64"),
                         [](const auto &p) {
                           std::string name = p.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// What the compiler of Triton's code objects wrote about them.
TEST(Occupancy, OfTritonsKernelsEqualsTheCompilers) {
  struct {
    const char *file;
    unsigned waves;
  } table[] = {
      {"gfx1030/matmul", 4}, {"gfx1100/matmul", 6}, {"gfx90a/matmul", 5}, {"gfx942/matmul", 4}};
  for (const auto &[file, waves] : table) {
    auto object = testing::open_object(testing::data_file(fmt::format("triton/{}.hsaco", file)));
    auto kernel = object->kernel(0);
    ASSERT_TRUE(kernel);
    auto found = occupancy(object->target(), *kernel);
    ASSERT_TRUE(found);
    EXPECT_EQ(least_of(*found), waves) << file;
  }
}

TEST(Occupancy, NamesWhatLimitsIt) {
  Target gfx90a = *parseTarget("gfx90a");
  auto limit = [&](OccupancyInput input) { return to_string(occupancy(gfx90a, input)->limit); };
  EXPECT_EQ(limit({32, 32, 0, 64, 64, false}), "waves");
  EXPECT_EQ(limit({100, 32, 0, 64, 64, false}), "vgprs");
  EXPECT_EQ(limit({32, 102, 0, 64, 64, false}), "sgprs");
  EXPECT_EQ(limit({32, 32, 32768, 64, 64, false}), "lds");
  EXPECT_EQ(limit({32, 32, 0, 3 * 256, 64, false}), "workgroup");
}

TEST(Occupancy, CountsWholeWorkgroupsOnly) {
  Target gfx90a = *parseTarget("gfx90a");
  // 100 registers leave room for 4 waves per SIMD, 16 per CU; workgroups of 10 waves fit once.
  auto found = occupancy(gfx90a, {100, 32, 0, 640, 64, false});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->by_vgprs, 4u);
  EXPECT_EQ(found->workgroups, 1u);
  EXPECT_EQ(found->waves_per_simd, 3u);
}

TEST(Occupancy, SaysWhetherAWorkgroupFits) {
  const auto fits = [](const char *target, unsigned vgprs, unsigned wavefront, bool wgp) {
    return occupancy(*parseTarget(target), {vgprs, 32, 0, 1024, wavefront, wgp})->fits;
  };
  EXPECT_TRUE(fits("gfx90a", 128, 64, false));
  EXPECT_FALSE(fits("gfx90a", 136, 64, false));
  EXPECT_TRUE(fits("gfx1030", 128, 32, true));
  EXPECT_FALSE(fits("gfx1030", 136, 32, true));
  EXPECT_FALSE(fits("gfx1030", 128, 32, false));
}

TEST(Occupancy, DynamicLdsCounts) {
  auto object = testing::open_object(testing::data_file("triton/gfx90a/matmul.hsaco"));
  auto kernel = object->kernel(0);
  ASSERT_TRUE(kernel);
  auto without = occupancy(object->target(), *kernel),
       with = occupancy(object->target(), *kernel, 32768);
  EXPECT_EQ(without->limit, OccupancyLimit::Vgprs);
  EXPECT_EQ(with->limit, OccupancyLimit::Lds);
  EXPECT_EQ(with->workgroups, 2u);
}

TEST(Occupancy, UnknownProcessorHasNone) {
  EXPECT_FALSE(occupancy(*parseTarget("gfx1399"), OccupancyInput()));
}

} // namespace
} // namespace fade::codeobj
