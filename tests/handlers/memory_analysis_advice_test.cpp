// MemoryAnalysis: what it advises, and the report as people read it.
#include "memory_analysis_fixture.h"

#include <regex>

namespace fade::testing {
namespace {

TEST_F(MemoryAnalysisTest, TheReportNamesTheWorstLineFirstAndAdvises) {
  const auto good = load(), bad = load();
  const auto column = ldsLoad();
  stream.wave();
  stream.affine(good, 0x10000, 4);
  stream.affine(bad, 0x10000, 256);
  stream.affine(column, 0, 256);
  HostOptions options;
  options.format = Format::text;
  HandlerHost host({{"MemoryAnalysis", ""}}, options);
  host.dispatch("kernel()", table.build("kernel"), stream);
  const std::string text = host.finish();
  const auto at_bad = text.find("kernel.hip:2:1"), at_good = text.find("kernel.hip:1:1");
  ASSERT_NE(at_bad, std::string::npos) << text;
  ASSERT_NE(at_good, std::string::npos) << text;
  EXPECT_LT(at_bad, at_good);
  EXPECT_NE(text.find("Neighboring lanes are 256 bytes apart: 64 cache lines per wave where 2"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("pad each row by one element (4"), std::string::npos) << text;
}

// unsigned char tile[64][128], read by columns: the 32 lanes of a half meet in one bank, 31 extra
// turns for each half. With rows of 129 bytes lane i is in bank i / 4, four to a bank: 3 extra
// turns for each half. With 132 each lane of a half has a bank of its own.
TEST_F(MemoryAnalysisTest, BytesArePaddedToTheNextBank) {
  const auto column = ldsLoad(1);
  stream.wave();
  stream.affine(column, 0, 128);
  const json access = lds();
  EXPECT_EQ(access["conflicts"], 62);
  EXPECT_EQ(access["advice"],
            "Lanes are 128 bytes apart, a multiple of all 32 banks, so they all "
            "access one bank: 62 extra cycles per wave; pad each row by 4 elements "
            "(4 bytes): none is left then.");
}

TEST_F(MemoryAnalysisTest, OneElementMoreInARowOfBytesDoesNotDo) {
  const auto column = ldsLoad(1);
  stream.wave();
  stream.affine(column, 0, 129);
  EXPECT_EQ(lds()["conflicts"], 6);
}

TEST_F(MemoryAnalysisTest, ARowPaddedAsAdvisedHasNoConflicts) {
  struct Case {
    uint32_t bytes;
    int32_t row;
    const char *padding;
    int32_t padded;
  };
  for (const Case &c :
       {Case{1, 256, "by 4 elements (4 bytes)", 260}, Case{2, 128, "by 2 elements (4 bytes)", 132},
        Case{4, 128, "by one element (4 bytes)", 132},
        Case{8, 256, "by one element (8 bytes)", 264}}) {
    table = {};
    stream = {};
    const auto column = ldsLoad(c.bytes);
    stream.wave();
    stream.affine(column, 0, c.row);
    EXPECT_NE(lds()["advice"].get<std::string>().find(c.padding), std::string::npos) << lds();
    table = {};
    stream = {};
    const auto padded = ldsLoad(c.bytes);
    stream.wave();
    stream.affine(padded, 0, c.padded);
    EXPECT_EQ(lds()["conflicts"], 0) << c.bytes;
    EXPECT_EQ(lds()["advice"], "");
  }
}

// Columns of a tile, 32 lanes in each and the next column behind it, as a block of 32 x 8 reads
// them; and blocks of 8 x 8, where one element more would leave an extra cycle for each half. Of
// small elements one more would do for the first column, and not for those that begin within a
// dword.
TEST_F(MemoryAnalysisTest, PaddingIsWorkedOutForRowsOfLanes) {
  struct Case {
    uint32_t bytes;
    uint64_t row, lanes;
    uint64_t conflicts;
    const char *padding;
    uint64_t padded, left;
  };
  for (const Case &c : {Case{2, 64, 32, 30, "by 2 elements (4 bytes): none is left", 68, 0},
                        Case{1, 32, 32, 14, "by 4 elements (4 bytes): none is left", 36, 0},
                        Case{4, 32, 8, 2, "by 4 elements (16 bytes): none is left", 48, 0}}) {
    const auto columns = [&](uint64_t row) {
      table = {};
      stream = {};
      const auto site = ldsLoad(c.bytes);
      stream.wave();
      std::vector<uint64_t> addresses;
      for (uint64_t lane = 0; lane < 64; ++lane)
        addresses.push_back(lane % c.lanes * row + lane / c.lanes * c.bytes);
      stream.access(site, ~uint64_t{0}, addresses);
      return lds();
    };
    const json before = columns(c.row);
    EXPECT_EQ(before["conflicts"], c.conflicts);
    EXPECT_NE(before["advice"].get<std::string>().find(c.padding), std::string::npos) << before;
    EXPECT_EQ(columns(c.padded)["conflicts"], c.left);
  }
}

// Every second float of an array: 64 lanes use 4 lines where 2 would do. Nobody knows of a struct.
TEST_F(MemoryAnalysisTest, StructsAreSpokenOfOnlyWhereTheSourceHasOne) {
  const std::string path = ::testing::TempDir() + "/members.hip";
  std::ofstream(path) << "out[i] = in[2 * i];\n"   // the load is at column 10
                         "out[i] = points[i].x;\n" // the member at 20
                         "out[i] = point->x;\n"    // and at 17
                         "points[i].x = in;\n"     // the store at 13
                         "out[2 * i] = in;\n";     // at 12
  for (const auto &[line, column, is_member] :
       {std::tuple(1u, 10u, false), std::tuple(2u, 20u, true), std::tuple(3u, 17u, true),
        std::tuple(4u, 13u, true), std::tuple(5u, 12u, false)}) {
    table = {};
    stream = {};
    SiteTableBuilder::Site site;
    site.kind = FADE_SITE_LOAD;
    site.space = FADE_SPACE_GLOBAL;
    site.size = 4;
    site.file = path;
    site.line = line;
    site.column = column;
    const auto every_second = table.add(site);
    stream.wave();
    stream.affine(every_second, 0x10000, 8);
    const std::string advice = global()["advice"];
    EXPECT_EQ(advice.find("struct of arrays") != std::string::npos, is_member) << advice;
    EXPECT_EQ(advice.find("4 of every 8 bytes are used") != std::string::npos, !is_member)
        << advice;
  }
}

TEST_F(MemoryAnalysisTest, LanesThatStandByAreSpokenOf) {
  const auto few = load(), half = load();
  stream.wave();
  stream.affine(few, 0x10000, 4, 0xf);      // 4 of 64
  stream.affine(half, 0x20000, 4, kWave32); // 32 of 64
  const json memory = run();
  ASSERT_EQ(memory["global"].size(), 2u);
  for (const json &access : memory["global"]) {
    EXPECT_EQ(access["efficiency"], 1.0);
    EXPECT_EQ(access["lane_slots"], 64);
    const bool is_few = access["lanes"] == 4;
    EXPECT_EQ(access["advice"].get<std::string>().starts_with("Only 4 of 64 lanes are active"),
              is_few)
        << access;
  }
  HostOptions options;
  options.format = Format::text;
  HandlerHost host({{"MemoryAnalysis", ""}}, options);
  host.dispatch("kernel()", table.build("kernel"), stream);
  const std::string text = host.finish();
  EXPECT_NE(text.find(" active "), std::string::npos) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("\\n +kernel.hip:1:1 .* 1 +6% +1 +1 +100%")))
      << text;
}

} // namespace
} // namespace fade::testing
