// Scalar floating point, which gfx11.5 has: what the vector instructions of the same names compute,
// on one value. Operands have no modifiers; a 16-bit operand is the lower half of its register, and
// a 16-bit result clears the upper one.
#include "semantics/constants.h"
#include "semantics/opcodes.h"
#include "semantics/rounding.h"
#include "semantics/salu.h"

#include <array>

namespace fade::sim {
namespace {

template <class T> constexpr bool is_float_value = is_float(TypeOf<T>::type);

// An operand with its denormals as MODE wants them.
template <class T> T float_operand(const Wave &w, const Operand &o) {
  const uint64_t v = scalar_value(w, o, TypeOf<T>::type);
  if constexpr (is_float_value<T>) {
    const T x = std::bit_cast<T>(static_cast<typename Format<T>::Bits>(v));
    return flushes(w, TypeOf<T>::type, true) ? flushed(x) : x;
  } else {
    return static_cast<T>(v);
  }
}

// What is computed from it is computed here: compilers do not know that the host's rounding mode
// changes, and would convert before or after that.
template <class T> T pinned(T x) {
  asm volatile("" : "+m"(x) : : "memory");
  return x;
}

template <class F> struct FloatSignature;
template <class R, class First, class... A> struct FloatSignature<R (*)(Machine, First, A...)> {
  using Indices = std::make_index_sequence<sizeof...(A)>;

  template <auto F, size_t... I>
  static void run(Wave &w, const Instruction &in, std::index_sequence<I...>) {
    R r;
    {
      const RoundingScope rounding(w.mode, TypeOf<R>::type, TypeOf<First>::type);
      r = pinned(F(w.machine, pinned(float_operand<First>(w, in.src[0])),
                   pinned(float_operand<A>(w, in.src[I + 1]))...));
    }
    if constexpr (std::is_same_v<R, bool>) {
      w.scc = r;
    } else if constexpr (is_float_value<R>) {
      if (flushes(w, TypeOf<R>::type, false)) r = flushed(r);
      write_scalar(w, in.dst, static_cast<u32>(bits(r)));
    } else {
      write_scalar(w, in.dst, r);
    }
  }
};

template <auto F> void run_scalar_float(Wave &w, const Instruction &in) {
  using S = FloatSignature<decltype(+F)>;
  S::template run<F>(w, in, typename S::Indices{});
}
template <auto F> constexpr Opcode scalar_float(const char *name) {
  return {name, run_scalar_float<F>, ExecClass::salu};
}
constexpr Opcode accumulate_scalar(Opcode o) { // the last source is the destination
  o.reads_dst = true;
  return o;
}

template <class T> T rounded_by(T x, f32 (*f)(f32)) {
  if (is_nan(x)) return quiet(x);
  if constexpr (std::is_same_v<T, f16>)
    return to_f16(f(to_f32(x)));
  else
    return f(x);
}
// Exact as f64, then rounded once: hosts may have no such conversion of unsigned numbers.
f32 from_unsigned(u32 x) { return static_cast<f32>(static_cast<f64>(x)); }
u32 pair(f16 low, f16 high) { return u32{low.bits} | u32{high.bits} << 16; }
// The one without a vector instruction of its kind.
void run_convert_high_half(Wave &w, const Instruction &in) {
  const f16 x = as_f16(static_cast<u32>(scalar_value(w, in.src[0], Type::u32)) >> 16);
  write_scalar(w, in.dst, bits(to_f32(flushes(w, Type::f16, true) ? flushed(x) : x)));
}
f32 value(f32 x) { return x; }
f32 value(f16 x) { return to_f32(x); }

} // namespace

// FLOAT(s_add_f32, (f32 a, f32 b), add(a, b)): `m` is the Machine.
#define FLOAT(NAME, PARAMS, ...)                                                                   \
  scalar_float<[](Machine m FADE_PARAMS PARAMS) {                                                  \
    (void)m;                                                                                       \
    return (__VA_ARGS__);                                                                          \
  }>(#NAME)
#define COMPARE(OP, TYPE, ...) FLOAT(s_cmp_##OP##_##TYPE, (TYPE x, TYPE y), __VA_ARGS__)
#define FLOAT_TYPE(TYPE)                                                                           \
  FLOAT(s_add_##TYPE, (TYPE a, TYPE b), add(a, b)),                                                \
      FLOAT(s_sub_##TYPE, (TYPE a, TYPE b), sub(a, b)),                                            \
      FLOAT(s_mul_##TYPE, (TYPE a, TYPE b), mul(a, b)),                                            \
      FLOAT(s_min_##TYPE, (TYPE a, TYPE b), min_num(a, b, m.ieee)),                                \
      FLOAT(s_max_##TYPE, (TYPE a, TYPE b), max_num(a, b, m.ieee)),                                \
      accumulate_scalar(FLOAT(s_fmac_##TYPE, (TYPE a, TYPE b, TYPE d), fma(a, b, d))),             \
      FLOAT(s_ceil_##TYPE, (TYPE a), rounded_by(a, ceil)),                                         \
      FLOAT(s_floor_##TYPE, (TYPE a), rounded_by(a, floor)),                                       \
      FLOAT(s_trunc_##TYPE, (TYPE a), rounded_by(a, trunc)),                                       \
      FLOAT(s_rndne_##TYPE, (TYPE a), rounded_by(a, round_even)),                                  \
      COMPARE(lt, TYPE, value(x) < value(y)), COMPARE(eq, TYPE, value(x) == value(y)),             \
      COMPARE(le, TYPE, value(x) <= value(y)), COMPARE(gt, TYPE, value(x) > value(y)),             \
      COMPARE(ge, TYPE, value(x) >= value(y)),                                                     \
      COMPARE(lg, TYPE, value(x) < value(y) || value(x) > value(y)),                               \
      COMPARE(o, TYPE, !is_nan(x) && !is_nan(y)), COMPARE(u, TYPE, is_nan(x) || is_nan(y)),        \
      COMPARE(nge, TYPE, !(value(x) >= value(y))),                                                 \
      COMPARE(nlg, TYPE, !(value(x) < value(y) || value(x) > value(y))),                           \
      COMPARE(ngt, TYPE, !(value(x) > value(y))), COMPARE(nle, TYPE, !(value(x) <= value(y))),     \
      COMPARE(neq, TYPE, !(value(x) == value(y))), COMPARE(nlt, TYPE, !(value(x) < value(y)))

std::span<const Opcode> salu_float_opcodes() {
  static constexpr Opcode table[] = {
      FLOAT_TYPE(f32),
      FLOAT_TYPE(f16),
      with(Form::literal_in_middle, FLOAT(s_fmamk_f32, (f32 a, f32 k, f32 b), fma(a, k, b))),
      with(Form::literal_at_end, FLOAT(s_fmaak_f32, (f32 a, f32 b, f32 k), fma(a, b, k))),
      FLOAT(s_cvt_f32_i32, (i32 a), static_cast<f32>(a)),
      FLOAT(s_cvt_f32_u32, (u32 a), from_unsigned(a)),
      FLOAT(s_cvt_i32_f32, (f32 a), to_int<i32>(a)),
      FLOAT(s_cvt_u32_f32, (f32 a), to_int<u32>(a)),
      FLOAT(s_cvt_f16_f32, (f32 a), to_f16(a)),
      FLOAT(s_cvt_f32_f16, (f16 a), to_f32(a)),
      FLOAT(s_cvt_pk_rtz_f16_f32, (f32 a, f32 b),
            pair(to_f16_toward_zero(a), to_f16_toward_zero(b))),
      {"s_cvt_hi_f32_f16", run_convert_high_half, ExecClass::salu},
  };
  return table;
}

} // namespace fade::sim
