// Instructions that gfx12 has of its own, one at a time. Expected values are worked out by hand
// from the text and the pseudocode of the RDNA4 manual.
#include "memory_bench.h"

#include "wave/faults.h"

#include <gtest/gtest.h>

namespace fade::sim {
namespace {

constexpr u32 one = 0x3f800000, two = 0x40000000, minus_zero = 0x80000000;
constexpr u32 quiet_nan = 0x7fc01234, signalling = 0x7f801234, other_signalling = 0xff80abcd;

struct Pair {
  u32 a, b, min_num, max_num, minimum, maximum;
};
constexpr Pair operand_pairs[] = {
    {one, two, one, two, one, two},
    {two, one, one, two, one, two},
    {minus_zero, 0, minus_zero, 0, minus_zero, 0},
    {0, minus_zero, minus_zero, 0, minus_zero, 0},
    {0x7f800000, one, one, 0x7f800000, one, 0x7f800000},
    {1, 0x80000001, 0x80000001, 1, 0x80000001, 1}, // denormals
    {quiet_nan, one, one, one, quiet_nan, quiet_nan},
    {one, quiet_nan, one, one, quiet_nan, quiet_nan},
    // A signalling NaN loses against a number, too; the others make it quiet.
    {signalling, one, one, one, 0x7fc01234, 0x7fc01234},
    {one, signalling, one, one, 0x7fc01234, 0x7fc01234},
    {quiet_nan, signalling, quiet_nan, quiet_nan, 0x7fc01234, 0x7fc01234},
    {quiet_nan, other_signalling, quiet_nan, quiet_nan, 0xffc0abcd, 0xffc0abcd},
    {other_signalling, quiet_nan, 0xffc0abcd, 0xffc0abcd, 0xffc0abcd, 0xffc0abcd},
    {signalling, other_signalling, 0x7fc01234, 0x7fc01234, 0x7fc01234, 0x7fc01234},
};

TEST(Gfx12Minima, OfVectorsAndScalars) {
  WaveBench b("gfx1201");
  for (const Pair &p : operand_pairs) {
    SCOPED_TRACE(testing::Message() << std::hex << p.a << ", " << p.b);
    EXPECT_EQ(b.eval("v_min_num_f32 v0, v1, v2", {p.a, p.b}), p.min_num);
    EXPECT_EQ(b.eval("v_max_num_f32 v0, v1, v2", {p.a, p.b}), p.max_num);
    EXPECT_EQ(b.eval("v_minimum_f32 v0, v1, v2", {p.a, p.b}), p.minimum);
    EXPECT_EQ(b.eval("v_maximum_f32 v0, v1, v2", {p.a, p.b}), p.maximum);
    const struct {
      const char *name;
      u32 expected;
    } scalars[] = {{"s_min_num_f32", p.min_num},
                   {"s_max_num_f32", p.max_num},
                   {"s_minimum_f32", p.minimum},
                   {"s_maximum_f32", p.maximum}};
    for (const auto &s : scalars) {
      b.s(1) = p.a, b.s(2) = p.b;
      b.run(std::string(s.name) + " s0, s1, s2");
      EXPECT_EQ(b.s(0), s.expected) << s.name;
    }
    b.set_v(1, p.a), b.set_v(2, p.b), b.set_v(4, p.a), b.set_v(5, p.b);
    b.run("v_dual_max_num_f32 v0, v1, v2 :: v_dual_min_num_f32 v3, v4, v5");
    EXPECT_EQ(b.v(0)[0], p.max_num);
    EXPECT_EQ(b.v(3)[0], p.min_num);
  }
}

TEST(Gfx12Minima, OfHalvesAndDoubles) {
  WaveBench b("gfx1201");
  // 1, 2, -0, 0, a signalling NaN, a quiet one.
  EXPECT_EQ(b.eval("v_min_num_f16 v0, v1, v2", {0x3c00, 0x4000}) & 0xffff, 0x3c00u);
  EXPECT_EQ(b.eval("v_max_num_f16 v0, v1, v2", {0x8000, 0}) & 0xffff, 0u);
  EXPECT_EQ(b.eval("v_min_num_f16 v0, v1, v2", {0x7c01, 0x3c00}) & 0xffff, 0x3c00u);
  EXPECT_EQ(b.eval("v_min_num_f16 v0, v1, v2", {0x7c01, 0x7e55}) & 0xffff, 0x7e01u);
  EXPECT_EQ(b.eval("v_minimum_f16 v0, v1, v2", {0x3c00, 0x7c01}) & 0xffff, 0x7e01u);
  EXPECT_EQ(b.eval("v_maximum_f16 v0, v1, v2", {0x7e55, 0x3c00}) & 0xffff, 0x7e55u);
  EXPECT_EQ(b.eval64("v_min_num_f64 v[0:1], v[2:3], v[4:5]", {bits(3.0), bits(-2.5)}), bits(-2.5));
  EXPECT_EQ(b.eval64("v_max_num_f64 v[0:1], v[2:3], v[4:5]", {0x7ff0000000000001, bits(1.0)}),
            bits(1.0));
  EXPECT_EQ(b.eval64("v_minimum_f64 v[0:1], v[2:3], v[4:5]", {0x7ff0000000000001, bits(1.0)}),
            0x7ff8000000000001u);
  EXPECT_EQ(b.eval64("v_maximum_f64 v[0:1], v[2:3], v[4:5]", {bits(-0.0), bits(0.0)}), 0u);
  // Each half by itself.
  EXPECT_EQ(b.eval("v_pk_min_num_f16 v0, v1, v2", {0x7c01'3c00, 0x4000'4000}), 0x4000'3c00u);
  EXPECT_EQ(b.eval("v_pk_max_num_f16 v0, v1, v2", {0x7c01'3c00, 0x4000'4000}), 0x4000'4000u);
  EXPECT_EQ(b.eval("v_pk_minimum_f16 v0, v1, v2", {0x7c01'3c00, 0x4000'4000}), 0x7e01'3c00u);
  EXPECT_EQ(b.eval("v_pk_maximum_f16 v0, v1, v2", {0x7c01'8000, 0x4000'0000}), 0x7e01'0000u);
}

TEST(Gfx12Minima, OfThree) {
  WaveBench b("gfx1201");
  const u32 three = 0x40400000, nan = quiet_nan;
  const auto is = [&](const char *name, u32 x, u32 y, u32 z, u32 expected) {
    EXPECT_EQ(b.eval(std::string(name) + " v0, v1, v2, v3", {x, y, z}), expected)
        << name << std::hex << " " << x << " " << y << " " << z;
  };
  is("v_min3_num_f32", two, one, three, one);
  is("v_max3_num_f32", two, one, three, three);
  is("v_min3_num_f32", nan, two, three, two);
  is("v_max3_num_f32", one, nan, nan, one);
  is("v_med3_num_f32", three, one, two, two);
  is("v_med3_num_f32", one, one, two, one);
  is("v_med3_num_f32", three, nan, two, two); // the smallest of them
  is("v_maxmin_num_f32", one, three, two, two);
  is("v_minmax_num_f32", one, three, two, two);
  is("v_minmax_num_f32", nan, nan, two, two);
  is("v_maximumminimum_f32", one, three, two, two);
  is("v_minimummaximum_f32", nan, one, two, nan);
  is("v_minimum3_f32", two, one, three, one);
  is("v_maximum3_f32", two, three, nan, nan);
  EXPECT_EQ(b.eval("v_minimum3_f16 v0, v1, v2, v3", {0x4000, 0x3c00, 0x4200}) & 0xffff, 0x3c00u);
  EXPECT_EQ(b.eval("v_maximum3_f16 v0, v1, v2, v3", {0x4000, 0x7c01, 0x4200}) & 0xffff, 0x7e01u);
}

TEST(Gfx12Modifiers, ClampMakesZeroOfNanAndMultipliersWorkWithDenormals) {
  WaveBench b("gfx1201");
  b.wave.set_mode(0xf0); // denormals are kept; there is no DX10_CLAMP
  EXPECT_EQ(b.eval("v_add_f32_e64 v0, v1, v2 clamp", {quiet_nan, one}), 0u);
  EXPECT_EQ(b.eval("v_add_f32_e64 v0, v1, v2 clamp", {two, one}), one);
  EXPECT_EQ(b.eval("v_add_f32_e64 v0, v1, v2 mul:2", {one, one}), 0x40800000u);
  EXPECT_EQ(b.eval("v_mul_f32_e64 v0, v1, v2 div:2", {0x00800000, one}), 0u); // no denormal result
  EXPECT_EQ(b.eval("v_mul_f32_e64 v0, v1, v2 mul:4", {minus_zero, one}), 0u); // -0 becomes 0
}

TEST(Gfx12PseudoScalar, ComputesOneValueWhateverExecSays) {
  WaveBench b("gfx1201");
  b.set_exec(0);
  const auto is = [&](const std::string &line, u32 operand, u32 expected) {
    b.s(1) = operand, b.s(0) = 0xdeadbeef;
    b.run(line);
    EXPECT_EQ(b.s(0), expected) << line << std::hex << " " << operand;
  };
  is("v_s_exp_f32 s0, s1", 0x40400000, 0x41000000); // 2^3
  is("v_s_exp_f32 s0, -s1", one, 0x3f000000);
  is("v_s_exp_f32 s0, |s1|", 0xbf800000, two);
  is("v_s_log_f32 s0, s1", 0x41000000, 0x40400000);
  is("v_s_log_f32 s0, s1", 0, 0xff800000);
  is("v_s_rcp_f32 s0, s1", 0x40800000, 0x3e800000);
  is("v_s_rcp_f32 s0, s1", 0, 0x7f800000);
  is("v_s_rcp_f32 s0, s1", 1, 0x7f800000); // a denormal counts as 0
  is("v_s_rsq_f32 s0, s1", 0x40800000, 0x3f000000);
  is("v_s_sqrt_f32 s0, s1", 0x41100000, 0x40400000);
  is("v_s_sqrt_f32 s0, s1", 0xbf800000, 0x7fc00000);
  is("v_s_exp_f32 s0, 1.0", 0, two);
  // 16 bits: the lower half counts, the upper half of the result is cleared.
  is("v_s_exp_f16 s0, s1", 0x12344200, 0x4800);
  is("v_s_log_f16 s0, s1", 0x4800, 0x4200);
  is("v_s_rcp_f16 s0, s1", 0x4400, 0x3400);
  is("v_s_rsq_f16 s0, s1", 0x4400, 0x3800);
  is("v_s_sqrt_f16 s0, s1", 0x4880, 0x4200);
}

// 1 is 0x38 in fp8 and 0x3c in bf8, 2 is 0x40 in both; the sign is bit 7.
TEST(Gfx12SmallFloats, DotProductsOfFourBytes) {
  WaveBench b("gfx1201");
  const u32 half = 0x3f000000;
  // 1*2 + 2*1 + -1*2 + 0*x + 0.5
  EXPECT_EQ(b.eval("v_dot4_f32_fp8_fp8 v0, v1, v2, v3", {0x00b84038, 0x40403840, half}),
            0x40200000u);
  EXPECT_EQ(b.eval("v_dot4_f32_fp8_bf8 v0, v1, v2, v3", {0x00b84038, 0x40403c40, half}),
            0x40200000u);
  EXPECT_EQ(b.eval("v_dot4_f32_bf8_fp8 v0, v1, v2, v3", {0x00bc403c, 0x40403840, half}),
            0x40200000u);
  EXPECT_EQ(b.eval("v_dot4_f32_bf8_bf8 v0, v1, v2, v3", {0x00bc403c, 0x40403c40, half}),
            0x40200000u);
  // Of the third operand, the sign and the magnitude can be taken.
  EXPECT_EQ(b.eval("v_dot4_f32_fp8_fp8 v0, v1, v2, v3 neg_lo:[0,0,1]", {0x38, 0x38, half}), half);
  EXPECT_EQ(b.eval("v_dot4_f32_fp8_fp8 v0, v1, v2, v3 neg_hi:[0,0,1]", {0x38, 0x38, 0xbf000000}),
            0x3fc00000u);
  // bf8 has infinities, fp8 only NaN.
  EXPECT_EQ(b.eval("v_dot4_f32_bf8_bf8 v0, v1, v2, v3", {0x7c, 0x3c, half}), 0x7f800000u);
  EXPECT_TRUE(is_nan(as_f32(b.eval("v_dot4_f32_fp8_fp8 v0, v1, v2, v3", {0x7f, 0x38, half}))));
}

TEST(Gfx12SmallFloats, ConversionsNameTheByteOrTheHalf) {
  WaveBench b("gfx1201");
  const u32 word = 0x40'b8'30'38; // 2, -1, 0.5, 1
  EXPECT_EQ(b.eval("v_cvt_f32_fp8_e64 v0, v1", {word}), one);
  EXPECT_EQ(b.eval("v_cvt_f32_fp8_e64 v0, v1 byte_sel:1", {word}), 0x3f000000u);
  EXPECT_EQ(b.eval("v_cvt_f32_fp8_e64 v0, v1 byte_sel:2", {word}), 0xbf800000u);
  EXPECT_EQ(b.eval("v_cvt_f32_fp8_e64 v0, v1 byte_sel:3", {word}), two);
  EXPECT_EQ(b.eval("v_cvt_f32_bf8_e64 v0, v1 byte_sel:3", {0x3c000000}), one);
  b.set_v(2, word);
  b.run("v_cvt_pk_f32_fp8_e64 v[0:1], v2");
  EXPECT_EQ(b.v64(0), u64{0x3f000000} << 32 | one);
  b.run("v_cvt_pk_f32_fp8_e64 v[0:1], v2 op_sel:[1,0]");
  EXPECT_EQ(b.v64(0), u64{two} << 32 | 0xbf800000);
  // To fp8: the other half of the register is kept.
  b.set_v(0, 0x11112222);
  EXPECT_EQ(b.eval("v_cvt_pk_fp8_f32 v0, v1, v2", {one, two}), 0x11114038u);
  EXPECT_EQ(b.eval("v_cvt_pk_fp8_f32 v0, v1, v2 op_sel:[0,0,1]", {two, 0xbf800000}), 0xb8404038u);
  // With random bits, to one byte. 1.0625 lies half way between 1 and the next number.
  b.set_v(0, 0x11111111u);
  EXPECT_EQ(b.eval("v_cvt_sr_fp8_f32 v0, v1, v2 byte_sel:1", {0x3f880000, 0}), 0x11113811u);
  EXPECT_EQ(b.eval("v_cvt_sr_fp8_f32 v0, v1, v2 byte_sel:3", {0x3f880000, 0xfffff000}),
            0x39113811u);
  EXPECT_EQ(b.eval("v_cvt_sr_bf8_f32 v0, v1, v2", {one, 0xffffffff}), 0x3911383cu);
  // Too large: NaN in fp8, infinity in bf8, unless FP16_OVFL is set.
  b.set_v(0, 0u);
  EXPECT_EQ(b.eval("v_cvt_pk_fp8_f32 v0, v1, v2", {0x49742400, 0xc9742400}), 0xff7fu);
  EXPECT_EQ(b.eval("v_cvt_pk_bf8_f32 v0, v1, v2", {0x49742400, 0xc9742400}), 0xfc7cu);
  b.wave.set_mode(b.wave.mode | 1u << 23);
  EXPECT_EQ(b.eval("v_cvt_pk_fp8_f32 v0, v1, v2", {0x49742400, 0xc9742400}), 0xfe7eu);
  EXPECT_EQ(b.eval("v_cvt_pk_bf8_f32 v0, v1, v2", {0x49742400, 0x7f800000}), 0x7b7bu);
}

TEST(Gfx12Scalars, Arithmetic) {
  WaveBench b("gfx1201");
  b.wave.set_sgpr64(2, 0xffffffffffffffff), b.wave.set_sgpr64(4, 3);
  b.wave.scc = true;
  b.run("s_add_nc_u64 s[0:1], s[2:3], s[4:5]");
  EXPECT_EQ(b.wave.sgpr64(0), 2u);
  EXPECT_TRUE(b.wave.scc); // no carry
  b.run("s_sub_nc_u64 s[0:1], s[4:5], s[2:3]");
  EXPECT_EQ(b.wave.sgpr64(0), 4u);
  b.run("s_mul_u64 s[0:1], s[2:3], s[4:5]");
  EXPECT_EQ(b.wave.sgpr64(0), 0xfffffffffffffffdu);
  b.s(2) = 0xffffffff, b.s(4) = 1;
  b.run("s_add_co_u32 s0, s2, s4");
  EXPECT_EQ(b.s(0), 0u);
  EXPECT_TRUE(b.wave.scc);
  b.run("s_add_co_ci_u32 s0, s2, s4");
  EXPECT_EQ(b.s(0), 1u);
  EXPECT_TRUE(b.wave.scc);
  b.s(0) = 0x7fffffff;
  b.run("s_addk_co_i32 s0, 1");
  EXPECT_EQ(b.s(0), 0x80000000u);
  EXPECT_TRUE(b.wave.scc); // signed overflow
}

TEST(Gfx12Lanes, EachChoosesTheLaneOfItsRow) {
  WaveBench b("gfx1201", 64);
  for (unsigned i = 0; i < 64; i++) b.v(1)[i] = 1000 + i, b.v(2)[i] = 0xfffffff0 | (15 - i % 16);
  b.set_v(0, 7u);
  b.set_exec(~0ull << 1);
  b.run("v_permlane16_var_b32 v0, v1, v2");
  EXPECT_EQ(b.v(0)[0], 7u); // not active
  for (unsigned i = 1; i < 64; i++) EXPECT_EQ(b.v(0)[i], 1000 + (i ^ 15)) << i;
  b.run("v_permlanex16_var_b32 v0, v1, v2");
  for (unsigned i = 1; i < 64; i++) EXPECT_EQ(b.v(0)[i], 1000 + (i ^ 31)) << i;
}

TEST(Gfx12Lanes, PermutationsReachTheWholeWave64) {
  MemoryBench b("gfx1201", 64);
  for (unsigned i = 0; i < 64; i++) b.v(1)[i] = 4 * (i ^ 63), b.v(2)[i] = 100 + i;
  b.set_exec(0xffffffff0000000f);
  b.run("ds_bpermute_b32 v0, v1, v2");
  EXPECT_EQ(b.v(0)[0], 163u);
  EXPECT_EQ(b.v(0)[63], 100u);
  EXPECT_EQ(b.v(0)[40], 0u);       // reads lane 23, which is not active
  b.run({0xdb340000, 0x00000201}); // ds_bpermute_fi_b32 v0, v1, v2, which LLVM 19 does not know
  EXPECT_EQ(b.v(0)[40], 123u);
  EXPECT_EQ(b.v(0)[0], 163u);
}

TEST(Gfx12Lanes, HalvesOfRegistersChangePlaces) {
  for (const char *gpu : {"gfx1100", "gfx1201"}) {
    WaveBench b(gpu);
    b.set_v(1, 0x11112222u), b.set_v(2, 0x33334444u);
    b.set_exec(2);
    b.run({0x7e02cd82}); // v_swap_b16 v1.l, v2.h
    EXPECT_EQ(b.v(1)[1], 0x11113333u);
    EXPECT_EQ(b.v(2)[1], 0x22224444u);
    EXPECT_EQ(b.v(1)[0], 0x11112222u); // not active
    b.run({0x7f02cd02});               // v_swap_b16 v1.h, v2.l
    EXPECT_EQ(b.v(1)[1], 0x44443333u);
    EXPECT_EQ(b.v(2)[1], 0x22221111u);
  }
}

TEST(Gfx12ScalarLoads, OfLessThanADwordAndOfThree) {
  MemoryBench b("gfx1201");
  auto data = b.allocate<u32>(4);
  data[0] = 0x8081'7f01, data[1] = 0x11111111, data[2] = 0x22222222, data[3] = 0x33333333;
  b.set_s64(2, data.va);
  const auto is = [&](const std::string &line, u32 expected) {
    b.run(line);
    EXPECT_EQ(b.s(8), expected) << line;
  };
  is("s_load_u8 s8, s[2:3], 0x1", 0x7f);
  is("s_load_u8 s8, s[2:3], 0x3", 0x80);
  is("s_load_i8 s8, s[2:3], 0x3", 0xffffff80);
  is("s_load_i8 s8, s[2:3], 0x0", 1);
  is("s_load_u16 s8, s[2:3], 0x2", 0x8081);
  is("s_load_i16 s8, s[2:3], 0x2", 0xffff8081);
  is("s_load_i16 s8, s[2:3], 0x0", 0x7f01);
  b.s(6) = 3; // each part is aligned by itself: 3 to 2, and 1 to 0
  is("s_load_u16 s8, s[2:3], s6 offset:0x1", 0x8081);
  b.s(11) = 0xabcd;
  b.run("s_load_b96 s[8:10], s[2:3], 0x4");
  EXPECT_EQ(b.s(8), 0x11111111u);
  EXPECT_EQ(b.s(9), 0x22222222u);
  EXPECT_EQ(b.s(10), 0x33333333u);
  EXPECT_EQ(b.s(11), 0xabcdu);
  // A buffer of ten bytes: what is beyond reads as 0.
  b.s(4) = static_cast<u32>(data.va), b.s(5) = static_cast<u32>(data.va >> 32);
  b.s(6) = 8, b.s(7) = 0;
  b.run("s_buffer_load_b96 s[8:10], s[4:7], 0x0");
  EXPECT_EQ(b.s(8), 0x80817f01u);
  EXPECT_EQ(b.s(9), 0x11111111u);
  EXPECT_EQ(b.s(10), 0u);
  is("s_buffer_load_u8 s8, s[4:7], 0x7", 0x11);
  is("s_buffer_load_u8 s8, s[4:7], 0x8", 0);
  b.run("s_prefetch_data s[2:3], 0x1000, s6, 0"); // nothing is there
}

TEST(Gfx12Memory, AtomicsOfItsOwn) {
  MemoryBench b("gfx1201");
  auto data = b.allocate<u32>(64);
  const auto is = [&](const std::string &name, u32 memory, u32 operand, u32 expected) {
    SCOPED_TRACE(testing::Message() << name << std::hex << " " << memory << " " << operand);
    data[0] = memory;
    b.point(2, data.va, 4);
    b.set_exec(1);
    b.set_v(4, operand);
    b.run("global_atomic_" + name + " v0, v[2:3], v4, off th:TH_ATOMIC_RETURN");
    EXPECT_EQ(data[0], expected);
    EXPECT_EQ(b.v(0)[0], memory);
    b.set_lds(16, memory);
    b.set_v(5, 16u);
    b.run("ds_" + name.substr(0, name.rfind('_')) + "_rtn" + name.substr(name.rfind('_')) +
          " v0, v5, v4");
    EXPECT_EQ(b.lds<u32>(16), expected);
    EXPECT_EQ(b.v(0)[0], memory);
  };
  is("cond_sub_u32", 10, 3, 7);
  is("cond_sub_u32", 3, 3, 0);
  is("cond_sub_u32", 2, 3, 2);
  is("sub_clamp_u32", 10, 3, 7);
  is("sub_clamp_u32", 2, 3, 0);
  is("min_num_f32", two, one, one);
  is("max_num_f32", two, one, two);
  is("min_num_f32", quiet_nan, one, one);
  is("max_num_f32", two, signalling, two);
  is("min_num_f32", 0, minus_zero, minus_zero);
  is("max_num_f32", quiet_nan, other_signalling, 0xffc0abcd); // of two NaN, the operand
  // Without TH_ATOMIC_RETURN nothing comes back; denormals are kept.
  data[0] = 1, b.set_v(4, 2u), b.set_v(0, 99u);
  b.run("global_atomic_add_f32 v[2:3], v4, off");
  EXPECT_EQ(data[0], 3u);
  EXPECT_EQ(b.v(0)[0], 99u);
}

TEST(Gfx12Memory, BlocksOfTheRegistersThatM0Names) {
  MemoryBench b("gfx1201");
  auto data = b.allocate<u32>(32 * 32);
  for (unsigned i = 0; i < 32 * 32; i++) data[i] = i;
  b.point(40, data.va, 128);
  for (unsigned k = 0; k < 32; k++) b.set_v(k, 0xffff0000 + k);
  b.s(sreg::m0) = 0x80000005;
  b.run("global_load_block v[0:31], v[40:41], off");
  for (unsigned lane = 0; lane < 32; lane++)
    for (unsigned k = 0; k < 32; k++)
      ASSERT_EQ(b.v(k)[lane], 0x80000005u >> k & 1 ? lane * 32 + k : 0xffff0000 + k);
  b.set_v(1, 5u), b.s(sreg::m0) = 2;
  b.run("global_store_block v[40:41], v[0:31], off");
  EXPECT_EQ(data[33], 5u);
  EXPECT_EQ(data[32], 32u);
}

// A matrix of bytes or halves in memory, row by row. Lanes in groups of eight (16 bits) load rows;
// what a lane gets is a column.
TEST(Gfx12Memory, TransposedLoads) {
  for (unsigned lanes : {32u, 64u}) {
    SCOPED_TRACE(lanes);
    MemoryBench b("gfx1201", lanes);
    auto halves = b.allocate<u16>(256);
    for (unsigned i = 0; i < 256; i++) halves[i] = static_cast<u16>(i * 3 + 1);
    for (unsigned lane = 0; lane < 64; lane++) {
      const unsigned row = lane % 8 + 8 * (lane / 16 % 2), column = 8 * (lane / 8 % 2);
      b.set_lane64(40, lane, lane < 32 ? halves.va + 2 * (row * 16 + column) : 0);
    }
    b.run(lanes == 32 ? "global_load_tr_b128 v[0:3], v[40:41], off"
                      : "global_load_tr_b128 v[0:1], v[40:41], off");
    for (unsigned lane = 0; lane < 32; lane++)
      for (unsigned e = 0; e < 8; e++) { // row 8 * (lane / 16) + e of column lane % 16
        const unsigned reg = e / 2;
        const u32 word = lanes == 32 ? b.v(reg)[lane] : b.v(reg % 2)[lane + 32 * (reg / 2)];
        ASSERT_EQ(word >> 16 * (e % 2) & 0xffff, halves[(8 * (lane / 16) + e) * 16 + lane % 16]);
      }
    auto bytes = b.allocate<u8>(256);
    for (unsigned i = 0; i < 256; i++) bytes[i] = static_cast<u8>(i);
    for (unsigned lane = 0; lane < 32; lane++) {
      const unsigned row = lane % 4 + 4 * (lane / 8), column = 8 * (lane / 4 % 2);
      b.set_lane64(40, lane, bytes.va + row * 16 + column);
    }
    b.run(lanes == 32 ? "global_load_tr_b64 v[0:1], v[40:41], off"
                      : "global_load_tr_b64 v0, v[40:41], off");
    for (unsigned lane = 0; lane < 32; lane++)
      for (unsigned e = 0; e < 8; e++) {
        const u32 word = lanes == 32 ? b.v(e / 4)[lane] : b.v(0)[lane + 32 * (e / 4)];
        ASSERT_EQ(word >> 8 * (e % 4) & 0xff, bytes[(8 * (lane / 16) + e) * 16 + lane % 16]);
      }
  }
}

TEST(Gfx12Memory, OffsetsHave24BitsAndASign) {
  MemoryBench b("gfx1201");
  auto data = b.allocate<u32>(64);
  for (unsigned i = 0; i < 64; i++) data[i] = 500 + i;
  b.point(2, data.va + 0x7fffff - 0x7fffff % 4, 4);
  b.run("global_load_b32 v0, v[2:3], off offset:-8388604");
  EXPECT_EQ(b.v(0)[0], 500u);
  EXPECT_EQ(b.v(0)[31], 531u);
  b.set_s64(4, data.va - 0x100000);
  b.fill(2, [](unsigned lane) { return lane * 4; });
  b.run("global_load_b32 v0, v2, s[4:5] offset:1048576");
  EXPECT_EQ(b.v(0)[5], 505u);
}

// Two waves of a workgroup, moved by hand.
TEST(Gfx12Barriers, CompleteWhenAllHaveSignaled) {
  MemoryBench a("gfx1201"), b("gfx1201");
  Workgroup group;
  group.waves = {&a.wave, &b.wave};
  a.wave.group = b.wave.group = &group;
  const auto state = [&] {
    a.run("s_get_barrier_state s0, -1");
    return a.s(0);
  };
  EXPECT_EQ(state(), 2u << 4 | 1); // two members, valid
  a.run("s_barrier_signal_isfirst -1");
  EXPECT_TRUE(a.wave.scc);
  EXPECT_EQ(state(), 1u << 16 | 2u << 4 | 1);
  a.run("s_barrier_wait 0xffff");
  EXPECT_EQ(a.wave.state, WaveState::at_barrier);
  b.run("s_barrier_signal_isfirst -1");
  EXPECT_FALSE(b.wave.scc);
  EXPECT_EQ(state(), 2u << 4 | 1) << "the next round";
  EXPECT_TRUE(a.wave.barrier_complete);
  b.run("s_barrier_wait 0xffff");
  EXPECT_EQ(b.wave.state, WaveState::running) << "all have been there";
  b.run("s_barrier_wait 0xffff");
  EXPECT_EQ(b.wave.state, WaveState::at_barrier) << "once only";
  EXPECT_EQ(a.stats.barriers + b.stats.barriers, 1u);
}

TEST(Gfx12Barriers, DoNothingForOneWaveOrAnotherBarrier) {
  MemoryBench b("gfx1201");
  b.run("s_barrier_signal -1");
  b.run("s_barrier_wait 0xffff");
  EXPECT_EQ(b.wave.state, WaveState::running);
  b.wave.scc = true;
  b.run("s_barrier_signal_isfirst -1");
  EXPECT_FALSE(b.wave.scc);
  EXPECT_THROW(b.run("s_barrier_signal 3"), IllegalInstruction);
}

} // namespace
} // namespace fade::sim
