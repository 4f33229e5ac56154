// Packed and mixed-precision instructions, dot products.
#include "wave_bench.h"

#include <gtest/gtest.h>

namespace fade::sim {
namespace {

TEST(Packed, HalvesAreIndependent) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_pk_add_u16 v0, v1, v2", {0xffff0001, 0x00010002}), 0x00000003u);
  EXPECT_EQ(b.eval("v_pk_sub_i16 v0, v1, v2", {0x00000005, 0x00010002}), 0xffff0003u);
  EXPECT_EQ(b.eval("v_pk_mul_lo_u16 v0, v1, v2", {0x01000003, 0x01000005}), 0x0000000fu);
  EXPECT_EQ(b.eval("v_pk_mad_i16 v0, v1, v2, v3", {0xffff0002, 0x00030003, 0x00010001}),
            0xfffe0007u);
  EXPECT_EQ(b.eval("v_pk_lshlrev_b16 v0, v1, v2", {0x00010014, 0x80010001}), 0x00020010u);
  EXPECT_EQ(b.eval("v_pk_ashrrev_i16 v0, v1, v2", {0x00010004, 0x80000080}), 0xc0000008u);
  EXPECT_EQ(b.eval("v_pk_min_i16 v0, v1, v2", {0xffff0001, 0x00010002}), 0xffff0001u);
  EXPECT_EQ(b.eval("v_pk_max_u16 v0, v1, v2", {0xffff0001, 0x00010002}), 0xffff0002u);
  EXPECT_EQ(b.eval("v_pk_add_f16 v0, v1, v2", {0x40003c00, 0xbc003c00}), 0x3c004000u);
  EXPECT_EQ(b.eval("v_pk_mul_f16 v0, v1, v2", {0x40003c00, 0xbc004200}), 0xc0004200u);
  EXPECT_EQ(b.eval("v_pk_fma_f16 v0, v1, v2, v3", {0x40003c00, 0x40003c00, 0x3c00bc00}),
            0x45000000u);
  EXPECT_EQ(b.eval("v_pk_max_f16 v0, v1, v2", {0x7e003c00, 0xbc004200}), 0xbc004200u);
  b.set_v(0, 0x3c003c00);
  EXPECT_EQ(b.eval("v_pk_fmac_f16 v0, v1, v2", {0x40003c00, 0x40003c00}), 0x45004000u);
}

TEST(Packed, OpSelPicksTheHalves) {
  WaveBench b;
  EXPECT_EQ(
      b.eval("v_pk_add_u16 v0, v1, v2 op_sel:[1,0] op_sel_hi:[0,0]", {0x00100001, 0x00200002}),
      0x00030012u);
  EXPECT_EQ(b.eval("v_pk_add_f16 v0, v1, v2 op_sel_hi:[1,0]", {0x40003c00, 0x00003c00}),
            0x42004000u);
}

TEST(Packed, ConstantsFillTheLowHalf) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_pk_add_f16 v0, v1, 1.0 op_sel_hi:[1,0]", {0x40003c00}), 0x42004000u);
  EXPECT_EQ(b.eval("v_pk_add_f16 v0, v1, 1.0", {0x40003c00}),
            0x40004000u); // the upper half of the constant is 0
  EXPECT_EQ(b.eval("v_pk_add_u16 v0, v1, -1", {0x00050005}), 0x00040004u); // integers are extended
  EXPECT_EQ(b.eval("v_pk_lshrrev_b16 v0, 8, v1 op_sel_hi:[0,1]", {0xab00cd00}), 0x00ab00cdu);
}

TEST(Packed, SignsApplyToEachHalf) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_pk_add_f16 v0, v1, v2 neg_lo:[1,0]", {0x40003c00, 0x3c004000}), 0x42003c00u);
  EXPECT_EQ(b.eval("v_pk_add_f16 v0, v1, v2 neg_hi:[1,0]", {0x40003c00, 0x3c004000}), 0xbc004200u);
}

TEST(Packed, ClampSaturatesEachHalf) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_pk_add_u16 v0, v1, v2 clamp", {0xffff0001, 0x00010002}), 0xffff0003u);
  EXPECT_EQ(b.eval("v_pk_sub_i16 v0, v1, v2 clamp", {0x80000005, 0x00010002}), 0x80000003u);
  EXPECT_EQ(b.eval("v_pk_add_f16 v0, v1, v2 clamp", {0x4000bc00, 0x3c003800}), 0x3c000000u);
}

TEST(Packed, PairsOfSinglesTakeEitherRegister) {
  WaveBench b;
  auto set = [&](unsigned reg, f32 low, f32 high) {
    b.set_v(reg, bits(low)), b.set_v(reg + 1, bits(high));
  };
  auto expect = [&](f32 low, f32 high) {
    EXPECT_EQ(as_f32(b.v(0)[63]), low);
    EXPECT_EQ(as_f32(b.v(1)[63]), high);
  };
  set(2, 1, 2), set(4, 10, 20), set(6, 100, 200);
  b.run("v_pk_add_f32 v[0:1], v[2:3], v[4:5]");
  expect(11, 22);
  b.run("v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel:[0,1] op_sel_hi:[1,0]");
  expect(20, 20);
  b.run("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] neg_lo:[1,0,0] neg_hi:[0,0,1]");
  expect(90, -160);
  b.run("v_pk_fma_f32 v[0:1], v[2:3], 2.0, v[6:7] op_sel_hi:[1,0,1]");
  expect(102, 204);
  b.s(8) = bits(3.0f), b.s(9) = bits(5.0f);
  b.run("v_pk_mul_f32 v[0:1], v[2:3], s[8:9]");
  expect(3, 10);
  // In place, with halves swapped.
  set(0, 1, 2);
  b.run("v_pk_add_f32 v[0:1], v[0:1], v[4:5] op_sel:[1,0] op_sel_hi:[0,1]");
  expect(12, 21);
  b.run("v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]");
  expect(2, 10);
  b.run("v_pk_mov_b32 v[0:1], v[0:1], v[0:1] op_sel:[1,0]");
  expect(10, 2);
  b.set_exec(1);
  b.run("v_pk_add_f32 v[0:1], v[2:3], v[4:5]");
  expect(10, 2); // lane 63 is off
}

TEST(Packed, PairsFollowMode) {
  WaveBench b;
  b.set_v(2, bits(1.0f)), b.set_v(3, 1), b.set_v(4, bits(0x1p-30f)), b.set_v(5, 0);
  b.wave.set_mode(0x3c1); // up; f32 denormals flushed
  b.run("v_pk_add_f32 v[0:1], v[2:3], v[4:5]");
  EXPECT_EQ(as_f32(b.v(0)[0]), 0x1.000002p0f);
  EXPECT_EQ(b.v(1)[0], 0u);
}

TEST(MixedPrecision, SourcesAreSinglesOrHalves) {
  WaveBench b;
  // 2 (upper half) * 3 (lower half) + 0.5 (single)
  EXPECT_EQ(as_f32(b.eval("v_fma_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,1,0]",
                          {0x40000000, 0x00004200, bits(0.5f)})),
            6.5f);
  EXPECT_EQ(
      as_f32(b.eval("v_fma_mix_f32 v0, -v1, |v2|, v3", {bits(2.0f), bits(-3.0f), bits(0.5f)})),
      -5.5f);
  b.set_v(0, 0xaaaabbbb);
  EXPECT_EQ(b.eval("v_fma_mixlo_f16 v0, v1, v2, v3", {bits(2.0f), bits(3.0f), bits(0.5f)}),
            0xaaaa4680u);
  EXPECT_EQ(b.eval("v_fma_mixhi_f16 v0, v1, v2, v3 clamp", {bits(2.0f), bits(3.0f), bits(0.5f)}),
            0x3c004680u);
}

TEST(MixedPrecision, TakesItsFirstSourceFromOtherLanesOnGfx11) {
  WaveBench b("gfx1100");
  for (unsigned i = 0; i < 32; i++) b.v(1)[i] = bits(static_cast<f32>(i));
  b.set_v(2, bits(2.0f)), b.set_v(3, bits(0.5f)), b.set_v(0, 99);
  b.run("v_fma_mix_f32_e64_dpp v0, v1, v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(b.v(0)[16], 99u);
  EXPECT_EQ(as_f32(b.v(0)[17]), 32.5f);
  for (unsigned i = 0; i < 32; i++) b.v(1)[i] = u32{to_f16(static_cast<f32>(i)).bits} * 0x10001;
  b.set_v(2, 0x3c003c00);
  b.run("v_dot2_f32_f16_e64_dpp v0, v1, v2, v3 dpp8:[7,6,5,4,3,2,1,0]");
  EXPECT_EQ(as_f32(b.v(0)[9]), 14.0f * 2 + 0.5f);
}

TEST(DotProducts, AddProductsOfParts) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_dot2_i32_i16 v0, v1, v2, v3", {0xffff0002, 0x00030004, 10}), 10u + 8 - 3);
  EXPECT_EQ(b.eval("v_dot2_u32_u16 v0, v1, v2, v3", {0xffff0002, 0x00030004, 10}),
            10u + 8 + 3 * 65535);
  EXPECT_EQ(b.eval("v_dot4_i32_i8 v0, v1, v2, v3", {0xff020304, 0x01020304, 1}),
            1u - 1 + 4 + 9 + 16);
  EXPECT_EQ(b.eval("v_dot4_u32_u8 v0, v1, v2, v3", {0xff020304, 0x01020304, 1}),
            1u + 255 + 4 + 9 + 16);
  EXPECT_EQ(b.eval("v_dot8_i32_i4 v0, v1, v2, v3", {0xf1111111, 0x21111111, 1}), 1u + 7 - 2);
  EXPECT_EQ(b.eval("v_dot8_u32_u4 v0, v1, v2, v3", {0xf1111111, 0x21111111, 1}), 1u + 7 + 30);
  EXPECT_EQ(b.eval("v_dot4_i32_i8 v0, v1, v2, v3 clamp", {0x01, 0x01, 0x7fffffff}), 0x7fffffffu);
  EXPECT_EQ(b.eval("v_dot4_i32_i8 v0, v1, v2, v3", {0x01, 0x01, 0x7fffffff}), 0x80000000u);
  b.set_v(0, 100);
  EXPECT_EQ(b.eval("v_dot4c_i32_i8_e32 v0, v1, v2", {0x01010101, 0x04030201}), 110u);
  EXPECT_EQ(as_f32(b.eval("v_dot2_f32_f16 v0, v1, v2, v3", {0x40003c00, 0x42004400, bits(0.5f)})),
            0.5f + 4 + 6);
  b.set_v(0, bits(0.5f));
  EXPECT_EQ(as_f32(b.eval("v_dot2c_f32_f16_e32 v0, v1, v2", {0x40003c00, 0x42004400})), 10.5f);
}

TEST(DotProducts, Gfx90aKnowsNoDenormalsInHalfPrecision) {
  EXPECT_EQ(WaveBench("gfx90a").eval("v_dot2_f32_f16 v0, v1, v2, v3", {0x0001, 0x3c00, 0}), 0u);
  EXPECT_EQ(as_f32(WaveBench("gfx942").eval("v_dot2_f32_f16 v0, v1, v2, v3", {0x0001, 0x3c00, 0})),
            0x1p-24f);
}

TEST(DotProducts, Gfx11ChoosesSignsPerOperand) {
  WaveBench r("gfx1100");
  EXPECT_EQ(r.eval("v_dot4_i32_iu8 v0, v1, v2, v3", {0xff, 0xff, 0}), 255u * 255);
  EXPECT_EQ(r.eval("v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,0,0]", {0xff, 0xff, 0}),
            static_cast<u32>(-255));
  EXPECT_EQ(r.eval("v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,1,0]", {0xff, 0xff, 0}), 1u);
  EXPECT_EQ(r.eval("v_dot8_i32_iu4 v0, v1, v2, v3 neg_lo:[0,1,0]", {0xf, 0xf, 1}),
            static_cast<u32>(-14));
  EXPECT_EQ(r.eval("v_dot2_f32_bf16 v0, v1, v2, v3", {0x40003f80, 0x40404080, bits(1.0f)}),
            bits(11.0f));
  EXPECT_EQ(r.eval("v_dot2_f16_f16 v0, v1, v2, v3", {0x40003c00, 0x42004400, 0x3c00}) & 0xffff,
            0x4980u);
  EXPECT_EQ(r.eval("v_dot2_bf16_bf16 v0, v1, v2, v3", {0x40003f80, 0x40404080, 0x3f80}) & 0xffff,
            0x4130u);
}

} // namespace
} // namespace fade::sim
