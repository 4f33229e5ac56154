// The floats of 4, 6 and 8 bits that OCP defines and gfx950 has: fp8 (E4M3), bf8 (E5M2), fp6
// (E2M3), bf6 (E3M2) and fp4 (E2M1). gfx942's own formats of 8 bits are in fp8.h.
#pragma once

#include "semantics/values.h"

#include <cmath>

namespace fade::sim {

struct SmallFormat {
  int exponent_bits, mantissa, bias;
  u32 largest; // finite
  u32 nan;     // what a NaN becomes; where there is none, the largest number
  u32 infinity = 0;

  constexpr int width() const { return 1 + exponent_bits + mantissa; }
  constexpr u32 sign() const { return 1u << (width() - 1); }
  constexpr bool has_nan() const { return nan != largest; }
};
inline constexpr SmallFormat ocp_fp8 = {4, 3, 7, 0x7e, 0x7f};
inline constexpr SmallFormat ocp_bf8 = {5, 2, 15, 0x7b, 0x7e, 0x7c};
inline constexpr SmallFormat ocp_fp6 = {2, 3, 1, 0x1f, 0x1f};
inline constexpr SmallFormat ocp_bf6 = {3, 2, 3, 0x1f, 0x1f};
inline constexpr SmallFormat ocp_fp4 = {2, 1, 1, 0x7, 0x7};

// All of them are exact in f32.
inline f32 small_value(const SmallFormat &f, u32 code) {
  const u32 magnitude_code = code & (f.sign() - 1);
  const bool negative = code & f.sign();
  if (f.has_nan() && magnitude_code > f.largest)
    return with_sign(magnitude_code == f.infinity ? infinity<f32>() : default_nan<f32>(), negative);
  const int exponent = static_cast<int>(magnitude_code >> f.mantissa);
  const u32 fraction = magnitude_code & ((1u << f.mantissa) - 1);
  const u32 digits = exponent ? fraction | 1u << f.mantissa : fraction;
  return with_sign(ldexp(static_cast<f32>(digits), (exponent ? exponent : 1) - f.bias - f.mantissa),
                   negative);
}

// The same without branches, so that it vectorises, of a code in the upper bits of a word; what is
// below it does not matter. A number's bits moved to where an f32 has them are off by a power of
// two, also of denormals.
template <const SmallFormat &F, bool MayBeSpecial = F.has_nan()> inline f32 widen_upper(u32 word) {
  constexpr f32 factor = std::bit_cast<f32>(static_cast<u32>(254 - F.bias) << 23); // 2^(127 - bias)
  constexpr u32 sign = 1u << 31, magnitudes = (F.sign() - 1) << (23 - F.mantissa);
  const u32 moved = static_cast<u32>(static_cast<i32>(word) >> (8 - F.exponent_bits));
  const f32 value = as_f32(moved & (sign | magnitudes)) * factor;
  if constexpr (MayBeSpecial) {
    // What follows the largest number. Its digits say which it is where there are infinities.
    constexpr f32 beyond = std::bit_cast<f32>((F.largest + 1) << (23 - F.mantissa)) * factor;
    constexpr u32 special = F.infinity ? 0x7f800000 : 0x7fc00000;
    return as_f32(bits(value) | (magnitude(value) >= beyond ? special : 0));
  }
  return value;
}
// Whether one of the four numbers of 8 bits in a word is infinite or NaN: not 0 then.
template <const SmallFormat &F> inline u32 special_bytes(u32 word) {
  constexpr u32 each = 0x01010101;
  return ((word & 0x7f * each) + (0x7f - F.largest) * each) & 0x80 * each;
}
template <const SmallFormat &F> inline f32 widen_small(u32 code) {
  return widen_upper<F>(code << (32 - F.width()));
}

// How a number is made to fit: to the nearest, ties to even, or by adding `noise` (a fraction of
// the last digit, in units of 2^-32) and cutting off.
struct SmallRounding {
  bool is_stochastic = false;
  u32 noise = 0;
  bool saturate = false; // fp8 and bf8: too large becomes the largest, not NaN or infinity
};

inline u32 small_code(const SmallFormat &f, f64 x, const SmallRounding &rounding) {
  const u32 sign = sign_of(x) ? f.sign() : 0;
  const u32 beyond = !f.has_nan() || rounding.saturate ? f.largest
                     : f.infinity                      ? f.infinity
                                                       : f.nan;
  if (is_nan(x)) return sign | f.nan;
  if (is_infinite(x)) return sign | beyond;
  if (x == 0) return sign;
  int exponent;
  const f64 fraction = std::frexp(magnitude(x), &exponent); // in [0.5, 1)
  const int lowest = 1 - f.bias, kept = std::max(exponent - 1, lowest);
  const f64 digits = std::ldexp(fraction, exponent + f.mantissa - kept); // the last one is worth 1
  f64 whole = std::floor(digits);
  if (rounding.is_stochastic) {
    whole = std::floor(digits + rounding.noise * 0x1p-32);
  } else {
    const f64 rest = digits - whole;
    if (rest > 0.5 || (rest == 0.5 && static_cast<u64>(whole) & 1)) whole += 1;
  }
  if (kept - lowest > 31) return sign | beyond;
  // The exponent lies next to the digits, of which the hidden one counts: a carry moves by itself.
  const u32 code = (static_cast<u32>(kept - lowest) << f.mantissa) + static_cast<u32>(whole);
  return sign | (code > f.largest ? beyond : code);
}

// Random bits as noise: the upper ones, as many as a number with `source` digits loses.
inline u32 small_noise(const SmallFormat &f, int source, u32 random) {
  return random & ~(~0u >> (source - f.mantissa));
}

} // namespace fade::sim
