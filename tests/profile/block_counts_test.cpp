// From counts of blocks to what instructions did.
#include "analysis/machine_blocks/block_counts.h"

#include <gtest/gtest.h>

#include <utility>

namespace fade::profile {
namespace {

/// An instruction and the number of the block it comes from; -1: its line says nothing.
struct Line {
  const char *text;
  int block = -1;
  int target = -1; ///< of a branch: index of an instruction
};

struct Code {
  explicit Code(const std::vector<Line> &lines) {
    std::vector<codeobj::Instruction> all;
    for (const Line &line : lines) {
      codeobj::Instruction one;
      one.address = 0x1000 + 4 * all.size();
      one.size = 4;
      one.text = line.text;
      if (line.target >= 0) one.target = 0x1000 + 4 * static_cast<uint64_t>(line.target);
      all.push_back(one);
      marks.push_back(static_cast<uint32_t>(line.block + 1));
    }
    code = codeobj::analyze(all);
  }
  PlacedCode place(const BlockCountsBySite &blocks, const BlockEdges &edges = {}) const {
    return placeBlocks(code, blocks, edges,
                       [&](uint64_t address) { return marks[(address - 0x1000) / 4]; });
  }

  codeobj::KernelCode code;
  std::vector<uint32_t> marks;
};

/// if (...) { x *= x; } of which the last instruction was moved up: its line is the first block's.
const std::vector<Line> kIf = {{"s_load_dwordx2 s[0:1], s[4:5], 0x0"},
                               {"v_mul_f32_e32 v1, v0, v0", 0},
                               {"v_cmp_gt_f32_e32 vcc, 1.0, v1", 0},
                               {"s_and_saveexec_b64 s[2:3], vcc", 0},
                               {"s_cbranch_execz 3", 0, 8},
                               {"v_add_f32_e32 v2, v1, v1", 0}, // sunk
                               {"v_mul_f32_e32 v2, v2, v2", 1},
                               {"global_store_dword v3, v2, s[0:1]", 1},
                               {"s_or_b64 exec, exec, s[2:3]", 2},
                               {"global_store_dword v3, v1, s[0:1]", 2},
                               {"s_endpgm", 2}};

TEST(BlockCounts, CodeBehindABranchHasTheLanesOfItsBlock) {
  const Code code(kIf);
  const PlacedCode placed = code.place({{0, {10, 640}}, {1, {4, 25}}, {2, {10, 640}}});
  EXPECT_EQ(placed.doubt, "");
  ASSERT_TRUE(placed.has_marks);
  EXPECT_EQ(placed.work[0].executions, 10u); // arguments are loaded by the first block
  EXPECT_EQ(placed.work[1].lanes, 640u);
  EXPECT_EQ(placed.work[5].lanes, 25u); // where it is, not where it comes from
  EXPECT_EQ(placed.work[7].lanes, 25u);
  EXPECT_EQ(placed.work[7].executions, 4u);
  EXPECT_EQ(placed.work[9].lanes, 640u);
}

TEST(BlockCounts, WavesGoThroughCodeThatNoLaneTakesIfNothingJumpsOverIt) {
  std::vector<Line> lines = kIf;
  lines.erase(lines.begin() + 4);
  const PlacedCode placed = Code(lines).place({{0, {10, 640}}, {1, {4, 25}}, {2, {10, 640}}});
  EXPECT_EQ(placed.work[5].executions, 10u);
  EXPECT_EQ(placed.work[5].lanes, 25u);
}

TEST(BlockCounts, BlocksThatTheCompilerAddsAreExecutedAsOftenAsThoseThatTheyClose) {
  // A loop of two iterations at a time, which lanes leave in the middle; behind each, and behind
  // the loop, they come together in code without a line.
  const Code code({{"v_mov_b32_e32 v1, 0", 0},            // 0
                   {"v_mul_f32_e32 v1, v1, v0", 1},       // 1
                   {"s_and_saveexec_b64 s[2:3], vcc", 1}, // 2
                   {"s_cbranch_execz 2", 1, 6},           // 3
                   {"v_mul_f32_e32 v1, v1, v2", 2},       // 4
                   {"v_mov_b32_e32 v3, v1"},              // 5: with block 2
                   {"s_or_b64 exec, exec, s[2:3]"},       // 6: with block 1
                   {"s_andn2_b64 exec, exec, s[4:5]"},    // 7
                   {"s_cbranch_execnz 65529", -1, 1},     // 8
                   {"s_or_b64 exec, exec, s[6:7]"},       // 9: with block 0
                   {"v_mov_b32_e32 v4, v1"},              // 10
                   {"s_endpgm"}});
  const PlacedCode placed = code.place({{0, {10, 640}}, {1, {50, 2000}}, {2, {30, 900}}});
  EXPECT_EQ(placed.work[5].executions, 30u);
  for (const std::size_t i : {6, 7, 8}) EXPECT_EQ(placed.work[i].executions, 50u) << i;
  EXPECT_EQ(placed.work[6].lanes, 2000u);
  for (const std::size_t i : {9, 10, 11}) EXPECT_EQ(placed.work[i].executions, 10u) << i;
}

TEST(BlockCounts, WhatNoLineLeadsToInALoopOfItsOwnIsNotCounted) {
  const Code code({{"v_mov_b32_e32 v1, 0", 0},
                   {"s_sleep 1"},
                   {"s_cbranch_scc0 65534", -1, 1},
                   {"s_endpgm", 0}});
  const PlacedCode placed = code.place({{0, {10, 640}}});
  EXPECT_EQ(placed.work[1].executions, 0u);
  EXPECT_FALSE(placed.work[1].is_known);
  EXPECT_EQ(placed.work[3].executions, 10u);
}

TEST(BlockCounts, AJumpOutOfALoopIsNotExecutedAsOftenAsTheLoop) {
  const Code code({{"v_mul_f32_e32 v1, v0, v0", 0},
                   {"v_add_f32_e32 v2, v2, v1", 1},
                   {"s_cbranch_scc0 65534", 1, 1},
                   {"s_branch 1", 1, 5},
                   {"v_mov_b32_e32 v2, 0", 0},
                   {"global_store_dword v3, v2, s[0:1]", 2},
                   {"s_endpgm", 2}});
  const PlacedCode placed = code.place({{0, {10, 640}}, {1, {640, 40960}}, {2, {10, 640}}});
  EXPECT_EQ(placed.work[2].executions, 640u);
  EXPECT_EQ(placed.work[3].executions, 10u);
}

TEST(BlockCounts, OneSideOfABranchThatNothingJumpsOverHasTheLanesOfItsBlock) {
  // Odd: 3 n + 1; even: n / 2. The odd side is one instruction; those around it that take lanes
  // away have the line of the branch.
  const Code code({{"v_and_b32_e32 v1, 1, v2", 0},                  // 0
                   {"v_cmp_eq_u32_e32 vcc, 1, v1", 0},              // 1
                   {"s_and_saveexec_b64 s[4:5], vcc", 0},           // 2
                   {"s_xor_b64 s[4:5], exec, s[4:5]", 0},           // 3
                   {"v_mad_u64_u32 v[2:3], s[10:11], v2, 3, 1", 1}, // 4
                   {"s_andn2_saveexec_b64 s[4:5], s[4:5]", 0},      // 5
                   {"s_cbranch_execz 1", 0, 8},                     // 6
                   {"v_lshrrev_b32_e32 v2, 1, v2", 2},              // 7
                   {"s_or_b64 exec, exec, s[4:5]"},                 // 8
                   {"v_add_f32_e32 v3, v3, v3", 3},                 // 9
                   {"s_endpgm", 3}});
  const PlacedCode placed =
      code.place({{0, {9, 500}}, {1, {7, 200}}, {2, {8, 300}}, {3, {9, 500}}});
  EXPECT_EQ(placed.work[4].executions, 9u);
  EXPECT_EQ(placed.work[4].lanes, 200u);
  EXPECT_EQ(placed.work[7].lanes, 300u);
}

/// What the compiler puts before a loop has no line; a lane may skip the loop, and a wave. What the
/// loop jumps to behind it has the loop's line.
const std::vector<Line> kLoop = {{"v_mul_f32_e32 v1, v0, v0", 0},       // 0
                                 {"s_and_saveexec_b64 s[2:3], vcc", 0}, // 1
                                 {"s_cbranch_execz 5", 0, 8},           // 2
                                 {"v_add_f32_e32 v4, v1, v1"},          // 3: before the loop
                                 {"v_add_f32_e32 v2, v2, v4", 1},       // 4
                                 {"s_andn2_b64 exec, exec, s[4:5]", 1}, // 5
                                 {"s_cbranch_execnz 65532", 1, 4},      // 6
                                 {"s_branch 0", 1, 8},                  // 7
                                 {"s_or_b64 exec, exec, s[2:3]"},       // 8
                                 {"global_store_dword v3, v2, s[0:1]", 2},
                                 {"s_endpgm", 2}};

TEST(BlockCounts, CodeBeforeALoopHasTheLanesThatEnterIt) {
  const BlockCountsBySite blocks = {{0, {10, 640}}, {1, {90, 2000}}, {2, {10, 640}}};
  const PlacedCode placed = Code(kLoop).place(
      blocks, {{{0, 1}, {6, 250}}, {{0, 2}, {9, 390}}, {{1, 1}, {84, 1750}}, {{1, 2}, {6, 250}}});
  EXPECT_EQ(placed.doubt, "");
  EXPECT_EQ(placed.work[3].executions, 6u);
  EXPECT_EQ(placed.work[3].lanes, 250u);
  EXPECT_EQ(placed.work[4].executions, 90u);
  EXPECT_EQ(placed.work[7].executions, 6u);
  EXPECT_EQ(placed.work[8].executions, 10u);
  // Where only blocks were counted it is not known.
  EXPECT_NE(Code(kLoop).place(blocks).doubt, "");
}

TEST(BlockCounts, WavesThatGoThroughABlockAreThoseThatDoNotGoTheOtherWay) {
  const Code code({{"v_mul_f32_e32 v1, v0, v0", 0},          // 0
                   {"s_cbranch_execnz 1", 0, 4},             // 1
                   {"s_or_b64 exec, exec, s[2:3]"},          // 2: if no lane is active
                   {"s_branch 1", -1, 5},                    // 3
                   {"v_add_f32_e32 v1, v1, v1", 1},          // 4
                   {"global_store_dword v3, v1, s[0:1]", 2}, // 5
                   {"s_endpgm", 2}});
  const PlacedCode placed = code.place({{0, {10, 640}}, {1, {8, 500}}, {2, {10, 640}}});
  EXPECT_EQ(placed.work[2].executions, 2u);
  EXPECT_EQ(placed.work[3].executions, 2u);
  EXPECT_EQ(placed.work[4].executions, 8u);
}

TEST(BlockCounts, ABlockWithoutALineIsTheOneThatStandsBetweenTheSameBlocks) {
  // Two sides of a branch store to one place: the compiler has made one store of them, of no line.
  const Code code({{"v_mul_f32_e32 v1, v0, v0", 0},       // 0
                   {"s_and_saveexec_b64 s[2:3], vcc", 0}, // 1
                   {"s_cbranch_execz 1", 0, 4},           // 2
                   {"v_mov_b32_e32 v7, -1", 1},           // 3
                   {"s_or_b64 exec, exec, s[2:3]"},       // 4
                   {"s_and_b64 exec, exec, s[0:1]"},      // 5
                   {"s_cbranch_execz 1", -1, 8},          // 6
                   {"global_store_dword v3, v7, s[0:1]"}, // 7
                   {"v_add_f32_e32 v1, v1, v1", 3},       // 8
                   {"s_endpgm", 3}});
  const BlockCountsBySite blocks = {{0, {10, 640}}, {1, {7, 300}}, {2, {9, 500}}, {3, {10, 640}}};
  const PlacedCode placed = code.place(blocks, {{{0, 1}, {7, 300}},
                                                {{0, 2}, {8, 340}},
                                                {{1, 2}, {5, 160}},
                                                {{1, 3}, {6, 140}},
                                                {{2, 3}, {9, 500}}});
  EXPECT_EQ(placed.doubt, "");
  EXPECT_EQ(placed.work[7].executions, 9u);
  EXPECT_EQ(placed.work[7].lanes, 500u);
}

TEST(BlockCounts, LanesThatWereTakenAwayBeforeAnAtomicAreNotOnlyOne) {
  std::vector<Line> lines = {{"v_cmp_gt_u32_e32 vcc, 16, v0", 0},
                             {"v_add_f32_e32 v5, v5, v5", 0},
                             {"s_and_saveexec_b64 s[2:3], vcc", 0},
                             {"s_cbranch_execz 3", 0, 8},
                             {"v_add_f32_e32 v2, v3, v4", 1},
                             {"global_atomic_cmpswap v2, v[0:1], v[2:3], off glc", 1},
                             {"s_andn2_b64 exec, exec, s[4:5]", 1},
                             {"global_atomic_cmpswap v2, v[0:1], v[2:3], off glc", 1},
                             {"s_endpgm", 2}};
  const PlacedCode placed = Code(lines).place({{0, {4, 256}}, {1, {4, 64}}, {2, {4, 256}}});
  EXPECT_EQ(placed.work[7].lanes, 64u);
}

TEST(BlockCounts, OneLaneDoesAnAtomicForItsWave) {
  const Code code({{"v_mbcnt_lo_u32_b32 v0, s0, 0", 0},
                   {"v_add_f32_e32 v5, v5, v5", 0},
                   {"v_cmp_eq_u32_e32 vcc, 0, v0", 0},
                   {"s_and_saveexec_b64 s[2:3], vcc", 0},
                   {"s_cbranch_execz 1", 0, 6},
                   {"global_atomic_add v1, v2, s[0:1]", 0},
                   {"s_or_b64 exec, exec, s[2:3]", 0},
                   {"v_mul_f32_e32 v3, v3, v3", 0},
                   {"s_endpgm", 0}});
  const PlacedCode placed = code.place({{0, {3, 192}}});
  EXPECT_EQ(placed.doubt, "");
  EXPECT_EQ(placed.work[5].lanes, 3u);
  EXPECT_EQ(placed.work[7].lanes, 192u);
}

TEST(BlockCounts, ItSaysWhatItDoesNotKnow) {
  // The same block in two places, of which a wave takes one.
  const Code copied({{"s_cbranch_scc0 2", 0, 3},
                     {"v_mul_f32_e32 v1, v0, v0", 1},
                     {"s_branch 1", 1, 4},
                     {"v_mul_f32_e32 v1, v0, v0", 1},
                     {"s_endpgm", 2}});
  EXPECT_NE(copied.place({{0, {2, 128}}, {1, {2, 128}}, {2, {2, 128}}}).doubt, "");
  // Work of which no line says where it is from.
  const Code unknown({{"s_cbranch_scc0 1", 0, 2}, {"v_mul_f32_e32 v1, v0, v0"}, {"s_endpgm", 1}});
  EXPECT_NE(unknown.place({{0, {2, 128}}, {1, {2, 128}}}).doubt, "");
  // No marks at all, or of blocks that nobody has counted.
  EXPECT_FALSE(Code({{"v_mul_f32_e32 v1, v0, v0"}, {"s_endpgm"}}).place({{0, {1, 64}}}).has_marks);
  EXPECT_FALSE(Code({{"v_mul_f32_e32 v1, v0, v0", 7}}).place({{0, {1, 64}}}).has_marks);
  EXPECT_FALSE(Code({}).place({}).has_marks);
}

TEST(BlockCounts, WhatInstructionsDoFollowsFromTheirCounts) {
  const auto sums = [](const char *text) {
    WorkSums all;
    InstructionWork work{2, 100, 0, 0, true};
    addWork(codeobj::classify(text), work, all);
    return std::pair(all.flops, all.bytes);
  };
  using Map = std::map<std::string, uint64_t>;
  EXPECT_EQ(sums("v_fma_f64 v[0:1], v[0:1], v[0:1], v[0:1]").first, (Map{{"f64", 200}}));
  EXPECT_EQ(sums("v_pk_fma_f16 v0, v0, v0, v0").first, (Map{{"f16", 400}, {"packed", 400}}));
  EXPECT_EQ(sums("v_mfma_f32_32x32x2f32 a[0:15], v0, v1, a[0:15]").first,
            (Map{{"f32", 2 * 32 * 32 * 2 * 2}, {"matrix", 2 * 32 * 32 * 2 * 2}}));
  EXPECT_EQ(sums("global_load_dwordx4 v[0:3], v4, s[0:1]").second, (Map{{"loaded", 1600}}));
  EXPECT_EQ(sums("ds_read2_b32 v[0:1], v2 offset1:1").second, (Map{{"lds_loaded", 800}}));
  EXPECT_EQ(sums("s_load_dwordx2 s[0:1], s[4:5], 0x0").second, (Map{{"scalar_loaded", 16}}));
  EXPECT_EQ(sums("scratch_store_dword off, v0, s0").second, (Map{{"scratch", 400}}));
  EXPECT_EQ(sums("v_add_u32_e32 v0, v0, v0"), (std::pair<Map, Map>()));
}

TEST(BlockCounts, BytesThroughTheDescriptorOfScratchMemoryAreScratch) {
  std::vector<codeobj::Instruction> instructions;
  for (const char *text : {"s_mov_b64 s[22:23], s[2:3]", "s_mov_b64 s[20:21], s[0:1]",
                           "buffer_store_dword v0, off, s[20:23], 0 offset:4",
                           "buffer_load_dwordx2 v[0:1], v2, s[0:3], 0 offen",
                           "buffer_load_dword v0, v1, s[4:7], 0 offen", "s_endpgm"}) {
    codeobj::Instruction &one = instructions.emplace_back();
    one.address = instructions.size() * 8;
    one.size = 8;
    one.text = text;
  }
  codeobj::KernelCode code = codeobj::analyze(std::move(instructions));
  codeobj::findScratch(code);
  WorkSums all;
  for (const codeobj::InstructionInfo &info : code.info) {
    InstructionWork work{2, 100, 0, 0, true};
    addWork(info, work, all);
  }
  EXPECT_EQ(all.bytes, (std::map<std::string, uint64_t>{{"loaded", 400}, {"scratch", 1200}}));
}

} // namespace
} // namespace fade::profile
