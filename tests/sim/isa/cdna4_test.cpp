// What gfx950 added to gfx942's vector instructions. Instructions are given as words, as LLVM 22
// encodes them: the assembler of these tests does not know the processor.
//
// Results of conversions are looked up: the values of all codes of a format are made from its
// definition, and the nearest to the exact number is searched among them.
#include "wave_bench.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace fade::sim {
namespace {

constexpr u32 vop3(u32 number, u32 op_sel = 0) { return 0xd0000000 | number << 16 | op_sel << 11; }
// Sources v1, v2, v3 and the result in v0, unless said otherwise.
constexpr u32 sources(u32 a = 1, u32 b = 2, u32 c = 3) {
  return (256 + a) | (256 + b) << 9 | (256 + c) << 18;
}
constexpr u32 ovfl = 1u << 23; // MODE.FP16_OVFL

TEST(Cdna4, BitopLooksUpEachBitInItsTable) {
  WaveBench b("gfx950");
  b.set_v(1, 0xf0f0f0f0), b.set_v(2, 0xcccccccc), b.set_v(3, 0xaaaaaaaa);
  // With these operands the lower byte of the result is the table itself. LLVM 22's encoding of
  // bitop3:0x96 and 0x40.
  b.run({0xd2340200, 0xd40e0501});
  EXPECT_EQ(b.v(0)[0], 0x96969696u);
  b.run({0xd2340000, 0x0c0e0501});
  EXPECT_EQ(b.v(0)[63], 0x40404040u);
  for (u32 table = 0; table < 256; table++) {
    b.run({vop3(564) | (table >> 3 & 7) << 8, sources() | table >> 6 << 27 | table << 29});
    ASSERT_EQ(b.v(0)[5], table * 0x01010101u);
  }
}

TEST(Cdna4, BitopOfHalvesKeepsTheOtherHalf) {
  WaveBench b("gfx950");
  b.set_v(0, 0x11112222), b.set_v(1, 0x00f0ffff), b.set_v(2, 0x333300cc), b.set_v(3, 0x000000aa);
  b.run({0xd2334d00, 0x5c0e0501}); // bitop3:0xea op_sel:[1,0,0,1]: (upper v1 & v2) | v3
  EXPECT_EQ(b.v(0)[0], ((0x00f0u & 0x00cc) | 0x00aa) << 16 | 0x2222);
}

TEST(Cdna4, RowsOfLanesChangePlaces) {
  WaveBench b("gfx950");
  auto fill = [&] {
    for (u32 i = 0; i < 64; i++) b.v(0)[i] = i, b.v(1)[i] = 100 + i;
  };
  fill();
  b.run({0x7e00b301}); // v_permlane16_swap_b32 v0, v1
  for (u32 i = 0; i < 64; i++) {
    const bool odd = i / 16 % 2;
    EXPECT_EQ(b.v(0)[i], odd ? 100 + i - 16 : i) << i;
    EXPECT_EQ(b.v(1)[i], odd ? 100 + i : i + 16) << i;
  }
  fill();
  b.run({0x7e00b501}); // v_permlane32_swap_b32 v0, v1
  for (u32 i = 0; i < 64; i++) {
    EXPECT_EQ(b.v(0)[i], i >= 32 ? 100 + i - 32 : i) << i;
    EXPECT_EQ(b.v(1)[i], i >= 32 ? 100 + i : i + 32) << i;
  }
}

TEST(Cdna4, ANanWinsInMinimumAndMaximum) {
  WaveBench b("gfx950");
  auto both = [&](u32 x, u32 y, u32 z) {
    b.set_v(1, x), b.set_v(2, y), b.set_v(3, z);
    b.run({vop3(680), sources()});
    const u32 least = b.v(0)[0];
    b.run({vop3(681), sources()});
    return std::pair{least, b.v(0)[0]};
  };
  EXPECT_EQ(both(0x3f800000, 0xc0000000, 0x40400000), (std::pair{0xc0000000u, 0x40400000u}));
  EXPECT_EQ(both(0x00000000, 0x80000000, 0x00000000), (std::pair{0x80000000u, 0x00000000u}));
  EXPECT_EQ(both(0x3f800000, 0x7fc00001, 0xff800000), (std::pair{0x7fc00001u, 0x7fc00001u}));
  EXPECT_EQ(both(0x7fc00001, 0x7f800002, 0x3f800000), (std::pair{0x7fc00002u, 0x7fc00002u}));
  EXPECT_EQ(both(0x7fc00001, 0x3f800000, 0xff800003), (std::pair{0xffc00003u, 0xffc00003u}));
  // Halves: the upper ones with 1, 2 and NaN.
  b.set_v(1, 0x3c003c00), b.set_v(2, 0x4000c000), b.set_v(3, 0x7e014200);
  b.run({0xd39b4000, 0x1c0e0501});
  EXPECT_EQ(b.v(0)[0], 0x7e01c000u);
  b.run({0xd39c4000, 0x1c0e0501});
  EXPECT_EQ(b.v(0)[0], 0x7e014200u);
}

TEST(Cdna4, SmallConversionsAndShifts) {
  WaveBench b("gfx950");
  EXPECT_EQ((b.set_v(1, 0x80000001), b.run({0x7e00b101}), b.v(0)[0]), 2u ^ 197); // v_prng_b32
  EXPECT_EQ((b.set_v(1, 0x40000001), b.run({0x7e00b101}), b.v(0)[0]), 0x80000002u);
  EXPECT_EQ((b.set_v(1, 0x12343f80), b.run({0x7e00b701}), b.v(0)[0]), 0x3f800000u); // f32_bf16
  // v_cvt_pk_bf16_f32: a tie to even, and a signalling NaN.
  b.set_v(1, 0x3f808000), b.set_v(2, 0x7f800001);
  b.run({vop3(616), sources(1, 2, 0) & 0x3ffff});
  EXPECT_EQ(b.v(0)[0], 0x7fc03f80u);
  // v_cvt_pk_f16_f32: to nearest though MODE rounds upward; 65520 is too large.
  b.wave.set_mode(WaveBench::default_mode | 5);
  b.set_v(1, 0x3f801000), b.set_v(2, 0x477ff000);
  b.run({vop3(615), sources(1, 2, 0) & 0x3ffff});
  EXPECT_EQ(b.v(0)[0], 0x7c003c00u);
  b.wave.set_mode(WaveBench::default_mode);
  // Stochastic: 1 + 2^-8 lies halfway; noise of half a digit or more rounds it up.
  b.set_v(0, 0xaaaabbbb), b.set_v(1, 0x3f808000);
  b.set_v(2, {0x7fffffff, 0x80000000});
  b.run({vop3(679, 8), sources(1, 2, 0) & 0x3ffff});
  EXPECT_EQ(b.v(0)[0], 0x3f80bbbbu);
  EXPECT_EQ(b.v(0)[1], 0x3f81bbbbu);
  b.set_v(0, 0xaaaabbbb), b.set_v(1, 0x3f801000); // 1 + 2^-11, halfway in f16
  b.run({vop3(678), sources(1, 2, 0) & 0x3ffff});
  EXPECT_EQ(b.v(0)[0], 0xaaaa3c00u);
  EXPECT_EQ(b.v(0)[1], 0xaaaa3c01u);
  // v_ashr_pk: 300 >> 1, -300 >> 1
  b.set_v(0, 0), b.set_v(1, 300), b.set_v(2, static_cast<u32>(-300)), b.set_v(3, 33);
  b.run({vop3(613), sources()});
  EXPECT_EQ(b.v(0)[0], 0x807fu);
  b.run({vop3(614), sources()});
  EXPECT_EQ(b.v(0)[0], 0x0096u);
  // v_dot2c_f32_bf16: 10 + 1 * 2 + 3 * 4
  b.set_v(0, 0x41200000), b.set_v(1, 0x40403f80), b.set_v(2, 0x40804000);
  b.run({0x2c000501});
  EXPECT_EQ(b.v(0)[0], 0x41c00000u);
}

// A format by its definition: the value of each code, and what stands for a NaN.
struct Format8 {
  int exponent_bits, mantissa, bias;
  u32 nan, too_large, too_large_finite;
  int width() const { return 1 + exponent_bits + mantissa; }
  u32 sign() const { return 1u << (width() - 1); }

  double value(u32 code) const { // of a code that is a finite number
    const u32 e = code >> mantissa & ((1u << exponent_bits) - 1), m = code & ((1u << mantissa) - 1);
    const double fraction = m * std::pow(2.0, -mantissa);
    const double r =
        e ? (1 + fraction) * std::pow(2.0, int(e) - bias) : fraction * std::pow(2.0, 1 - bias);
    return code & sign() ? -r : r;
  }
  // The nearest code, of two the even one. Behind the largest of fp8 and bf8 comes the next step,
  // which is too large; the others have no code for that.
  u32 nearest(double x, bool saturate) const {
    const u32 negative = std::signbit(x) ? sign() : 0;
    if (std::isnan(x)) return negative | nan;
    u32 best = 0;
    double distance = HUGE_VAL;
    const u32 last = width() == 8 ? too_large_finite + 1 : too_large_finite;
    for (u32 code = 0; code <= last; code++) {
      const double d = std::fabs(value(code) - std::fabs(x));
      if (d < distance || (d == distance && code % 2 == 0)) best = code, distance = d;
    }
    if (std::fabs(x) > value(last)) best = last;
    if (best > too_large_finite || std::isinf(x)) best = saturate ? too_large_finite : too_large;
    return negative | best;
  }
};
const Format8 fp8_format{4, 3, 7, 0x7f, 0x7f, 0x7e}, bf8_format{5, 2, 15, 0x7e, 0x7c, 0x7b},
    fp6_format{2, 3, 1, 0x1f, 0x1f, 0x1f}, bf6_format{3, 2, 3, 0x1f, 0x1f, 0x1f},
    fp4_format{2, 1, 1, 7, 7, 7};

// Numbers around all values of a format, midpoints and their neighbours, at both ends and beyond.
std::vector<f32> numbers_for(const Format8 &f) {
  std::vector<f32> list = {0.0f, INFINITY, 1e30f, 1e-30f, 1e-45f, NAN};
  for (u32 code = 0; code <= f.too_large_finite; code++) {
    const auto x = static_cast<f32>(f.value(code)), next = static_cast<f32>(f.value(code + 1));
    const f32 middle = x + (next - x) / 2;
    for (const f32 y : {x, middle}) {
      list.push_back(y);
      list.push_back(std::nextafterf(y, 0.0f));
      list.push_back(std::nextafterf(y, 1e38f));
    }
  }
  const size_t positive = list.size();
  for (size_t i = 0; i < positive; i++) list.push_back(-list[i]);
  return list;
}

double scaled(f32 x, int exponent) {
  return std::copysign(std::fabs(x) * std::pow(2.0, exponent), std::signbit(x) ? -1.0 : 1.0);
}
// As it stands in a register of f32s.
u32 f32_bits(double x) {
  const u32 sign = std::signbit(x) ? 0x80000000 : 0;
  return std::isnan(x) ? sign | 0x7fc00000 : bits(static_cast<f32>(x));
}

constexpr u32 scales[] = {0, 1, 120, 127, 130, 254, 255}; // 255 is NaN

TEST(Cdna4, PairsBecomeTheNearestOfTheirFormat) {
  struct {
    const char *name;
    const Format8 &format;
    u32 number;
  } const conversions[] = {
      {"fp8", fp8_format, 565}, {"bf8", bf8_format, 566}, {"fp4", fp4_format, 573}};
  WaveBench b("gfx950");
  for (const auto &c : conversions)
    for (const f32 x : numbers_for(c.format))
      for (const u32 scale : scales)
        for (const bool saturate : {false, true}) {
          b.wave.set_mode(WaveBench::default_mode | (saturate ? ovfl : 0));
          b.set_v(0, 0xa5a5a5a5), b.set_v(1, bits(x)), b.set_v(2, bits(x) ^ 0x80000000);
          b.set_v(3, scale << 23 | 0x7fffff);    // only the exponent counts
          b.run({vop3(c.number, 8), sources()}); // into the upper half, or the third byte
          const double exact = scale == 255 ? std::copysign(NAN, std::signbit(x) ? -1.0 : 1.0)
                                            : scaled(x, 127 - static_cast<int>(scale));
          const u32 code = c.format.nearest(exact, saturate), other = code ^ c.format.sign();
          const u32 expected = c.format.width() == 8 ? 0x0000a5a5 | code << 16 | other << 24
                                                     : 0xa500a5a5 | code << 16 | other << 20;
          ASSERT_EQ(b.v(0)[0], expected) << c.name << " of " << x << ", scale " << scale;
        }
}

TEST(Cdna4, AllCodesAreTurnedIntoTheirValuesTimesTheScale) {
  struct {
    const char *name;
    const Format8 &format;
    u32 to_f32, to_f16, to_bf16;
  } const conversions[] = {{"fp8", fp8_format, 569, 584, 617},
                           {"bf8", bf8_format, 570, 585, 618},
                           {"fp4", fp4_format, 575, 592, 593}};
  WaveBench b("gfx950");
  for (const auto &c : conversions)
    for (u32 code = 0; code < 1u << c.format.width(); code++)
      for (const u32 scale : scales) {
        const u32 magnitude = code & ~c.format.sign();
        const double sign = code & c.format.sign() ? -1.0 : 1.0;
        const bool is_special = c.format.width() == 8 && magnitude > c.format.too_large_finite;
        const bool is_infinite = is_special && magnitude == 0x7c;
        double exact = c.format.value(code) * std::pow(2.0, static_cast<int>(scale) - 127);
        if (is_infinite) exact = sign * HUGE_VAL;
        if ((is_special && !is_infinite) || scale == 255) exact = std::copysign(NAN, sign);
        // In the second of the places that op_sel can name; beside it are zeros.
        const bool wide = c.format.width() == 8;
        b.set_v(4, wide ? code << 16 : code << 8), b.set_v(2, scale << 23);
        b.run({vop3(c.to_f32, 1), sources(4, 2, 0) & 0x3ffff});
        ASSERT_EQ(b.v(0)[0], f32_bits(exact)) << c.name << std::hex << code << " scale " << scale;
        const u32 other = scale == 255 ? 0x7fc00000 : 0;
        ASSERT_EQ(b.v(1)[0], other) << c.name << std::hex << code << " scale " << scale;
        b.run({vop3(c.to_bf16, 1), sources(4, 2, 0) & 0x3ffff});
        // Four digits at most: nothing is lost above 2^-133.
        if (std::isnan(exact) || std::isinf(exact) || std::fabs(exact) > 1e-37)
          ASSERT_EQ(b.v(0)[0] & 0xffff, f32_bits(exact) >> 16) << c.name << std::hex << code;
        b.run({vop3(c.to_f16, 1), sources(4, 2, 0) & 0x3ffff});
        const u32 negative = std::signbit(exact) ? 0x8000 : 0;
        const double large = std::fabs(exact);
        if (std::isnan(exact))
          ASSERT_EQ(b.v(0)[0] & 0xffff, negative | 0x7e00) << c.name;
        else if (large >= 65520)
          ASSERT_EQ(b.v(0)[0] & 0xffff, negative | 0x7c00) << c.name;
        else // a multiple of 2^-24, to nearest even below 2^-14
          ASSERT_EQ(static_cast<double>(to_f32(as_f16(b.v(0)[0] & 0xffff))),
                    large < 0x1p-14 ? std::copysign(std::nearbyint(large * 0x1p24) * 0x1p-24, exact)
                                    : exact)
              << c.name << std::hex << code << " scale " << scale;
      }
}

// 32 numbers of six bits in six registers, and back.
TEST(Cdna4, SixBitNumbersArePackedWithoutGaps) {
  struct {
    const char *name;
    const Format8 &format;
    u32 two_lists, from_f16, to_f32;
  } const conversions[] = {{"fp6", fp6_format, 594, 600, 598}, {"bf6", bf6_format, 595, 602, 599}};
  std::mt19937 random(3);
  for (const auto &c : conversions) {
    WaveBench b("gfx950");
    const std::vector<f32> numbers = numbers_for(c.format);
    for (int round = 0; round < 50; round++) {
      f32 x[32];
      for (f32 &n : x) n = numbers[random() % numbers.size()];
      u32 expected[6] = {};
      for (unsigned n = 0; n < 32; n++) {
        const u32 code = c.format.nearest(scaled(x[n], -1), false);
        for (unsigned bit = 0; bit < 6; bit++)
          expected[(6 * n + bit) / 32] |= (code >> bit & 1) << (6 * n + bit) % 32;
        b.set_v(16 + n / 2 + 16 * (n % 2), bits(x[n])); // v[16:31] and v[32:47], in turn
      }
      b.set_v(8, 128u << 23);
      b.run({vop3(c.two_lists), sources(16, 32, 8)});
      for (unsigned k = 0; k < 6; k++) ASSERT_EQ(b.v(k)[7], expected[k]) << c.name << " word " << k;
      // Back, one register for each number.
      for (unsigned k = 0; k < 6; k++) b.set_v(80 + k, expected[k]);
      b.run({vop3(c.to_f32) | 100, sources(80, 8, 0) & 0x3ffff});
      for (unsigned n = 0; n < 32; n++) {
        u32 code = 0;
        for (unsigned bit = 0; bit < 6; bit++)
          code |= (expected[(6 * n + bit) / 32] >> (6 * n + bit) % 32 & 1) << bit;
        ASSERT_EQ(b.v(100 + n)[7], f32_bits(2 * c.format.value(code))) << c.name << " number " << n;
      }
      // Halves: two numbers in a register. 1 and -2 are in both formats.
      for (unsigned n = 0; n < 16; n++) b.set_v(16 + n, n % 2 ? 0x3c00c000 : 0xc0003c00);
      b.set_v(8, 127u << 23);
      b.run({vop3(c.from_f16), sources(16, 8, 0) & 0x3ffff});
      const u32 first = c.format.nearest(1, false), two = c.format.nearest(-2, false);
      // The numbers are 1, -2, -2, 1 and so on: 24 bits for each four of them.
      const u64 four = first | two << 6 | u64{two} << 12 | u64{first} << 18;
      ASSERT_EQ(b.v(0)[0], static_cast<u32>(four | four << 24));
      ASSERT_EQ(b.v(5)[0], static_cast<u32>((four << 24 | four) >> 16));
    }
  }
}

// Cutting off after the noise was added: the share of upward roundings is that of the rest.
TEST(Cdna4, StochasticRoundingAddsTheUpperRandomBits) {
  WaveBench b("gfx950");
  // 1 + 5/32: the rest is a quarter of fp8's last digit, so noise of three quarters rounds up.
  b.set_v(0, 0), b.set_v(1, bits(1.0f + 1.0f / 32)), b.set_v(3, 127u << 23);
  b.set_v(2, {0x00000000, 0xbfffffff, 0xc0000000, 0xffffffff});
  b.run({vop3(567, 4), sources()}); // v_cvt_scalef32_sr_fp8_f32 into byte 1
  EXPECT_EQ(b.v(0)[0], 0x3800u);
  EXPECT_EQ(b.v(0)[1], 0x3800u);
  EXPECT_EQ(b.v(0)[2], 0x3900u);
  EXPECT_EQ(b.v(0)[3], 0x3900u);
  // The second number of a pair gets the next random value: 0x60000000 becomes 0xc0000000. 1.125
  // has a rest of a quarter in fp4.
  b.set_v(0, 0), b.set_v(4, bits(1.125f)), b.set_v(5, bits(1.125f));
  b.set_v(2, 0x60000000);
  b.run({vop3(574), sources(4, 2, 3)}); // v_cvt_scalef32_sr_pk_fp4_f32
  EXPECT_EQ(b.v(0)[0], 0x32u);
}

TEST(Cdna4, EightBitConversionsOfGfx942UseTheFormatsOfOcp) {
  WaveBench b("gfx950");
  for (u32 code = 0; code < 256; code++) {
    b.set_v(1, code);
    b.run({0x7e00a901}); // v_cvt_f32_fp8 v0, v1
    const u32 sign = code << 24 & 0x80000000;
    EXPECT_EQ(b.v(0)[0],
              (code & 0x7f) == 0x7f ? sign | 0x7fc00000 : f32_bits(fp8_format.value(code)));
    b.run({0x7e00ab01}); // v_cvt_f32_bf8
    EXPECT_EQ(b.v(0)[0], (code & 0x7f) == 0x7c  ? sign | 0x7f800000
                         : (code & 0x7f) > 0x7c ? sign | 0x7fc00000
                                                : f32_bits(bf8_format.value(code)));
  }
  for (const f32 x : numbers_for(fp8_format)) {
    b.set_v(0, 0), b.set_v(1, bits(x)), b.set_v(2, 0);
    b.run({0xd2a20000, 0x00020501}); // v_cvt_pk_fp8_f32 v0, v1, v2
    ASSERT_EQ(b.v(0)[0], fp8_format.nearest(scaled(x, 0), false)) << x;
  }
}

// Element (i, k) of A is in lane M * (k / n) + i, the n = M * K / 64 elements of a lane one after
// the other; B the same with its column; D as in the shapes of gfx90a.
TEST(Cdna4, MatricesOfTwiceTheDepth) {
  struct {
    const char *name;
    u32 number, m, k, width; // bits of an element
    bool is_float, is_brain;
  } const shapes[] = {{"f32_16x16x32_f16", 84, 16, 32, 16, true, false},
                      {"f32_32x32x16_f16", 85, 32, 16, 16, true, false},
                      {"f32_16x16x32_bf16", 53, 16, 32, 16, true, true},
                      {"f32_32x32x16_bf16", 55, 32, 16, 16, true, true},
                      {"i32_16x16x64_i8", 54, 16, 64, 8, false, false},
                      {"i32_32x32x32_i8", 56, 32, 32, 8, false, false}};
  std::mt19937 random(11);
  for (const auto &s : shapes) {
    WaveBench b("gfx950");
    std::vector<int> a(s.m * s.k), c(s.m * s.m), other(s.m * s.k);
    const u32 per_lane = s.m * s.k / 64, per_word = 32 / s.width;
    auto place = [&](u32 reg, u32 i, u32 k, int value) {
      u32 code = static_cast<u32>(value) & 0xff;
      if (s.is_brain) code = bits(static_cast<f32>(value)) >> 16;
      if (s.is_float && !s.is_brain) code = to_f16(static_cast<f32>(value)).bits;
      const u32 e = k % per_lane, lane = s.m * (k / per_lane) + i;
      b.v(reg + e / per_word)[lane] |= code << s.width * (e % per_word);
    };
    for (u32 i = 0; i < s.m; i++)
      for (u32 k = 0; k < s.k; k++) {
        place(32, i, k, a[i * s.k + k] = static_cast<int>(random() % 15) - 7);
        place(40, i, k, other[i * s.k + k] = static_cast<int>(random() % 15) - 7);
      }
    auto word = [&](u32 i, u32 j) -> u32 & { // four rows at a time go around the lanes
      const u32 around = 64 / s.m, group = i / 4;
      return b.v(4 * (group / around) + i % 4)[s.m * (group % around) + j];
    };
    for (u32 i = 0; i < s.m; i++)
      for (u32 j = 0; j < s.m; j++) {
        const int v = c[i * s.m + j] = static_cast<int>(random() % 100);
        word(i, j) = s.is_float ? bits(static_cast<f32>(v)) : static_cast<u32>(v);
      }
    b.run({0xd3800000 | s.number << 16, sources(32, 40, 0)});
    for (u32 i = 0; i < s.m; i++)
      for (u32 j = 0; j < s.m; j++) {
        int sum = c[i * s.m + j];
        for (u32 k = 0; k < s.k; k++) sum += a[i * s.k + k] * other[j * s.k + k];
        ASSERT_EQ(word(i, j), s.is_float ? bits(static_cast<f32>(sum)) : static_cast<u32>(sum))
            << s.name << " " << i << ", " << j;
      }
  }
}

} // namespace
} // namespace fade::sim
