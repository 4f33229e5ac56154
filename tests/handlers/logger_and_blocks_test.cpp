#include "handler_host.h"
#include "report_schema.h"

#include <gtest/gtest.h>

#include <bit>

namespace fade::testing {
namespace {

using nlohmann::json;

TEST(MessageLogger, EveryRecordIsALineWithExactLanesAndAddresses) {
  SiteTableBuilder table;
  const auto load = table.add({FADE_SITE_LOAD});
  Stream stream;
  stream.wave(5);
  std::vector<uint64_t> addresses(64);
  addresses[3] = 0x7f0012345678;
  addresses[60] = 0x42;
  stream.access(load, uint64_t{1} << 3 | uint64_t{1} << 60, addresses);
  stream.waveEnd(99);
  HandlerHost host(std::vector<HandlerChoice>{{"MessageLogger", ""}});
  host.dispatch("k", table.build("k"), stream);
  const std::string report = host.finish();
  const auto accesses = objectsOf(report, "access");
  ASSERT_EQ(accesses.size(), 1u);
  EXPECT_EQ(accesses[0]["workgroup"], json::parse("[5,0,0]"));
  EXPECT_EQ(accesses[0]["lanes"], json::parse("[3,60]"));
  EXPECT_EQ(accesses[0]["addresses"][0], 0x7f0012345678);
  EXPECT_EQ(accesses[0]["addresses"][1], 0x42);
  EXPECT_EQ(accesses[0]["op"], "load");
  EXPECT_EQ(objectsOf(report, "wave_begin").size(), 1u);
  const auto ends = objectsOf(report, "wave_end");
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0]["clock"], 99);
}

TEST(MessageLogger, WhatAKernelsAuthorRecordsIsAPlaceANumberAndValues) {
  SiteTableBuilder table;
  SiteTableBuilder::Site site;
  site.kind = FADE_SITE_USER;
  site.space = FADE_SPACE_NONE;
  site.size = 7;
  site.line = 12;
  const auto whole = table.add(site);
  site.flags = FADE_SITE_IS_DOUBLE;
  const auto real = table.add(site);
  Stream stream;
  stream.wave();
  std::vector<uint64_t> values(64, static_cast<uint64_t>(int64_t{-5}));
  values[1] = 100;
  stream.user(whole, 3, values);
  stream.user(real, 1, std::vector<uint64_t>(64, std::bit_cast<uint64_t>(0.25)));
  const auto report = [&](Format format) {
    HostOptions options;
    options.format = format;
    HandlerHost host({{"MessageLogger", ""}}, options);
    host.dispatch("k", table.build("k"), stream);
    return host.finish();
  };
  const auto lines = objectsOf(report(Format::json), "user");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(schemaFault(lines[0]), "");
  EXPECT_EQ(lines[0]["line"], 12);
  EXPECT_EQ(lines[0]["number"], 7);
  EXPECT_EQ(lines[0]["lanes"], json::parse("[0,1]"));
  EXPECT_EQ(lines[0]["values"], json::parse("[-5,100]"));
  EXPECT_EQ(lines[1]["values"], json::parse("[0.25]"));
  const std::string text = report(Format::text), csv = report(Format::csv);
  EXPECT_NE(text.find("kernel.hip:12:1 user 7: -5 100\n"), text.npos) << text;
  EXPECT_NE(text.find("kernel.hip:12:1 user 7: 0.25\n"), text.npos) << text;
  EXPECT_NE(csv.find(",0x3,1,100,"), csv.npos) << csv;
}

TEST(MessageLogger, RecordsOfADispatchComeInOrderAlsoWithSeveralWorkers) {
  SiteTableBuilder table;
  const auto block = table.add({FADE_SITE_BLOCK});
  Stream stream;
  stream.wave();
  for (uint64_t i = 0; i < 5000; ++i) stream.block(block, kAll, i);
  HostOptions options;
  options.workers = 4;
  options.batch = 256;
  HandlerHost host({{"MessageLogger", ""}}, options);
  host.dispatch("k", table.build("k"), stream);
  const auto blocks = host.finish("block");
  ASSERT_EQ(blocks.size(), 5000u);
  for (std::size_t i = 0; i < blocks.size(); ++i) ASSERT_EQ(blocks[i]["clock"], i);
}

TEST(MessageLogger, KernelNamesAreEscaped) {
  SiteTableBuilder table;
  const auto load = table.add({FADE_SITE_LOAD});
  Stream stream;
  stream.wave();
  stream.affine(load, 0x1000, 4);
  HandlerHost host(std::vector<HandlerChoice>{{"MessageLogger", ""}});
  const std::string name = "k\"\\\n\t\x01<\xc3\xa4>"; // quotes, control characters, UTF-8
  host.dispatch(name, table.build("k"), stream);
  const auto accesses = host.finish("access");
  ASSERT_EQ(accesses.size(), 1u);
  EXPECT_EQ(accesses[0]["kernel"], name);
}

class BlockCountsTest : public ::testing::Test {
protected:
  SiteTableBuilder table;
  uint32_t head = table.add(block(10));
  uint32_t body = table.add(block(12));
  Stream stream;

  static SiteTableBuilder::Site block(uint32_t line) {
    SiteTableBuilder::Site site;
    site.kind = FADE_SITE_BLOCK;
    site.line = line;
    site.lines = {line, line + 1};
    return site;
  }
  json run(std::vector<fade_counter> counters = {}, const std::string &target = "gfx90a") {
    HandlerHost host(std::vector<HandlerChoice>{{"BlockCounts", ""}}, {.target = target});
    host.dispatch("k", table.build("k"), stream, std::move(counters));
    const auto all = host.finish("blocks");
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? json::object() : all[0]["blocks"];
  }
};

TEST_F(BlockCountsTest, RecordsGiveExecutionsLanesTimesAndDivergence) {
  stream.wave();
  stream.block(head, kAll, 100);
  stream.block(body, 0xf, 130);
  stream.block(body, 0x3, 150);
  stream.block(head, kAll, 155);
  stream.waveEnd(160);
  const json blocks = run();
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0]["line"], 10);
  EXPECT_EQ(blocks[0]["lines"], json::parse("[10,11]"));
  EXPECT_EQ(blocks[0]["executions"], 2);
  EXPECT_EQ(blocks[0]["lanes"], 128);
  EXPECT_EQ(blocks[0]["divergent"], 0);
  EXPECT_EQ(blocks[0]["clocks"], 30 + 5);
  EXPECT_EQ(blocks[1]["executions"], 2);
  EXPECT_EQ(blocks[1]["lanes"], 6);
  EXPECT_EQ(blocks[1]["divergent"], 2);
  EXPECT_EQ(blocks[1]["clocks"], 20 + 5);
  EXPECT_DOUBLE_EQ(blocks[1]["lane_share"], 6.0 / 128);
}

TEST_F(BlockCountsTest, AClockOfTwentyBitsMayStartAgainInsideOfABlock) {
  stream.wave();
  stream.block(head, kAll, 0xffff0);
  stream.block(body, kAll, 0x10); // 32 clocks later
  stream.waveEnd(0x30);
  const json on_gfx11 = run({}, "gfx1100");
  EXPECT_EQ(on_gfx11[0]["clocks"], 0x20);
  EXPECT_EQ(on_gfx11[1]["clocks"], 0x20);
  // The clocks of others have 64 bits.
  stream = {};
  stream.wave();
  stream.block(head, kAll, 0xffff0);
  stream.block(body, kAll, 0x300010);
  stream.waveEnd(0x300030);
  EXPECT_EQ(run({}, "gfx1030")[0]["clocks"], 0x300010 - 0xffff0);
  EXPECT_EQ(run({}, "gfx1201")[0]["clocks"], 0x300010 - 0xffff0);
}

TEST_F(BlockCountsTest, WavesSplitWhereOnlyAPartOfTheLanesGoesOn) {
  stream.wave();
  stream.block(head, kAll, 100); // if: half of the lanes go into the body
  stream.block(body, 0xffff'ffff, 110);
  stream.block(head, kAll, 120); // all come back: no split
  stream.block(body, kAll, 130); // all go into the body: no split
  stream.block(body, 0xff, 140); // a loop that most lanes leave
  stream.waveEnd(150);
  const json blocks = run();
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0]["splits"], 1);
  EXPECT_EQ(blocks[1]["splits"], 1);
  EXPECT_EQ(blocks[1]["divergent"], 2);
}

TEST_F(BlockCountsTest, WavesAreFollowedOneByOne) {
  Stream two;
  two.wave();
  two.block(head, kAll, 100);
  two.wave(1);
  two.block(body, 0xf, 5000); // another wave: neither time nor split of the first
  two.waveEnd(5010);
  stream = two;
  const json blocks = run();
  EXPECT_EQ(blocks[0]["splits"], 0);
  EXPECT_FALSE(blocks[0].contains("clocks")); // its end was not seen
  EXPECT_EQ(blocks[1]["clocks"], 10);
}

TEST_F(BlockCountsTest, LinesAddUpTheBlocksThatHoldThem) {
  SiteTableBuilder::Site shared = block(12);
  shared.lines = {12, 20};
  const auto other = table.add(shared);
  stream.wave();
  stream.block(body, kAll, 100);
  stream.block(other, 0xf, 110);
  HandlerHost host(std::vector<HandlerChoice>{{"BlockCounts", ""}});
  host.dispatch("k", table.build("k"), stream);
  const auto all = host.finish("blocks");
  ASSERT_EQ(all.size(), 1u);
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> lines;
  for (const json &line : all[0]["lines"]) {
    EXPECT_EQ(line["file"], "kernel.hip");
    lines[line["line"].get<uint64_t>()] = {line["executions"], line["lanes"]};
  }
  using Want = std::map<uint64_t, std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(lines, (Want{{10, {0, 0}}, {11, {0, 0}}, {12, {2, 68}}, {13, {1, 64}}, {20, {1, 4}}}));
}

TEST_F(BlockCountsTest, CountersGiveExecutionsAndLanes) {
  stream.wave();
  const json blocks = run({{10, 630}, {3, 0}});
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0]["executions"], 10);
  EXPECT_EQ(blocks[0]["lanes"], 640);
  EXPECT_EQ(blocks[1]["executions"], 3);
  EXPECT_EQ(blocks[1]["lanes"], 3);
  EXPECT_FALSE(blocks[0].contains("clocks"));
}

} // namespace
} // namespace fade::testing
