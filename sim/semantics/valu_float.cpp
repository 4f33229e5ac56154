// Vector instructions on floating-point numbers, and conversions.
#include "semantics/valu.h"

#include "semantics/division.h"
#include "semantics/fp8.h"
#include "semantics/opcodes.h"
#include "semantics/small_float.h"
#include "semantics/transcendental.h"

namespace fade::sim {

namespace {

// Multiply-add with two roundings, as v_mad and v_mac do. They know no denormals, whatever MODE
// says.
template <class T> T mad(T a, T b, T c) {
  return flushed(add(flushed(mul(flushed(a), flushed(b))), flushed(c)));
}
// As a signed number, put right exactly, and rounded once. For unsigned ones hosts may have no
// instruction; compilers then subtract, which makes -0 of 0 when rounding is downward.
template <class F> F from_unsigned(u32 x) {
  const f64 exact = static_cast<f64>(static_cast<i32>(x)) + (x >> 31 ? 0x1p32 : 0.0);
  return static_cast<F>(exact);
}
// Zero times anything is zero.
f32 mul_legacy(f32 a, f32 b) { return a == 0 || b == 0 ? 0.0f : mul(a, b); }
f32 fma_legacy(f32 a, f32 b, f32 c) { return a == 0 || b == 0 ? c : fma(a, b, c); }
f32 mad_legacy(f32 a, f32 b, f32 c) {
  return flushed(add(flushed(mul_legacy(flushed(a), flushed(b))), flushed(c)));
}
f32 mullit(f32 a, f32 b, f32 c) {
  constexpr f32 lowest = -std::numeric_limits<f32>::max();
  return b <= lowest || is_nan(b) || c <= 0 || is_nan(c) ? lowest : mul(a, b);
}

template <class T> T min3(T a, T b, T c, Machine m) {
  return min_num(min_num(a, b, m.ieee), c, m.ieee);
}
template <class T> T max3(T a, T b, T c, Machine m) {
  return max_num(max_num(a, b, m.ieee), c, m.ieee);
}
template <class T>
T med3_of(T a, T b, T c) { // of three numbers: the larger of the two that are not the largest
  const T top = max_of(max_of(a, b), c);
  return top == a ? max_of(b, c) : top == b ? max_of(a, c) : max_of(a, b);
}
template <class T> T med3(T a, T b, T c, Machine m) {
  return is_nan(a) || is_nan(b) || is_nan(c) ? min3(a, b, c, m) : med3_of(a, b, c);
}

// x - floor(x), kept below 1 where rounding would reach it.
template <class T> T fract(T x) {
  const T r = sub(x, floor(x));
  const T below_one = std::bit_cast<T>(bits(T(1)) - 1);
  return r < below_one || is_nan(r) ? r : below_one;
}
f16 fract(f16 x) {
  const f16 r = to_f16(fract(to_f32(x)));
  return r.bits == 0x3c00 ? as_f16(0x3bff) : r;
}

template <class T> T rounded_by(T x, T (*f)(T)) { return is_nan(x) ? quiet(x) : f(x); }
f16 rounded_by(f16 x, f32 (*f)(f32)) { return is_nan(x) ? quiet(x) : to_f16(f(to_f32(x))); }

f32 to_single(f64 x) {
  return is_nan(x) ? as_f32(static_cast<u32>(bits(quiet(x)) >> 29 & 0x7fffff) | 0x7f800000 |
                            (sign_of(x) ? 0x80000000 : 0))
                   : static_cast<f32>(x);
}
f64 to_double(f32 x) {
  return is_nan(x) ? as_f64(static_cast<u64>(bits(quiet(x)) & 0x7fffff) << 29 | 0x7ff0000000000000 |
                            (sign_of(x) ? 1ull << 63 : 0))
                   : static_cast<f64>(x);
}

// Fractions of the largest integer, to nearest.
i32 to_snorm(f32 x) {
  const f32 bounded = x > -1 ? (x < 1 ? x : 1) : -1;
  return is_nan(x) ? 0 : static_cast<i32>(round_even(static_cast<f64>(bounded) * 32767));
}
u32 to_unorm(f32 x) {
  const f32 bounded = x > 0 ? (x < 1 ? x : 1) : 0;
  return static_cast<u32>(round_even(static_cast<f64>(bounded) * 65535));
}
u32 pair(u32 low, u32 high) { return (low & 0xffff) | high << 16; }
u32 pair(i32 low, i32 high) { return pair(static_cast<u32>(low), static_cast<u32>(high)); }
u32 pair(f16 low, f16 high) { return pair(u32{low.bits}, u32{high.bits}); }

u32 insert_byte(u32 word, u32 n, u32 value) {
  const u32 shift = 8 * (n & 3);
  return (word & ~(0xffu << shift)) | value << shift;
}

// Faces of a cube: which one a direction hits, and where.
struct CubeHit {
  f32 face, s, t, axis;
};
CubeHit cube(f32 x, f32 y, f32 z) {
  const f32 ax = magnitude(x), ay = magnitude(y), az = magnitude(z);
  if (az >= ax && az >= ay) return {z < 0 ? 5.0f : 4.0f, z < 0 ? -x : x, -y, z};
  if (ay >= ax) return {y < 0 ? 3.0f : 2.0f, x, y < 0 ? -z : z, y};
  return {x < 0 ? 1.0f : 0.0f, x < 0 ? z : -z, -y, x};
}

template <class T> Flagged<T> scaled(T x, T denominator, T numerator) {
  const ScaledOperand<T> r = div_scale(x, denominator, numerator);
  return {r.value, r.undo};
}
// Most divisions need no scaling at all.
template <class T> void div_scale_lanes(const LaneCall &c) {
  const unsigned lanes = lanes_of(c);
  using Flag = std::conditional_t<sizeof(T) == 8, u64, u32>;
  Flag far = 0;
  LANE_LOOP
  for (unsigned i = 0; i < lanes; i++)
    far |= Flag(far_from_one(fetch<T>(c.src[1], {}, i)) || far_from_one(fetch<T>(c.src[2], {}, i)));
  *c.flags = 0;
  if (far) {
    for (unsigned i = 0; i < lanes; i++) {
      const Flagged<T> r =
          scaled(fetch<T>(c.src[0], {}, i), fetch<T>(c.src[1], {}, i), fetch<T>(c.src[2], {}, i));
      *c.flags |= u64{put_flagged(c, i, r)} << i;
    }
    return;
  }
  LANE_LOOP
  for (unsigned i = 0; i < lanes; i++) put(c, i, fetch<T>(c.src[0], {}, i));
}
constexpr Opcode with_lanes(Opcode o, LaneFunction lanes) {
  o.lanes = lanes;
  return o;
}
// And then the last step is a plain multiply-add, and only the sign is left to be repaired.
template <class T> constexpr Opcode last_division_step(const char *name) {
  return checked_valu<[](T a, T b, T c, bool) { return std::fma(a, b, c); },
                      [](T r, T, T, T, bool undo) { return undo || is_nan(r); },
                      [](T a, T b, T c, bool undo) { return div_fmas(a, b, c, undo); }>(name);
}
template <class T> constexpr Opcode division_repair(const char *name) {
  return checked_valu<[](T q, T d, T n) { return with_sign(q, sign_of(d) != sign_of(n)); },
                      [](T, T q, T d, T n) {
                        return far_from_one(d) || far_from_one(n) || is_nan(q) || is_infinite(q);
                      },
                      [](T q, T d, T n) { return div_fixup(q, d, n); }>(name);
}

template <class T> constexpr SmallFormat ocp = T::mantissa == 3 ? ocp_fp8 : ocp_bf8;
template <class T> f32 from_small(u32 code, Machine m) {
  return m.ocp_fp8 ? small_value(ocp<T>, code & 0xff) : to_f32(T{static_cast<u8>(code)});
}
template <class T> u16 small_pair(f32 low, f32 high, Machine m) {
  if (m.ocp_fp8) {
    const SmallRounding rounding{.saturate = m.overflow_stays_finite};
    return static_cast<u16>(small_code(ocp<T>, low, rounding) | small_code(ocp<T>, high, rounding)
                                                                    << 8);
  }
  const u32 a = to_small_float<T>(low, true, 0, m.overflow_stays_finite).bits;
  return static_cast<u16>(a | to_small_float<T>(high, true, 0, m.overflow_stays_finite).bits << 8);
}
// The random bits used are the upper ones, as many as there are digits to lose.
template <class T> u32 small_stochastic(f32 x, u32 random, Machine m) {
  if (m.ocp_fp8)
    return small_code(ocp<T>, x,
                      {.is_stochastic = true,
                       .noise = small_noise(ocp<T>, 23, random),
                       .saturate = m.overflow_stays_finite});
  return to_small_float<T>(x, false, random & ~((1u << (9 + T::mantissa)) - 1),
                           m.overflow_stays_finite)
      .bits;
}
template <class T> u64 pair_of_small(u32 word, Machine m) {
  const f32 low = from_small<T>(word, m), high = from_small<T>(word >> 8, m);
  return u64{bits(high)} << 32 | bits(low);
}

// Writes one byte of the destination, chosen by op_sel[3:2].
void run_byte_result(Wave &w, const Instruction &in) {
  alignas(64) uint32_t result[2][64];
  uint64_t flags = 0;
  compute_result(w, in, result, flags);
  uint32_t *to = w.vgpr[in.dst.index];
  const unsigned shift = 8 * (in.op_sel >> 2 & 3);
  for (unsigned i = 0; i < w.lanes; i++)
    result[0][i] = (to[i] & ~(0xffu << shift)) | result[0][i] << shift;
  blend(to, result[0], w.active(), w.lanes);
}
constexpr Opcode into_byte(Opcode o) { return run_by(o, run_byte_result); }

} // namespace

// Of two expressions with the same operands, one may not need all.
#pragma GCC diagnostic ignored "-Wunused-parameter"

std::span<const Opcode> valu_float_opcodes() {
  static constexpr Opcode table[] = {
      // f32
      ARITHMETIC(v_add_f32, (f32 a, f32 b), a + b),
      ARITHMETIC(v_sub_f32, (f32 a, f32 b), a - b),
      ARITHMETIC(v_subrev_f32, (f32 a, f32 b), b - a),
      ARITHMETIC(v_mul_f32, (f32 a, f32 b), a * b),
      VALU(v_mul_legacy_f32, (f32 a, f32 b), mul_legacy(a, b)),
      ARITHMETIC(v_fma_f32, (f32 a, f32 b, f32 c), __builtin_fmaf(a, b, c)),
      accumulate(ARITHMETIC(v_fmac_f32, (f32 a, f32 b, f32 d), __builtin_fmaf(a, b, d))),
      with(Form::literal_in_middle,
           ARITHMETIC(v_fmamk_f32, (f32 a, f32 k, f32 b), __builtin_fmaf(a, k, b))),
      with(Form::literal_at_end,
           ARITHMETIC(v_fmaak_f32, (f32 a, f32 b, f32 k), __builtin_fmaf(a, b, k))),
      VALU(v_fma_legacy_f32, (f32 a, f32 b, f32 c), fma_legacy(a, b, c)),
      accumulate(VALU(v_fmac_legacy_f32, (f32 a, f32 b, f32 d), fma_legacy(a, b, d))),
      VALU(v_mad_f32, (f32 a, f32 b, f32 c), mad(a, b, c)),
      VALU(v_mad_legacy_f32, (f32 a, f32 b, f32 c), mad_legacy(a, b, c)),
      accumulate(VALU(v_mac_f32, (f32 a, f32 b, f32 d), mad(a, b, d))),
      with(Form::literal_in_middle, VALU(v_madmk_f32, (f32 a, f32 k, f32 b), mad(a, k, b))),
      with(Form::literal_at_end, VALU(v_madak_f32, (f32 a, f32 b, f32 k), mad(a, b, k))),
      VALU(v_mullit_f32, (f32 a, f32 b, f32 c), mullit(a, b, c)),
      UNLESS_NAN(v_min_f32, (f32 a, f32 b, Machine m), min_of(a, b), min_num(a, b, m.ieee)),
      UNLESS_NAN(v_max_f32, (f32 a, f32 b, Machine m), max_of(a, b), max_num(a, b, m.ieee)),
      UNLESS_NAN(v_min3_f32, (f32 a, f32 b, f32 c, Machine m), min_of(min_of(a, b), c),
                 min3(a, b, c, m)),
      UNLESS_NAN(v_max3_f32, (f32 a, f32 b, f32 c, Machine m), max_of(max_of(a, b), c),
                 max3(a, b, c, m)),
      UNLESS_NAN(v_med3_f32, (f32 a, f32 b, f32 c, Machine m), med3_of(a, b, c), med3(a, b, c, m)),
      VALU(v_maxmin_f32, (f32 a, f32 b, f32 c, Machine m),
           min_num(max_num(a, b, m.ieee), c, m.ieee)),
      VALU(v_minmax_f32, (f32 a, f32 b, f32 c, Machine m),
           max_num(min_num(a, b, m.ieee), c, m.ieee)),
      VALU(v_fract_f32, (f32 a), fract(a)),
      VALU(v_trunc_f32, (f32 a), rounded_by(a, trunc)),
      VALU(v_ceil_f32, (f32 a), rounded_by(a, ceil)),
      VALU(v_floor_f32, (f32 a), rounded_by(a, floor)),
      VALU(v_rndne_f32, (f32 a), rounded_by(a, round_even)),
      VALU(v_exp_f32, (f32 a), exp2_instruction(a)),
      VALU(v_exp_legacy_f32, (f32 a), exp2_instruction(a)),
      VALU(v_log_f32, (f32 a), log2_instruction(a)),
      VALU(v_log_legacy_f32, (f32 a), log2_instruction(a)),
      VALU(v_rcp_f32, (f32 a), flushed(rcp_instruction(flushed(a)))),
      VALU(v_rcp_iflag_f32, (f32 a), flushed(rcp_instruction(flushed(a)))),
      VALU(v_rsq_f32, (f32 a), rsq_instruction(flushed(a))),
      VALU(v_sqrt_f32, (f32 a), sqrt_instruction(a)),
      VALU(v_sin_f32, (f32 a, Machine m), sin_instruction(a, m.gfx9)),
      VALU(v_cos_f32, (f32 a, Machine m), cos_instruction(a, m.gfx9)),
      VALU(v_ldexp_f32, (f32 a, i32 b), ldexp(a, b)),
      VALU(v_frexp_exp_i32_f32, (f32 a), frexp_exponent(a)),
      VALU(v_frexp_mant_f32, (f32 a), frexp_mantissa(a)),
      with_lanes(VALU(v_div_scale_f32, (f32 a, f32 b, f32 c), scaled(a, b, c)),
                 div_scale_lanes<f32>),
      last_division_step<f32>("v_div_fmas_f32"),
      division_repair<f32>("v_div_fixup_f32"),
      VALU(v_cubeid_f32, (f32 a, f32 b, f32 c), cube(a, b, c).face),
      VALU(v_cubesc_f32, (f32 a, f32 b, f32 c), cube(a, b, c).s),
      VALU(v_cubetc_f32, (f32 a, f32 b, f32 c), cube(a, b, c).t),
      VALU(v_cubema_f32, (f32 a, f32 b, f32 c), cube(a, b, c).axis * 2),

      // f64
      ARITHMETIC(v_add_f64, (f64 a, f64 b), a + b),
      ARITHMETIC(v_mul_f64, (f64 a, f64 b), a * b),
      ARITHMETIC(v_fma_f64, (f64 a, f64 b, f64 c), __builtin_fma(a, b, c)),
      accumulate(ARITHMETIC(v_fmac_f64, (f64 a, f64 b, f64 d), __builtin_fma(a, b, d))),
      UNLESS_NAN(v_min_f64, (f64 a, f64 b, Machine m), min_of(a, b), min_num(a, b, m.ieee)),
      UNLESS_NAN(v_max_f64, (f64 a, f64 b, Machine m), max_of(a, b), max_num(a, b, m.ieee)),
      VALU(v_fract_f64, (f64 a), fract(a)),
      VALU(v_trunc_f64, (f64 a), rounded_by(a, trunc)),
      VALU(v_ceil_f64, (f64 a), rounded_by(a, ceil)),
      VALU(v_floor_f64, (f64 a), rounded_by(a, floor)),
      VALU(v_rndne_f64, (f64 a), rounded_by(a, round_even)),
      VALU(v_rcp_f64, (f64 a), rcp_instruction(a)),
      VALU(v_rsq_f64, (f64 a), rsq_instruction(a)),
      VALU(v_sqrt_f64, (f64 a), sqrt_instruction(a)),
      VALU(v_ldexp_f64, (f64 a, i32 b), ldexp(a, b)),
      VALU(v_frexp_exp_i32_f64, (f64 a), frexp_exponent(a)),
      VALU(v_frexp_mant_f64, (f64 a), frexp_mantissa(a)),
      VALU(v_trig_preop_f64, (f64 a, u32 b), trig_preop(a, b)),
      with_lanes(VALU(v_div_scale_f64, (f64 a, f64 b, f64 c), scaled(a, b, c)),
                 div_scale_lanes<f64>),
      last_division_step<f64>("v_div_fmas_f64"),
      division_repair<f64>("v_div_fixup_f64"),

      // f16
      VALU(v_add_f16, (f16 a, f16 b), add(a, b)),
      VALU(v_sub_f16, (f16 a, f16 b), sub(a, b)),
      VALU(v_subrev_f16, (f16 a, f16 b), sub(b, a)),
      VALU(v_mul_f16, (f16 a, f16 b), mul(a, b)),
      preserve(VALU(v_fma_f16, (f16 a, f16 b, f16 c), fma(a, b, c))),
      VALU(v_fma_legacy_f16, (f16 a, f16 b, f16 c), fma(a, b, c)),
      preserve(accumulate(VALU(v_fmac_f16, (f16 a, f16 b, f16 d), fma(a, b, d)))),
      with(Form::literal_in_middle,
           preserve(VALU(v_fmamk_f16, (f16 a, f16 k, f16 b), fma(a, k, b)))),
      with(Form::literal_at_end, preserve(VALU(v_fmaak_f16, (f16 a, f16 b, f16 k), fma(a, b, k)))),
      preserve(VALU(v_mad_f16, (f16 a, f16 b, f16 c), mad(a, b, c))),
      VALU(v_mad_legacy_f16, (f16 a, f16 b, f16 c), mad(a, b, c)),
      preserve(accumulate(VALU(v_mac_f16, (f16 a, f16 b, f16 d), mad(a, b, d)))),
      with(Form::literal_in_middle,
           preserve(VALU(v_madmk_f16, (f16 a, f16 k, f16 b), mad(a, k, b)))),
      with(Form::literal_at_end, preserve(VALU(v_madak_f16, (f16 a, f16 b, f16 k), mad(a, b, k)))),
      VALU(v_min_f16, (f16 a, f16 b, Machine m), min_num(a, b, m.ieee)),
      VALU(v_max_f16, (f16 a, f16 b, Machine m), max_num(a, b, m.ieee)),
      preserve(VALU(v_min3_f16, (f16 a, f16 b, f16 c, Machine m), min3(a, b, c, m))),
      preserve(VALU(v_max3_f16, (f16 a, f16 b, f16 c, Machine m), max3(a, b, c, m))),
      preserve(VALU(v_med3_f16, (f16 a, f16 b, f16 c, Machine m), med3(a, b, c, m))),
      VALU(v_maxmin_f16, (f16 a, f16 b, f16 c, Machine m),
           min_num(max_num(a, b, m.ieee), c, m.ieee)),
      VALU(v_minmax_f16, (f16 a, f16 b, f16 c, Machine m),
           max_num(min_num(a, b, m.ieee), c, m.ieee)),
      VALU(v_fract_f16, (f16 a), fract(a)),
      VALU(v_trunc_f16, (f16 a), rounded_by(a, trunc)),
      VALU(v_ceil_f16, (f16 a), rounded_by(a, ceil)),
      VALU(v_floor_f16, (f16 a), rounded_by(a, floor)),
      VALU(v_rndne_f16, (f16 a), rounded_by(a, round_even)),
      VALU(v_exp_f16, (f16 a), exp2_instruction(a)),
      VALU(v_log_f16, (f16 a), log2_instruction(a)),
      VALU(v_rcp_f16, (f16 a), rcp_instruction(a)),
      VALU(v_rsq_f16, (f16 a), rsq_instruction(a)),
      VALU(v_sqrt_f16, (f16 a), sqrt_instruction(a)),
      VALU(v_sin_f16, (f16 a, Machine m), sin_instruction(a, m.gfx9)),
      VALU(v_cos_f16, (f16 a, Machine m), cos_instruction(a, m.gfx9)),
      VALU(v_ldexp_f16, (f16 a, i16 b), ldexp(a, b)),
      VALU(v_frexp_exp_i16_f16, (f16 a), static_cast<i16>(frexp_exponent(to_f32(a)))),
      VALU(v_frexp_mant_f16, (f16 a), to_f16(frexp_mantissa(to_f32(a)))),
      preserve(VALU(v_div_fixup_f16, (f16 a, f16 b, f16 c), div_fixup(a, b, c))),
      VALU(v_div_fixup_legacy_f16, (f16 a, f16 b, f16 c), div_fixup(a, b, c)),
      VALU(v_pack_b32_f16, (f16 a, f16 b), pair(a, b)),

      // Conversions
      VALU(v_cvt_f32_i32, (i32 a), static_cast<f32>(a)),
      VALU(v_cvt_f32_u32, (u32 a), from_unsigned<f32>(a)),
      VALU(v_cvt_f32_f16, (f16 a), to_f32(a)),
      VALU(v_cvt_f32_f64, (f64 a), to_single(a)),
      VALU(v_cvt_f32_ubyte0, (u32 a), static_cast<f32>(a & 0xff)),
      VALU(v_cvt_f32_ubyte1, (u32 a), static_cast<f32>(a >> 8 & 0xff)),
      VALU(v_cvt_f32_ubyte2, (u32 a), static_cast<f32>(a >> 16 & 0xff)),
      VALU(v_cvt_f32_ubyte3, (u32 a), static_cast<f32>(a >> 24)),
      VALU(v_cvt_off_f32_i4, (u32 a), static_cast<f32>(static_cast<i32>(a << 28) >> 28) * 0.0625f),
      VALU(v_cvt_f64_i32, (i32 a), static_cast<f64>(a)),
      VALU(v_cvt_f64_u32, (u32 a), from_unsigned<f64>(a)),
      VALU(v_cvt_f64_f32, (f32 a), to_double(a)),
      VALU(v_cvt_f16_f32, (f32 a), to_f16(a)),
      VALU(v_cvt_f16_i16, (i16 a), to_f16(static_cast<f32>(a))),
      VALU(v_cvt_f16_u16, (u16 a), to_f16(static_cast<f32>(a))),
      VALU(v_cvt_i32_f32, (f32 a), to_int<i32>(a)),
      VALU(v_cvt_u32_f32, (f32 a), to_int<u32>(a)),
      VALU(v_cvt_i32_f64, (f64 a), to_int<i32>(a)),
      VALU(v_cvt_u32_f64, (f64 a), to_int<u32>(a)),
      VALU(v_cvt_i16_f16, (f16 a), to_int<i16>(a)),
      VALU(v_cvt_u16_f16, (f16 a), to_int<u16>(a)),
      VALU(v_cvt_rpi_i32_f32, (f32 a), to_int<i32>(floor(static_cast<f64>(a) + 0.5))),
      VALU(v_cvt_flr_i32_f32, (f32 a), to_int<i32>(floor(a))),
      VALU(v_cvt_norm_i16_f16, (f16 a), static_cast<i16>(to_snorm(to_f32(a)))),
      VALU(v_cvt_norm_u16_f16, (f16 a), static_cast<u16>(to_unorm(to_f32(a)))),
      VALU(v_cvt_pknorm_i16_f32, (f32 a, f32 b), pair(to_snorm(a), to_snorm(b))),
      VALU(v_cvt_pknorm_u16_f32, (f32 a, f32 b), pair(to_unorm(a), to_unorm(b))),
      VALU(v_cvt_pknorm_i16_f16, (f16 a, f16 b), pair(to_snorm(to_f32(a)), to_snorm(to_f32(b)))),
      VALU(v_cvt_pknorm_u16_f16, (f16 a, f16 b), pair(to_unorm(to_f32(a)), to_unorm(to_f32(b)))),
      VALU(v_cvt_pkrtz_f16_f32, (f32 a, f32 b), pair(to_f16_toward_zero(a), to_f16_toward_zero(b))),
      VALU(v_cvt_pk_i16_f32, (f32 a, f32 b), pair(i32{to_int<i16>(a)}, i32{to_int<i16>(b)})),
      VALU(v_cvt_pk_u16_f32, (f32 a, f32 b), pair(u32{to_int<u16>(a)}, u32{to_int<u16>(b)})),
      VALU(v_cvt_pk_u8_f32, (f32 a, u32 b, u32 c), insert_byte(c, b, to_int<u8>(a))),
      VALU(v_cvt_f32_fp8, (u32 a, Machine m), from_small<fp8>(a, m)),
      VALU(v_cvt_f32_bf8, (u32 a, Machine m), from_small<bf8>(a, m)),
      VALU(v_cvt_pk_f32_fp8, (u32 a, Machine m), pair_of_small<fp8>(a, m)),
      VALU(v_cvt_pk_f32_bf8, (u32 a, Machine m), pair_of_small<bf8>(a, m)),
      preserve(VALU(v_cvt_pk_fp8_f32, (f32 a, f32 b, Machine m), small_pair<fp8>(a, b, m))),
      preserve(VALU(v_cvt_pk_bf8_f32, (f32 a, f32 b, Machine m), small_pair<bf8>(a, b, m))),
      into_byte(VALU(v_cvt_sr_fp8_f32, (f32 a, u32 b, Machine m), small_stochastic<fp8>(a, b, m))),
      into_byte(VALU(v_cvt_sr_bf8_f32, (f32 a, u32 b, Machine m), small_stochastic<bf8>(a, b, m))),
      accumulate(
          VALU(v_cvt_pkaccum_u8_f32, (f32 a, u32 b, u32 d), insert_byte(d, b, to_int<u8>(a)))),
  };
  return table;
}

} // namespace fade::sim
