// Heatmap on real kernels (golden.hip): allocations as the application made them.
#include "probe.h"
#include "report_schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <unistd.h>

namespace fade::testing {
namespace {

using nlohmann::json;

TEST(HeatmapLive, CopyReadsOneAllocationAndWritesTheOther) {
  const ProbeResult result = probe("-i -a Heatmap -t json -k '^copy\\('", FADE_GOLDEN);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const auto heatmaps = result.objects("heatmap");
  ASSERT_EQ(heatmaps.size(), 1u) << result.report;
  EXPECT_EQ(schemaFault(heatmaps[0]), "");
  const json &list = heatmaps[0]["allocations"];
  ASSERT_EQ(list.size(), 2u) << list; // 256 KiB each, of the GPU
  uint64_t reads = 0, writes = 0;
  for (const json &one : list) {
    EXPECT_EQ(one["size"], 1 << 18);
    EXPECT_EQ(one["host"], false);
    EXPECT_GT(one["number"], 0);
    EXPECT_EQ(one["pages_touched"], 1);
    EXPECT_TRUE(one["reads"] == 0 || one["writes"] == 0);
    reads += one["reads"].get<uint64_t>();
    writes += one["writes"].get<uint64_t>();
  }
  EXPECT_NE(list[0]["number"], list[1]["number"]);
  EXPECT_EQ(reads, 256u);
  EXPECT_EQ(writes, 256u);
}

TEST(HeatmapLive, EveryKernelOfTheRunIsInTheTotals) {
  const ProbeResult result = probe("-i -a Heatmap -t json", FADE_GOLDEN);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  uint64_t reads = 0, all = 0;
  for (const json &heatmap : result.objects("heatmap"))
    for (const json &page : heatmap["pages"]) reads += page["reads"].get<uint64_t>();
  for (const json &total : result.objects("heatmap_total"))
    if (total["kernel"].is_null())
      for (const json &page : total["pages"]) all += page["reads"].get<uint64_t>();
  EXPECT_GT(reads, 0u);
  EXPECT_EQ(all, reads);
}

TEST(HeatmapLive, ThePictureIsWrittenWhereItWasAskedFor) {
  const std::string file = ::testing::TempDir() + "fade-live-" + std::to_string(getpid()) + ".svg";
  const ProbeResult result = probe("-i -a Heatmap:svg=" + file, FADE_GOLDEN);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::remove(file.c_str());
  EXPECT_TRUE(text.str().starts_with("<svg")) << result.output;
  EXPECT_NE(text.str().find("transpose_padded"), std::string::npos);
  EXPECT_NE(text.str().find("256 KiB of agent"), std::string::npos);
}

} // namespace
} // namespace fade::testing
