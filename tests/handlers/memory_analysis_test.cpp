// MemoryAnalysis: cache lines, atomics, and accesses that the compiler merged, moved or removed.
// Every number is worked out by hand from the rules: a wave's lanes need ceil(lanes * size / line)
// cache lines and use as many as their bytes touch.
#include "extent.h"
#include "memory_analysis_fixture.h"

#include <bit>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>

namespace fade::testing {
namespace {

TEST_F(MemoryAnalysisTest, AccessesThatBecameOneAreOneAndNamed) {
  // Four floats of a struct, loaded at once; the other three are only in the table.
  const auto whole = load(16);
  for (const uint32_t column : {20u, 30u}) {
    SiteTableBuilder::Site part;
    part.line = 1;
    part.column = column;
    part.flags = FADE_SITE_IS_GONE;
    part.done_by = whole + 1;
    table.add(part);
  }
  stream.wave();
  stream.affine(whole, 0x10000, 16);
  const json access = global();
  EXPECT_EQ(access["efficiency"], 1);
  EXPECT_EQ(access["advice"], "");
  EXPECT_EQ(access["machine"], "");
  EXPECT_EQ(access["parts"], json::parse(R"([{"line":1,"column":20},{"line":1,"column":30}])"));
}

TEST_F(MemoryAnalysisTest, AtomicsThatTheCompilerCombinedAreNoFinding) {
  SiteTableBuilder::Site made;
  made.kind = FADE_SITE_ATOMIC;
  made.flags = FADE_SITE_IS_COMBINED;
  const auto atomic = table.add(made);
  for (uint32_t wave = 0; wave < 64; ++wave) {
    stream.wave(wave);
    stream.affine(atomic, 0x10000, 0, 1);
  }
  const json access = global();
  EXPECT_EQ(access["machine"], "combined");
  EXPECT_EQ(access["same_address"], 0u);
  EXPECT_EQ(access["advice"], "");
}

TEST_F(MemoryAnalysisTest, WhereMergingIsNotKnownTheAdviceSaysSo) {
  table.modes = FADE_MODE_ACCESSES;
  const auto in = load();
  stream.wave();
  stream.affine(in, 0x10000, 16);
  const json access = global();
  EXPECT_EQ(access["machine"], "before merging");
  EXPECT_TRUE(access["advice"].get<std::string>().starts_with("Before merging: ")) << access;
}

TEST_F(MemoryAnalysisTest, TwoAddressesOfAnInstructionTakeTurnsOfTheirOwn) {
  // ds_read2_b32 for two floats side by side: rows of 33 floats meet nowhere, of 34 two and two.
  struct Expected {
    int64_t row;
    uint64_t conflicts;
    const char *advice;
  };
  for (const auto &[row, conflicts, advice] :
       {Expected{33, 0, ""},
        Expected{34, 4, "pad each row by one element (4 bytes): none is left then."},
        Expected{32, 124, "pad each row by one element (4 bytes): none is left then."}}) {
    table = {};
    stream = {};
    const auto pair = site(FADE_SITE_LOAD, FADE_SPACE_LDS, 8, FADE_SITE_OF_PIECES(4));
    stream.wave();
    stream.affine(pair, 0, row * 4);
    const json access = lds();
    EXPECT_EQ(access["bytes"], 4) << row;
    EXPECT_EQ(access["executions"], 2) << row;
    EXPECT_EQ(access["lanes"], 128) << row;
    EXPECT_EQ(access["total_bytes"], 512) << row;
    EXPECT_EQ(access["conflicts"], conflicts) << row;
    EXPECT_TRUE(access["advice"].get<std::string>().ends_with(advice)) << access["advice"];
  }
}

TEST_F(MemoryAnalysisTest, AnAtomicThatTheGpuDoesNotHaveIsALoop) {
  const auto first = site(FADE_SITE_LOAD, FADE_SPACE_GLOBAL, 4, FADE_SITE_IS_LOOP);
  stream.wave();
  stream.affine(first, 0x10000, 4);
  EXPECT_EQ(global()["machine"], "loop");
}

TEST_F(MemoryAnalysisTest, WideAccessesAreDoneInPieces) {
  // 32 bytes of each lane, side by side, as two loads of 16: each goes to all 16 lines and needs 8.
  const auto in = load(32);
  stream.wave();
  stream.affine(in, 0x10000, 32);
  expectLines(1, 64, 16, 32);
}

TEST_F(MemoryAnalysisTest, PiecesOfAWideAccessAreNotCalledMisaligned) {
  const auto in = load(32);
  stream.wave();
  stream.affine(in, 0x10000, 32);
  const std::string advice = global()["advice"];
  EXPECT_NE(advice.find("32 bytes of its own, which takes 2 instructions"), std::string::npos)
      << advice;
  EXPECT_EQ(advice.find("start at a multiple"), std::string::npos) << advice;
}

TEST_F(MemoryAnalysisTest, AccessesThatTheCompilerMovedOrRemovedAreNamed) {
  const auto there = load();
  SiteTableBuilder::Site other;
  other.file = "";
  other.line = other.column = 0;
  const auto moved = table.add(other);
  other = {};
  other.kind = FADE_SITE_STORE;
  other.line = 9;
  other.flags = FADE_SITE_IS_GONE;
  table.add(other);
  // A part of what is still there in another place of an unrolled loop.
  other.kind = FADE_SITE_LOAD;
  other.line = 1;
  table.add(other);
  stream.wave();
  stream.affine(there, 0x10000, 4);
  stream.affine(moved, 0x20000, 4);
  HostOptions options;
  options.target = target;
  HandlerHost host({{"MemoryAnalysis", ""}}, options);
  host.dispatch("kernel", table.build("kernel"), stream);
  const auto totals = host.finish("memory_total");
  ASSERT_EQ(totals.size(), 1u);
  std::map<uint32_t, std::string> machine;
  for (const json &access : totals[0]["global"]) machine[access["line"]] = access["machine"];
  EXPECT_EQ(machine, (std::map<uint32_t, std::string>{{0, "moved"}, {1, ""}}));
  EXPECT_EQ(totals[0]["removed"],
            json::parse(R"([{"file":"kernel.hip","line":9,"column":1,"op":"store","bytes":4}])"));
}

TEST_F(MemoryAnalysisTest, WithoutAnyLinesNothingIsCalledMoved) {
  SiteTableBuilder::Site site;
  site.file = "";
  site.line = site.column = 0;
  const auto in = table.add(site);
  stream.wave();
  stream.affine(in, 0x10000, 4);
  EXPECT_EQ(global()["machine"], "");
}

TEST_F(MemoryAnalysisTest, CopyOfIntsByTwoWavesUsesWhatItNeeds) {
  const auto in = load();
  stream.wave();
  stream.affine(in, 0x10000, 4);
  stream.wave();
  stream.affine(in, 0x10100, 4);
  expectLines(2, 128, 4, 4);
}

TEST_F(MemoryAnalysisTest, StrideOf32IntsUsesALineForEachLane) {
  stream.wave();
  stream.affine(load(), 0x10000, 128);
  expectLines(1, 64, 2, 64);
}

TEST_F(MemoryAnalysisTest, StrideOfTwoIntsUsesTwiceTheLines) {
  stream.wave();
  stream.affine(load(), 0x10000, 8); // 504 + 4 bytes from the start of a line
  expectLines(1, 64, 2, 4);
}

TEST_F(MemoryAnalysisTest, NegativeStrideIsAsGoodAsPositive) {
  stream.wave();
  stream.affine(load(), 0x10000 + 63 * 4, -4);
  expectLines(1, 64, 2, 2);
}

TEST_F(MemoryAnalysisTest, MisalignedWaveUsesOneLineMore) {
  stream.wave();
  stream.affine(load(), 0x10004, 4);
  expectLines(1, 64, 2, 3);
}

TEST_F(MemoryAnalysisTest, ElementsThatCrossLinesCountInBoth) {
  stream.wave();
  stream.affine(load(8), 0x10000 + 124, 256); // each lane: 4 bytes in one line, 4 in the next
  expectLines(1, 64, 4, 128);
}

TEST_F(MemoryAnalysisTest, BroadcastUsesOneLine) {
  stream.wave();
  stream.affine(load(), 0x10000, 0);
  expectLines(1, 64, 2, 1);
}

TEST_F(MemoryAnalysisTest, VectorLoadOf16BytesNeedsEightLines) {
  stream.wave();
  stream.affine(load(16), 0x10000, 16);
  expectLines(1, 64, 8, 8);
}

TEST_F(MemoryAnalysisTest, GatherUsesTheLinesItTouches) {
  stream.wave();
  std::vector<uint64_t> addresses(64);
  for (uint64_t i = 0; i < 64; ++i) addresses[i] = 0x10000 + 128 * (i * 37 % 50) + 4 * i % 128;
  // i * 37 mod 50 takes each of 50 values: 50 lines, 14 of them twice.
  stream.access(load(), kAll, addresses);
  expectLines(1, 64, 2, 50);
}

TEST_F(MemoryAnalysisTest, PartialWaveNeedsOnlyWhatItsLanesNeed) {
  stream.wave();
  stream.affine(load(), 0x10000, 4, 0xff);
  expectLines(1, 8, 1, 1);
}

TEST_F(MemoryAnalysisTest, MaskWithHolesUsesOnlyTheLinesOfItsLanes) {
  stream.wave();
  stream.affine(load(), 0x10000, 32, 0x8000'0000'0000'0001); // 2016 bytes apart
  expectLines(1, 2, 1, 2);
}

TEST_F(MemoryAnalysisTest, Wave32NeedsOneLine) {
  target = "gfx1030";
  stream.wave(0, true);
  stream.affine(load(), 0x10000, 4, kWave32);
  expectLines(1, 32, 1, 1);
}

TEST_F(MemoryAnalysisTest, Gfx906Has64ByteLines) {
  target = "gfx906";
  stream.wave();
  stream.affine(load(), 0x10000, 4);
  expectLines(1, 64, 4, 4);
}

TEST_F(MemoryAnalysisTest, TiledAddressesAreCountedLaneByLane) {
  stream.wave();
  std::vector<uint64_t> addresses(64);
  for (uint64_t i = 0; i < 64; ++i) addresses[i] = 0x10000 + (i % 16) * 4 + (i / 16) * 4096;
  stream.access(load(), kAll, addresses); // four rows of 64 bytes, each in a line of its own
  expectLines(1, 64, 2, 4);
}

TEST_F(MemoryAnalysisTest, CopiesCountAllTheirBytes) {
  const auto fill = site(FADE_SITE_FILL, FADE_SPACE_GLOBAL, 0);
  stream.wave();
  std::vector<uint64_t> addresses(64);
  for (uint64_t i = 0; i < 64; ++i) addresses[i] = 0x10000 + 1000 * i;
  stream.access(fill, kAll, addresses, 1000); // 64000 bytes without a gap
  const json access = global();
  EXPECT_EQ(access["op"], "store");
  EXPECT_EQ(access["total_bytes"], 64000);
  EXPECT_EQ(access["lines_needed"], 500);
  // Each lane fills its own stretch, 16 bytes at a time: 62 times 64 lines and one more for each of
  // the 248 pieces that begin 8 bytes before the end of a line, and 64 for the last 8 bytes.
  EXPECT_EQ(access["lines_used"], 62 * 64 + 248 + 64);
}

TEST_F(MemoryAnalysisTest, AtomicsOnOneAddressWaitForEachOther) {
  const auto atomic = site(FADE_SITE_ATOMIC, FADE_SPACE_GLOBAL, 4);
  stream.wave();
  stream.affine(atomic, 0x10000, 0);
  stream.affine(atomic, 0x10000, 4);
  std::vector<uint64_t> addresses(64);
  for (uint64_t i = 0; i < 64; ++i) addresses[i] = 0x10000 + 4 * (i * i % 7 % 3);
  // i*i mod 7 is 0, 1, 2 or 4; mod 3: 0, 1, 2, 1. Three addresses for 64 lanes.
  stream.access(atomic, kAll, addresses);
  const json access = global();
  EXPECT_EQ(access["op"], "atomic");
  EXPECT_EQ(access["executions"], 3);
  EXPECT_EQ(access["same_address"], 63 + 0 + 61);
}

// Combining the values within the wave goes through LDS as often.
TEST_F(MemoryAnalysisTest, LdsAtomicsOnOneAddressAreAdvisedSeveralCopies) {
  stream.wave();
  stream.affine(site(FADE_SITE_ATOMIC, FADE_SPACE_LDS, 4), 0x40, 0);
  const std::string advice = lds()["advice"];
  EXPECT_TRUE(
      advice.starts_with("63 lanes of each wave share their LDS address with another lane"));
  EXPECT_NE(advice.find("several copies"), std::string::npos) << advice;
  EXPECT_EQ(advice.find("combine"), std::string::npos) << advice;
}

TEST_F(MemoryAnalysisTest, FlatAccessesAreToldApartByAddress) {
  const auto flat = site(FADE_SITE_LOAD, FADE_SPACE_FLAT, 4);
  stream.wave();
  std::vector<uint64_t> addresses(64);
  for (uint64_t i = 0; i < 64; ++i)
    addresses[i] = i < 32   ? 0x7f00'0000'0000 + 4 * i
                   : i < 48 ? (uint64_t{Stream::kSharedBase} << 32) + 128 * i // all in bank 0
                            : (uint64_t{Stream::kPrivateBase} << 32) + 4 * i;
  stream.access(flat, kAll, addresses);
  const json memory = run();
  ASSERT_EQ(memory["global"].size(), 1u);
  ASSERT_EQ(memory["lds"].size(), 1u);
  EXPECT_EQ(memory["global"][0]["lanes"], 32);
  EXPECT_EQ(memory["global"][0]["lines_used"], 1);
  EXPECT_EQ(memory["lds"][0]["lanes"], 16);
  EXPECT_EQ(memory["lds"][0]["conflicts"], 15);
}

TEST_F(MemoryAnalysisTest, TransposeThroughPaddedLdsIsCleanOnBothSides) {
  // out[x][y] = tile[x][y]: 64 x 64 floats, row padded to 65. Stores by row, loads by column.
  const auto in = load(), put = site(FADE_SITE_STORE, FADE_SPACE_LDS, 4), take = ldsLoad(),
             out = site(FADE_SITE_STORE, FADE_SPACE_GLOBAL, 4);
  for (uint64_t y = 0; y < 64; ++y) {
    stream.wave();
    stream.affine(in, 0x10000 + 256 * y, 4);
    stream.affine(put, 260 * y, 4);
    stream.affine(take, 4 * y, 260);
    stream.affine(out, 0x20000 + 256 * y, 4);
  }
  const json memory = run(4);
  ASSERT_EQ(memory["global"].size(), 2u);
  ASSERT_EQ(memory["lds"].size(), 2u);
  for (const json &access : memory["global"]) {
    EXPECT_EQ(access["executions"], 64);
    EXPECT_EQ(access["lines_needed"], 128);
    EXPECT_EQ(access["lines_used"], 128);
  }
  for (const json &access : memory["lds"]) EXPECT_EQ(access["conflicts"], 0);
}

TEST_F(MemoryAnalysisTest, SitesOfOneSourcePlaceAreOneAccess) {
  SiteTableBuilder::Site same;
  same.line = 7;
  same.column = 3;
  const auto first = table.add(same), second = table.add(same); // an unrolled loop
  stream.wave();
  stream.affine(first, 0x10000, 4);
  stream.affine(second, 0x10100, 4);
  const json access = global();
  EXPECT_EQ(access["line"], 7);
  EXPECT_EQ(access["executions"], 2);
}

TEST_F(MemoryAnalysisTest, StridesAreCounted) {
  const auto in = load();
  stream.wave();
  for (int i = 0; i < 3; ++i) stream.affine(in, 0x10000, 4);
  stream.affine(in, 0x10000, 512);
  std::vector<uint64_t> addresses(64);
  for (uint64_t i = 0; i < 64; ++i) addresses[i] = 0x10000 + 4 * (i * i % 61);
  stream.access(in, kAll, addresses);
  const json access = global();
  EXPECT_EQ(access["strides"], json::parse(R"([{"stride":4,"executions":3},
                                               {"stride":512,"executions":1}])"));
  EXPECT_EQ(access["irregular"], 1);
}

TEST_F(MemoryAnalysisTest, RowsOfATileHaveTheStrideOfTheirLanes) {
  stream.wave();
  std::vector<uint64_t> addresses(64);
  for (uint64_t i = 0; i < 64; ++i) addresses[i] = 0x10000 + (i % 16) * 4 + (i / 16) * 4096;
  stream.access(load(), kAll, addresses); // 60 of 63 neighbors are 4 bytes apart
  const json access = global();
  EXPECT_EQ(access["strides"], json::parse(R"([{"stride":4,"executions":1}])"));
  EXPECT_EQ(access["irregular"], 0);
}

TEST_F(MemoryAnalysisTest, MoreStridesThanHaveANameAreCountedTogether) {
  const auto in = load();
  stream.wave();
  for (int64_t i = 1; i <= 20; ++i) stream.affine(in, 0x10000, 4 * i);
  // One that comes late has a name all the same.
  stream.affine(in, 0x10000, 4 * 20);
  const json access = global();
  EXPECT_EQ(access["strides"].size(), 16u);
  EXPECT_EQ(access["strides"][0], json::parse(R"({"stride":80,"executions":2})"));
  EXPECT_EQ(access["strides"][15], json::parse(R"({"stride":60,"executions":1})"));
  EXPECT_EQ(access["other_strides"], 4);
}

TEST_F(MemoryAnalysisTest, WasteIsNotMadeGoodByBroadcasts) {
  const auto in = load();
  stream.wave();
  stream.affine(in, 0x10000, 0); // needs 2, uses 1
  stream.affine(in, 0x10004, 4); // needs 2, uses 3
  const json access = global();
  EXPECT_EQ(access["lines_needed"], 4);
  EXPECT_EQ(access["lines_used"], 4);
  EXPECT_EQ(access["lines_wasted"], 1);
  EXPECT_EQ(access["efficiency"], 1.0);
}

TEST_F(MemoryAnalysisTest, AtomicsOfAllWavesOnOneAddressAreSeen) {
  const auto atomic = site(FADE_SITE_ATOMIC, FADE_SPACE_GLOBAL, 4);
  for (uint32_t wave = 0; wave < 100; ++wave) {
    stream.wave(wave);
    stream.affine(atomic, 0x10000, 4, 1);                  // one lane, always the same address
    stream.affine(atomic, 0x20000 + 256 * wave, 4, 0b110); // two lanes, always others
  }
  const json access = only(run(4)["global"]);
  EXPECT_EQ(access["same_address"], 0);
  EXPECT_EQ(access["addresses"], 201);
  EXPECT_EQ(access["addresses_complete"], true);
  EXPECT_EQ(access["hottest"]["address"], 0x10000);
  EXPECT_EQ(access["hottest"]["operations"], 100);
}

TEST_F(MemoryAnalysisTest, CodeInlinedFromSystemHeadersIsAtTheLineThatCallsIt) {
  SiteTableBuilder::Site add;
  add.kind = FADE_SITE_ATOMIC;
  add.file = "/usr/include/hip/amd_detail/amd_hip_atomic.h";
  add.line = 141;
  add.function = "__hip_add";
  add.inlined_at = {{"atomicAdd", "/usr/include/hip/amd_detail/amd_hip_atomic.h", 99, 1},
                    {"count", "app/histogram.hip", 12, 5},
                    {"kernel", "app/histogram.hip", 40, 3}};
  stream.wave();
  stream.affine(table.add(add), 0x10000, 0);
  const json access = global();
  EXPECT_EQ(access["file"], "app/histogram.hip");
  EXPECT_EQ(access["line"], 12);
  EXPECT_EQ(access["column"], 5);
  EXPECT_EQ(access["function"], "count");
  EXPECT_EQ(access["via"], "atomicAdd");
}

TEST_F(MemoryAnalysisTest, KernelsThatAreAllInSystemHeadersKeepTheirPlace) {
  SiteTableBuilder::Site inside;
  inside.file = "/usr/include/rocprim/block/detail.hpp";
  inside.line = 30;
  inside.inlined_at = {{"kernel", "/usr/include/rocprim/device/reduce.hpp", 50, 3}};
  stream.wave();
  stream.affine(table.add(inside), 0x10000, 4);
  const json access = global();
  EXPECT_EQ(access["file"], "/usr/include/rocprim/block/detail.hpp");
  EXPECT_EQ(access["line"], 30);
}

TEST_F(MemoryAnalysisTest, TheWorstDispatchHasTheMostWastePerExecution) {
  const auto in = load(), column = ldsLoad();
  HandlerHost host(std::vector<HandlerChoice>{{"MemoryAnalysis", ""}});
  const auto feed = [&](int64_t stride, int64_t lds_stride, int times) {
    Stream one;
    one.wave();
    for (int i = 0; i < times; ++i) {
      one.affine(in, 0x10000, stride);
      one.affine(column, 0, lds_stride);
    }
    host.dispatch("kernel()", table.build("kernel"), one);
  };
  feed(8, 256, 10); // 2 lines too many and 62 conflicts, ten times
  feed(128, 4, 1);  // 62 lines too many, no conflict
  feed(4, 8, 1);    // no line too many, 2 conflicts
  const auto totals = host.finish("memory_total");
  ASSERT_EQ(totals.size(), 1u);
  EXPECT_EQ(totals[0]["dispatches"], 3);
  EXPECT_EQ(totals[0]["global"][0]["worst_dispatch"], 2);
  EXPECT_EQ(totals[0]["global"][0]["lines_wasted"], 10 * 2 + 62);
  EXPECT_EQ(totals[0]["lds"][0]["worst_dispatch"], 1);
  EXPECT_EQ(totals[0]["lds"][0]["conflicts"], 10 * 62 + 2);
}

/// The rules, word by word and byte by byte.
uint64_t linesByByte(uint64_t mask, const std::vector<uint64_t> &addresses, uint32_t size) {
  std::set<uint64_t> lines;
  for (uint64_t lane = 0; lane < 64; ++lane)
    for (uint64_t byte = 0; mask >> lane & 1 && byte < size; ++byte)
      lines.insert((addresses[lane] + byte) / 128);
  return lines.size();
}
/// `each_lane`: none shares a dword with another.
uint64_t conflictsByDword(uint64_t mask, const std::vector<uint64_t> &addresses, uint32_t size,
                          bool each_lane = false) {
  std::vector<std::vector<uint64_t>> sets;
  const auto run = [&](uint64_t from, uint64_t to) {
    sets.emplace_back();
    for (uint64_t lane = from; lane <= to; ++lane) sets.back().push_back(lane);
  };
  if (size <= 4) {
    for (uint64_t from = 0; from < 64; from += 32) run(from, from + 31);
  } else if (size <= 8) {
    for (uint64_t from = 0; from < 64; from += 16) run(from, from + 15);
  } else {
    for (const uint64_t half : {0, 32})
      for (const auto &[a, b] : {std::pair(0, 20), {4, 16}, {8, 28}, {12, 24}}) {
        run(half + a, half + a + 3);
        for (uint64_t i = 0; i < 4; ++i) sets.back().push_back(half + b + i);
      }
  }
  uint64_t conflicts = 0;
  for (const auto &set : sets) {
    std::map<uint64_t, std::set<std::pair<uint64_t, uint64_t>>> banks;
    for (const uint64_t lane : set)
      for (uint64_t byte = 0; mask >> lane & 1 && byte < size; ++byte)
        banks[(addresses[lane] + byte) / 4 % 32].emplace((addresses[lane] + byte) / 4,
                                                         each_lane ? lane : 0);
    std::size_t most = 1;
    for (const auto &[bank, dwords] : banks) most = std::max(most, dwords.size());
    conflicts += most - 1;
  }
  return conflicts;
}

TEST_F(MemoryAnalysisTest, ThousandsOfRandomAccessesAgreeWithTheRulesByteByByte) {
  std::mt19937_64 random(20240607);
  const auto below = [&](uint64_t n) { return random() % n; };
  struct Expected {
    bool is_lds;
    uint64_t lanes, value, same_address; // lines or conflicts
    std::optional<uint64_t> same_turns;
  };
  std::vector<Expected> expected;
  stream.wave();
  for (int n = 0; n < extent::steps(3000, 600); ++n) {
    const bool is_lds = below(2) == 0, is_atomic = below(4) == 0;
    const uint32_t size = std::array{1u, 2u, 4u, 4u, 8u, 12u, 16u}[below(7)];
    const uint64_t limit = is_lds ? 65536 : uint64_t{1} << (12 + below(36));
    const uint64_t align = below(3) == 0 ? 1 : size == 12 ? 4 : size;
    const uint64_t base = (is_lds ? 0 : 0x7f00'0000'0000) + below(limit) / align * align;
    const auto stride = static_cast<int64_t>(below(9) == 0 ? 0 : below(400) * align);
    const auto width = uint64_t{1} << below(7);
    const uint64_t pitch = below(5000) * align;
    const int shape = static_cast<int>(below(4));
    std::vector<uint64_t> addresses(64);
    for (uint64_t lane = 0; lane < 64; ++lane) {
      const uint64_t step = static_cast<uint64_t>(stride);
      if (shape == 0) addresses[lane] = base + step * lane;
      if (shape == 1) addresses[lane] = base + step * (63 - lane);
      if (shape == 2) addresses[lane] = base + step * (lane % width) + pitch * (lane / width);
      if (shape == 3) addresses[lane] = base - base % align + below(limit) / align * align;
    }
    uint64_t mask = below(3) == 0 ? kAll : random() & random() >> below(40);
    if (mask == 0) mask = 1;
    const auto at = site(is_atomic ? FADE_SITE_ATOMIC : FADE_SITE_LOAD,
                         is_lds ? FADE_SPACE_LDS : FADE_SPACE_GLOBAL, size);
    // Twice, so that a remembered answer is used, too.
    stream.access(at, mask, addresses);
    stream.access(at, mask, addresses);
    std::set<uint64_t> distinct;
    for (uint64_t lane = 0; lane < 64; ++lane)
      if (mask >> lane & 1) distinct.insert(addresses[lane]);
    const auto lanes = static_cast<uint64_t>(std::popcount(mask));
    expected.push_back(
        {is_lds, lanes,
         is_lds ? conflictsByDword(mask, addresses, size) : linesByByte(mask, addresses, size),
         is_atomic ? lanes - distinct.size() : 0,
         is_lds && is_atomic ? std::optional(conflictsByDword(mask, addresses, size, true) -
                                             conflictsByDword(mask, addresses, size))
                             : std::nullopt});
  }
  const json memory = run(2);
  std::size_t seen = 0;
  for (const char *space : {"global", "lds"})
    for (const json &access : memory[space]) {
      const Expected &want = expected.at(access["line"].get<std::size_t>() - 1);
      ++seen;
      EXPECT_EQ(access["executions"], 2);
      EXPECT_EQ(access["lanes"], 2 * want.lanes);
      EXPECT_EQ(access[want.is_lds ? "conflicts" : "lines_used"], 2 * want.value) << access;
      EXPECT_EQ(access["same_address"], 2 * want.same_address) << access;
      EXPECT_EQ(access.contains("same_address_turns"), want.same_turns.has_value()) << access;
      if (want.same_turns) EXPECT_EQ(access["same_address_turns"], 2 * *want.same_turns) << access;
    }
  EXPECT_EQ(seen, expected.size());
}

} // namespace
} // namespace fade::testing
