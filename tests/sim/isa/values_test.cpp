// Arithmetic on single values, against references in exact integer arithmetic.
#include "semantics/division.h"
#include "semantics/fp8.h"
#include "semantics/transcendental.h"
#include "semantics/values.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <random>

namespace fade::sim {
namespace {

using wide = __int128;
// Unsigned inside: clang checks signed products of this width with a function that libgcc lacks.
wide product_of(wide a, wide b) {
  return static_cast<wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
}
constexpr int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

struct ModeScope {
  explicit ModeScope(int mode) { std::fesetround(mode); }
  ~ModeScope() { std::fesetround(FE_TONEAREST); }
};

// sign * significand * 2^exponent, rounded to f16 digit by digit.
u16 f16_of(bool negative, unsigned __int128 significand, int exponent, int mode,
           bool sticky = false) {
  const u16 sign = negative ? 0x8000 : 0;
  if (!significand && !sticky) return sign;
  int top = -1; // position of the first digit
  for (auto s = significand; s; s >>= 1) top++;
  int last = std::max(top + exponent - 10, -24) - exponent; // position of the last digit kept
  unsigned __int128 kept, rest, half;
  if (last <= 0)
    kept = significand << -last, rest = 0, half = 1;
  else if (last > 120)
    kept = 0, rest = 1, half = 2;
  else {
    kept = significand >> last;
    rest = significand & (((unsigned __int128)1 << last) - 1);
    half = (unsigned __int128)1 << (last - 1);
  }
  const bool inexact = rest || sticky;
  bool up = false;
  if (mode == FE_TONEAREST)
    up = rest > half || (rest == half && (sticky || kept & 1));
  else if (mode == FE_UPWARD)
    up = inexact && !negative;
  else if (mode == FE_DOWNWARD)
    up = inexact && negative;
  kept += up;
  const int unit = std::max(last, last <= 0 ? last : 0) + exponent; // kept * 2^unit
  const double value = std::ldexp(static_cast<double>(static_cast<u64>(kept)), unit);
  if (value > 65504) {
    const bool to_infinity = mode == FE_TONEAREST || (mode == FE_UPWARD && !negative) ||
                             (mode == FE_DOWNWARD && negative);
    return sign | (to_infinity ? 0x7c00 : 0x7bff);
  }
  if (value < 0x1p-14) return sign | static_cast<u16>(value * 0x1p24);
  int e;
  const double m = std::frexp(value, &e); // [0.5, 1)
  return sign | static_cast<u16>(((e + 14) << 10) + static_cast<int>((m * 2 - 1) * 1024));
}

f64 exact_value(u16 h) { // of a finite f16
  const int e = h >> 10 & 31, m = h & 0x3ff;
  const f64 v = e ? std::ldexp(1024 + m, e - 25) : std::ldexp(m, -24);
  return h & 0x8000 ? -v : v;
}

TEST(HalfPrecision, EveryFiniteNumberWidensExactly) {
  for (u32 h = 0; h < 0x10000; h++)
    if ((h & 0x7c00) != 0x7c00) {
      ASSERT_EQ(to_f32(as_f16(h)), exact_value(static_cast<u16>(h))) << h;
      ASSERT_EQ(sign_of(to_f32(as_f16(h))), (h & 0x8000) != 0) << h;
    }
}

TEST(HalfPrecision, TheHostsOwnConversionsAreTheSame) {
  for (u32 h = 0; h < 0x10000; h++)
    ASSERT_EQ(bits(to_f32(as_f16(h))), bits(widen_f16(as_f16(h)))) << h;
  std::mt19937 random(4);
  for (int mode : modes) {
    ModeScope scope(mode);
    for (int i = 0; i < 300000; i++) {
      const f32 x = as_f32(random());
      ASSERT_EQ(to_f16(x).bits, narrow_to_f16(x).bits) << x << " mode " << mode;
    }
  }
}

TEST(HalfPrecision, WideningKeepsInfinityAndQuietsNan) {
  EXPECT_EQ(bits(to_f32(as_f16(0x7c00))), 0x7f800000u);
  EXPECT_EQ(bits(to_f32(as_f16(0xfc00))), 0xff800000u);
  EXPECT_EQ(bits(to_f32(as_f16(0x7c01))), 0x7fc02000u);
  EXPECT_EQ(bits(to_f32(as_f16(0xfe55))), 0xffcaa000u);
}

TEST(HalfPrecision, NarrowingRoundsOnceInEveryMode) {
  std::mt19937 random(3);
  for (int mode : modes) {
    ModeScope scope(mode);
    for (int i = 0; i < 300000; i++) {
      // Exponents around f16's range, digits often halfway between two f16.
      u32 b = random() & 0x807fffff;
      if (i % 3 == 0) b &= 0x807ff000;
      if (i % 3 == 1) b &= 0x807fe000;
      b |= (127 - 28 + random() % 48) << 23;
      const u32 significand = (b & 0x7fffff) | 0x800000;
      const int exponent = static_cast<int>(b >> 23 & 0xff) - 150;
      ASSERT_EQ(to_f16(as_f32(b)).bits, f16_of(b >> 31, significand, exponent, mode))
          << std::hex << b << " mode " << mode;
      ASSERT_EQ(to_f16(static_cast<f64>(as_f32(b))).bits,
                f16_of(b >> 31, significand, exponent, mode))
          << std::hex << b;
    }
  }
}

TEST(HalfPrecision, NarrowingKnowsItsSpecialValues) {
  EXPECT_EQ(to_f16(0.0f).bits, 0);
  EXPECT_EQ(to_f16(-0.0f).bits, 0x8000);
  EXPECT_EQ(to_f16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(to_f16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(to_f16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_f16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(to_f16(infinity<f32>()).bits, 0x7c00);
  EXPECT_EQ(to_f16(0x1p-25f).bits, 0); // halfway to the smallest: even
  EXPECT_EQ(to_f16(0x1.8p-25f).bits, 1);
  EXPECT_EQ(to_f16(as_f32(0x7fc00000)).bits, 0x7e00);
  EXPECT_EQ(to_f16(as_f32(0xff802000)).bits, 0xfe01); // signalling, with payload
  EXPECT_EQ(to_f16_toward_zero(1e9f).bits, 0x7bff);
  EXPECT_EQ(to_f16_toward_zero(-0x1.ffffp-24f).bits, 0x8001);
  EXPECT_EQ(to_f16_toward_zero(1.9999f).bits, 0x3fff);
}

TEST(HalfPrecision, FusedMultiplyAddRoundsOnceInEveryMode) {
  std::mt19937 random(5);
  for (int mode : modes) {
    ModeScope scope(mode);
    for (int i = 0; i < 300000; i++) {
      u16 h[3];
      for (u16 &x : h) {
        x = static_cast<u16>(random());
        if ((x & 0x7c00) == 0x7c00) x ^= 0x4000;
        if (i % 4 == 0) x &= 0xfc0f;
      }
      // In units of 2^-48 all three are integers.
      auto units = [](u16 x, int scale) {
        return static_cast<wide>(std::ldexp(exact_value(x), scale));
      };
      const wide sum = product_of(units(h[0], 24), units(h[1], 24)) + (units(h[2], 24) << 24);
      if (sum == 0) continue; // its sign is another matter
      const u16 expected =
          f16_of(sum < 0, static_cast<unsigned __int128>(sum < 0 ? -sum : sum), -48, mode);
      ASSERT_EQ(fma(f16{h[0]}, f16{h[1]}, f16{h[2]}).bits, expected)
          << std::hex << h[0] << " " << h[1] << " " << h[2] << " mode " << mode;
    }
  }
}

TEST(HalfPrecision, SumsAndProductsRoundOnce) {
  std::mt19937 random(6);
  for (int mode : modes) {
    ModeScope scope(mode);
    for (int i = 0; i < 200000; i++) {
      u16 a = static_cast<u16>(random()), b = static_cast<u16>(random());
      if ((a & 0x7c00) == 0x7c00) a ^= 0x4000;
      if ((b & 0x7c00) == 0x7c00) b ^= 0x4000;
      auto units = [](u16 x) { return static_cast<wide>(std::ldexp(exact_value(x), 24)); };
      const wide sum = units(a) + units(b), product = product_of(units(a), units(b));
      auto rounded = [&](wide v, int e) {
        return f16_of(v < 0, static_cast<unsigned __int128>(v < 0 ? -v : v), e, mode);
      };
      if (sum != 0)
        ASSERT_EQ(add(f16{a}, f16{b}).bits, rounded(sum, -24)) << std::hex << a << " " << b;
      if (product != 0)
        ASSERT_EQ(mul(f16{a}, f16{b}).bits, rounded(product, -48)) << std::hex << a << " " << b;
    }
  }
}

TEST(BrainFloat, RoundsToNearestEven) {
  EXPECT_EQ(to_bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(to_bf16(as_f32(0x3f808000)).bits, 0x3f80);
  EXPECT_EQ(to_bf16(as_f32(0x3f818000)).bits, 0x3f82);
  EXPECT_EQ(to_bf16(as_f32(0x3f808001)).bits, 0x3f81);
  EXPECT_EQ(to_bf16(as_f32(0x7f7fffff)).bits, 0x7f80);
  EXPECT_EQ(to_bf16(as_f32(0x7f800001)).bits, 0x7fc0);
}

TEST(SmallFloats, HaveTheValuesOfTheirFormats) {
  EXPECT_EQ(to_f32(fp8{0x01}), 0x1p-10f);
  EXPECT_EQ(to_f32(fp8{0x08}), 0x1p-7f);
  EXPECT_EQ(to_f32(fp8{0x40}), 1.0f);
  EXPECT_EQ(to_f32(fp8{0x7f}), 240.0f);
  EXPECT_EQ(to_f32(fp8{0xc4}), -1.5f);
  EXPECT_TRUE(is_nan(to_f32(fp8{0x80})));
  EXPECT_EQ(to_f32(bf8{0x01}), 0x1p-17f);
  EXPECT_EQ(to_f32(bf8{0x40}), 1.0f);
  EXPECT_EQ(to_f32(bf8{0x7f}), 57344.0f);
  EXPECT_TRUE(is_nan(to_f32(bf8{0x80})));
}

template <class T> void expect_nearest_small_floats() {
  // Every number of the format comes back, and halfway points go to the even neighbour.
  for (unsigned n = 0; n < 0x7f; n++) {
    const f32 here = to_f32(T{static_cast<u8>(n)}), next = to_f32(T{static_cast<u8>(n + 1)});
    auto nearest = [](f32 x) { return to_small_float<T>(x, true, 0, false).bits; };
    EXPECT_EQ(nearest(here), n);
    EXPECT_EQ(nearest((here + next) / 2), n + (n & 1)) << n;
    EXPECT_EQ(nearest(std::nextafter((here + next) / 2, 1e9f)), n + 1) << n;
    EXPECT_EQ(nearest(std::nextafter((here + next) / 2, 0.0f)), n) << n;
    if (n) EXPECT_EQ(nearest(-here), n | 0x80);
  }
}
TEST(SmallFloats, RoundToNearestEven) {
  expect_nearest_small_floats<fp8>();
  expect_nearest_small_floats<bf8>();
}
TEST(SmallFloats, OverflowToNanOrToTheLargest) {
  EXPECT_EQ(to_small_float<fp8>(1000.0f, true, 0, false).bits, 0x80);
  EXPECT_EQ(to_small_float<fp8>(1000.0f, true, 0, true).bits, 0x7f);
  EXPECT_EQ(to_small_float<fp8>(-infinity<f32>(), true, 0, true).bits, 0xff);
  EXPECT_EQ(to_small_float<bf8>(default_nan<f32>(), true, 0, true).bits, 0x80);
  EXPECT_EQ(to_small_float<fp8>(-0.0f, true, 0, true).bits, 0);
}
TEST(SmallFloats, StochasticRoundingGoesUpAsOftenAsTheLostPartSays) {
  // 1 + 1/32 lies a quarter of the way from 1 to 1.125.
  EXPECT_EQ(to_small_float<fp8>(1.03125f, false, 0, false).bits, 0x40);
  EXPECT_EQ(to_small_float<fp8>(1.03125f, false, 0xbfffffff, false).bits, 0x40);
  EXPECT_EQ(to_small_float<fp8>(1.03125f, false, 0xc0000000, false).bits, 0x41);
}

TEST(FloatToInteger, TruncatesSaturatesAndTurnsNanToZero) {
  EXPECT_EQ(to_int<i32>(-1.9f), -1);
  EXPECT_EQ(to_int<i32>(2147483648.0f), 0x7fffffff);
  EXPECT_EQ(to_int<i32>(-3e9f), static_cast<i32>(0x80000000));
  EXPECT_EQ(to_int<i32>(default_nan<f32>()), 0);
  EXPECT_EQ(to_int<u32>(-0.9f), 0u);
  EXPECT_EQ(to_int<u32>(-5.0f), 0u);
  EXPECT_EQ(to_int<u32>(4294967040.0f), 4294967040u);
  EXPECT_EQ(to_int<u32>(4294967296.0f), 0xffffffffu);
  EXPECT_EQ(to_int<u32>(default_nan<f64>()), 0u);
  EXPECT_EQ(to_int<i32>(2147483647.9), 2147483647);
  EXPECT_EQ(to_int<i32>(-2147483648.9), static_cast<i32>(0x80000000));
  EXPECT_EQ(to_int<i16>(as_f16(0xfbff)), -32768);
  EXPECT_EQ(to_int<u16>(as_f16(0x7c00)), 65535);
}

TEST(Ldexp, RoundsOnceIntoTheDenormals) {
  // 1 + 2^-23 times 2^-149: just above half of the smallest number times two.
  EXPECT_EQ(bits(ldexp(as_f32(0x3f800001), -150)), 1u);
  EXPECT_EQ(bits(ldexp(1.0f, -150)), 0u);
  EXPECT_EQ(bits(ldexp(1.0f, -149)), 1u);
  EXPECT_EQ(bits(ldexp(as_f32(1), 149)), bits(1.0f));
  EXPECT_EQ(ldexp(1.0f, 1 << 30), infinity<f32>());
  EXPECT_EQ(bits(ldexp(-1.0f, -(1 << 30))), 0x80000000u);
  std::mt19937_64 random(9);
  for (int i = 0; i < 100000; i++) {
    const f64 x = as_f64(random() & 0xbfffffffffffffff);
    const int n = static_cast<int>(random() % 4400) - 2200;
    ASSERT_EQ(bits(ldexp(x, n)), bits(std::ldexp(x, n))) << x << " " << n;
  }
}

TEST(Frexp, SplitsDenormalsAndLeavesSpecialValuesAlone) {
  for (f32 x : {1.0f, -3.5f, 0x1p-149f, 0x1.8p-140f, 3e38f}) {
    EXPECT_EQ(std::ldexp(frexp_mantissa(x), frexp_exponent(x)), x);
    EXPECT_GE(std::abs(frexp_mantissa(x)), 0.5f);
    EXPECT_LT(std::abs(frexp_mantissa(x)), 1.0f);
  }
  EXPECT_EQ(frexp_exponent(0.0f), 0);
  EXPECT_EQ(frexp_exponent(infinity<f64>()), 0);
  EXPECT_EQ(frexp_mantissa(-infinity<f64>()), -infinity<f64>());
  EXPECT_EQ(frexp_exponent(0x1p-1074), -1073);
}

// The sequences that compilers emit for a correctly rounded division.
f32 divide(f32 n, f32 d) {
  const auto ds = div_scale(d, d, n), ns = div_scale(n, d, n);
  f32 r = flushed(rcp_instruction(flushed(ds.value)));
  r = fma(fma(-ds.value, r, 1.0f), r, r);
  f32 q = mul(ns.value, r);
  q = fma(fma(-ds.value, q, ns.value), r, q);
  return div_fixup(div_fmas(fma(-ds.value, q, ns.value), r, q, ns.undo), d, n);
}
f64 divide(f64 n, f64 d) {
  const auto ds = div_scale(d, d, n), ns = div_scale(n, d, n);
  f64 r = rcp_instruction(ds.value);
  for (int i = 0; i < 2; i++) r = fma(fma(-ds.value, r, 1.0), r, r);
  const f64 q = mul(ns.value, r);
  return div_fixup(div_fmas(fma(-ds.value, q, ns.value), r, q, ns.undo), d, n);
}
template <class T> void expect_exact_division(u64 seed) {
  using B = typename Format<T>::Bits;
  constexpr B small =
      static_cast<B>(~(B{Format<T>::max_exponent - 31} << Format<T>::mantissa)); // tiny exponents
  constexpr B large = static_cast<B>(B{Format<T>::max_exponent - 31} << Format<T>::mantissa);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 500000; i++) {
    B a = static_cast<B>(random()), b = static_cast<B>(random());
    if (i & 1) a &= small;
    if (i & 2) b &= small;
    if (i & 4) a |= large;
    if (i & 8) b |= large;
    const T n = std::bit_cast<T>(a), d = std::bit_cast<T>(b), expected = n / d, got = divide(n, d);
    if (is_nan(expected))
      ASSERT_TRUE(is_nan(got)) << n << " / " << d;
    else
      ASSERT_EQ(bits(got), bits(expected)) << n << " / " << d;
  }
}
TEST(Division, SinglePrecisionIsCorrectlyRoundedEverywhere) { expect_exact_division<f32>(1); }
TEST(Division, DoublePrecisionIsCorrectlyRoundedEverywhere) { expect_exact_division<f64>(2); }

TEST(Division, FixupAnswersSpecialCases) {
  EXPECT_EQ(bits(div_fixup(1.0f, 0.0f, 0.0f)), 0xffc00000u);
  EXPECT_EQ(bits(div_fixup(1.0f, -infinity<f32>(), infinity<f32>())), 0xffc00000u);
  EXPECT_EQ(div_fixup(1.0f, -0.0f, 5.0f), -infinity<f32>());
  EXPECT_EQ(bits(div_fixup(1.0f, -infinity<f32>(), 5.0f)), 0x80000000u);
  EXPECT_EQ(bits(div_fixup(1.0f, as_f32(0x7f800001), 5.0f)), 0x7fc00001u);
  EXPECT_EQ(div_fixup(3.0f, -2.0f, 6.0f), -3.0f);
  EXPECT_EQ(div_fixup(as_f16(0x4200), as_f16(0xc000), as_f16(0x4600)).bits, 0xc200);
}

i64 ulps_apart(f32 a, f32 b) {
  auto order = [](f32 x) {
    return sign_of(x) ? -static_cast<i64>(bits(x) & 0x7fffffff) : static_cast<i64>(bits(x));
  };
  const i64 d = order(a) - order(b);
  return d < 0 ? -d : d;
}

TEST(ApproximateFunctions, StayWithinOneUlp) {
  std::mt19937 random(11);
  for (int i = 0; i < 300000; i++) {
    const f32 x =
        std::ldexp(static_cast<f32>(random()) * 0x1p-32f - 0.5f, static_cast<int>(random() % 9));
    if (x > -126)
      ASSERT_LE(ulps_apart(exp2_instruction(x), static_cast<f32>(std::exp2(static_cast<f64>(x)))),
                1)
          << x;
    const f32 y = as_f32(0x00800000 + random() % 0x7f000000);
    ASSERT_LE(ulps_apart(log2_instruction(y), static_cast<f32>(std::log2(static_cast<f64>(y)))), 1)
        << y;
    ASSERT_LE(ulps_apart(rsq_instruction(y), static_cast<f32>(1 / std::sqrt(static_cast<f64>(y)))),
              1)
        << y;
    // One turn is 2 pi.
    const f64 turn = 2 * M_PI, t = std::remainder(static_cast<f64>(x), 1.0);
    ASSERT_NEAR(sin_instruction(x, true), std::sin(t * turn), 0x1p-23) << x;
    ASSERT_NEAR(cos_instruction(x, true), std::cos(t * turn), 0x1p-23) << x;
  }
}

TEST(ApproximateFunctions, AreExactWhereTheResultIs) {
  for (int n = -126; n < 128; n++) {
    EXPECT_EQ(exp2_instruction(static_cast<f32>(n)), std::ldexp(1.0f, n));
    EXPECT_EQ(log2_instruction(std::ldexp(1.0f, n)), static_cast<f32>(n));
  }
  EXPECT_EQ(sin_instruction(0.25f, true), 1.0f);
  EXPECT_EQ(sin_instruction(0.5f, true), 0.0f);
  EXPECT_EQ(cos_instruction(0.5f, true), -1.0f);
  EXPECT_EQ(cos_instruction(0.0f, true), 1.0f);
}

TEST(ApproximateFunctions, KnowTheirSpecialValues) {
  EXPECT_EQ(exp2_instruction(-200.0f), 0.0f);
  EXPECT_EQ(exp2_instruction(-127.0f), 0.0f); // denormal results are flushed
  EXPECT_EQ(exp2_instruction(128.0f), infinity<f32>());
  EXPECT_EQ(exp2_instruction(-infinity<f32>()), 0.0f);
  EXPECT_EQ(log2_instruction(0.0f), -infinity<f32>());
  EXPECT_EQ(log2_instruction(0x1p-140f), -infinity<f32>()); // denormal operands, too
  EXPECT_EQ(log2_instruction(infinity<f32>()), infinity<f32>());
  EXPECT_TRUE(is_nan(log2_instruction(-1.0f)));
  EXPECT_EQ(rsq_instruction(-0.0f), -infinity<f32>());
  EXPECT_EQ(rcp_instruction(-infinity<f32>()), 0.0f);
  EXPECT_TRUE(is_nan(sqrt_instruction(-1.0f)));
  EXPECT_EQ(bits(sqrt_instruction(-0.0f)), 0x80000000u);
  // Beyond 256 turns gfx9 gives up; later architectures do not.
  EXPECT_EQ(sin_instruction(256.25f, true), 0.0f);
  EXPECT_EQ(cos_instruction(-300.5f, true), 1.0f);
  EXPECT_EQ(sin_instruction(256.25f, false), 1.0f);
  EXPECT_EQ(cos_instruction(-300.5f, false), -1.0f);
}

TEST(TrigPreop, HandsOutTheDigitsOfTwoOverPi) {
  // Three segments of 53 digits each add up to 2/pi far beyond double precision.
  const f64 first = trig_preop(1.0, 0), second = trig_preop(1.0, 1);
  EXPECT_EQ(first, 0x1.45f306dc9c882p-1);
  EXPECT_EQ(first + second, 2 / M_PI);
  EXPECT_EQ(second, 0x1.4a7f09d5f47d4p-54);
  // A large operand moves the window: only digits that matter for its fraction are left.
  EXPECT_EQ(trig_preop(std::ldexp(1.0, 1077 - 1023 + 53), 0), second);
  EXPECT_EQ(trig_preop(std::ldexp(1.0, 1968 - 1023), 31), 0.0);
}

} // namespace
} // namespace fade::sim
