#include "support.h"

#include <gtest/gtest.h>

namespace fade::codeobj {
namespace {

Target target(std::string_view text) {
  auto parsed = parseTarget(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(Target());
}

TEST(Target, ReadsFeatureSuffixes) {
  Target t = target("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
  EXPECT_EQ(t.processor, "gfx90a");
  EXPECT_EQ(t.version, (GfxVersion{9, 0, 0xa}));
  EXPECT_EQ(t.sramecc, Feature::On);
  EXPECT_EQ(t.xnack, Feature::Off);
  EXPECT_EQ(t.id(), "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(t.isaName(), "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
}

TEST(Target, LeavesAnUnnamedFeatureOpenOnlyWhereTheProcessorHasIt) {
  EXPECT_EQ(target("gfx90a").xnack, Feature::Any);
  EXPECT_EQ(target("gfx1030").xnack, Feature::Unsupported);
  EXPECT_EQ(target("gfx90a").id(), "gfx90a");
}

TEST(Target, ReadsTheOldSpellingOfFeatures) {
  Target t = target("amdgcn-amd-amdhsa--gfx906+sram-ecc-xnack");
  EXPECT_EQ(t.sramecc, Feature::On);
  EXPECT_EQ(t.xnack, Feature::Off);
  EXPECT_EQ(target("amdgcn-amd-amdhsa--gfx900-xnack").xnack, Feature::Off);
  EXPECT_EQ(target("amdgcn-amd-amdhsa--gfx900+xnack").xnack, Feature::On);
}

TEST(Target, ReadsGenericTargets) {
  Target t = target("amdgcn-amd-amdhsa--gfx9-4-generic:xnack+");
  EXPECT_TRUE(t.generic);
  EXPECT_EQ(t.processor, "gfx9-4-generic");
  EXPECT_EQ(t.xnack, Feature::On);
}

TEST(Target, ReadsTheTriplesOfLlvm24) {
  Target t = target("amdgpu9.0a-amd-amdhsa-unknown-gfx90a:sramecc+:xnack-");
  EXPECT_EQ(t.processor, "gfx90a");
  EXPECT_EQ(t.sramecc, Feature::On);
  EXPECT_EQ(t.isaName(), "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
  EXPECT_EQ(target("amdgpu9.4-amd-amdhsa-unknown-gfx9-4-generic").processor, "gfx9-4-generic");
  EXPECT_EQ(target("amdgpu-amd-amdhsa--gfx1201").processor, "gfx1201");
  for (const char *text : {"amdgpu9.0a-amd-amdhsa-unknown", "amdgpu", "amdgpu9.0a-gfx90a",
                           "amdgpu9.0a-amd-mesa3d-unknown-gfx90a"})
    EXPECT_FALSE(parseTarget(text)) << text;
}

TEST(Target, ReadsAProcessorItHasNeverHeardOf) {
  Target t = target("gfx1399");
  EXPECT_EQ(t.version, (GfxVersion{13, 9, 9}));
}

TEST(Target, RefusesWhatIsNoTarget) {
  for (const char *text :
       {"", "gfx", "gfxabc", "sm_80", "amdgcn-amd-amdhsa--", "gfx90a:", "gfx90a:xnack",
        "gfx90a:speed+", "gfx90a:xnack*", "x86_64-unknown-linux", "gfx90a+cheese"})
    EXPECT_FALSE(parseTarget(text)) << text;
}

TEST(Target, RunsWhereItsProcessorAndSettingsAllow) {
  auto runs = [](const char *code, const char *agent) {
    return runsOn(target(code), target(agent));
  };
  EXPECT_TRUE(runs("gfx90a", "gfx90a:sramecc+:xnack-"));
  EXPECT_TRUE(runs("gfx90a:xnack-", "gfx90a:sramecc+:xnack-"));
  EXPECT_FALSE(runs("gfx90a:xnack+", "gfx90a:sramecc+:xnack-"));
  EXPECT_FALSE(runs("gfx90a:sramecc-", "gfx90a:sramecc+:xnack-"));
  EXPECT_FALSE(runs("gfx908", "gfx90a"));
  EXPECT_TRUE(runs("gfx9-generic", "gfx906"));
  EXPECT_FALSE(runs("gfx9-generic", "gfx90a"));
  EXPECT_TRUE(runs("gfx9-4-generic", "gfx942:xnack-"));
  EXPECT_FALSE(runs("gfx9-4-generic:xnack+", "gfx942:xnack-"));
  EXPECT_TRUE(runs("gfx10-3-generic", "gfx1036"));
  EXPECT_FALSE(runs("gfx10-3-generic", "gfx1010"));
  EXPECT_TRUE(runs("gfx11-generic", "gfx1151"));
}

class TargetOfObject : public ::testing::TestWithParam<std::string> {};

// llvm-readelf prints "Flags: 0x53F, gfx90a, xnack, sramecc".
TEST_P(TargetOfObject, ProcessorEqualsReadelf) {
  auto object = testing::open_object(GetParam());
  for (const std::string &line : testing::lines_of(testing::readelf("-h", GetParam()))) {
    if (line.find("  Flags:") != 0) continue;
    EXPECT_NE(line.find(", " + object->target().processor), std::string::npos) << line;
    return;
  }
  FAIL() << "no flags";
}
INSTANTIATE_TEST_SUITE_P(All, TargetOfObject, ::testing::ValuesIn(testing::all_code_objects()),
                         [](const auto &p) { return testing::test_name(p.param); });

} // namespace
} // namespace fade::codeobj
