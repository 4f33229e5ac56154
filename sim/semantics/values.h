// Arithmetic on single values, with the GPU's rules for NaN, denormals and conversions. Everything
// here is branch-light, so that a loop over lanes turns into vector code. Rounding is the host's
// current mode unless said otherwise.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace fade::sim {

using u8 = uint8_t;
using i8 = int8_t;
using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;
using f32 = float;
using f64 = double;

struct f16 {
  u16 bits = 0;
};
struct bf16 {
  u16 bits = 0;
};

inline u32 bits(f32 x) { return std::bit_cast<u32>(x); }
inline u64 bits(f64 x) { return std::bit_cast<u64>(x); }
inline u16 bits(f16 x) { return x.bits; }
inline f32 as_f32(u32 x) { return std::bit_cast<f32>(x); }
inline f64 as_f64(u64 x) { return std::bit_cast<f64>(x); }
inline f16 as_f16(u32 x) { return f16{static_cast<u16>(x)}; }

// Layout of the three formats.
template <class T> struct Format;
template <> struct Format<f16> {
  using Bits = u16;
  static constexpr int mantissa = 10, bias = 15, max_exponent = 31;
};
template <> struct Format<f32> {
  using Bits = u32;
  static constexpr int mantissa = 23, bias = 127, max_exponent = 255;
};
template <> struct Format<f64> {
  using Bits = u64;
  static constexpr int mantissa = 52, bias = 1023, max_exponent = 2047;
};
template <class T>
constexpr auto sign_mask = static_cast<typename Format<T>::Bits>(typename Format<T>::Bits{1}
                                                                 << (8 * sizeof(T) - 1));

inline bool is_nan(f32 x) { return x != x; }
inline bool is_nan(f64 x) { return x != x; }
inline bool is_nan(f16 x) { return (x.bits & 0x7fff) > 0x7c00; }
inline bool is_snan(f32 x) { return is_nan(x) && !(bits(x) & 0x400000); }
inline bool is_snan(f64 x) { return is_nan(x) && !(bits(x) & 0x8000000000000ull); }
inline bool is_snan(f16 x) { return is_nan(x) && !(x.bits & 0x200); }
inline f32 quiet(f32 x) { return as_f32(bits(x) | 0x400000); }
inline f64 quiet(f64 x) { return as_f64(bits(x) | 0x8000000000000ull); }
inline f16 quiet(f16 x) { return as_f16(x.bits | 0x200u); }

template <class T> inline T default_nan();
template <> inline f32 default_nan<f32>() { return as_f32(0x7fc00000); }
template <> inline f64 default_nan<f64>() { return as_f64(0x7ff8000000000000ull); }
template <> inline f16 default_nan<f16>() { return as_f16(0x7e00); }

template <class T> inline bool sign_of(T x) { return bits(x) & sign_mask<T>; }
template <class T> inline T magnitude(T x) {
  return std::bit_cast<T>(static_cast<typename Format<T>::Bits>(bits(x) & ~sign_mask<T>));
}
template <class T> inline T negated(T x) {
  return std::bit_cast<T>(static_cast<typename Format<T>::Bits>(bits(x) ^ sign_mask<T>));
}
template <class T> inline T with_sign(T x, bool negative) {
  return negative ? negated(magnitude(x)) : magnitude(x);
}
// The exponent field as it stands in the number.
template <class T> inline int raw_exponent(T x) {
  return static_cast<int>(bits(x) >> Format<T>::mantissa) & Format<T>::max_exponent;
}
template <class T> inline bool is_zero(T x) { return bits(magnitude(x)) == 0; }
template <class T> inline bool is_denormal(T x) { return raw_exponent(x) == 0 && !is_zero(x); }
template <class T> inline bool is_infinite(T x) {
  return bits(magnitude(x)) == static_cast<u64>(Format<T>::max_exponent) << Format<T>::mantissa;
}
template <class T> inline T infinity() {
  return std::bit_cast<T>(static_cast<typename Format<T>::Bits>(
      static_cast<u64>(Format<T>::max_exponent) << Format<T>::mantissa));
}
template <class T> inline T flushed(T x) { // a denormal becomes zero, its sign stays
  return std::bit_cast<T>(
      static_cast<typename Format<T>::Bits>(raw_exponent(x) ? bits(x) : bits(x) & sign_mask<T>));
}

// The NaN that an operation gives: the first NaN among its operands, made quiet, else the default
// one.
template <class T> inline T nan_of(T a) { return is_nan(a) ? quiet(a) : default_nan<T>(); }
template <class T> inline T nan_of(T a, T b) { return is_nan(a) ? quiet(a) : nan_of(b); }
template <class T> inline T nan_of(T a, T b, T c) { return is_nan(a) ? quiet(a) : nan_of(b, c); }

template <class T> inline T add(T a, T b) {
  T r = a + b;
  return is_nan(r) ? nan_of(a, b) : r;
}
template <class T> inline T sub(T a, T b) {
  T r = a - b;
  return is_nan(r) ? nan_of(a, b) : r;
}
template <class T> inline T mul(T a, T b) {
  T r = a * b;
  return is_nan(r) ? nan_of(a, b) : r;
}
inline f32 fma(f32 a, f32 b, f32 c) {
  f32 r = __builtin_fmaf(a, b, c);
  return is_nan(r) ? nan_of(a, b, c) : r;
}
inline f64 fma(f64 a, f64 b, f64 c) {
  f64 r = __builtin_fma(a, b, c);
  return is_nan(r) ? nan_of(a, b, c) : r;
}

// f16 -> f32, exact; a NaN keeps its payload and becomes quiet.
inline f32 widen_f16(f16 x) {
  const u32 sign = static_cast<u32>(x.bits & 0x8000) << 16, rest = x.bits & 0x7fff;
  // Put in place, the number is 2^112 too small; infinities and NaN then need the largest exponent.
  const f32 scaled = as_f32(rest << 13) * 0x1p112f;
  const u32 special = (rest << 13) | 0x7f800000 | (rest > 0x7c00 ? 0x400000 : 0);
  return as_f32((rest >= 0x7c00 ? special : bits(scaled)) | sign);
}

// To f16 from a wider format, rounded once. Adding and taking away a number 2^(F-10) times as large
// makes the host round at f16's last bit, in whatever mode the host is.
template <class F> inline f16 narrow_to_f16(F x) {
  using B = typename Format<F>::Bits;
  constexpr int mantissa = Format<F>::mantissa;
  constexpr B smallest = static_cast<B>(Format<F>::bias - 14) << mantissa;
  const B b = bits(x), sign = b & sign_mask<F>;
  B exponent = b & (static_cast<B>(Format<F>::max_exponent) << mantissa);
  exponent = exponent < smallest ? smallest : exponent;
  // Far beyond f16's range only "too large" matters.
  constexpr B largest = static_cast<B>(Format<F>::bias + 17) << mantissa;
  exponent = exponent > largest ? largest : exponent;
  const F magic = std::bit_cast<F>(
      static_cast<B>((exponent + (static_cast<B>(mantissa - 10) << mantissa)) | sign));
  const F rounded = (x + magic) - magic;
  // Overflow goes where the host's mode sends it: to infinity or to the largest finite number.
  const F overflow = rounded * std::numeric_limits<F>::max();
  const u32 beyond = (bits(overflow) << 1) == (bits(infinity<F>()) << 1) ? 0x7c00 : 0x7bff;

  const B r = bits(rounded) & ~sign_mask<F>;
  const u32 normal =
      static_cast<u32>((r >> (mantissa - 10)) - (static_cast<B>(Format<F>::bias - 15) << 10));
  const u32 denormal =
      static_cast<u32>(static_cast<i32>(std::bit_cast<F>(r < smallest ? r : B{0}) * F(0x1p24)));
  u32 result = r < smallest ? denormal : normal;
  result = r >= largest - (B{1} << mantissa) ? beyond : result; // 2^16 and up
  const u32 payload = static_cast<u32>(b >> (mantissa - 10)) & 0x3ff;
  result = is_infinite(x) ? 0x7c00 : is_nan(x) ? 0x7e00 | payload : result;
  return as_f16(result | static_cast<u32>(sign >> (8 * sizeof(F) - 16)));
}

// Where the host converts in the same way by itself, it is faster.
#if defined(__aarch64__)
inline f32 to_f32(f16 x) { return static_cast<f32>(std::bit_cast<__fp16>(x.bits)); }
inline f16 to_f16(f32 x) { return f16{std::bit_cast<u16>(static_cast<__fp16>(x))}; }
#elif defined(__F16C__)
inline f32 to_f32(f16 x) { return static_cast<f32>(std::bit_cast<_Float16>(x.bits)); }
inline f16 to_f16(f32 x) { return f16{std::bit_cast<u16>(static_cast<_Float16>(x))}; }
#else
inline f32 to_f32(f16 x) { return widen_f16(x); }
inline f16 to_f16(f32 x) { return narrow_to_f16(x); }
#endif
inline f16 to_f16(f64 x) { return narrow_to_f16(x); }

inline bool operator<(f16 a, f16 b) { return to_f32(a) < to_f32(b); }
inline bool operator>(f16 a, f16 b) { return to_f32(a) > to_f32(b); }
inline bool operator==(f16 a, f16 b) { return to_f32(a) == to_f32(b); }

inline f32 to_f32(bf16 x) { return as_f32(static_cast<u32>(x.bits) << 16); }
inline bf16 to_bf16(f32 x) { // nearest even, whatever the host's mode
  const u32 b = bits(x);
  const u32 rounded = (b + 0x7fff + (b >> 16 & 1)) >> 16;
  return bf16{static_cast<u16>(is_nan(x) ? b >> 16 | 0x40 : rounded)};
}
// Toward zero, whatever the host's mode (v_cvt_pkrtz).
f16 to_f16_toward_zero(f32 x);

// Sums and products of f16 are first rounded to f32; that has more than twice the digits, so
// rounding again is harmless.
inline f16 add(f16 a, f16 b) { return to_f16(add(to_f32(a), to_f32(b))); }
inline f16 sub(f16 a, f16 b) { return to_f16(sub(to_f32(a), to_f32(b))); }
inline f16 mul(f16 a, f16 b) { return to_f16(mul(to_f32(a), to_f32(b))); }
// The product is exact in f64. The sum is not exact only when the product is below 2^-31 times c,
// and then it cannot round to a point halfway between two f16.
inline f16 fma(f16 a, f16 b, f16 c) {
  const f64 x = to_f32(a), y = to_f32(b), z = to_f32(c);
  const f64 r = x * y + z;
  return is_nan(r) ? nan_of(a, b, c) : to_f16(r);
}

// Float to integer: toward zero, saturating, NaN gives 0.
template <class I, class F> inline I to_int(F x) {
  // Both ends as exact powers of two.
  constexpr F top = static_cast<F>(static_cast<u64>(std::numeric_limits<I>::max() / 2 + 1)) * 2;
  constexpr F bottom = static_cast<F>(std::numeric_limits<I>::min());
  if constexpr (std::is_signed_v<I>)
    return x >= top     ? std::numeric_limits<I>::max()
           : x < bottom ? std::numeric_limits<I>::min()
           : is_nan(x)  ? I{0}
                        : static_cast<I>(x);
  else
    return x >= top ? std::numeric_limits<I>::max() : x > F(-1) ? static_cast<I>(x) : I{0};
}
template <class I> inline I to_int(f16 x) { return to_int<I>(to_f32(x)); }

inline f32 floor(f32 x) { return __builtin_floorf(x); }
inline f64 floor(f64 x) { return __builtin_floor(x); }
inline f32 ceil(f32 x) { return __builtin_ceilf(x); }
inline f64 ceil(f64 x) { return __builtin_ceil(x); }
inline f32 trunc(f32 x) { return __builtin_truncf(x); }
inline f64 trunc(f64 x) { return __builtin_trunc(x); }
inline f32 round_even(f32 x) { return __builtin_roundevenf(x); }
inline f64 round_even(f64 x) { return __builtin_roundeven(x); }

// The smaller and the larger of two numbers; -0 is smaller than 0.
template <class T> inline T min_of(T a, T b) { return b < a || (a == b && sign_of(b)) ? b : a; }
template <class T> inline T max_of(T a, T b) { return b > a || (a == b && sign_of(a)) ? b : a; }

// IEEE minNum and maxNum. In IEEE mode a signalling NaN is answered with its quiet form; otherwise
// any NaN loses.
template <class T> inline T min_num(T a, T b, bool ieee) {
  T r = is_nan(a) ? b : min_of(a, b);
  r = ieee && is_snan(b) ? quiet(b) : r;
  return ieee && is_snan(a) ? quiet(a) : r;
}
template <class T> inline T max_num(T a, T b, bool ieee) {
  T r = is_nan(a) ? b : max_of(a, b);
  r = ieee && is_snan(b) ? quiet(b) : r;
  return ieee && is_snan(a) ? quiet(a) : r;
}

// x * 2^n, rounded once.
inline f32 ldexp(f32 x, i32 n) {
  n = n < -400 ? -400 : n > 400 ? 400 : n;
  const f64 r = static_cast<f64>(x) * as_f64(static_cast<u64>(n + 1023) << 52);
  return is_nan(x) ? quiet(x) : static_cast<f32>(r);
}
inline f16 ldexp(f16 x, i32 n) {
  n = n < -100 ? -100 : n > 100 ? 100 : n;
  return is_nan(x) ? quiet(x) : to_f16(to_f32(x) * as_f32(static_cast<u32>(n + 127) << 23));
}
f64 ldexp(f64 x, i32 n);

// x = mantissa * 2^exponent with the mantissa in [0.5, 1).
template <class T> inline T normalized(T x) {
  return is_denormal(x) ? T(x * T(u64{1} << Format<T>::mantissa)) : x;
}
template <class T> inline i32 frexp_exponent(T x) {
  if (is_zero(x) || raw_exponent(x) == Format<T>::max_exponent) return 0;
  return raw_exponent(normalized(x)) - (is_denormal(x) ? Format<T>::mantissa : 0) -
         Format<T>::bias + 1;
}
template <class T> inline T frexp_mantissa(T x) {
  if (is_zero(x) || is_infinite(x)) return x;
  if (is_nan(x)) return quiet(x);
  using B = typename Format<T>::Bits;
  constexpr B exponent = static_cast<B>(Format<T>::max_exponent) << Format<T>::mantissa;
  return std::bit_cast<T>((bits(normalized(x)) & ~exponent) | static_cast<B>(Format<T>::bias - 1)
                                                                  << Format<T>::mantissa);
}

// Integers kept inside a narrower type's range.
template <class I, class W> inline I saturate(W x) {
  constexpr W low = static_cast<W>(std::numeric_limits<I>::min()),
              high = static_cast<W>(std::numeric_limits<I>::max());
  return static_cast<I>(x < low ? low : x > high ? high : x);
}

} // namespace fade::sim
