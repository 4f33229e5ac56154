// Instructions that cross lanes, name registers by an index, or write two registers.
#include "wave_bench.h"

#include "wave/faults.h"

#include <gtest/gtest.h>

namespace fade::sim {
namespace {

TEST(LaneAccess, ReadFirstLaneTakesTheFirstActiveOne) {
  WaveBench b;
  for (unsigned i = 0; i < 64; i++) b.v(1)[i] = 100 + i;
  b.set_exec(0xff00);
  b.run("v_readfirstlane_b32 s3, v1");
  EXPECT_EQ(b.s(3), 108u);
  b.set_exec(0);
  b.run("v_readfirstlane_b32 s3, v1");
  EXPECT_EQ(b.s(3), 100u);
}

TEST(LaneAccess, ReadAndWriteLaneIgnoreExec) {
  WaveBench b;
  for (unsigned i = 0; i < 64; i++) b.v(1)[i] = 100 + i;
  b.set_exec(1);
  b.s(4) = 64 + 7; // modulo the wave
  b.run("v_readlane_b32 s3, v1, s4");
  EXPECT_EQ(b.s(3), 107u);
  b.run("v_readlane_b32 s3, v1, 63");
  EXPECT_EQ(b.s(3), 163u);
  b.s(5) = 5555;
  b.run("v_writelane_b32 v1, s5, 40");
  EXPECT_EQ(b.v(1)[40], 5555u);
  EXPECT_EQ(b.v(1)[41], 141u);
}

TEST(LaneAccess, SwapExchangesActiveLanes) {
  WaveBench b;
  b.set_v(1, 1), b.set_v(2, 2);
  b.set_exec(0b10);
  b.run("v_swap_b32 v1, v2");
  EXPECT_EQ(b.v(1)[1], 2u);
  EXPECT_EQ(b.v(2)[1], 1u);
  EXPECT_EQ(b.v(1)[0], 1u);
}

TEST(LaneAccess, PermlaneWorksInRowsOf16) {
  WaveBench b("gfx1030");
  for (unsigned i = 0; i < 32; i++) b.v(1)[i] = i;
  b.s(4) = 0x76543210, b.s(5) = 0xfedcba98;
  b.s(6) = 0x01234567, b.s(7) = 0x89abcdef;
  b.run("v_permlane16_b32 v0, v1, s6, s7");
  EXPECT_EQ(b.v(0)[0], 7u);
  EXPECT_EQ(b.v(0)[17], 16u + 6);
  EXPECT_EQ(b.v(0)[31], 16u + 8);
  b.run("v_permlanex16_b32 v0, v1, s4, s5");
  EXPECT_EQ(b.v(0)[3], 19u);
  EXPECT_EQ(b.v(0)[20], 4u);
  // An inactive lane is read only when allowed; otherwise the old value stays, or 0 comes.
  b.set_exec(~(1u << 19));
  b.set_v(0, 99);
  b.run("v_permlanex16_b32 v0, v1, s4, s5");
  EXPECT_EQ(b.v(0)[3], 99u);
  b.run("v_permlanex16_b32 v0, v1, s4, s5 op_sel:[0,1]");
  EXPECT_EQ(b.v(0)[3], 0u);
  b.run("v_permlanex16_b32 v0, v1, s4, s5 op_sel:[1,0]");
  EXPECT_EQ(b.v(0)[3], 19u);
}

TEST(LaneAccess, Permlane64SwapsHalves) {
  WaveBench b("gfx1100", 64);
  for (unsigned i = 0; i < 64; i++) b.v(1)[i] = i;
  b.run("v_permlane64_b32 v0, v1");
  EXPECT_EQ(b.v(0)[5], 37u);
  EXPECT_EQ(b.v(0)[63], 31u);
}

TEST(RelativeMoves, AddM0ToRegisterNumbers) {
  WaveBench b("gfx1030");
  for (unsigned r = 0; r < 20; r++) b.set_v(r, 100 + r);
  b.wave.sgpr[sreg::m0] = 3;
  b.run("v_movrels_b32_e32 v0, v1");
  EXPECT_EQ(b.v(0)[31], 104u);
  b.run("v_movreld_b32_e32 v10, v2");
  EXPECT_EQ(b.v(13)[0], 102u);
  b.run("v_movrelsd_b32_e32 v14, v5");
  EXPECT_EQ(b.v(17)[0], 108u);
  b.wave.sgpr[sreg::m0] = 2 << 16 | 1;
  b.run("v_movrelsd_2_b32_e32 v10, v5");
  EXPECT_EQ(b.v(12)[0], 106u);
  b.run("v_swaprel_b32 v16, v5");
  EXPECT_EQ(b.v(18)[0], 106u);
  EXPECT_EQ(b.v(6)[0], 118u);
}

TEST(RelativeMoves, StopAtTheEndOfTheRegisterFile) {
  WaveBench b("gfx1030");
  b.wave.sgpr[sreg::m0] = 300;
  EXPECT_THROW(b.run("v_movrels_b32_e32 v0, v1"), IllegalInstruction);
}

TEST(Accumulators, AreReachedByTheirMoves) {
  WaveBench b;
  b.set_v(1, 42);
  b.run("v_accvgpr_write_b32 a3, v1");
  EXPECT_EQ(b.a(3)[9], 42u);
  b.run("v_accvgpr_mov_b32 a4, a3");
  b.run("v_accvgpr_read_b32 v0, a4");
  EXPECT_EQ(b.v(0)[9], 42u);
}

TEST(Moves, Copy64Bits) {
  WaveBench b("gfx942");
  EXPECT_EQ(b.eval64("v_mov_b64_e32 v[0:1], v[2:3]", {0x123456789abcdef0}), 0x123456789abcdef0u);
  b.run("v_nop");
}

TEST(Dual, BothHalvesReadBeforeEitherWrites) {
  WaveBench b("gfx1100");
  b.set_v(0, bits(1.0f)), b.set_v(1, bits(2.0f)), b.set_v(2, bits(3.0f)), b.set_v(3, bits(4.0f));
  b.run("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0");
  EXPECT_EQ(as_f32(b.v(0)[0]), 2.0f);
  EXPECT_EQ(as_f32(b.v(1)[0]), 1.0f);
  b.run("v_dual_add_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v0, v3");
  EXPECT_EQ(as_f32(b.v(0)[0]), 4.0f);
  EXPECT_EQ(as_f32(b.v(3)[0]), 8.0f);
  b.run("v_dual_fmac_f32 v0, v1, v2 :: v_dual_add_nc_u32 v5, 5, v4");
  EXPECT_EQ(as_f32(b.v(0)[0]), 7.0f);
  EXPECT_EQ(b.v(5)[31], 5u);
  b.run("v_dual_fmaak_f32 v0, v1, v2, 0x40000000 :: v_dual_fmamk_f32 v3, v2, 0x40000000, v3");
  EXPECT_EQ(as_f32(b.v(0)[0]), 5.0f);
  EXPECT_EQ(as_f32(b.v(3)[0]), 14.0f);
  b.wave.sgpr[sreg::vcc_lo] = 2;
  b.run("v_dual_cndmask_b32 v0, v1, v2 :: v_dual_lshlrev_b32 v7, 1, v5");
  EXPECT_EQ(as_f32(b.v(0)[0]), 1.0f);
  EXPECT_EQ(as_f32(b.v(0)[1]), 3.0f);
  EXPECT_EQ(b.v(7)[0], 10u);
  b.set_exec(1);
  b.run("v_dual_max_f32 v0, v1, v2 :: v_dual_and_b32 v5, 4, v5");
  EXPECT_EQ(as_f32(b.v(0)[0]), 3.0f);
  EXPECT_EQ(b.v(5)[0], 4u);
  EXPECT_EQ(b.v(5)[1], 5u);
}

} // namespace
} // namespace fade::sim
