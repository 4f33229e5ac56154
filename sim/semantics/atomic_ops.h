// Read-modify-write operations, as memory and LDS atomics have them: new value from the old one and
// the operands.
#pragma once

#include "isa/opcode.h"
#include "semantics/values.h"
#include "wave/wave.h"

#include <algorithm>

namespace fade::sim {

// How a floating-point atomic treats denormals, of inputs and of the result.
enum class Denormals : uint8_t { keep, flush };

template <class T> struct AtomicInput {
  T data;  // first data operand
  T data2; // second one: what compare-and-swap stores or compares with
  Denormals denormals;
};

// A lane's value in one register, or in two for 64 bits.
template <class T> T lane_value(const Row *rows, unsigned lane) {
  if constexpr (sizeof(T) == 8)
    return static_cast<T>(u64{rows[1][lane]} << 32 | rows[0][lane]);
  else
    return static_cast<T>(rows[0][lane]);
}
template <class T> void set_lane_value(Row *rows, unsigned lane, T v) {
  rows[0][lane] = static_cast<u32>(v);
  if constexpr (sizeof(T) == 8) rows[1][lane] = static_cast<u32>(static_cast<u64>(v) >> 32);
}

inline f32 flushed(f32 x, Denormals d) {
  return d == Denormals::flush && !(bits(x) & 0x7f800000) ? as_f32(bits(x) & 0x80000000) : x;
}
inline f64 flushed(f64 x, Denormals d) {
  return d == Denormals::flush && !(bits(x) & 0x7ff0000000000000ull) ? as_f64(bits(x) & 1ull << 63)
                                                                     : x;
}
inline f16 flushed(f16 x, Denormals d) {
  return d == Denormals::flush && !(x.bits & 0x7c00) ? f16{static_cast<u16>(x.bits & 0x8000)} : x;
}

namespace atomic_op {

// Each operation: T apply(T old, const AtomicInput<T> &). Float types are bit patterns in memory,
// so T is unsigned there and the operation names the type it computes in.
template <class T> struct Base { using Value = T; };

#define FADE_ATOMIC(NAME, ...)                                                                     \
  template <class T> struct NAME : Base<T> {                                                       \
    static T apply([[maybe_unused]] T old, const AtomicInput<T> &in) {                             \
      return static_cast<T>(__VA_ARGS__);                                                          \
    }                                                                                              \
  };
FADE_ATOMIC(Add, old + in.data)
FADE_ATOMIC(Sub, old - in.data)
FADE_ATOMIC(RSub, in.data - old)
FADE_ATOMIC(Min, std::min(old, in.data))
FADE_ATOMIC(Max, std::max(old, in.data))
FADE_ATOMIC(And, (old & in.data))
FADE_ATOMIC(Or, old | in.data)
FADE_ATOMIC(Xor, old ^ in.data)
FADE_ATOMIC(Inc, old >= in.data ? 0 : old + 1)
FADE_ATOMIC(Dec, old == 0 || old > in.data ? in.data : old - 1)
FADE_ATOMIC(Swap, in.data)
FADE_ATOMIC(SubClamp, old < in.data ? 0 : old - in.data)
FADE_ATOMIC(CondSub, old < in.data ? old : old - in.data)
FADE_ATOMIC(MaskOr, (old & ~in.data) | in.data2)
FADE_ATOMIC(Wrap, old >= in.data ? old - in.data : old + in.data2)
FADE_ATOMIC(CompareSwap, old == in.data2 ? in.data : old) // memory, and LDS from gfx11 on
FADE_ATOMIC(CompareStore,
            old == in.data ? in.data2 : old) // LDS before: the operands the other way round
#undef FADE_ATOMIC

// The smaller (larger) value; a NaN loses against a number.
template <class F> F fmin(F a, F b) {
  if (is_nan(a)) return is_nan(b) ? quiet(a) : b;
  if (is_nan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class F> F fmax(F a, F b) {
  if (is_nan(a)) return is_nan(b) ? quiet(a) : b;
  if (is_nan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

template <class F> using BitsOf = std::conditional_t<sizeof(F) == 8, u64, u32>;

#define FADE_FLOAT_ATOMIC(NAME, ...)                                                               \
  template <class F> struct NAME : Base<BitsOf<F>> {                                               \
    using T = BitsOf<F>;                                                                           \
    static T apply(T raw, const AtomicInput<T> &in) {                                              \
      const F old = flushed(std::bit_cast<F>(raw), in.denormals);                                  \
      const F data = flushed(std::bit_cast<F>(in.data), in.denormals);                             \
      return bits(flushed(__VA_ARGS__, in.denormals));                                             \
    }                                                                                              \
  };
FADE_FLOAT_ATOMIC(FAdd, add(old, data))
FADE_FLOAT_ATOMIC(FMin, fmin(old, data))
FADE_FLOAT_ATOMIC(FMax, fmax(old, data))
// gfx12: of two NaN the operand is the one that is stored.
FADE_FLOAT_ATOMIC(FMinNum, fmin(data, old))
FADE_FLOAT_ATOMIC(FMaxNum, fmax(data, old))
#undef FADE_FLOAT_ATOMIC

// Float comparison: zeros are equal, NaNs are not. The stored value is the operand as it is.
template <class F> struct FCompareSwap : Base<BitsOf<F>> {
  using T = BitsOf<F>;
  static T apply([[maybe_unused]] T old, const AtomicInput<T> &in) {
    const bool equal = flushed(std::bit_cast<F>(old), in.denormals) ==
                       flushed(std::bit_cast<F>(in.data2), in.denormals);
    return equal ? in.data : old;
  }
};
template <class F> struct FCompareStore : Base<BitsOf<F>> {
  using T = BitsOf<F>;
  static T apply([[maybe_unused]] T old, const AtomicInput<T> &in) {
    return FCompareSwap<F>::apply(old, {in.data2, in.data, in.denormals});
  }
};

struct PkAddF16 : Base<u32> {
  static u32 apply(u32 old, const AtomicInput<u32> &in) {
    auto half = [&](unsigned shift) {
      const f16 sum =
          add(f16{static_cast<u16>(old >> shift)}, f16{static_cast<u16>(in.data >> shift)});
      return static_cast<u32>(sum.bits) << shift;
    };
    return half(0) | half(16);
  }
};
struct PkAddBf16 : Base<u32> {
  static u32 apply(u32 old, const AtomicInput<u32> &in) {
    auto half = [&](unsigned shift) {
      const f32 sum = add(to_f32(bf16{static_cast<u16>(old >> shift)}),
                          to_f32(bf16{static_cast<u16>(in.data >> shift)}));
      return static_cast<u32>(to_bf16(sum).bits) << shift;
    };
    return half(0) | half(16);
  }
};

} // namespace atomic_op
} // namespace fade::sim

// The integer atomics that both scalar and vector memory have: name, operation, its 32-bit and its
// 64-bit type.
// clang-format off
#define FADE_INTEGER_ATOMICS(X)        \
  X("swap", Swap, u32, u64),           \
  X("cmpswap", CompareSwap, u32, u64), \
  X("add", Add, u32, u64),             \
  X("sub", Sub, u32, u64),             \
  X("smin", Min, i32, i64),            \
  X("umin", Min, u32, u64),            \
  X("smax", Max, i32, i64),            \
  X("umax", Max, u32, u64),            \
  X("and", And, u32, u64),             \
  X("or", Or, u32, u64),               \
  X("xor", Xor, u32, u64),             \
  X("inc", Inc, u32, u64),             \
  X("dec", Dec, u32, u64)
// clang-format on
