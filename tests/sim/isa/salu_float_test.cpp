// Scalar floating point of gfx11.5. Expected bits are worked out by hand from the formats; that the
// results are those of the vector instructions, as the manual says, is tested over edge values.
#include "wave_bench.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fade::sim {
namespace {

constexpr u32 keep_denormals = 0x3f0, flush_denormals_mode = 0x300;
constexpr u32 f32_up = 1, f32_down = 2, f32_to_zero = 3, f16_up = 1 << 2, f16_to_zero = 3 << 2;

struct Case {
  const char *line; // from s1 and s2 to s0
  u32 s1, s2, expected;
  u32 mode = keep_denormals;
  u32 s0 = 0xdeadbeef;
};
void PrintTo(const Case &c, std::ostream *out) { *out << c.line; }

class ScalarFloat : public testing::TestWithParam<Case> {};

TEST_P(ScalarFloat, GivesTheBitsWorkedOutByHand) {
  const Case &c = GetParam();
  WaveBench b("gfx1151");
  b.wave.set_mode(c.mode);
  b.s(0) = c.s0, b.s(1) = c.s1, b.s(2) = c.s2;
  for (const bool scc : {false, true}) {
    b.s(0) = c.s0;
    b.wave.scc = scc;
    b.run(c.line);
    EXPECT_EQ(b.s(0), c.expected) << c.line << std::hex << " of " << c.s1 << ", " << c.s2;
    EXPECT_EQ(b.wave.scc, scc) << "arithmetic leaves SCC alone";
  }
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Arithmetic, ScalarFloat, testing::Values(
    // 1 + 2^-24 lies halfway between 1 and the next number.
    Case{"s_add_f32 s0, s1, s2", 0x3f800000, 0x33800000, 0x3f800000},
    Case{"s_add_f32 s0, s1, s2", 0x3f800000, 0x33800000, 0x3f800001, keep_denormals | f32_up},
    Case{"s_add_f32 s0, s1, s2", 0xbf800000, 0xb3800000, 0xbf800001, keep_denormals | f32_down},
    Case{"s_add_f32 s0, s1, s2", 0x3f800001, 0x33800000, 0x3f800002}, // tie to even, upward
    Case{"s_add_f32 s0, s1, s2", 0x3f800001, 0x33800000, 0x3f800001, keep_denormals | f32_to_zero},
    Case{"s_add_f32 s0, s1, s2", 0x7f7fffff, 0x7f7fffff, 0x7f800000},
    Case{"s_add_f32 s0, s1, s2", 0x7f7fffff, 0x7f7fffff, 0x7f7fffff, keep_denormals | f32_to_zero},
    Case{"s_add_f32 s0, s1, s2", 0x7f800000, 0xff800000, 0x7fc00000},  // inf - inf
    Case{"s_add_f32 s0, s1, s2", 0x7f800123, 0x3f800000, 0x7fc00123},  // a signalling NaN becomes quiet
    Case{"s_add_f32 s0, s1, s2", 0x7fc00001, 0xffc00002, 0x7fc00001},  // the first NaN
    Case{"s_add_f32 s0, s1, s2", 0x00000001, 0x00000001, 0x00000002},  // denormals
    Case{"s_add_f32 s0, s1, s2", 0x00000001, 0x00000001, 0x00000000, flush_denormals_mode},
    Case{"s_add_f32 s0, s1, s2", 0x80000001, 0x80000001, 0x80000000, flush_denormals_mode}, // their sign stays
    Case{"s_add_f32 s0, s1, s2", 0x80000000, 0x00000000, 0x00000000},
    Case{"s_add_f32 s0, s1, s2", 0x80000000, 0x00000000, 0x80000000, keep_denormals | f32_down},
    Case{"s_add_f32 s0, s1, 0.5", 0x3f800000, 0, 0x3fc00000},
    Case{"s_add_f32 s0, s1, 0x40490fdb", 0x00000000, 0, 0x40490fdb},
    Case{"s_sub_f32 s0, s1, s2", 0x40400000, 0x3f800000, 0x40000000},
    Case{"s_sub_f32 s0, s1, s2", 0x7f800000, 0x7f800000, 0x7fc00000},
    Case{"s_sub_f32 s0, s1, s2", 0x00800001, 0x00800000, 0x00000001}, // the difference is denormal
    Case{"s_sub_f32 s0, s1, s2", 0x00800001, 0x00800000, 0x00000000, flush_denormals_mode},
    Case{"s_mul_f32 s0, s1, s2", 0x40400000, 0xc0000000, 0xc0c00000},
    Case{"s_mul_f32 s0, s1, s2", 0x00000000, 0x7f800000, 0x7fc00000}, // 0 * inf
    Case{"s_mul_f32 s0, s1, s2", 0x7f000000, 0x40800000, 0x7f800000},
    Case{"s_mul_f32 s0, s1, s2", 0x00800000, 0x3f000000, 0x00400000},
    Case{"s_mul_f32 s0, s1, s2", 0x00800000, 0x3f000000, 0x00000000, flush_denormals_mode},
    // (1 + 2^-12)^2 - 1 = 2^-11 + 2^-24: only a fused one keeps the last bit.
    Case{"s_fmac_f32 s0, s1, s2", 0x3f800800, 0x3f800800, 0x3a000400, keep_denormals, 0xbf800000},
    Case{"s_fmac_f32 s0, s1, s2", 0x7f800000, 0x00000000, 0x7fc00000, keep_denormals, 0x3f800000},
    Case{"s_fmac_f32 s0, s1, s2", 0x3f800000, 0x3f800000, 0x7fc00007, keep_denormals, 0x7f800007},
    Case{"s_fmamk_f32 s0, s1, 0x40000000, s2", 0x40400000, 0x3f800000, 0x40e00000}, // 3 * 2 + 1
    Case{"s_fmaak_f32 s0, s1, s2, 0x40000000", 0x40400000, 0x40800000, 0x41600000}, // 3 * 4 + 2
    Case{"s_min_f32 s0, s1, s2", 0x3f800000, 0xbf800000, 0xbf800000},
    Case{"s_min_f32 s0, s1, s2", 0x00000000, 0x80000000, 0x80000000},
    Case{"s_min_f32 s0, s1, s2", 0x80000000, 0x00000000, 0x80000000},
    Case{"s_min_f32 s0, s1, s2", 0x7fc00000, 0x3f800000, 0x3f800000},
    Case{"s_min_f32 s0, s1, s2", 0x3f800000, 0x7fc00000, 0x3f800000},
    Case{"s_min_f32 s0, s1, s2", 0x7f800001, 0x3f800000, 0x7fc00001},                 // IEEE mode: signals
    Case{"s_min_f32 s0, s1, s2", 0x7f800001, 0x3f800000, 0x3f800000, 0x1f0},         // not in IEEE mode
    Case{"s_max_f32 s0, s1, s2", 0x00000000, 0x80000000, 0x00000000},
    Case{"s_max_f32 s0, s1, s2", 0x80000000, 0x00000000, 0x00000000},
    Case{"s_max_f32 s0, s1, s2", 0xff800000, 0xc0000000, 0xc0000000},
    Case{"s_max_f32 s0, s1, s2", 0xffc00000, 0xff7fffff, 0xff7fffff}));

INSTANTIATE_TEST_SUITE_P(HalfArithmetic, ScalarFloat, testing::Values(
    // The upper half of an operand does not count, that of the result is 0.
    Case{"s_add_f16 s0, s1, s2", 0xffff3c00, 0xabcd4000, 0x00004200},
    Case{"s_add_f16 s0, s1, s2", 0x7bff, 0x7bff, 0x7c00},
    Case{"s_add_f16 s0, s1, s2", 0x7bff, 0x7bff, 0x7bff, keep_denormals | f16_to_zero},
    Case{"s_add_f16 s0, s1, s2", 0x3c00, 0x1000, 0x3c00},                          // 1 + 2^-11, a tie
    Case{"s_add_f16 s0, s1, s2", 0x3c00, 0x1000, 0x3c01, keep_denormals | f16_up},
    Case{"s_add_f16 s0, s1, s2", 0x3c00, 0x1000, 0x3c00, keep_denormals | f32_up}, // f32's mode is another
    Case{"s_add_f16 s0, s1, s2", 0x0001, 0x0001, 0x0002},
    Case{"s_add_f16 s0, s1, s2", 0x8001, 0x8001, 0x8000, flush_denormals_mode},
    Case{"s_add_f16 s0, s1, 1.0", 0x3c00, 0, 0x4000},
    Case{"s_sub_f16 s0, s1, s2", 0x7c00, 0x7c00, 0x7e00},
    Case{"s_sub_f16 s0, s1, s2", 0x4200, 0x3c00, 0x4000},
    Case{"s_mul_f16 s0, s1, s2", 0x7d01, 0x3c00, 0x7f01}, // a signalling NaN becomes quiet
    Case{"s_mul_f16 s0, s1, s2", 0x4200, 0xc000, 0xc600},
    Case{"s_fmac_f16 s0, s1, s2", 0x4200, 0x4000, 0x4700, keep_denormals, 0x55553c00}, // 3 * 2 + 1
    // (1 + 2^-6)^2 - 1 = 2^-5 + 2^-12
    Case{"s_fmac_f16 s0, s1, s2", 0x3c10, 0x3c10, 0x2808, keep_denormals, 0xbc00},
    Case{"s_min_f16 s0, s1, s2", 0x0000, 0x8000, 0x8000},
    Case{"s_min_f16 s0, s1, s2", 0x7e00, 0xc000, 0xc000},
    Case{"s_max_f16 s0, s1, s2", 0x8000, 0x0000, 0x0000},
    Case{"s_max_f16 s0, s1, s2", 0x3c00, 0x7d00, 0x7f00})); // IEEE mode

INSTANTIATE_TEST_SUITE_P(Rounding, ScalarFloat, testing::Values(
    Case{"s_ceil_f32 s0, s1", 0x3f800001, 0, 0x40000000},
    Case{"s_ceil_f32 s0, s1", 0xbf000000, 0, 0x80000000}, // -0.5 gives -0
    Case{"s_ceil_f32 s0, s1", 0x00000001, 0, 0x3f800000},
    Case{"s_ceil_f32 s0, s1", 0x00000001, 0, 0x00000000, flush_denormals_mode},
    Case{"s_ceil_f32 s0, s1", 0xff800000, 0, 0xff800000},
    Case{"s_floor_f32 s0, s1", 0xbf000000, 0, 0xbf800000},
    Case{"s_floor_f32 s0, s1", 0x80000000, 0, 0x80000000},
    Case{"s_floor_f32 s0, s1", 0x7f800001, 0, 0x7fc00001},
    Case{"s_trunc_f32 s0, s1", 0xbfffffff, 0, 0xbf800000},
    Case{"s_trunc_f32 s0, s1", 0x4b000001, 0, 0x4b000001}, // 2^23 + 1 has no fraction
    Case{"s_rndne_f32 s0, s1", 0x3f000000, 0, 0x00000000}, // 0.5
    Case{"s_rndne_f32 s0, s1", 0x3fc00000, 0, 0x40000000}, // 1.5
    Case{"s_rndne_f32 s0, s1", 0x40200000, 0, 0x40000000}, // 2.5
    Case{"s_rndne_f32 s0, s1", 0xbf000000, 0, 0x80000000, keep_denormals | f32_down},
    Case{"s_ceil_f16 s0, s1", 0xffff3c01, 0, 0x4000},
    Case{"s_floor_f16 s0, s1", 0xb800, 0, 0xbc00},
    Case{"s_trunc_f16 s0, s1", 0xbfff, 0, 0xbc00},
    Case{"s_trunc_f16 s0, s1", 0x7c00, 0, 0x7c00},
    Case{"s_rndne_f16 s0, s1", 0x3e00, 0, 0x4000},
    Case{"s_rndne_f16 s0, s1", 0x4100, 0, 0x4000}));

INSTANTIATE_TEST_SUITE_P(Conversions, ScalarFloat, testing::Values(
    Case{"s_cvt_f32_i32 s0, s1", 0xffffffff, 0, 0xbf800000},
    Case{"s_cvt_f32_i32 s0, s1", 0x80000000, 0, 0xcf000000},
    Case{"s_cvt_f32_i32 s0, s1", 0x01000001, 0, 0x4b800000}, // 2^24 + 1, a tie
    Case{"s_cvt_f32_i32 s0, s1", 0x01000001, 0, 0x4b800001, keep_denormals | f32_up},
    Case{"s_cvt_f32_u32 s0, s1", 0xffffffff, 0, 0x4f800000},
    Case{"s_cvt_f32_u32 s0, s1", 0xffffffff, 0, 0x4f7fffff, keep_denormals | f32_to_zero},
    Case{"s_cvt_f32_u32 s0, s1", 0, 0, 0, keep_denormals | f32_down},
    Case{"s_cvt_i32_f32 s0, s1", 0xbfffffff, 0, 0xffffffff}, // toward zero
    Case{"s_cvt_i32_f32 s0, s1", 0x4f000000, 0, 0x7fffffff},
    Case{"s_cvt_i32_f32 s0, s1", 0xff800000, 0, 0x80000000},
    Case{"s_cvt_i32_f32 s0, s1", 0x7fc00000, 0, 0},
    Case{"s_cvt_u32_f32 s0, s1", 0xbf800000, 0, 0},
    Case{"s_cvt_u32_f32 s0, s1", 0x4f7fffff, 0, 0xffffff00},
    Case{"s_cvt_u32_f32 s0, s1", 0x4f800000, 0, 0xffffffff},
    Case{"s_cvt_u32_f32 s0, s1", 0x7fc00000, 0, 0},
    Case{"s_cvt_f16_f32 s0, s1", 0x3f802000, 0, 0x3c01},
    Case{"s_cvt_f16_f32 s0, s1", 0x3f801000, 0, 0x3c00}, // a tie
    Case{"s_cvt_f16_f32 s0, s1", 0x3f801000, 0, 0x3c01, keep_denormals | f16_up},
    Case{"s_cvt_f16_f32 s0, s1", 0x477ff000, 0, 0x7c00}, // 65520: the first that is too large
    Case{"s_cvt_f16_f32 s0, s1", 0x33800000, 0, 0x0001}, // 2^-24
    Case{"s_cvt_f16_f32 s0, s1", 0x33800000, 0, 0x0000, flush_denormals_mode},
    Case{"s_cvt_f32_f16 s0, s1", 0xabcd0001, 0, 0x33800000},
    Case{"s_cvt_f32_f16 s0, s1", 0xabcd8001, 0, 0x80000000, flush_denormals_mode},
    Case{"s_cvt_f32_f16 s0, s1", 0x00007d00, 0, 0x7fe00000},
    Case{"s_cvt_hi_f32_f16 s0, s1", 0x3c00ffff, 0, 0x3f800000},
    Case{"s_cvt_hi_f32_f16 s0, s1", 0xfc000000, 0, 0xff800000},
    Case{"s_cvt_hi_f32_f16 s0, s1", 0x0001ffff, 0, 0x33800000},
    Case{"s_cvt_hi_f32_f16 s0, s1", 0x0001ffff, 0, 0x00000000, flush_denormals_mode},
    Case{"s_cvt_pk_rtz_f16_f32 s0, s1, s2", 0x3f803fff, 0xbf803fff, 0xbc013c01},
    Case{"s_cvt_pk_rtz_f16_f32 s0, s1, s2", 0x47800000, 0x7f800000, 0x7c007bff})); // too large is no infinity
// clang-format on

struct CompareCase {
  const char *name;
  bool less, equal, greater, unordered; // what the comparison says of such a pair
};
void PrintTo(const CompareCase &c, std::ostream *out) { *out << c.name; }
class ScalarFloatCompare : public testing::TestWithParam<CompareCase> {};

TEST_P(ScalarFloatCompare, SetsScc) {
  const CompareCase &c = GetParam();
  WaveBench b("gfx1151");
  auto expect = [&](const char *type, u32 x, u32 y, bool expected) {
    const std::string line = std::string("s_cmp_") + c.name + "_" + type + " s1, s2";
    b.s(1) = x, b.s(2) = y;
    for (const bool before : {false, true}) {
      b.wave.scc = before;
      b.run(line);
      EXPECT_EQ(b.wave.scc, expected) << line << std::hex << " of " << x << ", " << y;
    }
  };
  expect("f32", 0xbf800000, 0x3f800000, c.less);
  expect("f32", 0x00000001, 0x00000002, c.less);
  expect("f32", 0xff800000, 0xff7fffff, c.less);
  expect("f32", 0x3f800000, 0x3f800000, c.equal);
  expect("f32", 0x80000000, 0x00000000, c.equal); // -0 and 0
  expect("f32", 0x7f800000, 0x7f800000, c.equal);
  expect("f32", 0x3f800000, 0xbf800000, c.greater);
  expect("f32", 0x7fc00000, 0x3f800000, c.unordered);
  expect("f32", 0x3f800000, 0xff800001, c.unordered);
  expect("f32", 0x7fc00000, 0x7fc00000, c.unordered);
  expect("f16", 0xffffbc00, 0x3c00, c.less); // upper halves do not count
  expect("f16", 0x3c00, 0xffff3c00, c.equal);
  expect("f16", 0x8000, 0x0000, c.equal);
  expect("f16", 0x7c00, 0x7bff, c.greater);
  expect("f16", 0x7e00, 0x3c00, c.unordered);
  expect("f16", 0x3c00, 0xfd00, c.unordered);
  b.wave.set_mode(flush_denormals_mode);
  expect("f32", 0x00000001, 0x00000002, c.equal); // both are 0
  expect("f16", 0x0001, 0x83ff, c.equal);
}

INSTANTIATE_TEST_SUITE_P(
    , ScalarFloatCompare,
    testing::Values(
        CompareCase{"lt", true, false, false, false}, CompareCase{"eq", false, true, false, false},
        CompareCase{"le", true, true, false, false}, CompareCase{"gt", false, false, true, false},
        CompareCase{"lg", true, false, true, false}, CompareCase{"ge", false, true, true, false},
        CompareCase{"o", true, true, true, false}, CompareCase{"u", false, false, false, true},
        CompareCase{"nge", true, false, false, true}, CompareCase{"nlg", false, true, false, true},
        CompareCase{"ngt", true, true, false, true}, CompareCase{"nle", false, false, true, true},
        CompareCase{"neq", true, false, true, true}, CompareCase{"nlt", false, true, true, true}),
    [](const auto &i) { return std::string(i.param.name); });

// "These scalar instructions produce identical results with their VALU counterparts."
TEST(ScalarFloatAndVector, AgreeOnEdgeValuesInAllModes) {
  const std::vector<u32> edges = {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000,
                                  0x3f800000, 0xbf7fffff, 0x3f000000, 0x7f7fffff, 0xff800000,
                                  0x7f800001, 0x7fc12345, 0x0001fc00, 0x40207bff, 0x4b000001,
                                  0x33803c01, 0xcf000000, 0x00008001, 0x3c007d01};
  WaveBench b("gfx1151");
  for (const u32 mode : {0x3f0u, 0x300u, 0x1f0u, 0x3f5u, 0x3fau, 0x3ffu, 0x31fu}) {
    b.wave.set_mode(mode);
    for (const char *name : {"add_f32",
                             "sub_f32",
                             "mul_f32",
                             "min_f32",
                             "max_f32",
                             "fmac_f32",
                             "add_f16",
                             "sub_f16",
                             "mul_f16",
                             "min_f16",
                             "max_f16",
                             "fmac_f16",
                             "cvt_pk_rtz_f16_f32",
                             "ceil_f32",
                             "floor_f32",
                             "trunc_f32",
                             "rndne_f32",
                             "ceil_f16",
                             "floor_f16",
                             "trunc_f16",
                             "rndne_f16",
                             "cvt_f32_i32",
                             "cvt_f32_u32",
                             "cvt_i32_f32",
                             "cvt_u32_f32",
                             "cvt_f16_f32",
                             "cvt_f32_f16"}) {
      const std::string text = name;
      const bool is_unary = text.find("cvt_f") == 0 || text.find("cvt_i") == 0 ||
                            text.find("cvt_u") == 0 || text.find("ceil") == 0 ||
                            text.find("floor") == 0 || text.find("trunc") == 0 ||
                            text.find("rndne") == 0;
      const bool is_half = text.find("_f16") == text.size() - 4 || text == "cvt_f16_f32";
      for (const u32 x : edges)
        for (const u32 y : edges) {
          if (is_unary && y != edges[0]) continue;
          b.s(0) = 0x3f801234, b.s(1) = x, b.s(2) = y;
          b.set_v(0, 0x3f801234), b.set_v(1, x), b.set_v(2, y);
          b.run("s_" + text + (is_unary ? " s0, s1" : " s0, s1, s2"));
          b.run("v_" + text + (is_unary ? " v0, v1" : " v0, v1, v2"));
          const u32 of_vector = is_half && text != "cvt_f32_f16" ? b.v(0)[0] & 0xffff : b.v(0)[0];
          ASSERT_EQ(b.s(0), of_vector)
              << text << std::hex << " of " << x << ", " << y << " in mode " << mode;
        }
    }
  }
}

TEST(Gfx115, DppTakesAScalarAsSecondSource) { // gfx11.5 only
  WaveBench b("gfx1151");
  b.s(2) = 0x40000000;
  b.set_v(1, {0x3f800000, 0x40400000});
  b.run("v_add_f32_e64_dpp v0, v1, s2 quad_perm:[1,0,0,0] row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(b.v(0)[0], 0x40a00000u); // 3 + 2
  EXPECT_EQ(b.v(0)[1], 0x40400000u); // 1 + 2
}

} // namespace
} // namespace fade::sim
