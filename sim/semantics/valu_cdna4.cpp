// Vector instructions that gfx950 (CDNA 4) added: conversions to and from floats of 4, 6 and 8 bits
// with a scale, bitwise functions by truth table, exchange between rows of lanes.
#include "semantics/opcodes.h"
#include "semantics/small_float.h"
#include "semantics/valu.h"
#include "wave/faults.h"

#include <algorithm>

namespace fade::sim {
namespace {

// A word of an operand in one lane.
u32 word_of(const Wave &w, const Operand &o, unsigned lane, unsigned n = 0) {
  return o.is_vgpr() ? w.vgpr[o.index + n][lane]
                     : static_cast<u32>(scalar_value(w, o, Type::f32)); // the same for all words
}
template <class F> void for_active(const Wave &w, F f) {
  for (unsigned i = 0; i < w.lanes; i++)
    if (w.exec() >> i & 1) f(i);
}

// The truth table is where modifiers are in other instructions.
u32 bitwise(u32 table, u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (unsigned n = 0; n < 8; n++)
    if (table >> n & 1) r |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
  return r;
}
u32 truth_table(const Instruction &in) {
  u32 abs = 0, neg = 0;
  for (unsigned s = 0; s < 3; s++) abs |= u32{in.src[s].abs} << s, neg |= u32{in.src[s].neg} << s;
  return u32{in.omod} << 6 | abs << 3 | neg;
}
void run_bitop3(Wave &w, const Instruction &in) {
  const u32 table = truth_table(in);
  for_active(w, [&](unsigned i) {
    w.vgpr[in.dst.index][i] = bitwise(table, word_of(w, in.src[0], i), word_of(w, in.src[1], i),
                                      word_of(w, in.src[2], i));
  });
}
void run_bitop3_half(Wave &w, const Instruction &in) {
  const u32 table = truth_table(in);
  auto half = [&](unsigned s, unsigned i) {
    const Operand &o = in.src[s];
    const u32 v =
        o.is_vgpr() ? w.vgpr[o.index][i] : static_cast<u32>(scalar_value(w, o, Type::b16));
    return in.op_sel >> s & 1 ? v >> 16 : v;
  };
  const unsigned shift = in.op_sel & 8 ? 16 : 0;
  for_active(w, [&](unsigned i) {
    const u32 r = bitwise(table, half(0, i), half(1, i), half(2, i)) & 0xffff;
    u32 &to = w.vgpr[in.dst.index][i];
    to = (to & ~(0xffffu << shift)) | r << shift;
  });
}

// Odd groups of lanes of the first register change places with even ones of the second. The
// manual's pseudocode does not look at EXEC.
template <unsigned Group> void run_swap_groups(Wave &w, const Instruction &in) {
  if (!in.src[0].is_vgpr()) throw IllegalInstruction{in.pc, "an exchange with a constant"};
  u32 *first = w.vgpr[in.dst.index], *second = w.vgpr[in.src[0].index];
  for (unsigned base = 0; base < 64; base += 2 * Group)
    std::swap_ranges(first + base + Group, first + base + 2 * Group, second + base);
}

// IEEE 754-2019 minimum and maximum: a NaN wins, a signalling one first.
template <class T> T nan_first(T a, T b) {
  return is_snan(a) ? quiet(a) : is_snan(b) ? quiet(b) : is_nan(a) ? a : b;
}
template <class T> T minimum(T a, T b) {
  return is_nan(a) || is_nan(b) ? nan_first(a, b) : min_of(a, b);
}
template <class T> T maximum(T a, T b) {
  return is_nan(a) || is_nan(b) ? nan_first(a, b) : max_of(a, b);
}
u32 three_halves(Wave &w, const Instruction &in, unsigned lane, bool high, f16 (*f)(f16, f16)) {
  f16 v[3];
  for (unsigned s = 0; s < 3; s++) {
    const Operand &o = in.src[s];
    const u32 word =
        o.is_vgpr() ? w.vgpr[o.index][lane] : static_cast<u32>(scalar_value(w, o, Type::pk16));
    const bool upper = (high ? in.op_sel_hi : in.op_sel) >> s & 1;
    v[s] = as_f16(upper ? word >> 16 : word);
    if ((high ? in.neg_hi : in.neg_lo) >> s & 1) v[s] = negated(v[s]);
    if (flushes(w, Type::f16, true)) v[s] = flushed(v[s]);
  }
  return f(f(v[0], v[1]), v[2]).bits;
}
template <f16 (*F)(f16, f16)> void run_three_packed(Wave &w, const Instruction &in) {
  if (in.clamp) throw IllegalInstruction{in.pc, "clamp of a packed minimum or maximum"};
  for_active(w, [&](unsigned i) {
    w.vgpr[in.dst.index][i] = three_halves(w, in, i, false, F) | three_halves(w, in, i, true, F)
                                                                     << 16;
  });
}

u32 next_random(u32 x) { return x << 1 ^ (x >> 31 ? 197u : 0u); }

constexpr SmallFormat half_format = {5, 10, 15, 0x7bff, 0x7e00, 0x7c00};
// To nearest whatever MODE says.
u32 half_code(f32 x) {
  if (is_nan(x)) return u32{to_f16(quiet(x)).bits};
  return small_code(half_format, x, {});
}
u16 half_stochastic(f32 x, u32 random) {
  if (is_nan(x)) return to_f16(quiet(x)).bits;
  return static_cast<u16>(small_code(
      half_format, x, {.is_stochastic = true, .noise = small_noise(half_format, 23, random)}));
}
u16 brain_stochastic(f32 x, u32 random) {
  if (is_nan(x)) return to_bf16(x).bits;
  const u32 b = bits(x);
  return static_cast<u16>((is_infinite(x) ? b : b + (random >> 16)) >> 16);
}
template <class To> u16 shifted_pair(i32 a, i32 b, u32 shift) {
  const auto low = static_cast<u8>(saturate<To>(a >> (shift & 31)));
  const auto high = static_cast<u8>(saturate<To>(b >> (shift & 31)));
  return static_cast<u16>(low | high << 8);
}

// A conversion with a scale: which small format, which wide type, how many values at once.
struct Conversion {
  SmallFormat small;
  Type wide; // f32, f16 or b16 for bf16
  unsigned count;
  bool is_to_small;
  bool is_stochastic = false;
  bool two_sources = false; // values come from two operands, in turn

  constexpr unsigned random_source() const { return 1; }
  constexpr unsigned scale_source() const { return is_stochastic || two_sources ? 2 : 1; }
  constexpr unsigned small_bits() const { return count * static_cast<unsigned>(small.width()); }
  constexpr int digits() const { return wide == Type::f32 ? 23 : wide == Type::f16 ? 10 : 7; }
};

f32 wide_value(const Wave &w, const Conversion &c, const Operand &o, unsigned lane, unsigned n) {
  if (c.wide == Type::f32) {
    f32 x = as_f32(word_of(w, o, lane, n));
    if (o.abs) x = magnitude(x);
    if (o.neg) x = negated(x);
    return flushes(w, Type::f32, true) ? flushed(x) : x;
  }
  const u32 half = word_of(w, o, lane, n / 2) >> 16 * (n % 2) & 0xffff;
  return c.wide == Type::f16 ? to_f32(as_f16(half)) : as_f32(half << 16);
}
void put_wide(Wave &w, const Conversion &c, const Instruction &in, unsigned lane, unsigned n,
              f64 x) {
  const f32 single = is_nan(x) ? with_sign(default_nan<f32>(), sign_of(x)) : static_cast<f32>(x);
  if (c.wide == Type::f32) {
    w.vgpr[in.dst.index + n][lane] = bits(single);
    return;
  }
  const u32 half = c.wide == Type::f16 ? half_code(single) : to_bf16(single).bits;
  if (c.count == 1) n = in.op_sel >> 3 & 1;
  u32 &to = w.vgpr[in.dst.index + n / 2][lane];
  const unsigned shift = 16 * (n % 2);
  to = (to & ~(0xffffu << shift)) | half << shift;
}

void refuse_modifiers(const Conversion &c, const Instruction &in) {
  const bool takes_them = c.is_to_small && c.wide == Type::f32;
  for (const Operand &o : in.src)
    if ((o.neg || o.abs) && !takes_them)
      throw IllegalInstruction{in.pc, "modifiers of a conversion that has none"};
}

constexpr u32 nan_scale = 255;
u32 scale_of(const Wave &w, const Conversion &c, const Instruction &in, unsigned lane) {
  return word_of(w, in.src[c.scale_source()], lane) >> 23 & 0xff; // of an f32, its exponent
}

template <Conversion C> void convert_to_small(Wave &w, const Instruction &in) {
  refuse_modifiers(C, in);
  for_active(w, [&](unsigned lane) {
    const u32 scale = scale_of(w, C, in, lane);
    u32 random = C.is_stochastic ? word_of(w, in.src[C.random_source()], lane) : 0;
    u32 out[6] = {};
    for (unsigned n = 0; n < C.count; n++) {
      const f32 x = C.two_sources ? wide_value(w, C, in.src[n % 2], lane, n / 2)
                                  : wide_value(w, C, in.src[0], lane, n);
      const f64 scaled =
          scale == nan_scale
              ? with_sign(default_nan<f64>(), sign_of(x))
              : with_sign(std::ldexp(static_cast<f64>(magnitude(x)), 127 - static_cast<int>(scale)),
                          sign_of(x));
      const u64 code = small_code(C.small, scaled,
                                  {.is_stochastic = C.is_stochastic,
                                   .noise = small_noise(C.small, C.digits(), random),
                                   .saturate = w.machine.overflow_stays_finite});
      const unsigned at = n * static_cast<unsigned>(C.small.width());
      out[at / 32] |= static_cast<u32>(code << at % 32);
      if (at % 32 + static_cast<unsigned>(C.small.width()) > 32)
        out[at / 32 + 1] |= static_cast<u32>(code << at % 32 >> 32);
      random = next_random(random);
    }
    u32 &first = w.vgpr[in.dst.index][lane];
    if constexpr (C.small_bits() == 8) {
      const unsigned shift = 8 * (in.op_sel >> 2 & 3);
      first = (first & ~(0xffu << shift)) | out[0] << shift;
    } else if constexpr (C.small_bits() == 16) {
      const unsigned shift = in.op_sel & 8 ? 16 : 0;
      first = (first & ~(0xffffu << shift)) | out[0] << shift;
    } else {
      for (unsigned k = 0; k < 6; k++) w.vgpr[in.dst.index + k][lane] = out[k];
    }
  });
}

template <Conversion C> void convert_from_small(Wave &w, const Instruction &in) {
  refuse_modifiers(C, in);
  for_active(w, [&](unsigned lane) {
    const u32 scale = scale_of(w, C, in, lane);
    u32 from[6];
    constexpr unsigned words = (C.small_bits() + 31) / 32;
    for (unsigned k = 0; k < words; k++) from[k] = word_of(w, in.src[0], lane, k);
    if constexpr (C.small_bits() == 8) from[0] >>= 8 * (in.op_sel & 3);
    if constexpr (C.small_bits() == 16) from[0] >>= 16 * (in.op_sel & 1);
    for (unsigned n = 0; n < C.count; n++) {
      const unsigned at = n * static_cast<unsigned>(C.small.width());
      u64 pair = from[at / 32];
      if (at / 32 + 1 < words) pair |= u64{from[at / 32 + 1]} << 32;
      const auto code = static_cast<u32>(pair >> at % 32) & (2 * C.small.sign() - 1);
      const f32 x = small_value(C.small, code);
      const f64 scaled = scale == nan_scale || is_nan(x)
                             ? with_sign(default_nan<f64>(), sign_of(x))
                             : std::ldexp(static_cast<f64>(x), static_cast<int>(scale) - 127);
      put_wide(w, C, in, lane, n, scaled);
    }
  });
}

template <Conversion C> constexpr Opcode conversion(const char *name) {
  return {name, C.is_to_small ? convert_to_small<C> : convert_from_small<C>, ExecClass::valu};
}
constexpr Opcode special(const char *name, Handler run) { return {name, run, ExecClass::valu}; }

constexpr Type f32_type = Type::f32, f16_type = Type::f16, bf16_type = Type::b16;

} // namespace

#define TO(NAME, SMALL, WIDE, COUNT, ...)                                                          \
  conversion<Conversion{ocp_##SMALL, WIDE##_type, COUNT, true __VA_OPT__(, ) __VA_ARGS__}>(        \
      "v_cvt_scalef32_" NAME #SMALL "_" #WIDE)
#define FROM(NAME, SMALL, WIDE, COUNT)                                                             \
  conversion<Conversion{ocp_##SMALL, WIDE##_type, COUNT, false}>("v_cvt_scalef32_" NAME #WIDE      \
                                                                 "_" #SMALL)
#define BYTES(SMALL)                                                                               \
  TO("pk_", SMALL, f32, 2, false, true), TO("pk_", SMALL, f16, 2), TO("pk_", SMALL, bf16, 2),      \
      TO("sr_", SMALL, f32, 1, true), TO("sr_", SMALL, f16, 1, true),                              \
      TO("sr_", SMALL, bf16, 1, true), FROM("pk_", SMALL, f32, 2), FROM("pk_", SMALL, f16, 2),     \
      FROM("pk_", SMALL, bf16, 2), FROM("", SMALL, f32, 1), FROM("", SMALL, f16, 1)
#define SIX_BITS(SMALL)                                                                            \
  TO("2xpk16_", SMALL, f32, 32, false, true), TO("pk32_", SMALL, f16, 32),                         \
      TO("pk32_", SMALL, bf16, 32), TO("sr_pk32_", SMALL, f32, 32, true),                          \
      TO("sr_pk32_", SMALL, f16, 32, true), TO("sr_pk32_", SMALL, bf16, 32, true),                 \
      FROM("pk32_", SMALL, f32, 32), FROM("pk32_", SMALL, f16, 32), FROM("pk32_", SMALL, bf16, 32)

std::span<const Opcode> valu_cdna4_opcodes() {
  static constexpr Opcode table[] = {
      BYTES(fp8),
      BYTES(bf8),
      SIX_BITS(fp6),
      SIX_BITS(bf6),
      TO("pk_", fp4, f32, 2, false, true),
      TO("pk_", fp4, f16, 2),
      TO("pk_", fp4, bf16, 2),
      TO("sr_pk_", fp4, f32, 2, true),
      TO("sr_pk_", fp4, f16, 2, true),
      TO("sr_pk_", fp4, bf16, 2, true),
      FROM("pk_", fp4, f32, 2),
      FROM("pk_", fp4, f16, 2),
      FROM("pk_", fp4, bf16, 2),

      VALU(v_cvt_pk_f16_f32, (f32 a, f32 b), half_code(a) | half_code(b) << 16),
      VALU(v_cvt_pk_bf16_f32, (f32 a, f32 b), to_bf16(a).bits | u32{to_bf16(b).bits} << 16),
      preserve(VALU(v_cvt_sr_f16_f32, (f32 a, u32 b), half_stochastic(a, b))),
      preserve(VALU(v_cvt_sr_bf16_f32, (f32 a, u32 b), brain_stochastic(a, b))),
      VALU(v_cvt_f32_bf16, (u16 a), u32{a} << 16),
      VALU(v_prng_b32, (u32 a), next_random(a)),
      preserve(VALU(v_ashr_pk_i8_i32, (i32 a, i32 b, u32 c), shifted_pair<i8>(a, b, c))),
      preserve(VALU(v_ashr_pk_u8_i32, (i32 a, i32 b, u32 c), shifted_pair<u8>(a, b, c))),
      VALU(v_minimum3_f32, (f32 a, f32 b, f32 c), minimum(minimum(a, b), c)),
      VALU(v_maximum3_f32, (f32 a, f32 b, f32 c), maximum(maximum(a, b), c)),
      special("v_pk_minimum3_f16", run_three_packed<minimum<f16>>),
      special("v_pk_maximum3_f16", run_three_packed<maximum<f16>>),
      special("v_bitop3_b32", run_bitop3),
      special("v_bitop3_b16", run_bitop3_half),
      special("v_permlane16_swap_b32", run_swap_groups<16>),
      special("v_permlane32_swap_b32", run_swap_groups<32>),
  };
  return table;
}

} // namespace fade::sim
