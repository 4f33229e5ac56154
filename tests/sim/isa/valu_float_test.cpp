// Vector instructions on floating-point numbers, one at a time, as assembled by LLVM.
#include "wave_bench.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fade::sim {
namespace {

constexpr u32 qnan = 0x7fc00000, snan = 0x7f800001, inf = 0x7f800000, one = 0x3f800000;
constexpr u32 smallest = 1, largest = 0x7f7fffff;

TEST(VectorFloats, AddMultiplyAndFuseRoundLikeIeee) {
  WaveBench b;
  EXPECT_EQ(b.evalf("v_add_f32_e32 v0, v1, v2", {1.0f, 0x1p-24f}), 1.0f); // tie to even
  EXPECT_EQ(b.evalf("v_add_f32_e32 v0, v1, v2", {1.0f, 0x1.8p-24f}), 0x1.000002p0f);
  EXPECT_EQ(b.evalf("v_sub_f32_e32 v0, v1, v2", {1.0f, 3.0f}), -2.0f);
  EXPECT_EQ(b.evalf("v_subrev_f32_e32 v0, v1, v2", {1.0f, 3.0f}), 2.0f);
  EXPECT_EQ(b.evalf("v_mul_f32_e32 v0, v1, v2", {1.5f, -2.0f}), -3.0f);
  // (1+2^-12)^2 = 1 + 2^-11 + 2^-24: the last term survives only without rounding in between.
  EXPECT_EQ(b.evalf("v_fma_f32 v0, v1, v2, v3", {1 + 0x1p-12f, 1 + 0x1p-12f, -1 - 0x1p-11f}),
            0x1p-24f);
  b.set_v(0, bits(-1 - 0x1p-11f));
  EXPECT_EQ(b.evalf("v_fmac_f32_e32 v0, v1, v2", {1 + 0x1p-12f, 1 + 0x1p-12f}), 0x1p-24f);
  EXPECT_EQ(b.evalf("v_mad_f32 v0, v1, v2, v3", {1 + 0x1p-12f, 1 + 0x1p-12f, -1 - 0x1p-11f}), 0.0f);
  b.set_v(0, bits(-1 - 0x1p-11f));
  EXPECT_EQ(b.evalf("v_mac_f32_e32 v0, v1, v2", {1 + 0x1p-12f, 1 + 0x1p-12f}), 0.0f);
}

TEST(VectorFloats, ConstantsInsideTheInstruction) {
  WaveBench c("gfx942");
  EXPECT_EQ(c.evalf("v_fmamk_f32 v0, v1, 0x40400000, v2", {2.0f, 1.0f}), 7.0f);
  EXPECT_EQ(c.evalf("v_fmaak_f32 v0, v1, v2, 0x40400000", {2.0f, 5.0f}), 13.0f);
  WaveBench b;
  EXPECT_EQ(b.evalf("v_madmk_f32 v0, v1, 0x40400000, v2", {2.0f, 1.0f}), 7.0f);
  EXPECT_EQ(b.evalf("v_madak_f32 v0, v1, v2, 0x40400000", {2.0f, 5.0f}), 13.0f);
  EXPECT_EQ(b.evalf("v_add_f32_e32 v0, 0.15915494, v1", {0.0f}), 0.15915494f);
  EXPECT_EQ(b.evald("v_add_f64 v[0:1], v[2:3], 0.15915494309189532", {0.0}), 0.15915494309189532);
  EXPECT_EQ(b.evald("v_add_f64 v[0:1], v[2:3], -4.0", {1.0}), -3.0);
}

TEST(VectorFloats, OldMultiplyAddsKnowNoDenormals) {
  WaveBench b; // MODE keeps denormals
  EXPECT_EQ(b.eval("v_mad_f32 v0, v1, v2, v3", {smallest, one, 0}), 0u);
  EXPECT_EQ(b.eval("v_fma_f32 v0, v1, v2, v3", {smallest, one, 0}), smallest);
}

TEST(VectorFloats, LegacyProductsOfZeroAreZero) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_mul_legacy_f32 v0, v1, v2", {0x80000000, inf}), 0u);
  EXPECT_EQ(b.eval("v_mul_f32_e32 v0, v1, v2", {0, inf}), qnan);
  EXPECT_EQ(b.evalf("v_mad_legacy_f32 v0, v1, v2, v3", {0.0f, as_f32(qnan), 3.0f}), 3.0f);
  WaveBench r("gfx1030");
  EXPECT_EQ(r.evalf("v_fma_legacy_f32 v0, v1, v2, v3", {as_f32(inf), 0.0f, 3.0f}), 3.0f);
  WaveBench n("gfx1100");
  EXPECT_EQ(n.evalf("v_mul_dx9_zero_f32_e32 v0, v1, v2", {0.0f, as_f32(inf)}), 0.0f);
  EXPECT_EQ(n.evalf("v_mullit_f32 v0, v1, v2, v3", {2.0f, 3.0f, 1.0f}), 6.0f);
  EXPECT_EQ(n.eval("v_mullit_f32 v0, v1, v2, v3", {one, one, 0}), 0xff7fffffu);
}

TEST(VectorFloats, NanOperandsComeOutQuietAndInOrder) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_add_f32_e32 v0, v1, v2", {snan, one}), snan | 0x400000);
  EXPECT_EQ(b.eval("v_add_f32_e32 v0, v1, v2", {one, 0xffc12345}), 0xffc12345u);
  EXPECT_EQ(b.eval("v_mul_f32_e32 v0, v1, v2", {0x7fc00001, 0x7fc00002}), 0x7fc00001u);
  EXPECT_EQ(b.eval("v_fma_f32 v0, v1, v2, v3", {one, 0x7fc00002, 0x7fc00003}), 0x7fc00002u);
  EXPECT_EQ(b.eval("v_sub_f32_e32 v0, v1, v2", {inf, inf}), qnan);
}

TEST(VectorFloats, MinAndMaxPreferNumbersToNan) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_min_f32_e32 v0, v1, v2", {qnan, one}), one);
  EXPECT_EQ(b.eval("v_max_f32_e32 v0, v1, v2", {one, qnan}), one);
  EXPECT_EQ(b.eval("v_min_f32_e32 v0, v1, v2", {0, 0x80000000}), 0x80000000u);
  EXPECT_EQ(b.eval("v_max_f32_e32 v0, v1, v2", {0x80000000, 0}), 0u);
  EXPECT_EQ(b.evalf("v_min3_f32 v0, v1, v2, v3", {3.0f, -1.0f, 2.0f}), -1.0f);
  EXPECT_EQ(b.evalf("v_max3_f32 v0, v1, v2, v3", {3.0f, -1.0f, 2.0f}), 3.0f);
  EXPECT_EQ(b.evalf("v_med3_f32 v0, v1, v2, v3", {3.0f, -1.0f, 2.0f}), 2.0f);
  EXPECT_EQ(b.evalf("v_med3_f32 v0, v1, v2, v3", {3.0f, as_f32(qnan), 2.0f}),
            2.0f); // with a NaN: the minimum
  EXPECT_EQ(b.evald("v_max_f64 v[0:1], v[2:3], v[4:5]", {-2.0, as_f64(0x7ff8000000000000)}), -2.0);
}

TEST(VectorFloats, SignallingNansWinInIeeeModeOnly) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_max_f32_e32 v0, v1, v2", {one, snan}), snan | 0x400000);
  b.wave.set_mode(0x1f0); // IEEE off
  EXPECT_EQ(b.eval("v_max_f32_e32 v0, v1, v2", {one, snan}), one);
}

TEST(VectorFloats, RoundToIntegers) {
  WaveBench b;
  const struct {
    const char *name;
    f32 results[6];
  } cases[] = {
      {"v_trunc_f32_e32 v0, v1", {2, -2, 2, 3, -0.0f, 0}},
      {"v_floor_f32_e32 v0, v1", {2, -3, 2, 3, -1, 0}},
      {"v_ceil_f32_e32 v0, v1", {3, -2, 3, 4, -0.0f, 1}},
      {"v_rndne_f32_e32 v0, v1", {2, -2, 3, 4, -0.0f, 0}},
  };
  const f32 inputs[6] = {2.5f, -2.5f, 2.75f, 3.5f, -0.5f, 0.5f};
  for (const auto &c : cases)
    for (int i = 0; i < 6; i++) {
      EXPECT_EQ(bits(b.evalf(c.name, {inputs[i]})), bits(c.results[i]))
          << c.name << " " << inputs[i];
      const std::string wide = std::string(c.name).substr(0, std::string(c.name).find("_f32")) +
                               "_f64_e32 v[0:1], v[2:3]";
      EXPECT_EQ(b.evald(wide, {inputs[i]}), c.results[i]) << wide;
    }
  b.wave.set_mode(0x3ff); // round toward zero: rndne does not care
  EXPECT_EQ(b.evalf("v_rndne_f32_e32 v0, v1", {3.5f}), 4.0f);
}

TEST(VectorFloats, FractionStaysBelowOne) {
  WaveBench b;
  EXPECT_EQ(b.evalf("v_fract_f32_e32 v0, v1", {2.75f}), 0.75f);
  EXPECT_EQ(b.evalf("v_fract_f32_e32 v0, v1", {-0.25f}), 0.75f);
  EXPECT_EQ(b.evalf("v_fract_f32_e32 v0, v1", {-0x1p-30f}), 0x1.fffffep-1f);
  EXPECT_EQ(b.evald("v_fract_f64_e32 v[0:1], v[2:3]", {-0x1p-60}), 0x1.fffffffffffffp-1);
  EXPECT_EQ(b.eval("v_fract_f16_e32 v0, v1", {0x8001}), 0x3bffu);
  EXPECT_TRUE(std::isnan(b.evalf("v_fract_f32_e32 v0, v1", {as_f32(inf)})));
}

TEST(VectorFloats, Roots) {
  WaveBench b;
  EXPECT_EQ(b.evalf("v_sqrt_f32_e32 v0, v1", {2.0f}), 0x1.6a09e6p0f);
  EXPECT_EQ(b.evald("v_sqrt_f64_e32 v[0:1], v[2:3]", {2.0}), 0x1.6a09e667f3bcdp0);
  EXPECT_EQ(b.eval("v_sqrt_f16_e32 v0, v1", {0x4000}), 0x3da8u);
  EXPECT_EQ(b.evalf("v_rcp_f32_e32 v0, v1", {4.0f}), 0.25f);
  EXPECT_EQ(b.eval("v_rcp_f32_e32 v0, v1", {0x80000001}), 0xff800000u); // a denormal counts as zero
  EXPECT_EQ(b.eval("v_rcp_f32_e32 v0, v1", {largest}), 0u);
  EXPECT_EQ(b.evalf("v_rsq_f32_e32 v0, v1", {0.25f}), 2.0f);
  EXPECT_NEAR(b.evald("v_rcp_f64_e32 v[0:1], v[2:3]", {3.0}), 1.0 / 3, 1e-8);
  EXPECT_NEAR(b.evald("v_rsq_f64_e32 v[0:1], v[2:3]", {2.0}), M_SQRT1_2, 1e-8);
}

TEST(VectorFloats, PowersLogarithmsAndAngles) {
  WaveBench b;
  EXPECT_EQ(b.evalf("v_exp_f32_e32 v0, v1", {3.0f}), 8.0f);
  EXPECT_EQ(b.evalf("v_log_f32_e32 v0, v1", {0.125f}), -3.0f);
  EXPECT_EQ(b.evalf("v_sin_f32_e32 v0, v1", {0.25f}), 1.0f);
  EXPECT_EQ(b.evalf("v_cos_f32_e32 v0, v1", {0.25f}), 0.0f);
  EXPECT_EQ(b.evalf("v_sin_f32_e32 v0, v1", {1000.25f}), 0.0f); // gfx9 stops at 256 turns
  EXPECT_EQ(b.eval("v_exp_f16_e32 v0, v1", {0x4200}), 0x4800u);
  EXPECT_EQ(b.eval("v_log_f16_e32 v0, v1", {0x4800}), 0x4200u);
  WaveBench r("gfx1030");
  EXPECT_EQ(r.evalf("v_sin_f32_e32 v0, v1", {1000.25f}), 1.0f);
}

TEST(VectorFloats, ExponentsInAndOut) {
  WaveBench b;
  b.set_v(1, bits(0.75f)), b.set_v(2, static_cast<u32>(-3));
  b.run("v_ldexp_f32 v0, v1, v2");
  EXPECT_EQ(as_f32(b.v(0)[0]), 0.09375f);
  EXPECT_EQ(b.eval("v_frexp_exp_i32_f32_e32 v0, v1", {bits(12.0f)}), 4u);
  EXPECT_EQ(b.evalf("v_frexp_mant_f32_e32 v0, v1", {-12.0f}), -0.75f);
  EXPECT_EQ(b.eval("v_frexp_exp_i32_f32_e32 v0, v1", {smallest}), static_cast<u32>(-148));
  EXPECT_EQ(b.eval("v_frexp_exp_i32_f32_e32 v0, v1", {inf}), 0u);
  b.set_v64(2, bits(12.0)), b.set_v(1, 5);
  b.run("v_ldexp_f64 v[4:5], v[2:3], v1");
  EXPECT_EQ(as_f64(b.v64(4)), 384.0);
  EXPECT_EQ(b.eval("v_ldexp_f16_e32 v0, v1, v2", {0x3c00, 0xffff}), 0x3800u);
  EXPECT_EQ(b.eval("v_frexp_exp_i16_f16_e32 v0, v1", {0x3800}), 0u);
  EXPECT_EQ(b.eval("v_frexp_mant_f16_e32 v0, v1", {0xc600}), 0xba00u);
  EXPECT_EQ(b.eval("v_frexp_exp_i16_f16_e32 v0, v1", {0x0001}), 0xffe9u); // 2^-24 = 0.5 * 2^-23
}

TEST(VectorFloats, DivisionStepsScaleAndRepair) {
  WaveBench b;
  // 1e38 / 1e-38: far apart, so the denominator is scaled and the flag asks for it back.
  b.set_v(1, bits(1e-38f)), b.set_v(2, bits(1e38f));
  b.run("v_div_scale_f32 v0, vcc, v1, v1, v2");
  EXPECT_EQ(as_f32(b.v(0)[0]), std::ldexp(1e-38f, 64));
  EXPECT_EQ(b.vcc(), ~0ull);
  b.run("v_div_scale_f32 v0, vcc, v2, v1, v2");
  EXPECT_EQ(as_f32(b.v(0)[0]), 1e38f);
  // Nothing to do.
  b.set_v(1, bits(3.0f)), b.set_v(2, bits(2.0f));
  b.run("v_div_scale_f32 v0, vcc, v1, v1, v2");
  EXPECT_EQ(as_f32(b.v(0)[0]), 3.0f);
  EXPECT_EQ(b.vcc(), 0u);
  b.run("v_div_scale_f32 v0, s[4:5], v1, v1, 0");
  EXPECT_EQ(b.v(0)[0], qnan);
  // A lane whose flag is set gets its quotient scaled back.
  b.set_vcc(0b01);
  b.set_v(1, bits(0.0f)), b.set_v(2, bits(0.0f)), b.set_v(3, bits(3.0f));
  b.run("v_div_fmas_f32 v0, v1, v2, v3");
  EXPECT_EQ(as_f32(b.v(0)[0]), std::ldexp(3.0f, 64));
  EXPECT_EQ(as_f32(b.v(0)[1]), 3.0f);
  b.set_v(3, bits(0.75f));
  b.run("v_div_fmas_f32 v0, v1, v2, v3");
  EXPECT_EQ(as_f32(b.v(0)[0]), std::ldexp(0.75f, -64));
  EXPECT_EQ(b.evalf("v_div_fixup_f32 v0, v1, v2, v3", {7.0f, 0.0f, -1.0f}),
            -std::numeric_limits<f32>::infinity());
  EXPECT_EQ(b.evald("v_div_fixup_f64 v[0:1], v[2:3], v[4:5], v[6:7]", {7.0, -1.0, 1.0}), -7.0);
}

TEST(VectorFloats, UnsignedZeroIsPositiveInEveryRoundingMode) {
  WaveBench b;
  for (uint32_t rounding = 0; rounding < 16; rounding++) {
    b.wave.set_mode(WaveBench::default_mode | rounding);
    EXPECT_EQ(b.eval("v_cvt_f32_u32_e32 v0, v1", {0}), 0u) << rounding;
    EXPECT_EQ(b.eval64("v_cvt_f64_u32_e32 v[0:1], v2", {0}), 0u) << rounding;
  }
}

TEST(VectorFloats, Conversions) {
  WaveBench b;
  EXPECT_EQ(b.evalf("v_cvt_f32_i32_e32 v0, v1", {as_f32(0xffffffff)}), -1.0f);
  EXPECT_EQ(b.evalf("v_cvt_f32_u32_e32 v0, v1", {as_f32(0xffffffff)}), 4294967296.0f);
  EXPECT_EQ(b.eval("v_cvt_i32_f32_e32 v0, v1", {bits(-2.9f)}), static_cast<u32>(-2));
  EXPECT_EQ(b.eval("v_cvt_u32_f32_e32 v0, v1", {bits(-2.9f)}), 0u);
  EXPECT_EQ(b.eval("v_cvt_u32_f32_e32 v0, v1", {qnan}), 0u);
  EXPECT_EQ(b.eval("v_cvt_rpi_i32_f32_e32 v0, v1", {bits(-2.5f)}), static_cast<u32>(-2));
  EXPECT_EQ(b.eval("v_cvt_rpi_i32_f32_e32 v0, v1", {bits(0.49999997f)}), 0u);
  EXPECT_EQ(b.eval("v_cvt_flr_i32_f32_e32 v0, v1", {bits(-2.5f)}), static_cast<u32>(-3));
  EXPECT_EQ(b.evalf("v_cvt_f32_ubyte2_e32 v0, v1", {as_f32(0x00fe0000)}), 254.0f);
  EXPECT_EQ(b.evalf("v_cvt_off_f32_i4_e32 v0, v1", {as_f32(0x8)}), -0.5f);
  EXPECT_EQ(b.evalf("v_cvt_off_f32_i4_e32 v0, v1", {as_f32(0x7)}), 0.4375f);
  EXPECT_EQ(b.evalf("v_cvt_f32_f16_e32 v0, v1", {as_f32(0xffff3e00)}), 1.5f);
  EXPECT_EQ(b.eval("v_cvt_f16_f32_e32 v0, v1", {bits(1.5f)}), 0x3e00u);
  EXPECT_EQ(b.eval("v_cvt_f16_i16_e32 v0, v1", {0xffff}), 0xbc00u);
  EXPECT_EQ(b.eval("v_cvt_f16_u16_e32 v0, v1", {0xffff}), 0x7c00u);
  EXPECT_EQ(b.eval("v_cvt_i16_f16_e32 v0, v1", {0xfc00}), 0x8000u);
  EXPECT_EQ(b.eval("v_cvt_u16_f16_e32 v0, v1", {0x4200}), 3u);
  b.set_v64(2, bits(1.0 + 0x1p-24 + 0x1p-50));
  b.run("v_cvt_f32_f64_e32 v0, v[2:3]");
  EXPECT_EQ(as_f32(b.v(0)[0]), 1 + 0x1p-23f);
  b.set_v64(2, bits(-2147483649.0));
  b.run("v_cvt_i32_f64_e32 v0, v[2:3]");
  EXPECT_EQ(b.v(0)[0], 0x80000000u);
  b.set_v(1, 0x80000000);
  b.run("v_cvt_f64_i32_e32 v[4:5], v1");
  EXPECT_EQ(as_f64(b.v64(4)), -2147483648.0);
  b.run("v_cvt_f64_u32_e32 v[4:5], v1");
  EXPECT_EQ(as_f64(b.v64(4)), 2147483648.0);
}

TEST(VectorFloats, PackedConversions) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_cvt_pkrtz_f16_f32 v0, v1, v2", {bits(1.9999f), bits(-1e6f)}), 0xfbff3fffu);
  EXPECT_EQ(b.eval("v_cvt_pknorm_i16_f32 v0, v1, v2", {bits(1.0f), bits(-2.0f)}), 0x80017fffu);
  EXPECT_EQ(b.eval("v_cvt_pknorm_u16_f32 v0, v1, v2", {bits(0.5f), bits(-1.0f)}), 0x00008000u);
  EXPECT_EQ(b.eval("v_cvt_pknorm_i16_f16 v0, v1, v2", {0x3c00, 0xbc00}), 0x80017fffu);
  EXPECT_EQ(b.eval("v_pack_b32_f16 v0, v1, -v2", {0x3c00, 0x3c00}), 0xbc003c00u);
  EXPECT_EQ(b.eval("v_pack_b32_f16 v0, v1, v2 op_sel:[1,0,0]", {0x12340000, 0x5678}), 0x56781234u);
  EXPECT_EQ(b.eval("v_cvt_pk_u8_f32 v0, v1, v2, v3", {bits(300.0f), 2, 0x11223344}), 0x11ff3344u);
  b.set_v(0, 0xaabbccdd);
  EXPECT_EQ(b.eval("v_cvt_pkaccum_u8_f32 v0, v1, v2", {bits(7.9f), 1}), 0xaabb07ddu);
  WaveBench r("gfx1100");
  EXPECT_EQ(r.eval("v_cvt_pk_i16_f32 v0, v1, v2", {bits(-1.5f), bits(1e9f)}), 0x7fffffffu);
}

TEST(VectorFloats, EightBitFloats) {
  WaveBench c("gfx942");
  EXPECT_EQ(c.evalf("v_cvt_f32_fp8_e32 v0, v1", {as_f32(0x44)}), 1.5f);
  EXPECT_EQ(c.evalf("v_cvt_f32_fp8_sdwa v0, v1 src0_sel:BYTE_2", {as_f32(0x00440000)}), 1.5f);
  EXPECT_EQ(c.evalf("v_cvt_f32_bf8_e32 v0, v1", {as_f32(0x42)}), 1.5f);
  c.set_v(1, 0xc0444444);
  c.run("v_cvt_pk_f32_fp8_sdwa v[4:5], v1 src0_sel:WORD_1");
  EXPECT_EQ(as_f32(c.v(4)[0]), 1.5f);
  EXPECT_EQ(as_f32(c.v(5)[0]), -1.0f);
  c.set_v(0, 0x11112222);
  EXPECT_EQ(c.eval("v_cvt_pk_fp8_f32 v0, v1, v2", {bits(1.5f), bits(-1.0f)}), 0x1111c044u);
  EXPECT_EQ(c.eval("v_cvt_pk_bf8_f32 v0, v1, v2 op_sel:[0,0,1]", {bits(1.5f), bits(-1.0f)}),
            0xc042c044u);
  EXPECT_EQ(c.eval("v_cvt_sr_fp8_f32 v0, v1, v2 op_sel:[0,0,1,0]", {bits(1.0f), 0}), 0xc04240'44u);
}

TEST(VectorFloats, HalfPrecision) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_add_f16_e32 v0, v1, v2", {0x3c00, 0x4000}), 0x4200u);
  EXPECT_EQ(b.eval("v_mul_f16_e32 v0, v1, v2", {0x7bff, 0x4000}), 0x7c00u);
  EXPECT_EQ(b.eval("v_fma_f16 v0, v1, v2, v3", {0x3c01, 0x3c01, 0xbc02}) & 0xffff,
            0x0010u); // 2^-20
  EXPECT_EQ(b.eval("v_mad_legacy_f16 v0, v1, v2, v3", {0x3c01, 0x3c01, 0xbc02}), 0u);
  EXPECT_EQ(b.eval("v_max_f16_e32 v0, v1, v2", {0x7e00, 0xbc00}), 0xbc00u);
  EXPECT_EQ(b.eval("v_med3_f16 v0, v1, v2, v3", {0x3c00, 0x4000, 0x4200}) & 0xffff, 0x4000u);
  EXPECT_EQ(b.eval("v_rcp_f16_e32 v0, v1", {0x4200}), 0x3555u);
  EXPECT_EQ(b.eval("v_floor_f16_e32 v0, v1", {0xb800}), 0xbc00u);
  b.set_v(0, 0x77773c00); // v_mac_f16 leaves the upper half alone
  EXPECT_EQ(b.eval("v_mac_f16_e32 v0, v1, v2", {0x4000, 0x4000}), 0x77774500u);
  WaveBench r("gfx1030");
  r.set_v(0, 0x77773c00);
  EXPECT_EQ(r.eval("v_fmac_f16_e32 v0, v1, v2", {0x4000, 0x4000}), 0x77774500u);
}

TEST(VectorFloats, CubeCoordinates) {
  WaveBench b;
  EXPECT_EQ(b.evalf("v_cubeid_f32 v0, v1, v2, v3", {1.0f, 2.0f, -3.0f}), 5.0f);
  EXPECT_EQ(b.evalf("v_cubesc_f32 v0, v1, v2, v3", {1.0f, 2.0f, -3.0f}), -1.0f);
  EXPECT_EQ(b.evalf("v_cubetc_f32 v0, v1, v2, v3", {1.0f, 2.0f, -3.0f}), -2.0f);
  EXPECT_EQ(b.evalf("v_cubema_f32 v0, v1, v2, v3", {1.0f, 2.0f, -3.0f}), -6.0f);
}

} // namespace
} // namespace fade::sim
