// Whole reports of live runs: their form, every record of a kernel, and the same from a recording.
#include "probe.h"
#include "report_schema.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <unistd.h>

namespace fade::testing {
namespace {

using nlohmann::json;

std::vector<json> linesOf(const std::string &report) {
  std::vector<json> lines;
  std::istringstream in(report);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

TEST(LiveReport, EveryLineFitsTheSchema) {
  const ProbeResult result =
      probe("-i -a MessageLogger Heatmap:steps=16 MemoryAnalysis BlockCounts -t json", FADE_GOLDEN);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  std::map<std::string, int> types;
  for (const json &line : linesOf(result.report)) {
    EXPECT_EQ(schemaFault(line), "") << line.dump().substr(0, 300);
    ++types[line.value("type", "")];
  }
  EXPECT_EQ(types["memory"], 18);
  EXPECT_EQ(types["heatmap"], 18);
  EXPECT_EQ(types["blocks"], 18);
  EXPECT_GE(types["dispatch"], 18); // and those of the runtime itself
  EXPECT_EQ(types["summary"], 1);
  EXPECT_GT(types["access"], 100);
}

TEST(LiveReport, MessageLoggerHasEveryLaneOfEveryWave) {
  const ProbeResult result =
      probe("-i -a MessageLogger -t json --gpu gfx90a -k '^copy\\('", FADE_GOLDEN);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  // 256 ints in 4 waves: each address once, in the order of lanes.
  std::map<std::string, std::set<uint64_t>> addresses;
  const auto accesses = result.objects("access");
  EXPECT_EQ(accesses.size(), 8u);
  for (const json &access : accesses) {
    EXPECT_EQ(access["space"], "global");
    EXPECT_EQ(access["bytes"], 4);
    EXPECT_EQ(access["mask"], "0xffffffffffffffff");
    EXPECT_EQ(access["encoding"], "affine");
    ASSERT_EQ(access["addresses"].size(), 64u);
    for (std::size_t lane = 0; lane < 64; ++lane) {
      EXPECT_EQ(access["lanes"][lane], lane);
      const auto address = access["addresses"][lane].get<uint64_t>();
      EXPECT_EQ(address, access["addresses"][0].get<uint64_t>() + 4 * lane);
      EXPECT_TRUE(addresses[access["op"]].insert(address).second);
    }
  }
  for (const char *op : {"load", "store"}) {
    ASSERT_EQ(addresses[op].size(), 256u);
    EXPECT_EQ(*addresses[op].rbegin() - *addresses[op].begin(), 255u * 4);
  }
}

TEST(LiveReport, ARecordingGivesTheSameAnalysis) {
  const std::string stem = ::testing::TempDir() + "fade-live-" + std::to_string(getpid());
  const ProbeResult live =
      probe("-i -a MemoryAnalysis Heatmap -t json --record " + stem + ".trace", FADE_GOLDEN);
  ASSERT_EQ(live.exit_code, 0) << live.output;
  const std::string command = std::string(FADE_PROBE) + " analyze " + stem +
                              ".trace -a MemoryAnalysis Heatmap -t json -l " + stem + ".jsonl";
  ASSERT_EQ(std::system(command.c_str()), 0);
  ProbeResult replay;
  std::ostringstream text;
  text << std::ifstream(stem + ".jsonl").rdbuf();
  replay.report = text.str();
  std::remove((stem + ".trace").c_str());
  std::remove((stem + ".jsonl").c_str());
  for (const char *type : {"memory", "memory_total", "heatmap", "heatmap_total"}) {
    // The order of dispatches may differ, what is said of each may not.
    std::multiset<std::string> before, after;
    for (const json &one : live.objects(type)) before.insert(one.dump());
    for (const json &one : replay.objects(type)) after.insert(one.dump());
    EXPECT_FALSE(before.empty());
    EXPECT_EQ(before, after) << type;
  }
}

} // namespace
} // namespace fade::testing
