// The 8-bit floats of gfx942: fp8 (4 exponent bits, bias 8) and bf8 (5 exponent bits, bias 16).
// Neither has infinities or a negative zero; 0x80 is the only NaN.
#pragma once

#include "semantics/values.h"

namespace fade::sim {

template <int MantissaBits> struct SmallFloat {
  u8 bits = 0;
  static constexpr int mantissa = MantissaBits, bias = MantissaBits == 3 ? 8 : 16;
};
using fp8 = SmallFloat<3>;
using bf8 = SmallFloat<2>;

template <int N> inline f32 to_f32(SmallFloat<N> x) {
  constexpr int bias = SmallFloat<N>::bias;
  if (x.bits == 0x80) return default_nan<f32>();
  const int exponent = (x.bits & 0x7f) >> N, fraction = x.bits & ((1 << N) - 1);
  const f32 significand = static_cast<f32>(exponent ? fraction + (1 << N) : fraction);
  const f32 r = ldexp(significand, (exponent ? exponent : 1) - bias - N);
  return x.bits & 0x80 ? -r : r;
}

// The same without branches, so that it vectorises: a number's bits moved to where an f32 has them
// are off by a power of two, also of denormals.
template <class T> inline f32 widen_small_float(u32 code) {
  constexpr f32 factor = std::bit_cast<f32>(static_cast<u32>(254 - T::bias) << 23);
  const u32 value = fade::sim::bits(as_f32((code & 0x7f) << (23 - T::mantissa)) * factor);
  return as_f32(code == 0x80 ? fade::sim::bits(default_nan<f32>()) : value | (code & 0x80) << 24);
}

// `noise` is added below the last digit before it is cut off: half a digit rounds to nearest,
// random bits round stochastically. In units of 2^-32 of the last digit. Too large a number becomes
// NaN, or the largest when `saturate_large`.
template <class T> inline T to_small_float(f32 x, bool nearest, u32 noise, bool saturate_large) {
  constexpr int N = T::mantissa;
  const u8 sign = sign_of(x) ? 0x80 : 0;
  if (is_nan(x)) return T{0x80};
  if (is_infinite(x)) return T{static_cast<u8>(saturate_large ? sign | 0x7f : 0x80)};
  // |x| = value * 2^(exponent - 23), then moved so that the last digit kept is bit 32 of a
  // fixed-point number.
  const int exponent = raw_exponent(x) ? raw_exponent(x) - 127 : -126;
  const u64 value = (fade::sim::bits(x) & 0x7fffff) | (raw_exponent(x) ? 0x800000 : 0);
  const int lowest = 1 - T::bias,
            kept = exponent > lowest ? exponent : lowest; // exponent of the result, before carry
  const int shift = 32 - (23 - N) - (kept - exponent);
  const u64 fixed = shift >= 0 ? value << shift : shift > -64 ? value >> -shift : 0;
  const bool sticky = shift < 0 && (shift <= -64 || (value & ((1ull << -shift) - 1)));
  u64 digits;
  if (nearest) {
    const u64 rest = (fixed & 0xffffffff) | (sticky ? 1 : 0);
    digits = fixed >> 32;
    digits += rest > 0x80000000 || (rest == 0x80000000 && digits & 1);
  } else {
    digits = (fixed + noise) >> 32;
  }
  // As the exponent field is next to the digits, a carry moves into it by itself; the hidden digit
  // counts one.
  const int field = kept - lowest;
  const u64 magnitude_bits = (static_cast<u64>(field) << N) + digits;
  if (magnitude_bits > 0x7f) return T{static_cast<u8>(saturate_large ? sign | 0x7f : 0x80)};
  return T{static_cast<u8>(magnitude_bits ? sign | magnitude_bits : 0)};
}

} // namespace fade::sim
