// The arithmetic that is too long, or too seldom needed, to be inlined into lane loops.
#include "semantics/values.h"

#include "semantics/division.h"
#include "semantics/transcendental.h"

namespace fade::sim {

f16 to_f16_toward_zero(f32 x) {
  const u32 b = bits(x), sign = b >> 16 & 0x8000;
  const int e = raw_exponent(x) - 127;
  if (is_nan(x)) return as_f16(sign | 0x7e00 | (b >> 13 & 0x3ff));
  if (is_infinite(x)) return as_f16(sign | 0x7c00);
  if (e > 15) return as_f16(sign | 0x7bff);
  if (e >= -14) return as_f16(sign | static_cast<u32>(e + 15) << 10 | (b >> 13 & 0x3ff));
  if (e < -24) return as_f16(sign);
  return as_f16(sign | ((b & 0x7fffff) | 0x800000) >> (-e - 1));
}

f64 ldexp(f64 x, i32 n) {
  if (is_nan(x)) return quiet(x);
  // In steps that lose nothing before the last: on the way down each step leaves room for 53 more
  // bits.
  for (int i = 0; i < 2 && n > 1023; i++) x *= 0x1p1023, n -= 1023;
  for (int i = 0; i < 2 && n < -1022; i++) x *= 0x1p-969, n += 969;
  n = n > 1023 ? 1023 : n < -1022 ? -1022 : n;
  return x * as_f64(static_cast<u64>(n + 1023) << 52);
}

namespace {

// The part of fma(a, b, c) that rounding to nearest took away (Boldo and Muller); its sign and
// whether it is 0 are exact.
f64 fma_error(f64 a, f64 b, f64 c, f64 rounded) {
  auto error_of_sum = [](f64 x, f64 y, f64 sum) {
    const f64 yy = sum - x;
    return (x - (sum - yy)) + (y - yy);
  };
  const f64 product = a * b, product_low = __builtin_fma(a, b, -product);
  const f64 low = c + product_low, low_error = error_of_sum(c, product_low, low);
  const f64 high = product + low, high_error = error_of_sum(product, low, high);
  return ((high - rounded) + high_error) + low_error;
}

// Nearest number with an odd last digit, unless exact: may be rounded again to a shorter format
// without harm.
f64 to_odd(f64 rounded, f64 error) {
  if (error == 0 || bits(rounded) & 1) return rounded;
  const bool away = (error > 0) == (rounded > 0);
  return as_f64(away ? bits(rounded) + 1 : bits(rounded) - 1);
}

} // namespace

f32 scaled_fma(f32 a, f32 b, f32 c, int n) {
  const f64 product = static_cast<f64>(a) * b, sum = product + c;
  if (!(magnitude(sum) < infinity<f64>())) return fma(a, b, c);
  const f64 back = sum - product, error = (product - (sum - back)) + (c - back);
  return static_cast<f32>(to_odd(sum, error) * as_f64(static_cast<u64>(n + 1023) << 52));
}

f64 scaled_fma(f64 a, f64 b, f64 c, int n) {
  const f64 rounded = fma(a, b, c);
  const int drop =
      -1021 - (frexp_exponent(rounded) + n); // of 53 digits, those that a denormal has no room for
  if (drop < 1 || is_zero(rounded) || !(magnitude(rounded) < infinity<f64>()))
    return ldexp(rounded, n);
  // The digits that fall off, and whether the true value lies above or below them, decide together.
  const f64 error = fma_error(a, b, c, rounded);
  const u64 toward = error == 0 ? 0 : (error > 0) == (rounded > 0) ? 1 : ~0ull;
  const u64 digits = (((bits(rounded) & 0xfffffffffffff) | 0x10000000000000) << 2) + toward;
  u64 kept = drop < 60 ? digits >> drop
                       : 0; // in units of 2^-1076; the last bit stands for all that is lost
  kept |= drop >= 60 || (digits & ((1ull << drop) - 1)) != 0;
  // Beside 2^52 the last digit is worth 1: the host rounds there, once, in its own mode.
  const f64 whole = static_cast<f64>(kept >> 2), rest = static_cast<f64>(kept & 3) * 0.25;
  const f64 sign = sign_of(rounded) ? -1 : 1;
  const f64 value = (sign * (0x1p52 + whole) + sign * rest) - sign * 0x1p52;
  return with_sign(value, sign_of(rounded)) * 0x1p-537 * 0x1p-537;
}

f64 trig_preop(f64 x, u32 segment) {
  // 2/pi, most significant bits first.
  static constexpr u64 two_over_pi[] = {
      0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
      0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
      0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
      0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
      0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x5600000000000000}; // 1201 bits in all
  const int exponent = raw_exponent(x);
  int shift = static_cast<int>(segment & 31) * 53;
  if (exponent > 1077) shift += exponent - 1077;
  u64 digits = 0;
  for (int n = 0; n < 53; n++) {
    const int at = shift + n;
    const u64 bit = at < 1201 ? two_over_pi[at / 64] >> (63 - at % 64) & 1 : 0;
    digits = digits << 1 | bit;
  }
  const int scale = -53 - shift + (exponent >= 1968 ? 128 : 0);
  return ldexp(static_cast<f64>(digits), scale);
}

} // namespace fade::sim
