// The three instructions around a Newton-Raphson division: scale operands away from the ends of the
// exponent range, last step with the scaling undone, repair of special cases.
#pragma once

#include "semantics/values.h"

namespace fade::sim {

// How far div_scale moves an operand, and from which difference of exponents on.
template <class T> struct DivisionScale;
template <> struct DivisionScale<f32> {
  static constexpr int shift = 64, near_overflow = 96, tiny = 23, underflow = -150;
};
template <> struct DivisionScale<f64> {
  static constexpr int shift = 128, near_overflow = 768, tiny = 53, underflow = -1075;
};

// Neither scaling nor repair is needed where both operands are nearer to 1 than this: their
// quotient and the denominator's reciprocal are far from both ends of the range.
template <class T> inline bool far_from_one(T x) {
  constexpr int reach = DivisionScale<T>::near_overflow / 2 - 1;
  return static_cast<unsigned>(raw_exponent(x) - (Format<T>::bias - reach)) > 2u * reach;
}

template <class T> struct ScaledOperand {
  T value;
  bool undo; // div_fmas must scale back
};

// `x` is the numerator or the denominator, whichever is to be scaled.
template <class T> inline ScaledOperand<T> div_scale(T x, T denominator, T numerator) {
  constexpr int shift = DivisionScale<T>::shift;
  if (is_zero(denominator) || is_zero(numerator)) return {default_nan<T>(), false};
  const T reciprocal = T(1) / denominator, quotient = numerator / denominator;
  const bool scale_denominator = bits(x) == bits(denominator),
             scale_numerator = bits(x) == bits(numerator);
  if (raw_exponent(numerator) - raw_exponent(denominator) >= DivisionScale<T>::near_overflow)
    return {scale_denominator ? ldexp(x, shift) : x, true};
  if (is_denormal(denominator)) return {ldexp(x, shift), false};
  if (is_denormal(reciprocal) && is_denormal(quotient))
    return {scale_denominator ? ldexp(x, -shift) : x, true};
  if (is_denormal(reciprocal)) return {ldexp(x, -shift), false};
  if (is_denormal(quotient)) return {scale_numerator ? ldexp(x, shift) : x, true};
  if (raw_exponent(numerator) <= DivisionScale<T>::tiny) return {ldexp(x, shift), false};
  return {x, false};
}

// fma(a, b, c) times 2^n, rounded once even where the result is denormal.
f32 scaled_fma(f32 a, f32 b, f32 c, int n);
f64 scaled_fma(f64 a, f64 b, f64 c, int n);

// `undo`: the quotient was scaled; a large one (numerator / (denominator * 2^n)) has to grow, a
// small one to shrink.
template <class T> inline T div_fmas(T a, T b, T c, bool undo) {
  if (!undo) return fma(a, b, c);
  const int shift = DivisionScale<T>::shift;
  return scaled_fma(a, b, c, raw_exponent(c) > Format<T>::bias ? shift : -shift);
}

template <class T> inline T div_fixup(T quotient, T denominator, T numerator) {
  const bool negative = sign_of(denominator) != sign_of(numerator);
  if (is_nan(numerator)) return quiet(numerator);
  if (is_nan(denominator)) return quiet(denominator);
  const bool zero_over_zero = is_zero(denominator) && is_zero(numerator);
  const bool inf_over_inf = is_infinite(denominator) && is_infinite(numerator);
  if (zero_over_zero || inf_over_inf) return negated(default_nan<T>());
  if (is_zero(denominator) || is_infinite(numerator)) return with_sign(infinity<T>(), negative);
  if (is_infinite(denominator) || is_zero(numerator)) return with_sign(T{}, negative);
  if constexpr (!std::is_same_v<T, f16>) {
    const T one = denominator * 0 + 1; // not known to the compiler, which would round to nearest
    // Too small for any rounding but upwards: let the host's mode decide between 0 and the smallest
    // number.
    if (raw_exponent(numerator) - raw_exponent(denominator) < DivisionScale<T>::underflow)
      return with_sign(std::numeric_limits<T>::denorm_min(), negative) * (one * T(0.25));
    // A quotient beyond the range leaves the iteration as infinity or NaN; here it overflows as the
    // mode says.
    if (raw_exponent(quotient) == Format<T>::max_exponent)
      return with_sign(std::numeric_limits<T>::max(), negative) * (one + one);
  }
  return with_sign(quotient, negative);
}

} // namespace fade::sim
