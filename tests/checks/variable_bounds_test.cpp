// Accesses that begin in a variable of a code object and end behind it.
#include "check/variable_bounds.h"

#include "check/finding_message.h"

#include <gtest/gtest.h>

namespace fade::cli {
namespace {

constexpr Variable kTaps{0x1000, 36};

TEST(VariableBounds, SeveralElementsOfWhichTheLastIsBehindTheEnd) {
  const std::vector<std::string> code = {"s_load_dwordx2 s[12:13], s[0:1], 0x20",
                                         "s_waitcnt lgkmcnt(0)", "v_fma_f32 v0, s13, v1, v0"};
  EXPECT_TRUE(isAcrossEnd({0x1020, 8}, kTaps, code));
  EXPECT_FALSE(isAcrossEnd({0x101c, 8}, kTaps, code));
  EXPECT_FALSE(isAcrossEnd({0x1024, 8}, kTaps, code)); // of another variable
}

TEST(VariableBounds, WhatNobodyReadsWasNotMeant) {
  const Variable three{0x1000, 12};
  const std::string load = "s_load_dwordx4 s[4:7], s[0:1], 0x0";
  EXPECT_FALSE(isAcrossEnd({0x1000, 16}, three, {load, "s_mul_i32 s6, s6, s5", "s_endpgm"}));
  EXPECT_FALSE(isAcrossEnd({0x1000, 16}, three, {load, "s_mov_b32 s7, 0", "s_mul_i32 s6, s6, s7"}));
  EXPECT_TRUE(isAcrossEnd({0x1000, 16}, three, {load, "s_mul_i32 s6, s6, s7"}));
  EXPECT_TRUE(isAcrossEnd({0x1000, 16}, three, {load, "s_cmp_eq_u32 s7, s6"}));
  // Bytes of a dword that is loaded whole.
  EXPECT_FALSE(isAcrossEnd({0x1000, 4}, {0x1000, 3},
                           {"s_load_dword s4, s[0:1], 0x0", "s_and_b32 s4, s4, 0xff"}));
}

TEST(VariableBounds, StoresAreAsWideAsTheyAreMeant) {
  EXPECT_TRUE(isAcrossEnd({0x1020, 8}, kTaps, {"global_store_dwordx2 v0, v[2:3], s[0:1]"}));
}

TEST(VariableBounds, BaseOfAScalarLoadIsAsComputedFromTheCode) {
  const std::vector<std::string> code = {"s_getpc_b64 s[0:1]", "s_add_u32 s0, s0, 0x2ae0",
                                         "s_addc_u32 s1, s1, 0", "v_mov_b32_e32 v0, s3",
                                         "s_load_dwordx2 s[12:13], s[0:1], 0x20"};
  EXPECT_EQ(scalarBase(code, {0x100, 0x104, 0x10c, 0x114, 0x118}), 0x104 + 0x2ae0);
  std::vector<std::string> changed = code;
  changed[3] = "s_add_u32 s0, s0, 32";
  EXPECT_EQ(scalarBase(changed, {0x100, 0x104, 0x10c, 0x114, 0x118}), std::nullopt);
  changed[3] = "s_cbranch_scc0 65500";
  EXPECT_EQ(scalarBase(changed, {0x100, 0x104, 0x10c, 0x114, 0x118}), std::nullopt);
}

TEST(VariableBounds, BaseOfAVectorAccessIsWhatItsIndexIsAddedTo) {
  const std::vector<uint64_t> at = {0x100, 0x104, 0x10c, 0x114, 0x118, 0x11c, 0x120, 0x124};
  std::vector<std::string> code = {"s_getpc_b64 s[0:1]",
                                   "s_add_u32 s0, s0, 0x2ae0",
                                   "s_addc_u32 s1, s1, 0",
                                   "v_mov_b32_e32 v4, s1",
                                   "s_sub_i32 s1, 0, s2", // the upper half is somewhere else by now
                                   "v_add_co_u32_e32 v2, vcc, s0, v2",
                                   "v_addc_co_u32_e32 v3, vcc, v3, v4, vcc",
                                   "global_load_dword v1, v[2:3], off"};
  EXPECT_EQ(vectorBase(code, at), 0x104 + 0x2ae0);
  code[7] = "global_store_dword v[2:3], v1, off";
  EXPECT_EQ(vectorBase(code, at), 0x104 + 0x2ae0);
  code[7] = "global_load_dword v1, v5, s[0:1] offset:4";
  EXPECT_EQ(vectorBase(code, at), std::nullopt); // s0 is still there, but s_sub wrote s1
  code[4] = "s_nop 0";
  EXPECT_EQ(vectorBase(code, at), 0x104 + 0x2ae0);
  code[7] = "global_load_dword v1, v[2:3], off";
  code[5] = "v_lshl_add_u64 v[2:3], v[2:3], 2, s[0:1]";
  code[6] = "s_nop 0";
  EXPECT_EQ(vectorBase(code, at), 0x104 + 0x2ae0);
  code[4] = "s_add_u32 s0, s0, 64";
  EXPECT_EQ(vectorBase(code, at), std::nullopt);
  code[4] = "s_swappc_b64 s[30:31], s[4:5]";
  EXPECT_EQ(vectorBase(code, at), std::nullopt);
  code[4] = "s_nop 0", code[5] = "v_add_co_u32_e32 v2, vcc, v6, v2";
  EXPECT_EQ(vectorBase(code, at), std::nullopt);
}

TEST(VariableBounds, MessagesNameTheVariableThatIsHit) {
  FoundFinding f;
  f.raw.check = static_cast<uint32_t>(checks::Check::memory);
  f.raw.problem = static_cast<uint32_t>(checks::Problem::array_bounds);
  f.raw.limit = 36;
  f.raw.waves = static_cast<uint32_t>(ArrayReach::across);
  f.rule = "taps";
  f.cure = "gains";
  const std::string hit = ", across the end of array taps, 36 bytes: it hits gains";
  EXPECT_TRUE(messageOf(f).ends_with(hit)) << messageOf(f);
  f.cure = ""; // what lies behind it has no name
  EXPECT_TRUE(messageOf(f).ends_with(" array taps, 36 bytes")) << messageOf(f);
}

} // namespace
} // namespace fade::cli
