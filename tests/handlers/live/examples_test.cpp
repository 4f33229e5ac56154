// The examples do what their READMEs say: each is right in both forms, and the report shows the
// problem in the slow one and its absence in the fast one.
#include "probe.h"
#include "report_schema.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <unistd.h>

namespace fade::testing {
namespace {

using nlohmann::json;

class Examples : public ::testing::Test {
protected:
  /// The last object of a type that the analyzer reports for an example.
  static json run(const std::string &analyzer, const std::string &type, const std::string &example,
                  const std::string &form) {
    const ProbeResult result = probe("-i -a " + analyzer + " -t json --gpu gfx90a",
                                     FADE_EXAMPLES "/example_" + example + " " + form);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    const auto objects = result.objects(type);
    EXPECT_FALSE(objects.empty()) << result.report;
    return objects.empty() ? json::object() : objects.back();
  }
  static json memory(const std::string &example, const std::string &form) {
    return run("MemoryAnalysis", "memory", example, form);
  }
  static uint64_t sum(const json &list, const char *field, const std::string &op = "") {
    uint64_t total = 0;
    for (const json &access : list)
      if (op.empty() || access["op"] == op) total += access[field].get<uint64_t>();
    return total;
  }
};

TEST_F(Examples, UncoalescedCopyUses32TimesTheLines) {
  const json slow = memory("uncoalesced", "slow"), fast = memory("uncoalesced", "fast");
  EXPECT_EQ(sum(slow["global"], "lines_used"), 32768u);
  EXPECT_EQ(sum(fast["global"], "lines_used"), 1024u);
  EXPECT_EQ(sum(fast["global"], "lines_wasted"), 0u);
}

TEST_F(Examples, TransposeHasBothProblemsAndLosesThem) {
  const json slow = memory("transpose", "slow"), fast = memory("transpose", "fast");
  EXPECT_EQ(sum(slow["global"], "lines_used", "store"), 32768u);
  EXPECT_EQ(sum(slow["lds"], "conflicts"), 2u * 63488);
  EXPECT_EQ(sum(fast["global"], "lines_used", "store"), 2048u);
  EXPECT_EQ(sum(fast["global"], "lines_wasted"), 0u);
  EXPECT_EQ(sum(fast["lds"], "conflicts"), 0u);
}

TEST_F(Examples, HistogramInLdsHasFewAtomicsInMemoryAndNoneThatMeet) {
  const json slow = memory("histogram", "slow"), fast = memory("histogram", "fast");
  EXPECT_EQ(sum(slow["global"], "lanes", "atomic"), 16384u);
  EXPECT_GT(sum(slow["global"], "same_address"), 15000u);
  EXPECT_EQ(sum(fast["global"], "lanes", "atomic"), 128u);
  EXPECT_EQ(sum(fast["global"], "same_address"), 0u);
  EXPECT_EQ(sum(fast["lds"], "same_address"), 0u);
}

TEST_F(Examples, DivergentWavesRunBothLoopsWithHalfTheLanes) {
  const json slow = run("BlockCounts", "blocks", "divergence", "slow");
  const json fast = run("BlockCounts", "blocks", "divergence", "fast");
  EXPECT_EQ(sum(slow["blocks"], "splits"), 64u);
  EXPECT_EQ(sum(slow["blocks"], "divergent"), 2048u + 128 + 64 + 64);
  EXPECT_EQ(sum(fast["blocks"], "splits"), 0u);
  EXPECT_EQ(sum(fast["blocks"], "divergent"), 0u);
}

TEST_F(Examples, TiledMatmulReadsAQuarterOfTheLines) {
  const json slow = memory("matmul", "slow"), fast = memory("matmul", "fast");
  // The compiler loads four elements of a row at a time.
  EXPECT_EQ(sum(slow["global"], "lines_used", "load"), 131072u / 4 + 32768);
  EXPECT_EQ(sum(fast["global"], "lines_used", "load"), 2u * 8192);
  EXPECT_EQ(sum(fast["lds"], "conflicts"), 0u);
}

TEST_F(Examples, HandlerBuildsOutsideTheTreeAndRuns) {
  const std::string dir = ::testing::TempDir() + "fade-handler-example-" + std::to_string(getpid());
  const std::string build = "cmake -S " FADE_EXAMPLES_SOURCE "/handler -B " + dir +
                            " -DCMAKE_CXX_COMPILER=" FADE_CXX " -DFADE_INCLUDE_DIR=" FADE_INCLUDE
                            " >/dev/null && cmake --build " +
                            dir + " >/dev/null";
  ASSERT_EQ(std::system(build.c_str()), 0) << build;
  const ProbeResult result = probe("-i -a " + dir + "/libStrideWatch.so:limit=64",
                                   FADE_EXAMPLES "/example_uncoalesced slow");
  std::filesystem::remove_all(dir);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const std::string source = FADE_EXAMPLES_SOURCE "/uncoalesced/copy.hip:";
  EXPECT_NE(result.report.find(source + "10: 256 of 256 executions"), std::string::npos)
      << result.report;
  EXPECT_NE(result.report.find(source + "11: 256 of 256 executions"), std::string::npos)
      << result.report;
}

} // namespace
} // namespace fade::testing
