// What looks wasteful in the source and is not in the machine code is no finding; and what twins
// record is what the software GPU sees the original do, line by line.
#include "probe.h"

#include <gtest/gtest.h>

#include <map>

namespace fade::testing {
namespace {

using nlohmann::json;

class Merged : public ::testing::TestWithParam<const char *> {
protected:
  /// The accesses of each kernel, as twins record them or as the software GPU sees the originals.
  static std::map<std::string, json> run(const std::string &processor, const std::string &who) {
    std::map<std::string, json> kernels;
    const ProbeResult result =
        probe("-i -a MemoryAnalysis -t json --observe " + who + " --gpu " + processor, FADE_MERGED);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    for (const json &memory : result.objects("memory")) {
      const auto name = memory["kernel"].get<std::string>();
      kernels[name.substr(0, name.find('('))] = memory["global"];
    }
    EXPECT_EQ(kernels.size(), 6u);
    return kernels;
  }
};

TEST_P(Merged, NoAccessIsAdvisedOnThatTheMachineMakesWell) {
  auto kernels = run(GetParam(), "pass");
  for (const char *kernel : {"structs", "vec4", "halves", "unrolled", "sum"})
    for (const json &access : kernels[kernel]) {
      EXPECT_EQ(access["advice"], "") << kernel << access;
      EXPECT_EQ(access["efficiency"], 1) << kernel << access;
      EXPECT_NE(access["machine"], "before merging") << kernel;
    }
  // The test would see it.
  EXPECT_EQ(kernels["half_struct"][0]["efficiency"], 0.25);
  EXPECT_NE(kernels["half_struct"][0]["advice"], "");
}

TEST_P(Merged, MergedAndCombinedAccessesAreNamed) {
  auto kernels = run(GetParam(), "pass");
  std::size_t parts = 0, combined = 0;
  for (const json &access : kernels["structs"])
    if (access["op"] == "load") {
      EXPECT_EQ(access["bytes"], 16u);
      parts = access.value("parts", json::array()).size();
    }
  EXPECT_GE(parts, 1u); // members on other lines and columns
  for (const json &access : kernels["sum"]) combined += access["machine"] == "combined" ? 1 : 0;
  EXPECT_EQ(combined, 1u);
}

TEST_P(Merged, TwinsRecordWhatTheSoftwareGpuSeesTheOriginalsDo) {
  const auto said = run(GetParam(), "pass"), seen = run(GetParam(), "gpu");
  const auto byLine = [](const json &accesses) {
    std::map<std::pair<uint64_t, std::string>, std::pair<uint64_t, uint64_t>> lines;
    for (const json &access : accesses) {
      auto &line = lines[{access["line"].get<uint64_t>(), access["op"].get<std::string>()}];
      line.first += access["lines_used"].get<uint64_t>();
      line.second += access["executions"].get<uint64_t>();
    }
    return lines;
  };
  for (const auto &[kernel, accesses] : said)
    EXPECT_EQ(byLine(accesses), byLine(seen.at(kernel))) << kernel;
}

INSTANTIATE_TEST_SUITE_P(Processors, Merged, ::testing::Values("gfx90a", "gfx1030"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace fade::testing
