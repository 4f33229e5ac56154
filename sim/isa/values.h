// Arithmetic on single values, with the GPU's rules for NaN, denormals and conversions. Everything here is branch-light,
// so that a loop over lanes turns into vector code.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace fade::sim {

using u8 = uint8_t;
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

inline bool is_nan(f32 x) { return x != x; }
inline bool is_nan(f64 x) { return x != x; }
inline bool is_nan(f16 x) { return (x.bits & 0x7fff) > 0x7c00; }
inline bool is_snan(f32 x) { return is_nan(x) && !(bits(x) & 0x400000); }
inline bool is_snan(f64 x) { return is_nan(x) && !(bits(x) & 0x8000000000000ull); }
inline bool is_snan(f16 x) { return is_nan(x) && !(x.bits & 0x200); }
inline f32 quiet(f32 x) { return as_f32(bits(x) | 0x400000); }
inline f64 quiet(f64 x) { return as_f64(bits(x) | 0x8000000000000ull); }
inline f16 quiet(f16 x) { return {static_cast<u16>(x.bits | 0x200)}; }

template <class T> inline T default_nan();
template <> inline f32 default_nan<f32>() { return as_f32(0x7fc00000); }
template <> inline f64 default_nan<f64>() { return as_f64(0x7ff8000000000000ull); }

// The NaN that an operation gives: the first NaN among its operands, made quiet, else the default one.
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

// f16 <-> f32. `to_f16` rounds as the host's current rounding mode says.
f32 to_f32(f16 x);
f16 to_f16(f32 x);
// Exactly rounded from f64, without rounding twice.
f16 to_f16(f64 x);

inline f32 to_f32(bf16 x) { return as_f32(static_cast<u32>(x.bits) << 16); }

inline f16 add(f16 a, f16 b) { return to_f16(add(to_f32(a), to_f32(b))); }
inline f16 sub(f16 a, f16 b) { return to_f16(sub(to_f32(a), to_f32(b))); }
inline f16 mul(f16 a, f16 b) { return to_f16(mul(to_f32(a), to_f32(b))); }
f16 fma(f16 a, f16 b, f16 c);

} // namespace fade::sim
