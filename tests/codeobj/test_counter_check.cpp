// Which instructions may write the registers in which a kernel counts. The forms are those of
// passes/RegisterCounters.cpp, as disassemblers print them.
#include "codeobj/counter_check.h"

#include <gtest/gtest.h>

namespace fade::codeobj {
namespace {

std::optional<std::string> check(std::initializer_list<const char *> lines) {
  std::vector<Instruction> code;
  for (const char *line : lines) {
    code.emplace_back();
    code.back().text = line;
  }
  return otherUseOfCounters(code, 80, 90);
}

TEST(CounterCheck, WhatFadeWritesThereIsFine) {
  EXPECT_EQ(
      check({"s_mov_b64 s[84:85], 0", "s_mov_b32 s83, 0", "s_bcnt1_i32_b64 s89, exec",
             "s_addc_u32 s87, s87, 0", "s_add_u32 s86, s86, s89", "s_addc_u32 s85, s85, 0",
             "s_cselect_b32 s84, 1, 0", "s_memtime s[86:87]", "s_sub_u32 s86, s86, s84",
             "s_subb_u32 s87, s87, s85", "s_getreg_b32 s86, hwreg(HW_REG_SHADER_CYCLES, 0, 20)",
             "s_and_b32 s86, s86, 0xfffff", "s_mul_i32 s89, s81, s82", "s_mul_hi_u32 s89, s81, s82",
             "s_add_u32 s89, s89, vcc_lo"}),
      std::nullopt);
  EXPECT_EQ(check({"s_mov_b64 s[84:85], exec", "s_xor_b64 s[84:85], s[84:85], exec",
                   "s_bcnt1_i32_b64 s84, s[84:85]"}),
            std::nullopt);
  EXPECT_EQ(
      check({"s_mov_b32 s84, exec_lo", "s_xor_b32 s84, s84, exec_lo", "s_bcnt1_i32_b32 s84, s84"}),
      std::nullopt);
}

TEST(CounterCheck, ItsNamesOnGfx12AreFine) {
  EXPECT_EQ(check({"s_add_co_u32 s86, s86, s89", "s_add_co_ci_u32 s87, s87, 0",
                   "s_sub_co_u32 s86, s86, s84", "s_sub_co_ci_u32 s87, s87, s85"}),
            std::nullopt);
}

TEST(CounterCheck, WhatReadsThemOrWritesOthersIsFine) {
  EXPECT_EQ(check({"v_writelane_b32 v2, s84, 3", "s_cmp_lg_u64 s[88:89], 0",
                   "s_load_dwordx16 s[64:79], s[6:7], 0x0", "s_mov_b32 s90, s4",
                   "global_store_dword v0, v1, s[80:81]", "s_or_b64 s[4:5], s[84:85], s[86:87]",
                   "s_waitcnt lgkmcnt(0)", "s_endpgm"}),
            std::nullopt);
}

TEST(CounterCheck, WhatElseWritesThemIsNamed) {
  for (const char *line :
       {"s_load_dwordx4 s[92:95], s[6:7], 0x0", "s_mov_b32 s90, 0", "v_readlane_b32 s91, v1, 2"})
    EXPECT_EQ(check({line}), std::nullopt) << line;
  for (const char *line : {"s_load_dwordx4 s[88:91], s[6:7], 0x0",
                           "s_load_dwordx8 s[76:83], s[6:7], 0x0",
                           "s_and_saveexec_b64 s[86:87], vcc",
                           "v_readlane_b32 s87, v98, 19",
                           "v_readfirstlane_b32 s80, v0",
                           "s_xor_b32 s85, s48, s7",
                           "s_mov_b32 s84, s4",
                           "s_mov_b32 s84, 5",
                           "s_add_u32 s84, s84, s4",
                           "s_add_i32 s84, s84, 1",
                           "s_bcnt1_i32_b64 s84, vcc",
                           "s_mov_b64 s[88:89], vcc",
                           "v_cmp_eq_u32_e64 s[80:81], v0, v1",
                           "v_cmpx_eq_u32_e64 s[80:81], v0, v1",
                           "v_add_co_u32_e64 v0, s[84:85], v1, v2",
                           "v_div_scale_f32 v0, s[84:85], v1, v2, v1",
                           "v_mad_u64_u32 v[0:1], s[84:85], v2, v3, v[4:5]",
                           "s_sendmsg_rtn_b64 s[80:81], sendmsg(MSG_RTN_GET_REALTIME)",
                           "s_swappc_b64 s[80:81], s[4:5]",
                           "s_mov_b64 s[88:89], s[88:89]",
                           "s_and_b32 s86, s86, 0xff"})
    EXPECT_EQ(check({"s_mov_b32 s84, 0", line}), line);
}

TEST(CounterCheck, ACounterIsSetOnce) {
  EXPECT_EQ(check({"s_mov_b64 s[84:85], 0", "s_mov_b32 s85, 0"}), "s_mov_b32 s85, 0");
  EXPECT_EQ(check({"s_mov_b32 s84, 0", "s_mov_b64 s[84:85], exec"}), "s_mov_b64 s[84:85], exec");
}

} // namespace
} // namespace fade::codeobj
