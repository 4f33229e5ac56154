// BlockCounts on real kernels: branches.hip, 256 lanes in one workgroup.
#include "probe.h"
#include "report_schema.h"

#include <gtest/gtest.h>

namespace fade::testing {
namespace {

using nlohmann::json;

/// The blocks object of a kernel; modes is how the program was instrumented.
json blocksOf(const std::string &processor, const std::string &modes, const std::string &kernel) {
  const ProbeResult result = probe("-i -a BlockCounts -t json --gpu " + processor,
                                   std::string(FADE_BRANCHES) + "_" + modes);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  for (const json &blocks : result.objects("blocks")) {
    EXPECT_EQ(schemaFault(blocks), "");
    if (blocks["kernel"].get<std::string>().starts_with(kernel)) return blocks;
  }
  ADD_FAILURE() << "no blocks of " << kernel << " in " << result.report;
  return json::object();
}

json lineIn(const json &blocks, const std::string &name) {
  const uint32_t number = lineOf(FADE_BRANCHES_SOURCE, name);
  for (const json &line : blocks["lines"])
    if (line["line"] == number) return line;
  ADD_FAILURE() << name << " is not in " << blocks["lines"];
  return json::object();
}

/// The block with the most executions that holds the line.
json blockAt(const json &blocks, const std::string &name) {
  const uint32_t number = lineOf(FADE_BRANCHES_SOURCE, name);
  json best;
  for (const json &block : blocks["blocks"])
    for (const json &line : block["lines"])
      if (line == number && (best.is_null() || block["executions"] > best["executions"]))
        best = block;
  EXPECT_FALSE(best.is_null()) << name << " is in no block";
  return best.is_null() ? json::object() : best;
}

void expectLine(const json &blocks, const std::string &name, uint64_t executions, uint64_t lanes) {
  const json line = lineIn(blocks, name);
  EXPECT_EQ(line["executions"], executions) << name;
  EXPECT_EQ(line["lanes"], lanes) << name;
  const double most = static_cast<double>(executions) * blocks["wave_size"].get<double>();
  EXPECT_DOUBLE_EQ(line["lane_share"], static_cast<double>(lanes) / most) << name;
}

class Branches : public ::testing::TestWithParam<const char *> {};

TEST_P(Branches, LanesOfBothSidesOfABranchAreExact) {
  const json blocks = blocksOf("gfx90a", GetParam(), "branches"); // 4 waves
  EXPECT_EQ(blocks["wave_size"], 64);
  expectLine(blocks, "branches.loop", 4 * 10, 4 * 10 * 16);
  expectLine(blocks, "branches.else", 4, 4 * 48);
  expectLine(blocks, "branches.end", 4, 4 * 64);
}

TEST_P(Branches, LanesThatLeaveALoopOneAfterTheOtherAreExact) {
  const json blocks = blocksOf("gfx90a", GetParam(), "countdown");
  // 56, 48 ... 8 lanes
  expectLine(blocks, "countdown.loop", 4 * 7, 4 * 224);
  expectLine(blocks, "countdown.end", 4, 4 * 64);
}

TEST_P(Branches, Wave32HasTwiceTheExecutions) {
  const json blocks = blocksOf("gfx1030", GetParam(), "branches"); // 8 waves
  EXPECT_EQ(blocks["wave_size"], 32);
  expectLine(blocks, "branches.loop", 8 * 10, 8 * 10 * 8);
  expectLine(blocks, "branches.else", 8, 8 * 24);
}

INSTANTIATE_TEST_SUITE_P(Modes, Branches, ::testing::Values("blocks", "counts", "times"),
                         [](const auto &mode) { return std::string(mode.param); });

TEST(BlockTimes, BlocksHaveClocksWithoutRecords) {
  const json blocks = blocksOf("gfx90a", "times", "branches");
  for (const json &block : blocks["blocks"]) {
    EXPECT_GT(block["clocks"], 0) << block;
    EXPECT_FALSE(block.contains("splits")) << block;
  }
  const json counted = blocksOf("gfx90a", "counts", "branches");
  for (const json &block : counted["blocks"]) EXPECT_FALSE(block.contains("clocks")) << block;
}

TEST(BlockTimes, SumsHaveNoPercentilesAndExecutionsThatAreRecordedHave) {
  for (const bool sums : {true, false}) {
    const std::string program = std::string(FADE_BRANCHES) + (sums ? "_times" : "_blocks");
    const ProbeResult run = probe("-i -a BlockCounts -t json --gpu gfx90a", program);
    const auto times = run.objects("block_times");
    ASSERT_FALSE(times.empty());
    for (const json &kernel : times)
      for (const json &block : kernel["blocks"]) {
        EXPECT_GT(block["clocks"], 0) << block;
        EXPECT_EQ(block.contains("p50"), !sums) << block;
        if (!sums) EXPECT_GT(block["p99"], 0) << block;
      }
  }
}

// The page leaves them out, too: tests/report/page_test.py.
TEST(BlockTimes, TextSaysWhyTheSoftwareGpuHasNoClocksAndJsonWhoseTheyAre) {
  const std::string program = std::string(FADE_BRANCHES) + "_times";
  const ProbeResult text = probe("-i -a BlockCounts -t text --gpu gfx90a", program);
  const char *note = "no clocks: the software GPU's clock is its own, not a card's";
  EXPECT_NE(text.report.find(note), text.report.npos) << text.report;
  EXPECT_EQ(text.report.find("p99"), text.report.npos) << text.report;
  const ProbeResult json = probe("-i -a BlockCounts -t json --gpu gfx90a", program);
  ASSERT_FALSE(json.objects("dispatch").empty());
  for (const auto &dispatch : json.objects("dispatch")) EXPECT_TRUE(dispatch["software"]);
}

TEST(BranchDivergence, SplitsAreCountedAtTheBranch) {
  const json blocks = blocksOf("gfx90a", "blocks", "branches");
  // Every wave splits once, where it comes to the if.
  EXPECT_EQ(blockAt(blocks, "branches.if")["splits"], 4);
  EXPECT_EQ(blockAt(blocks, "branches.if")["divergent"], 0);
  const json loop = blockAt(blocks, "branches.loop");
  EXPECT_EQ(loop["splits"], 0); // all its lanes go around together
  EXPECT_EQ(loop["divergent"], 40);
  EXPECT_GT(loop["clocks"], 0);
}

TEST(BranchDivergence, ALoopThatLanesLeaveSplitsEachTimeAround) {
  const json loop = blockAt(blocksOf("gfx90a", "blocks", "countdown"), "countdown.loop");
  EXPECT_EQ(loop["splits"], 4 * 6); // the seventh time all that are left leave
}

} // namespace
} // namespace fade::testing
