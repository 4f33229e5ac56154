// Edges of what gfx950 and gfx12 added, worked out by hand from the formats: ties, the largest and
// the smallest numbers, NaN, infinities, scales at both ends. In an fp8 (E4M3) 448 is 0x7e and 2^-9
// is 0x01; in a bf8 (E5M2) 57344 is 0x7b, infinity 0x7c, and 2^-16 is 0x01.
#include "wave_bench.h"

#include <gtest/gtest.h>

namespace fade::sim {
namespace {

constexpr u32 nan_bits = 0x7fc00000, infinity_bits = 0x7f800000;

TEST(Edges, OfConversionsToFp8AndBf8) {
  WaveBench b("gfx1201");
  auto pair = [&](const char *name, u32 low, u32 high) {
    b.set_v(0, 0u);
    return b.eval(std::string(name) + " v0, v1, v2", {low, high});
  };
  // 464 lies between 448 and 480, which does not exist: the even one; 465 is too large.
  EXPECT_EQ(pair("v_cvt_pk_fp8_f32", 0x43e80000, 0x43e88000), 0x7f7eu);
  // 2^-10 is half of the smallest number, 3 * 2^-10 one and a half of it.
  EXPECT_EQ(pair("v_cvt_pk_fp8_f32", 0x3a800000, 0x3b400000), 0x0200u);
  EXPECT_EQ(pair("v_cvt_pk_fp8_f32", 0xba800001, 0x80000000), 0x8081u);
  // The largest denormal, 7 * 2^-9; halfway to 2^-6 the even one is 2^-6.
  EXPECT_EQ(pair("v_cvt_pk_fp8_f32", 0x3c600000, 0x3c700000), 0x0807u);
  // 61440 lies between 57344 and 65536, the even one of which is infinity.
  EXPECT_EQ(pair("v_cvt_pk_bf8_f32", 0x47700000, 0x476fffff), 0x7b7cu);
  EXPECT_EQ(pair("v_cvt_pk_bf8_f32", 0xff800000, 0x37000000),
            0x00fcu); // 2^-17: half of the smallest
  EXPECT_EQ(pair("v_cvt_pk_bf8_f32", 0x37000001, 0xb7c00000), 0x8201u); // -1.5 * 2^-16
  // Denormal f32s are far below.
  EXPECT_EQ(pair("v_cvt_pk_bf8_f32", 0x00000001, 0x807fffff), 0x8000u);
}

// Lanes of gfx12's wave32: A has row i in lanes i and 16 + i, D has row 8 * (lane / 16) + register.
TEST(Edges, OfWmmaInFp8AndBf8) {
  WaveBench b("gfx1201");
  auto product = [&](const char *types, u32 a, u32 x, u32 c) {
    for (const unsigned r : {8u, 9u}) b.set_v(r, a * 0x01010101u);
    for (const unsigned r : {10u, 11u}) b.set_v(r, x * 0x01010101u);
    for (unsigned r = 0; r < 8; r++) b.set_v(r, c);
    b.run(std::string("v_wmma_f32_16x16x16_") + types + " v[0:7], v[8:9], v[10:11], v[0:7]");
    for (unsigned r = 0; r < 8; r++)
      for (unsigned lane = 0; lane < 32; lane++)
        if (b.v(r)[lane] != b.v(0)[0]) return ~0u;
    return b.v(0)[0];
  };
  EXPECT_EQ(product("fp8_fp8", 0x7e, 0x7e, 0), 0x4a440000u);          // 16 * 448 * 448
  EXPECT_EQ(product("fp8_fp8", 0x01, 0x01, 0x38800000), 0x39000000u); // 16 * 2^-18 + 2^-14
  EXPECT_EQ(product("fp8_bf8", 0xfe, 0x7b, 0), 0xcdc40000u);          // 16 * -448 * 57344
  EXPECT_EQ(product("bf8_bf8", 0x01, 0x01, 0), 0x31800000u);          // 16 * 2^-32
  EXPECT_EQ(product("bf8_bf8", 0x7c, 0x3c, 0), infinity_bits);
  EXPECT_EQ(product("bf8_bf8", 0xfc, 0x3c, 0), 0xff800000u);
  EXPECT_EQ(product("bf8_bf8", 0x7c, 0x00, 0), nan_bits); // infinity times 0
  EXPECT_EQ(product("bf8_bf8", 0x7c, 0x3c, 0xff800000), nan_bits);
  EXPECT_EQ(product("fp8_fp8", 0x7f, 0x00, 0), nan_bits);
  EXPECT_EQ(product("fp8_fp8", 0x80, 0x38, 0x80000000), 0x80000000u); // all zeros are negative
  // One NaN: in row 3 alone.
  for (const unsigned r : {8u, 9u, 10u, 11u}) b.set_v(r, 0x38383838);
  b.v(8)[3] = 0x3838387f;
  for (unsigned r = 0; r < 8; r++) b.set_v(r, 0u);
  b.run("v_wmma_f32_16x16x16_fp8_fp8 v[0:7], v[8:9], v[10:11], v[0:7]");
  for (unsigned r = 0; r < 8; r++)
    for (unsigned lane = 0; lane < 32; lane++)
      EXPECT_EQ(b.v(r)[lane], r == 3 && lane < 16 ? nan_bits : 0x41800000u) << r << "," << lane;
}

// Four neighbours along k are in a register of B: 1, 1, 2, 2. A has ones at the places that are
// named.
TEST(Edges, OfSparseMatrices) {
  WaveBench b("gfx1201");
  auto product = [&](u32 places) {
    for (const unsigned r : {8u, 9u}) b.set_v(r, 0x38383838);
    for (unsigned r = 10; r < 14; r++) b.set_v(r, 0x40403838);
    for (unsigned r = 0; r < 8; r++) b.set_v(r, 0x3f000000);
    b.set_v(14, places * 0x11111111u);
    b.run("v_swmmac_f32_16x16x32_fp8_fp8 v[0:7], v[8:9], v[10:13], v14");
    for (unsigned r = 0; r < 8; r++)
      for (unsigned lane = 0; lane < 32; lane++)
        if (b.v(r)[lane] != b.v(0)[0]) return ~0u;
    return b.v(0)[0];
  };
  EXPECT_EQ(product(0x4), 0x41840000u); // places 0 and 1: 8 * (1 + 1) + 0.5
  EXPECT_EQ(product(0xe), 0x42020000u); // 2 and 3: 8 * (2 + 2) + 0.5
  EXPECT_EQ(product(0xc), 0x41c40000u); // 0 and 3
  EXPECT_EQ(product(0x9), 0x41c40000u); // 1 and 2
}

TEST(Edges, OfScaledConversions) {
  WaveBench b("gfx950");
  // v_cvt_scalef32_pk_fp4_f32 v0, v1, v2, v3 to byte 0: 0.5 is 1, 1 is 2, 4 is 6, 6 is 7.
  auto pair = [&](u32 low, u32 high, u32 scale) {
    b.set_v(0, 0xaabbccdd), b.set_v(1, low), b.set_v(2, high), b.set_v(3, scale);
    b.run({0xd23d0000, 0x040e0501});
    return b.v(0)[0];
  };
  constexpr u32 one = 0x3f800000;
  EXPECT_EQ(pair(0x3e800000, 0x3f400000, one), 0xaabbcc20u);        // 0.25 to 0, 0.75 to 1
  EXPECT_EQ(pair(0x40a00000, 0xbf400000, one), 0xaabbcca6u);        // 5 to 4, -0.75 to -1
  EXPECT_EQ(pair(0x40a00001, 0x3e800001, one), 0xaabbcc17u);        // just above ties
  EXPECT_EQ(pair(0x41200000, 0x7149f2ca, 0x40000000), 0xaabbcc76u); // 10 / 2, 1e30 / 2
  EXPECT_EQ(pair(infinity_bits, 0xff800000, one), 0xaabbccf7u);
  EXPECT_EQ(pair(0x7f000000, 0x00000001, 0x7f000000), 0xaabbcc02u); // 2^127 / 2^127
  // Of a scale only the exponent counts: 1.75 is 1.
  EXPECT_EQ(pair(0x40a00000, 0xbf400000, 0x3fe00000), 0xaabbcca6u);
}

// All of A and B are the same number; both scales are in byte 0 of v30 and v31.
TEST(Edges, OfScaledMatrices) {
  WaveBench b("gfx950");
  auto product = [&](u32 a, u32 x, u32 scale_a, u32 scale_b, u32 c) {
    for (unsigned r = 8; r < 16; r++) b.set_v(r, a);
    for (unsigned r = 16; r < 24; r++) b.set_v(r, x);
    for (unsigned r = 0; r < 4; r++) b.set_v(r, c);
    b.set_v(30, scale_a), b.set_v(31, scale_b);
    b.run({0xd3ac0000, 0x00023f1e, 0xd3ad0c00, 0x84022108}); // 16x16x128 of fp4
    for (unsigned r = 0; r < 4; r++)
      for (unsigned lane = 0; lane < 64; lane++)
        if (b.v(r)[lane] != b.v(0)[0]) return ~0u;
    return b.v(0)[0];
  };
  constexpr u32 sixes = 0x77777777, halves = 0x11111111;
  EXPECT_EQ(product(sixes, sixes, 127, 127, 0), 0x45900000u); // 128 * 36
  EXPECT_EQ(product(sixes, sixes, 254, 0, 0), 0x45900000u);   // 2^127 * 2^-127
  EXPECT_EQ(product(sixes, sixes, 0, 254, 0x3f800000), 0x45900800u);
  EXPECT_EQ(product(halves, halves, 127, 127, 0), 0x42000000u);   // 128 / 4
  EXPECT_EQ(product(halves, halves, 0, 127, 0), 0x02800000u);     // 2^5 * 2^-127
  EXPECT_EQ(product(halves, halves, 254, 127, 0), infinity_bits); // 2^132
  EXPECT_EQ(product(halves | 0x88888888, halves, 254, 127, 0), 0xff800000u);
  EXPECT_EQ(product(halves, halves, 255, 127, 0), nan_bits);
  EXPECT_EQ(product(halves, halves, 127, 255, 0), nan_bits);
  EXPECT_EQ(product(0, 0, 255, 127, 0), nan_bits);
  EXPECT_EQ(product(0, sixes, 254, 254, 0x40000000), 0x40000000u);
}

TEST(Edges, OfScalarFloats) {
  WaveBench b("gfx1201");
  auto is = [&](const char *line, u32 x, u32 y, u32 expected) {
    b.s(1) = x, b.s(2) = y;
    b.run(line);
    EXPECT_EQ(b.s(0), expected) << line << std::hex << " of " << x << ", " << y;
  };
  is("s_cvt_f16_f32 s0, s1", 0x477ff000, 0, 0x7c00); // 65520, halfway to 2^16
  is("s_cvt_f16_f32 s0, s1", 0x477fefff, 0, 0x7bff);
  is("s_cvt_f16_f32 s0, s1", 0x33000000, 0, 0x0000); // 2^-25, half of the smallest
  is("s_cvt_f16_f32 s0, s1", 0x33c00000, 0, 0x0002); // 1.5 * 2^-24
  is("s_cvt_pk_rtz_f16_f32 s0, s1, s2", 0x477ff000, 0xb2800000, 0x80007bff);
  is("s_cvt_i32_f32 s0, s1", 0x4f32d05e, 0, 0x7fffffff); // 3e9
  is("s_cvt_u32_f32 s0, s1", 0xbf800000, 0, 0);
  is("s_cvt_i32_f32 s0, s1", nan_bits, 0, 0);
  is("s_rndne_f32 s0, s1", 0x40200000, 0, 0x40000000); // 2.5
  is("s_ceil_f32 s0, s1", 0xbf000000, 0, 0x80000000);
  is("s_mul_f32 s0, s1, s2", 0x0d800000, 0x30800000, 0x00080000); // 2^-100 * 2^-30
  is("s_minimum_f32 s0, s1, s2", 0x3f800000, nan_bits, nan_bits);
  is("s_min_num_f32 s0, s1, s2", 0x3f800000, nan_bits, 0x3f800000);
}

} // namespace
} // namespace fade::sim
