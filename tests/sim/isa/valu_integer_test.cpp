// Vector instructions on integers and bits, one at a time, as assembled by LLVM.
#include "wave_bench.h"

#include <gtest/gtest.h>

namespace fade::sim {
namespace {

constexpr u32 max_i32 = 0x7fffffff, min_i32 = 0x80000000;

TEST(VectorIntegers, AddAndSubtractWrapAround) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_add_u32_e32 v0, v1, v2", {0xffffffff, 2}), 1u);
  EXPECT_EQ(b.eval("v_sub_u32_e32 v0, v1, v2", {1, 2}), 0xffffffffu);
  EXPECT_EQ(b.eval("v_subrev_u32_e32 v0, v1, v2", {1, 5}), 4u);
  EXPECT_EQ(b.eval("v_add3_u32 v0, v1, v2, v3", {1, 2, 0xfffffffd}), 0u);
  EXPECT_EQ(b.eval("v_lshl_add_u32 v0, v1, v2, v3", {3, 33, 5}), 11u);
  EXPECT_EQ(b.eval("v_add_lshl_u32 v0, v1, v2, v3", {3, 4, 2}), 28u);
  EXPECT_EQ(b.eval("v_xad_u32 v0, v1, v2, v3", {0xff, 0x0f, 1}), 0xf1u);
}

TEST(VectorIntegers, ClampSaturates) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_add_u32_e64 v0, v1, v2 clamp", {0xffffffff, 2}), 0xffffffffu);
  EXPECT_EQ(b.eval("v_sub_u32_e64 v0, v1, v2 clamp", {1, 2}), 0u);
  EXPECT_EQ(b.eval("v_add_i32 v0, v1, v2 clamp", {max_i32, 1}), max_i32);
  EXPECT_EQ(b.eval("v_sub_i32 v0, v1, v2 clamp", {min_i32, 1}), min_i32);
  EXPECT_EQ(b.eval("v_sub_i32 v0, v1, v2", {min_i32, 1}), max_i32);
  EXPECT_EQ(b.eval("v_add_u16_e64 v0, v1, v2 clamp", {0xffff, 2}), 0xffffu);
  EXPECT_EQ(b.eval("v_mad_u32_u24 v0, v1, v2, v3 clamp", {0xffffff, 0xffffff, 0}), 0xffffffffu);
  EXPECT_EQ(b.eval("v_mad_i32_i24 v0, v1, v2, v3 clamp", {0x800000, 0x7fffff, 0}), min_i32);
  EXPECT_EQ(b.eval("v_sad_u32 v0, v1, v2, v3 clamp", {0, 2, 0xffffffff}), 0xffffffffu);
}

TEST(VectorIntegers, MultiplyTakesTheBitsItSays) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_mul_lo_u32 v0, v1, v2", {0x12345678, 0x9abcdef0}), 0x242d2080u);
  EXPECT_EQ(b.eval("v_mul_hi_u32 v0, v1, v2", {0xffffffff, 0xffffffff}), 0xfffffffeu);
  EXPECT_EQ(b.eval("v_mul_hi_i32 v0, v1, v2", {0xffffffff, 0xffffffff}), 0u);
  EXPECT_EQ(b.eval("v_mul_hi_i32 v0, v1, v2", {min_i32, 2}), 0xffffffffu);
  // 24 bits: the upper byte does not count, bit 23 is the sign.
  EXPECT_EQ(b.eval("v_mul_u32_u24_e32 v0, v1, v2", {0xff000003, 0xab000005}), 15u);
  EXPECT_EQ(b.eval("v_mul_i32_i24_e32 v0, v1, v2", {0x00ffffff, 0x7f000005}), 0xfffffffbu);
  EXPECT_EQ(b.eval("v_mul_hi_u32_u24_e32 v0, v1, v2", {0xffffff, 0xffffff}), 0xffffu);
  EXPECT_EQ(b.eval("v_mul_hi_i32_i24_e32 v0, v1, v2", {0x800000, 0x800000}), 0x4000u);
  EXPECT_EQ(b.eval("v_mad_u32_u24 v0, v1, v2, v3", {0x01000002, 3, 4}), 10u);
  EXPECT_EQ(b.eval("v_mad_u32_u16 v0, v1, v2, v3", {0xffff0002, 3, 4}), 10u);
  EXPECT_EQ(b.eval("v_mad_i32_i16 v0, v1, v2, v3", {0xffff, 3, 4}), 1u);
}

TEST(VectorIntegers, CarriesGoThroughVccOrAnyPair) {
  WaveBench b;
  b.set_v(1, {0xffffffff, 1, 0xffffffff, 0});
  b.set_v(2, {1, 1, 0, 0});
  b.run("v_add_co_u32_e32 v0, vcc, v1, v2");
  EXPECT_EQ(b.vcc(), 1u);
  EXPECT_EQ(b.v(0)[0], 0u);
  b.set_vcc(0b0110);
  b.run("v_addc_co_u32_e32 v0, vcc, v1, v2, vcc");
  EXPECT_EQ(b.v(0)[1], 3u);
  EXPECT_EQ(b.v(0)[2], 0u);
  EXPECT_EQ(b.vcc(), 0b0101u);
  b.run("v_sub_co_u32_e64 v0, s[4:5], v2, v1");
  EXPECT_EQ(b.wave.sgpr64(4), 0b0101u); // 1 - 0xffffffff and 0 - 0xffffffff borrow
  b.wave.set_sgpr64(6, 0b1000);
  b.run("v_subb_co_u32_e64 v0, s[4:5], v2, v1, s[6:7]");
  EXPECT_EQ(b.v(0)[3], 0xffffffffu);
  EXPECT_EQ(b.wave.sgpr64(4), 0b1101u);
  b.run("v_subbrev_co_u32_e64 v0, s[4:5], v2, v1, s[6:7]");
  EXPECT_EQ(b.v(0)[0], 0xfffffffeu);
  EXPECT_EQ(b.v(0)[3], 0xffffffffu);
}

TEST(VectorIntegers, CarriesOfInactiveLanesAreZero) {
  WaveBench b;
  b.set_v(1, 0xffffffff);
  b.set_v(2, 1);
  b.set_v(0, 7);
  b.set_exec(0b101);
  b.set_vcc(~0ull);
  b.run("v_add_co_u32_e32 v0, vcc, v1, v2");
  EXPECT_EQ(b.vcc(), 0b101u);
  EXPECT_EQ(b.v(0)[1], 7u);
  EXPECT_EQ(b.v(0)[2], 0u);
}

TEST(VectorIntegers, WideMultiplyAddCarriesOut) {
  WaveBench b;
  b.set_v(1, 0xffffffff), b.set_v(4, 0xffffffff);
  b.set_v64(2, 0x00000001fffffffeull);
  b.run("v_mad_u64_u32 v[6:7], s[4:5], v1, v4, v[2:3]");
  // (2^32-1)^2 + 0x1fffffffe = 2^64 - 1
  EXPECT_EQ(b.v64(6), 0xffffffffffffffffull);
  EXPECT_EQ(b.wave.sgpr64(4), 0u);
  b.set_v64(2, 0x00000001ffffffffull);
  b.run("v_mad_u64_u32 v[6:7], s[4:5], v1, v4, v[2:3]");
  EXPECT_EQ(b.v64(6), 0u);
  EXPECT_EQ(b.wave.sgpr64(4), ~0ull);
  b.run("v_mad_i64_i32 v[6:7], s[4:5], v1, v4, -3");
  EXPECT_EQ(b.v64(6), static_cast<u64>(-2));
}

TEST(VectorIntegers, MinMaxAndMedianKnowSigns) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_min_i32_e32 v0, v1, v2", {0xffffffff, 1}), 0xffffffffu);
  EXPECT_EQ(b.eval("v_min_u32_e32 v0, v1, v2", {0xffffffff, 1}), 1u);
  EXPECT_EQ(b.eval("v_max_i32_e32 v0, v1, v2", {0xffffffff, 1}), 1u);
  EXPECT_EQ(b.eval("v_max_u32_e32 v0, v1, v2", {0xffffffff, 1}), 0xffffffffu);
  EXPECT_EQ(b.eval("v_min3_i32 v0, v1, v2, v3", {5, 0xfffffffe, 3}), 0xfffffffeu);
  EXPECT_EQ(b.eval("v_max3_u32 v0, v1, v2, v3", {5, 0xfffffffe, 3}), 0xfffffffeu);
  for (auto order :
       {std::array<u32, 3>{1, 2, 3}, {2, 1, 3}, {3, 1, 2}, {1, 3, 2}, {3, 2, 1}, {2, 3, 1}})
    EXPECT_EQ(b.eval("v_med3_i32 v0, v1, v2, v3", {order[0], order[1], order[2]}), 2u);
  EXPECT_EQ(b.eval("v_med3_u32 v0, v1, v2, v3", {0xffffffff, 0, 7}), 7u);
  WaveBench r("gfx1100");
  EXPECT_EQ(r.eval("v_maxmin_i32 v0, v1, v2, v3", {1, 9, 5}), 5u);
  EXPECT_EQ(r.eval("v_minmax_u32 v0, v1, v2, v3", {1, 9, 5}), 5u);
}

TEST(VectorIntegers, ShiftsTakeTheirAmountModuloTheWidth) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_lshlrev_b32_e32 v0, v1, v2", {33, 1}), 2u);
  EXPECT_EQ(b.eval("v_lshrrev_b32_e32 v0, v1, v2", {4, 0x80000000}), 0x08000000u);
  EXPECT_EQ(b.eval("v_ashrrev_i32_e32 v0, v1, v2", {4, 0x80000000}), 0xf8000000u);
  EXPECT_EQ(b.eval("v_lshlrev_b16_e32 v0, v1, v2", {17, 0x8001}), 2u);
  EXPECT_EQ(b.eval("v_ashrrev_i16_e32 v0, v1, v2", {1, 0x18000}), 0xc000u);
  b.set_v(1, 68);
  b.set_v64(2, 0x8000000000000001ull);
  b.run("v_lshlrev_b64 v[4:5], v1, v[2:3]");
  EXPECT_EQ(b.v64(4), 0x10u);
  b.run("v_lshrrev_b64 v[4:5], v1, v[2:3]");
  EXPECT_EQ(b.v64(4), 0x0800000000000000ull);
  b.run("v_ashrrev_i64 v[4:5], v1, v[2:3]");
  EXPECT_EQ(b.v64(4), 0xf800000000000000ull);
  WaveBench c("gfx942");
  c.set_v64(2, 3);
  c.set_v64(6, 0x100000000ull);
  c.set_v(1, 4);
  c.run("v_lshl_add_u64 v[4:5], v[2:3], v1, v[6:7]");
  EXPECT_EQ(c.v64(4), 0x100000030ull);
}

TEST(VectorIntegers, BitwiseOperations) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_not_b32_e32 v0, v1", {0x0f0f0f0f}), 0xf0f0f0f0u);
  EXPECT_EQ(b.eval("v_xnor_b32_e32 v0, v1, v2", {0xff00ff00, 0xf0f0f0f0}), 0xf00ff00fu);
  EXPECT_EQ(b.eval("v_and_or_b32 v0, v1, v2, v3", {0xff, 0x3c, 0x1000}), 0x103cu);
  EXPECT_EQ(b.eval("v_lshl_or_b32 v0, v1, v2, v3", {0xf, 4, 1}), 0xf1u);
  EXPECT_EQ(b.eval("v_or3_b32 v0, v1, v2, v3", {1, 2, 4}), 7u);
  EXPECT_EQ(b.eval("v_bfi_b32 v0, v1, v2, v3", {0xffff0000, 0x12345678, 0x9abcdef0}), 0x1234def0u);
  EXPECT_EQ(b.eval("v_bfm_b32 v0, v1, v2", {4, 8}), 0xf00u);
  EXPECT_EQ(b.eval("v_bfrev_b32_e32 v0, v1", {0x00000013}), 0xc8000000u);
  EXPECT_EQ(b.eval("v_bfe_u32 v0, v1, v2, v3", {0x12345678, 8, 12}), 0x456u);
  EXPECT_EQ(b.eval("v_bfe_u32 v0, v1, v2, v3", {0x12345678, 8, 32}),
            0u); // a width of 32 counts as 0
  EXPECT_EQ(b.eval("v_bfe_i32 v0, v1, v2, v3", {0x00000f00, 8, 4}), 0xffffffffu);
  EXPECT_EQ(b.eval("v_bfe_i32 v0, v1, v2, v3", {0x00000700, 8, 4}), 7u);
  EXPECT_EQ(b.eval("v_bfe_i32 v0, v1, v2, v3", {0x80000000, 28, 8}), 0xfffffff8u);
  EXPECT_EQ(b.eval("v_alignbit_b32 v0, v1, v2, v3", {0x12345678, 0x9abcdef0, 36}), 0x89abcdefu);
  EXPECT_EQ(b.eval("v_alignbyte_b32 v0, v1, v2, v3", {0x12345678, 0x9abcdef0, 1}), 0x789abcdeu);
  WaveBench r("gfx1030");
  EXPECT_EQ(r.eval("v_xor3_b32 v0, v1, v2, v3", {0xf0, 0xff, 0x01}), 0x0eu);
}

TEST(VectorIntegers, CountAndFindBits) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_bcnt_u32_b32 v0, v1, v2", {0xf0f0, 3}), 11u);
  EXPECT_EQ(b.eval("v_ffbh_u32_e32 v0, v1", {0x00010000}), 15u);
  EXPECT_EQ(b.eval("v_ffbh_u32_e32 v0, v1", {0}), 0xffffffffu);
  EXPECT_EQ(b.eval("v_ffbl_b32_e32 v0, v1", {0x00010000}), 16u);
  EXPECT_EQ(b.eval("v_ffbl_b32_e32 v0, v1", {0}), 0xffffffffu);
  EXPECT_EQ(b.eval("v_ffbh_i32_e32 v0, v1", {0xffff0000}), 16u);
  EXPECT_EQ(b.eval("v_ffbh_i32_e32 v0, v1", {0x0000ffff}), 16u);
  EXPECT_EQ(b.eval("v_ffbh_i32_e32 v0, v1", {0xffffffff}), 0xffffffffu);
  EXPECT_EQ(b.eval("v_ffbh_i32_e32 v0, v1", {0}), 0xffffffffu);
  b.set_v(1, 0xffffffff);
  b.set_v(2, 100);
  b.run("v_mbcnt_lo_u32_b32 v3, v1, v2");
  EXPECT_EQ(b.v(3)[0], 100u);
  EXPECT_EQ(b.v(3)[31], 131u);
  EXPECT_EQ(b.v(3)[63], 132u);
  b.run("v_mbcnt_hi_u32_b32 v3, v1, v2");
  EXPECT_EQ(b.v(3)[32], 100u);
  EXPECT_EQ(b.v(3)[63], 131u);
}

TEST(VectorIntegers, PermuteBytes) {
  WaveBench b;
  // Bytes 0-3 come from the second operand, 4-7 from the first.
  EXPECT_EQ(b.eval("v_perm_b32 v0, v1, v2, v3", {0x77665544, 0x33221100, 0x07050301}), 0x77553311u);
  // 8-11: signs of bytes 1, 3, 5, 7; 12: zero; above: ones.
  EXPECT_EQ(b.eval("v_perm_b32 v0, v1, v2, v3", {0x80000000, 0x80000000, 0x0b090c0d}), 0xffff00ffu);
  EXPECT_EQ(b.eval("v_perm_b32 v0, v1, v2, v3", {0x00008000, 0x00008000, 0x0a0800ff}), 0xffff00ffu);
}

TEST(VectorIntegers, SumsOfAbsoluteDifferences) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_sad_u8 v0, v1, v2, v3", {0x01ff0a05, 0x02000a03, 10}), 10u + 1 + 255 + 0 + 2);
  EXPECT_EQ(b.eval("v_sad_hi_u8 v0, v1, v2, v3", {0x00000005, 0x00000003, 1}), 0x20001u);
  EXPECT_EQ(b.eval("v_sad_u16 v0, v1, v2, v3", {0xffff0001, 0x00000003, 1}), 0xffffu + 2 + 1);
  EXPECT_EQ(b.eval("v_msad_u8 v0, v1, v2, v3", {0x01ff0a05, 0x02000a03, 10}), 10u + 1 + 0 + 0 + 2);
  EXPECT_EQ(b.eval("v_lerp_u8 v0, v1, v2, v3", {0x00ff0103, 0x01ff0204, 0x01000001}), 0x01ff0104u);
  b.set_v64(2, 0x0807060504030201ull);
  b.set_v(1, 0x04030201);
  b.set_v64(4, 0x0000000000000100ull);
  b.run("v_qsad_pk_u16_u8 v[6:7], v[2:3], v1, v[4:5]");
  EXPECT_EQ(b.v64(6), 0x000c000800040100ull);
  for (unsigned n = 0; n < 4; n++) b.set_v(8 + n, 1000 * n);
  b.run("v_mqsad_u32_u8 v[12:15], v[2:3], v1, v[8:11]");
  for (unsigned n = 0; n < 4; n++) EXPECT_EQ(b.v(12 + n)[5], 1004 * n);
}

TEST(VectorIntegers, PackAndSaturate) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_cvt_pk_u16_u32 v0, v1, v2", {70000, 5}), 0x0005ffffu);
  EXPECT_EQ(b.eval("v_cvt_pk_i16_i32 v0, v1, v2", {0xffff0000, 70000}), 0x7fff8000u);
  EXPECT_EQ(b.eval("v_sat_pk_u8_i16_e32 v0, v1", {0x0123fffe}), 0xff00u);
}

TEST(VectorIntegers, SixteenBitResultsClearTheUpperHalfOnGfx9) {
  WaveBench b;
  b.set_v(0, 0xdeadbeef);
  EXPECT_EQ(b.eval("v_add_u16_e32 v0, v1, v2", {0xffff0003, 0xffff0004}), 7u);
  b.set_v(0, 0xdeadbeef); // ... except in instructions that came with gfx9
  EXPECT_EQ(b.eval("v_mad_u16 v0, v1, v2, v3", {2, 3, 4}), 0xdead000au);
  b.set_v(0, 0xdeadbeef);
  EXPECT_EQ(b.eval("v_mad_legacy_u16 v0, v1, v2, v3", {2, 3, 4}), 0x0000000au);
  WaveBench r("gfx1030");
  r.set_v(0, 0xdeadbeef);
  EXPECT_EQ(r.eval("v_add_nc_u16 v0, v1, v2", {3, 4}), 0xdead0007u);
}

TEST(VectorIntegers, SelectByMask) {
  WaveBench b;
  b.set_v(1, 1);
  b.set_v(2, 2);
  b.set_vcc(0b10);
  b.run("v_cndmask_b32_e32 v0, v1, v2, vcc");
  EXPECT_EQ(b.v(0)[0], 1u);
  EXPECT_EQ(b.v(0)[1], 2u);
  b.wave.set_sgpr64(8, 0b01);
  b.run("v_cndmask_b32_e64 v0, -1.0, |v2|, s[8:9]");
  EXPECT_EQ(b.v(0)[0], 2u);
  EXPECT_EQ(b.v(0)[1], 0xbf800000u);
}

TEST(VectorIntegers, Gfx11NamesMeanTheSame) {
  WaveBench r("gfx1100");
  EXPECT_EQ(r.eval("v_add_nc_u32_e32 v0, v1, v2", {1, 2}), 3u);
  EXPECT_EQ(r.eval("v_clz_i32_u32_e32 v0, v1", {1}), 31u);
  EXPECT_EQ(r.eval("v_ctz_i32_b32_e32 v0, v1", {8}), 3u);
  EXPECT_EQ(r.eval("v_cls_i32_e32 v0, v1", {0xfffffff0}), 28u);
  EXPECT_EQ(r.eval("v_and_b16 v0, v1, v2", {0xff, 0x0f}), 0x0fu);
  EXPECT_EQ(r.eval("v_cvt_i32_i16_e32 v0, v1", {0xfffe}), 0xfffffffeu);
  EXPECT_EQ(r.eval("v_cvt_u32_u16_e32 v0, v1", {0xfffffffe}), 0xfffeu);
  r.set_v(1, 0xffffffff);
  r.set_v(2, 0);
  r.wave.sgpr[sreg::vcc_lo] = 0b1010; // one register holds the mask of a wave32
  r.wave.sgpr[sreg::vcc_hi] = 77;
  r.run("v_add_co_ci_u32_e32 v0, vcc_lo, v1, v2, vcc_lo");
  EXPECT_EQ(r.wave.sgpr[sreg::vcc_lo], 0b1010u);
  EXPECT_EQ(r.wave.sgpr[sreg::vcc_hi], 77u);
}

} // namespace
} // namespace fade::sim
