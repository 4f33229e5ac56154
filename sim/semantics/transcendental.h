// The approximate functions of the vector unit, computed in f64 without tables or branches, so that
// they vectorise and give the same bits on every host. The hardware promises 1 ulp of f32; these
// stay below 0.54.
#pragma once

#include "semantics/values.h"

namespace fade::sim {

// The polynomials are Chebyshev fits over the reduced range; their error is below 2^-28.

inline f64 exp2_of(f64 x) { // |x| < 1000
  const f64 n = round_even(x), t = x - n;
  f64 p = 0.0001546144469856913;
  p = p * t + 0.0013400428177615838;
  p = p * t + 0.009618056678524637;
  p = p * t + 0.05550327226670302;
  p = p * t + 0.24022650922288757;
  p = p * t + 0.6931472067028326;
  p = p * t + 1.0;
  return p * as_f64(static_cast<u64>(static_cast<i64>(n) + 1023) << 52);
}

inline f64 log2_of(f64 x) { // x normal and positive
  // x = 2^e * m with m in [sqrt(1/2), sqrt(2)), so that the result near x = 1 has no cancellation.
  constexpr u64 sqrt_half = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
  const u64 shifted = bits(x) + (one - sqrt_half);
  const i64 e = static_cast<i64>(shifted >> 52) - 1023;
  const f64 m = as_f64(bits(x) - (static_cast<u64>(e) << 52));
  const f64 s = (m - 1) / (m + 1), t = s * s;
  f64 p = 0.3407120415619086;
  p = p * t + 0.41167376623771057;
  p = p * t + 0.5770835660048659;
  p = p * t + 0.9617966734515485;
  p = p * t + 2.885390081789987;
  return static_cast<f64>(e) + p * s;
}

inline f64 sin_quarter(f64 x) { // sin(2 pi x) for |x| <= 1/4
  const f64 t = x * x;
  f64 p = -14.393966295455941;
  p = p * t + 42.009779303153906;
  p = p * t - 76.70427987604262;
  p = p * t + 81.60522617402967;
  p = p * t - 41.341702116744;
  p = p * t + 6.283185307072264;
  return p * x;
}

// Sine and cosine of x revolutions.
inline f64 sin_turns(f64 x) {
  const f64 r = x - round_even(x), half = r < 0 ? -0.5 : 0.5;
  return sin_quarter(magnitude(r) > 0.25 ? half - r : r);
}
inline f64 cos_turns(f64 x) { return sin_quarter(0.25 - magnitude(x - round_even(x))); }

// The instructions. f32 operands and results that are denormal count as zero.
inline f32 exp2_instruction(f32 x) {
  const f32 bounded = x > -200 ? (x < 200 ? x : 200) : -200;
  const f32 r = flushed(static_cast<f32>(exp2_of(bounded)));
  return is_nan(x) ? quiet(x) : r;
}
inline f32 log2_instruction(f32 x) {
  const f32 v = flushed(x);
  const bool usual = v > 0 && !is_infinite(v);
  const f32 r = static_cast<f32>(log2_of(usual ? v : 1.0f));
  return usual ? r : is_zero(v) ? -infinity<f32>() : v > 0 ? v : nan_of(v);
}
template <class T> inline T rcp_instruction(T x) {
  const T r = T(1) / x;
  return is_nan(r) ? nan_of(x) : r;
}
template <class T> inline T rsq_instruction(T x) {
  const T r = static_cast<T>(1.0 / std::sqrt(static_cast<f64>(x)));
  return is_nan(r) ? nan_of(x) : r;
}
template <class T> inline T sqrt_instruction(T x) {
  const T r = std::sqrt(x);
  return is_nan(r) ? nan_of(x) : r;
}
// gfx9 takes angles up to 256 revolutions; beyond, sine is 0 and cosine 1.
inline f32 sin_instruction(f32 x, bool limited) {
  const f32 r = static_cast<f32>(sin_turns(x));
  return is_nan(r) ? nan_of(x) : limited && magnitude(x) > 256 ? 0.0f : r;
}
inline f32 cos_instruction(f32 x, bool limited) {
  const f32 r = static_cast<f32>(cos_turns(x));
  return is_nan(r) ? nan_of(x) : limited && magnitude(x) > 256 ? 1.0f : r;
}

inline f16 exp2_instruction(f16 x) {
  const f32 v = to_f32(x), bounded = v > -100 ? (v < 100 ? v : 100) : -100;
  return is_nan(x) ? quiet(x) : to_f16(exp2_of(bounded));
}
inline f16 log2_instruction(f16 x) {
  return is_nan(x) ? quiet(x) : to_f16(log2_instruction(to_f32(x)));
}
inline f16 rcp_instruction(f16 x) { return to_f16(rcp_instruction(to_f32(x))); }
inline f16 rsq_instruction(f16 x) { return to_f16(rsq_instruction(to_f32(x))); }
inline f16 sqrt_instruction(f16 x) { return to_f16(sqrt_instruction(to_f32(x))); }
inline f16 sin_instruction(f16 x, bool limited) {
  return to_f16(sin_instruction(to_f32(x), limited));
}
inline f16 cos_instruction(f16 x, bool limited) {
  return to_f16(cos_instruction(to_f32(x), limited));
}

// The bits of 2/pi that v_trig_preop_f64 hands out, 53 at a time.
f64 trig_preop(f64 x, u32 segment);

} // namespace fade::sim
