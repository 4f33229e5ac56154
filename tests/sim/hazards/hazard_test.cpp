// The rules about wait states, on seeds in assembly: each with as much between two instructions as
// is needed, and with one less.
#include "isa/decoder.h"
#include "isa/hazards.h"
#include "semantics/opcodes.h"

#include "assembler.h"

#include <gtest/gtest.h>

#include <optional>

namespace fade::sim {
namespace {

using Lines = std::vector<std::string>;

bool is_wave32(const std::string &gpu) { return gpu.starts_with("gfx1"); }

std::vector<uint8_t> assemble(const std::string &gpu, const Lines &lines) {
  Assembler assembler(gpu, is_wave32(gpu));
  std::vector<uint8_t> code;
  for (const std::string &line : lines) {
    const auto bytes = assembler.assemble(line);
    code.insert(code.end(), bytes.begin(), bytes.end());
  }
  return code;
}

std::vector<Hazard> find(const std::string &gpu, const Lines &lines) {
  return find_hazards(gpu.c_str(), is_wave32(gpu), assemble(gpu, lines), 0x1000);
}

// What a wave that executes the lines in this order is told.
std::vector<Hazard> executed(const std::string &gpu, const Lines &lines,
                             bool keeps_over_calls = false) {
  const HazardTable table(gpu);
  LlvmDisassembler disassembler(gpu.c_str(), is_wave32(gpu));
  std::vector<HazardUse> uses;
  for (const std::string &line : lines) {
    const auto bytes = assemble(gpu, {line});
    uses.push_back(table.use(disassembler.registers(bytes, 0), bytes));
  }
  HazardWindow window(keeps_over_calls);
  std::vector<Hazard> found;
  for (size_t i = 0; i < uses.size(); i++)
    window.step(table, i, uses[i], [&](const Hazard &h) { found.push_back(h); });
  return found;
}

struct Seed {
  std::string gpu, first, second;
  unsigned needed;
};

// Between the two the number of states is right, and one less is reported; by both ways to look.
void expect(const Seed &s) {
  SCOPED_TRACE(s.gpu + ": " + s.first + " / " + s.second);
  for (unsigned present = 0; present <= s.needed; present++) {
    Lines lines = {s.first};
    for (unsigned left = present; left; left -= std::min(left, 8u))
      lines.push_back("s_nop " + std::to_string(std::min(left, 8u) - 1));
    lines.push_back(s.second);
    const auto scanned = find(s.gpu, lines), ran = executed(s.gpu, lines);
    ASSERT_EQ(scanned.size(), present < s.needed) << present;
    ASSERT_EQ(ran.size(), present < s.needed) << present;
    if (scanned.empty()) continue;
    EXPECT_EQ(scanned[0].needed, s.needed) << scanned[0].rule;
    EXPECT_EQ(scanned[0].present, present);
    EXPECT_EQ(scanned[0].first, 0x1000u);
    EXPECT_EQ(ran[0].rule, scanned[0].rule);
    EXPECT_EQ(ran[0].needed, s.needed);
  }
}

TEST(Hazards, AreFoundBehindAReturnIfAskedFor) {
  const Lines lines = {"v_readlane_b32 s0, v1, 0", "s_setpc_b64 s[4:5]", "v_mov_b32 v2, s0"};
  EXPECT_TRUE(executed("gfx942", lines).empty());
  const auto found = executed("gfx942", lines, true);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].present, 1u);
  EXPECT_EQ(found[0].needed, 2u);
}

const Lines gfx9 = {"gfx906", "gfx908", "gfx90a", "gfx942"};

TEST(Hazards, AMemoryInstructionReadsAnSgprFiveStatesAfterValuWroteIt) {
  for (const std::string &gpu : gfx9) {
    expect({gpu, "v_readfirstlane_b32 s4, v1", "global_load_dword v0, v2, s[4:5]", 5});
    expect({gpu, "v_cmp_eq_u32 s[6:7], v1, v2", "buffer_load_dword v0, off, s[4:7], 0", 5});
    EXPECT_TRUE(find(gpu, {"s_mov_b32 s4, s8", "global_load_dword v0, v2, s[4:5]"}).empty());
  }
}

TEST(Hazards, AnSgprSelectsALaneFourStatesAfterValuWroteIt) {
  for (const std::string &gpu : gfx9) {
    expect({gpu, "v_readfirstlane_b32 s4, v1", "v_readlane_b32 s5, v2, s4", 4});
    expect({gpu, "v_readfirstlane_b32 s4, v1", "v_writelane_b32 v2, 1, s4", 4});
  }
  // As a value it is an operand like others.
  EXPECT_TRUE(find("gfx90a", {"v_readfirstlane_b32 s4, v1", "v_writelane_b32 v2, s4, 1"}).empty());
}

TEST(Hazards, DivFmasComesFourStatesAfterValuWroteVcc) {
  for (const std::string &gpu : gfx9)
    expect({gpu, "v_cmp_eq_u32 vcc, v1, v2", "v_div_fmas_f32 v0, v1, v2, v3", 4});
}

TEST(Hazards, DppReadsAVgprTwoStatesAfterValuWroteIt) {
  for (const std::string &gpu : gfx9) {
    expect({gpu, "v_add_f32 v1, v2, v3",
            "v_mov_b32_dpp v4, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", 2});
    expect({gpu, "v_cmpx_eq_u32 vcc, v1, v2",
            "v_mov_b32_dpp v4, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", 5});
  }
  // What it leaves in lanes that are switched off is not read from other lanes.
  EXPECT_TRUE(
      find("gfx90a", {"v_mov_b32 v4, 0",
                      "v_mov_b32_dpp v4, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"})
          .empty());
}

TEST(Hazards, AHardwareRegisterIsReadTwoStatesAfterItWasSet) {
  for (const std::string &gpu : gfx9) {
    expect({gpu, "s_setreg_b32 hwreg(HW_REG_MODE), s0", "s_getreg_b32 s1, hwreg(HW_REG_MODE)", 2});
    expect({gpu, "s_setreg_b32 hwreg(HW_REG_MODE), s0", "s_setreg_b32 hwreg(HW_REG_MODE), s1", 2});
  }
  EXPECT_TRUE(find("gfx90a",
                   {"s_setreg_b32 hwreg(HW_REG_MODE), s0", "s_getreg_b32 s1, hwreg(HW_REG_HW_ID)"})
                  .empty());
}

TEST(Hazards, AMessageTakesM0OneStateAfterItWasWritten) {
  for (const std::string &gpu : gfx9) {
    expect({gpu, "s_mov_b32 m0, s0", "s_sendmsg sendmsg(MSG_INTERRUPT)", 1});
    expect({gpu, "s_mov_b32 m0, s0", "buffer_load_dword off, s[4:7], 0 lds", 1});
  }
}

TEST(Hazards, DataOfAWideStoreIsOverwrittenLaterThanTheNextInstruction) {
  expect({"gfx90a", "global_store_dwordx4 v[0:1], v[4:7], off", "v_mov_b32 v6, 0", 1});
  expect({"gfx942", "global_store_dwordx4 v[0:1], v[4:7], off", "v_mov_b32 v6, 0", 2});
  expect({"gfx90a", "buffer_store_dwordx4 v[4:7], off, s[4:7], 0", "v_mov_b32 v6, 0", 1});
  EXPECT_TRUE(
      find("gfx90a", {"global_store_dwordx2 v[0:1], v[4:5], off", "v_mov_b32 v4, 0"}).empty());
  EXPECT_TRUE(
      find("gfx90a", {"buffer_store_dwordx4 v[4:7], off, s[4:7], s9", "v_mov_b32 v6, 0"}).empty());
}

TEST(Hazards, Gfx94xReadsWhatValuWroteToScalarRegistersTwoStatesLater) {
  expect({"gfx942", "v_readfirstlane_b32 s0, v11", "v_mov_b32 v5, s0", 2});
  expect({"gfx942", "v_cmp_eq_u32 vcc, v1, v2", "v_cndmask_b32 v0, v1, v2, vcc", 2});
  EXPECT_TRUE(find("gfx90a", {"v_readfirstlane_b32 s0, v11", "v_mov_b32 v5, s0"}).empty());
  EXPECT_TRUE(find("gfx942", {"v_readfirstlane_b32 s0, v11", "s_mov_b32 s1, s0"}).empty());
}

TEST(Hazards, Gfx94xReadsLanesAndTranscendentalsOneStateLater) {
  expect({"gfx942", "v_add_f32 v1, v2, v3", "v_readfirstlane_b32 s0, v1", 1});
  expect({"gfx942", "v_cmpx_eq_u32 vcc, v1, v2", "v_readfirstlane_b32 s0, v5", 4});
  expect({"gfx942", "v_rcp_f32 v1, v2", "v_mul_f32 v3, v1, v4", 1});
  expect({"gfx942", "v_add_f16_sdwa v1, v2, v3 dst_sel:WORD_1 src0_sel:WORD_0 src1_sel:WORD_0",
          "v_mul_f32 v3, v1, v4", 1});
  EXPECT_TRUE(find("gfx942", {"v_rcp_f32 v1, v2", "v_exp_f32 v3, v1"}).empty());
  EXPECT_TRUE(
      find("gfx942", {"v_div_scale_f32 v11, vcc, v9, v5, v9", "v_mul_f32 v12, v11, v10"}).empty());
}

TEST(Hazards, MatricesOfMi100) {
  expect({"gfx908", "v_mov_b32 v1, v2", "v_mfma_f32_32x32x1f32 a[0:31], v1, v3, a[0:31]", 2});
  expect({"gfx908", "v_accvgpr_write_b32 a0, v1", "v_accvgpr_read_b32 v2, a0", 3});
  expect({"gfx908", "v_mfma_f32_32x32x1f32 a[0:31], v1, v3, a[0:31]", "v_accvgpr_read_b32 v2, a4",
          18});
  expect({"gfx908", "v_mfma_f32_4x4x1f32 a[0:3], v1, v3, a[0:3]", "v_accvgpr_read_b32 v2, a2", 4});
}

TEST(Hazards, MatricesOfMi200) {
  expect({"gfx90a", "v_mov_b32 v1, v2", "v_mfma_f32_32x32x1f32 a[0:31], v1, v3, a[0:31]", 2});
  expect({"gfx90a", "v_mfma_f32_32x32x1f32 v[0:31], v40, v41, v[0:31]", "v_mov_b32 v50, v4", 19});
  expect({"gfx90a", "v_mfma_f32_16x16x4f32 v[0:3], v40, v41, v[0:3]",
          "global_store_dword v[50:51], v1, off", 11});
  expect({"gfx90a", "v_mfma_f32_4x4x1f32 v[0:3], v40, v41, v[0:3]", "v_mov_b32 v2, 0", 5});
  expect({"gfx90a", "v_mfma_f64_4x4x4f64 v[0:1], v[40:41], v[42:43], v[0:1]",
          "v_fma_f64 v[10:11], v[12:13], v[12:13], v[12:13]", 2});
  // The same accumulator is forwarded.
  EXPECT_TRUE(find("gfx90a", {"v_mfma_f32_32x32x1f32 a[0:31], v1, v3, a[0:31]",
                              "v_mfma_f32_32x32x1f32 a[0:31], v1, v3, a[0:31]"})
                  .empty());
  EXPECT_TRUE(find("gfx90a", {"v_mfma_f32_32x32x1f32 a[0:31], v1, v3, a[0:31]",
                              "v_mfma_f32_32x32x1f32 a[32:63], v1, v3, a[32:63]"})
                  .empty());
}

TEST(Hazards, MatricesOfMi300TakeAsLongAsTheirPasses) {
  expect({"gfx942", "v_mfma_f32_16x16x16_f16 v[0:3], v[40:41], v[42:43], v[0:3]",
          "v_mov_b32 v50, v1", 7});
  expect({"gfx942", "v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[42:43], v[0:15]",
          "v_mov_b32 v50, v1", 11});
  expect({"gfx942", "v_mfma_f32_16x16x16_f16 v[0:3], v[40:41], v[42:43], v[0:3]",
          "v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[42:43], v[4:7]", 7});
}

TEST(Hazards, Gfx101xWaitsUntilMemoryInstructionsHaveReadScalars) {
  const std::string store = "global_store_dword v[0:1], v2, off", exec = "s_mov_b32 exec_lo, s0";
  EXPECT_EQ(find("gfx1010", {store, exec}).size(), 1u);
  EXPECT_EQ(find("gfx1010", {"global_load_dword v2, v0, s[4:5]", "s_mov_b32 s5, 0"}).size(), 1u);
  EXPECT_TRUE(find("gfx1010", {store, "s_waitcnt_depctr 0xffe3", exec}).empty());
  EXPECT_TRUE(find("gfx1010", {store, "v_mov_b32 v9, 0", exec}).empty());
  EXPECT_TRUE(find("gfx1030", {store, exec}).empty());
}

TEST(Hazards, Gfx1100ReadsTranscendentalsSixVectorInstructionsLaterOrWaits) {
  const std::string rcp = "v_rcp_f32 v1, v2", mul = "v_mul_f32 v3, v1, v4",
                    other = "v_mov_b32 v9, 0";
  EXPECT_EQ(find("gfx1100", {rcp, mul}).size(), 1u);
  EXPECT_EQ(find("gfx1100", {rcp, other, other, other, other, other, mul}).size(), 1u);
  EXPECT_TRUE(find("gfx1100", {rcp, other, other, other, other, other, other, mul}).empty());
  EXPECT_TRUE(find("gfx1100", {rcp, "s_waitcnt_depctr 0xfff", mul}).empty());
  EXPECT_TRUE(find("gfx1030", {rcp, mul}).empty());
}

TEST(Hazards, Gfx12WaitsForScalarsThatVectorInstructionsHaveRead) {
  const std::string before = "v_mov_b32 v0, s4", write = "s_mov_b32 s4, s8",
                    read = "v_mov_b32 v1, s4";
  EXPECT_EQ(find("gfx1201", {before, write, read}).size(), 1u);
  EXPECT_EQ(executed("gfx1201", {before, write, read}).size(), 1u);
  EXPECT_EQ(find("gfx1201", {before, write, "s_add_u32 s9, s4, s8"}).size(), 1u);
  EXPECT_TRUE(find("gfx1201", {before, write, "s_wait_alu 0xfffe", read}).empty());
  // Nobody had read it when it was written.
  for (const Lines &code :
       {Lines{write, read}, Lines{write, read, read}, Lines{write, read, "s_add_u32 s9, s4, s8"}}) {
    EXPECT_TRUE(executed("gfx1201", code).empty());
    EXPECT_TRUE(find("gfx1201", code).empty());
  }
}

TEST(Hazards, TheWayOfABranchCountsAndTheOtherOneToo) {
  // s_cbranch is a state of its own; the way around the s_nop is too short.
  const Lines lines = {"v_readfirstlane_b32 s4, v1", "s_cbranch_scc0 1", "s_nop 4",
                       "global_load_dword v0, v2, s[4:5]"};
  const auto found = find("gfx90a", lines);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].present, 1u);
  EXPECT_EQ(found[0].needed, 5u);
  // Around a loop.
  EXPECT_EQ(find("gfx90a",
                 {"global_load_dword v0, v2, s[4:5]", "v_readfirstlane_b32 s4, v1", "s_branch -4"})
                .size(),
            1u);
}

TEST(Hazards, CallsAndReturnsTakeLongEnough) {
  EXPECT_TRUE(executed("gfx90a", {"v_readfirstlane_b32 s4, v1", "s_setpc_b64 s[30:31]",
                                  "global_load_dword v0, v2, s[4:5]"})
                  .empty());
}

TEST(Hazards, AProcessorThatNobodyKnowsHasNoRules) {
  EXPECT_FALSE(HazardTable("gfx803").has_rules());
  for (const char *gpu : {"gfx906", "gfx908", "gfx90a", "gfx940", "gfx942", "gfx950",
                          "gfx9-4-generic", "gfx1010", "gfx1030", "gfx1100", "gfx1151", "gfx1201"})
    EXPECT_TRUE(HazardTable(gpu).has_rules()) << gpu;
}

// gfx950's own instructions as words, as LLVM 22 encodes them, with the wait states that it puts
// between them.
struct Words {
  const char *text;
  std::vector<uint32_t> first, second;
  unsigned needed;
};
const std::vector<uint32_t> add_of_v0 = {0x06080100}; // v_add_f32 v4, v0, v0
const Words gfx950_words[] = {
    {"16x16x128 of fp8", {0xd3ad0000, 0x04022108}, add_of_v0, 12},
    {"16x16x128 of fp4", {0xd3ad0400, 0x84022108}, add_of_v0, 8},
    {"16x16x128 of fp4 and bf8", {0xd3ad0400, 0x24022108}, add_of_v0, 12},
    {"32x32x64 of bf8", {0xd3ae0100, 0x24023110}, add_of_v0, 20},
    {"32x32x64 of fp6", {0xd3ae0200, 0x44023110}, add_of_v0, 12},
    {"16x16x128 with scales", {0xd3ac0000, 0x00023f1e, 0xd3ad0800, 0x04022108}, add_of_v0, 12},
    {"16x16x32 of f16", {0xd3d40000, 0x04022108}, add_of_v0, 8},
    {"32x32x16 of f16", {0xd3d50000, 0x04023110}, add_of_v0, 12},
    {"sparse 16x16x64", {0xd3da0000, 0x04421104}, add_of_v0, 8},
    {"VALU writes a scale, v_mov_b32 v30, v1",
     {0x7e3c0301},
     {0xd3ac0000, 0x00023f1e, 0xd3ad0800, 0x04022108},
     2},
    {"a matrix's result is a scale",
     {0xd3ad041e, 0x84022108},
     {0xd3ac0000, 0x00023f1e, 0xd3ad0800, 0x04022108},
     8},
    // It reads a part of the result as B, with the constant 0 as C.
    {"C is a constant",
     {0xd3ad0410, 0x84022108},
     {0xd3ac0000, 0x00023f1e, 0xd3ad0800, 0x02022108},
     8},
    {"VALU writes A", {0x7e140301}, {0xd3ad0000, 0x04022108}, 2},
    // v_mov_b32 v0, v2; v_mov_b32 v1, v2; v_cmpx_eq_u32 vcc, v2, v2; v_permlane16_swap_b32 and
    // v_permlane32_swap_b32 v0, v1
    {"VALU writes the first of two rows", {0x7e000302}, {0x7e00b301}, 2},
    {"VALU writes the second of two rows", {0x7e020302}, {0x7e00b501}, 2},
    {"v_cmpx writes EXEC", {0x7db40502}, {0x7e00b301}, 4},
    // v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]: its result is read, stored,
    // multiplied, a part of it is an accumulator.
    {"f64, then VALU", {0xd3ee0000, 0x04021508}, add_of_v0, 19},
    {"f64, then a store", {0xd3ee0000, 0x04021508}, {0xdc708000, 0x007f000a}, 18},
    {"f64, then f64 of it", {0xd3ee0000, 0x04021508}, {0xd3ee0010, 0x04421500}, 19},
    {"f64, then it is a part of the accumulator",
     {0xd3ee0000, 0x04021508},
     {0xd3ee0002, 0x040a2914},
     17},
    // v_mfma_f32_4x4x4_16b_f16 v[0:3], v[8:9], v[10:11], v[0:3], then v[2:5] as accumulator
    {"two passes, then a part of it as accumulator",
     {0xd3ca0000, 0x04021508},
     {0xd3ca0002, 0x040a1508},
     4},
};

TEST(Hazards, OfGfx950sOwnInstructions) {
  const HazardTable table("gfx950");
  Decoder decoder(*find_arch("gfx950"), 64, opcodes());
  auto use_of = [&](const std::vector<uint32_t> &words) {
    std::vector<uint8_t> bytes(4 * words.size());
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return decoder.hazard_use(table, bytes, 0x1000);
  };
  for (const Words &w : gfx950_words) {
    const HazardUse first = use_of(w.first), second = use_of(w.second), nop = use_of({0xbf800000});
    for (unsigned present = 0; present <= w.needed; present++) {
      HazardWindow window;
      std::vector<Hazard> found;
      auto step = [&](const HazardUse &use) {
        window.step(table, 0, use, [&](const Hazard &h) { found.push_back(h); });
      };
      step(first);
      for (unsigned i = 0; i < present; i++) step(nop);
      step(second);
      ASSERT_EQ(found.size(), present < w.needed) << w.text << ", " << present;
      if (!found.empty()) EXPECT_EQ(found[0].needed, w.needed) << w.text;
    }
  }
}

} // namespace
} // namespace fade::sim
