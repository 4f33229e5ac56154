// Packed and mixed-precision instructions (VOP3P): two operations per lane, each on a half of the
// operands that op_sel picks, with signs of their own; multiply-add of mixed widths; dot products.
#include "semantics/valu.h"

#include "semantics/dpp.h"
#include "semantics/minimum.h"
#include "semantics/opcodes.h"
#include "semantics/rounding.h"

#include <type_traits>

namespace fade::sim {
namespace {

using Room = uint32_t[2][64];
template <class T> constexpr Type type_of = TypeOf<T>::type;

// Which halves an instruction takes. The short encoding of v_pk_fmac_f16 has no such bits: low with
// low, high with high.
struct HalfSelect {
  unsigned low, high, neg_low, neg_high;
  explicit HalfSelect(const Instruction &in)
      : low(in.op_sel), high(in.op_sel_hi), neg_low(in.neg_lo), neg_high(in.neg_hi) {
    if (in.encoding != Encoding::vop3p) low = 0, high = 7, neg_low = neg_high = 0;
  }
  bool straight(unsigned sources) const {
    const unsigned all = (1u << sources) - 1;
    return !(low & all) && (high & all) == all && !((neg_low | neg_high) & all);
  }
};

// Two halves in one word.
template <class T> T half_of(u32 word, unsigned n) {
  if constexpr (std::is_same_v<T, f16>)
    return as_f16(word >> 16 * n);
  else
    return static_cast<T>(word >> 16 * n);
}
u32 joined(f16 low, f16 high) { return low.bits | u32{high.bits} << 16; }
template <class T> u32 joined(T low, T high) {
  return static_cast<u16>(low) | u32{static_cast<u16>(high)} << 16;
}

u32 flush_halves(u32 word) {
  return joined(flushed(half_of<f16>(word, 0)), flushed(half_of<f16>(word, 1)));
}

// The words of a source; the first one may come from other lanes, and then not all lanes are
// written.
Rows source_words(Wave &w, const Instruction &in, unsigned s, Type type, Room &room,
                  u64 &writable) {
  const Rows from = operand_rows(w, in.src[s], type, room);
  if (s != 0 || in.select == LaneSelect::none) return from;
  const DppPlan plan = dpp_plan(w, in);
  writable &= plan.writable;
  if (from.lo != room[0]) std::memcpy(room[0], from.lo, 4 * w.lanes);
  dpp_permute(plan, room[0], w.lanes);
  return {room[0], room[1]};
}
void write_lanes(Wave &w, const Instruction &in, const u32 *result, u64 writable) {
  alignas(64) u32 mask[64];
  expand_mask(writable, mask, w.lanes);
  blend(w.vgpr[in.dst.index], result, mask, w.lanes);
}

// A source of 16-bit halves, arranged as the instruction asks.
Rows stage_halves(Wave &w, const Instruction &in, const HalfSelect &sel, unsigned s, bool is_f16,
                  Room &room, u64 &writable) {
  const Rows from = source_words(w, in, s, is_f16 ? Type::pk16 : Type::u32, room, writable);
  const unsigned low = 16 * (sel.low >> s & 1), high = 16 * (sel.high >> s & 1);
  const u32 sign = is_f16 ? (sel.neg_low >> s & 1) << 15 | (sel.neg_high >> s & 1) << 31 : 0;
  const bool flush = is_f16 && flushes(w, Type::f16, true);
  for (unsigned i = 0; i < w.lanes; i++) {
    const u32 word = ((from.lo[i] >> low & 0xffff) | (from.lo[i] >> high & 0xffff) << 16) ^ sign;
    room[0][i] = flush ? flush_halves(word) : word;
  }
  return {room[0], room[1]};
}

// A pair of f32, as the instruction picks its halves.
Rows pair_rows(Wave &w, const Instruction &in, const HalfSelect &sel, unsigned s, Room &room) {
  const Operand &o = in.src[s]; // a constant is the same in both
  const Rows from = o.rows ? Rows{o.rows, o.rows} : operand_rows(w, o, Type::u64, room);
  return {sel.low >> s & 1 ? from.hi : from.lo, sel.high >> s & 1 ? from.hi : from.lo};
}
// And with its signs, and denormals as MODE wants them.
Rows stage_pair(Wave &w, const Instruction &in, const HalfSelect &sel, unsigned s, Room &room) {
  const Rows r = pair_rows(w, in, sel, s, room);
  const u32 low_sign = (sel.neg_low >> s & 1) << 31, high_sign = (sel.neg_high >> s & 1) << 31;
  const bool flush = flushes(w, Type::f32, true);
  if (!low_sign && !high_sign && !flush) return r;
  for (unsigned i = 0; i < w.lanes; i++) {
    const u32 low = r.lo[i] ^ low_sign, high = r.hi[i] ^ high_sign;
    room[0][i] = low, room[1][i] = high;
  }
  if (flush) {
    flush_denormals(room[0], room[1], Type::f32, w.lanes);
    flush_denormals(room[1], room[0], Type::f32, w.lanes);
  }
  return {room[0], room[1]};
}

f32 clamp_unit(f32 x, bool nan_to_zero) {
  if (is_nan(x)) return nan_to_zero ? 0.0f : x;
  return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f;
}
f16 clamp_unit(f16 x, bool nan_to_zero) { return to_f16(clamp_unit(to_f32(x), nan_to_zero)); }

bool nan_clamps_to_zero(const Wave &w) { return w.arch->gfx12 || w.mode >> 8 & 1; }

void finish_pairs(const Wave &w, const Instruction &in, Room &result) {
  const bool flush = flushes(w, Type::f32, false), to_zero = nan_clamps_to_zero(w);
  for (u32(&row)[64] : result) {
    if (in.clamp)
      for (unsigned i = 0; i < w.lanes; i++) row[i] = bits(clamp_unit(as_f32(row[i]), to_zero));
    if (flush) flush_denormals(row, nullptr, Type::f32, w.lanes);
  }
}
void finish_halves(const Wave &w, const Instruction &in, u32 *row) {
  const bool flush = flushes(w, Type::f16, false), to_zero = nan_clamps_to_zero(w);
  for (unsigned i = 0; i < w.lanes; i++) {
    f16 low = half_of<f16>(row[i], 0), high = half_of<f16>(row[i], 1);
    if (in.clamp) low = clamp_unit(low, to_zero), high = clamp_unit(high, to_zero);
    row[i] = flush ? flush_halves(joined(low, high)) : joined(low, high);
  }
}

LaneCall call_for(const Wave &w, u32 *lo, u32 *hi) {
  LaneCall c{};
  c.machine = &w.machine;
  c.lo = lo, c.hi = hi, c.lanes = w.lanes;
  return c;
}

template <class T> void run_halves(Wave &w, const Instruction &in) {
  constexpr bool is_f16 = std::is_same_v<T, f16>;
  const Opcode &op = *in.opcode;
  const HalfSelect sel(in);
  alignas(64) Room room[3];
  alignas(64) u32 result[64];
  LaneCall c = call_for(w, result, nullptr);
  const bool plain = w.plain_mode && !in.clamp && sel.straight(op.sources);
  u64 writable = w.exec();
  for (unsigned s = 0; s < op.sources; s++)
    c.src[s] = plain ? operand_rows(w, in.src[s], is_f16 ? Type::pk16 : Type::u32, room[s])
                     : stage_halves(w, in, sel, s, is_f16, room[s], writable);
  RoundingScope rounding(w.mode, is_f16 ? Type::f16 : Type::u16, Type::none);
  (in.clamp && op.lanes_clamp ? op.lanes_clamp : op.lanes)(c);
  if (is_f16 && !plain) finish_halves(w, in, result);
  blend(w.vgpr[in.dst.index], result, w.active(), w.lanes);
}

void run_modified_pairs(Wave &w, const Instruction &in) {
  const Opcode &op = *in.opcode;
  const HalfSelect sel(in);
  alignas(64) Room room[3];
  alignas(64) Room result;
  LaneCall c = call_for(w, result[0], result[1]);
  for (unsigned s = 0; s < op.sources; s++) c.src[s] = stage_pair(w, in, sel, s, room[s]);
  RoundingScope rounding(w.mode, Type::f32, Type::none);
  op.lanes(c);
  finish_pairs(w, in, result);
  u32 *to = w.vgpr[in.dst.index];
  blend(to, result[0], w.active(), w.lanes);
  blend(to + 64, result[1], w.active(), w.lanes);
}

void run_pairs(Wave &w, const Instruction &in) {
  const Opcode &op = *in.opcode;
  const HalfSelect sel(in);
  if (!w.plain_mode || in.clamp || sel.neg_low || sel.neg_high) return run_modified_pairs(w, in);
  alignas(64) Room room[3];
  LaneCall c;
  c.machine = &w.machine, c.lanes = w.lanes;
  for (unsigned s = 0; s < op.sources; s++) c.src[s] = pair_rows(w, in, sel, s, room[s]);
  // A lane's operands are all read before its results are written, so even swapped halves may be
  // written in place.
  if (w.all_active) {
    c.lo = w.vgpr[in.dst.index], c.hi = c.lo + 64;
    op.lanes(c);
  } else {
    merge_active(w, in, c);
  }
}

void run_move_pair(Wave &w, const Instruction &in) {
  alignas(64) Room room[2];
  const u32 *from[2];
  for (unsigned s = 0; s < 2; s++) {
    const Rows rows = operand_rows(w, in.src[s], Type::u64, room[s]);
    from[s] = in.op_sel >> s & 1 ? rows.hi : rows.lo;
  }
  alignas(64) u32 second[64]; // the first destination may be what the second one is read from
  std::memcpy(second, from[1], sizeof second);
  if (w.all_active && w.lanes == 64) {
    std::memmove(w.vgpr[in.dst.index], from[0], sizeof second);
    std::memcpy(w.vgpr[in.dst.index + 1], second, sizeof second);
  } else {
    blend(w.vgpr[in.dst.index], from[0], w.active(), w.lanes);
    blend(w.vgpr[in.dst.index + 1], second, w.active(), w.lanes);
  }
}

// Lane loops over both halves.
template <class F> struct PackedSignature;
template <class R, class... A> struct PackedSignature<R (*)(A...)> {
  using Element = R;
  static constexpr unsigned count = (0u + ... + (is_operand<A> ? 1u : 0u));

  template <class T> static T part(const Rows &r, Machine m, unsigned i, unsigned n) {
    if constexpr (std::is_same_v<T, Machine>)
      return m;
    else if constexpr (sizeof(T) == 4)
      return std::bit_cast<T>(n ? r.hi[i] : r.lo[i]);
    else
      return half_of<T>(r.lo[i], n);
  }
  template <auto F, size_t... I> static void lanes(const LaneCall &c, std::index_sequence<I...>) {
    const Machine m = *c.machine;
    const unsigned lanes = lanes_of(c);
    LANE_LOOP
    for (unsigned i = 0; i < lanes; i++) {
      const R low = F(part<A>(c.src[I], m, i, 0)...), high = F(part<A>(c.src[I], m, i, 1)...);
      if constexpr (sizeof(R) == 4)
        c.lo[i] = std::bit_cast<u32>(low), c.hi[i] = std::bit_cast<u32>(high);
      else
        c.lo[i] = joined(low, high);
    }
  }
  // IEEE arithmetic on pairs of f32: NaN results are rare and repaired afterwards.
  template <auto F, size_t... I>
  static void arithmetic_lanes(const LaneCall &c, std::index_sequence<I...>) {
    constexpr unsigned at_once = 32;
    for (unsigned first = 0; first < lanes_of(c); first += at_once) {
      alignas(64) R out[2][at_once];
      u32 odd = 0;
      LANE_LOOP
      for (unsigned i = 0; i < at_once; i++) {
        const R low = F(part<A>(c.src[I], {}, first + i, 0)...),
                high = F(part<A>(c.src[I], {}, first + i, 1)...);
        out[0][i] = low, out[1][i] = high;
        odd |= is_nan(low) || is_nan(high) ? 1u : 0u;
      }
      if (odd) [[unlikely]]
        for (unsigned n = 0; n < 2; n++)
          for (unsigned i = 0; i < at_once; i++)
            if (is_nan(out[n][i])) out[n][i] = nan_of(part<A>(c.src[I], {}, first + i, n)...);
      std::memcpy(c.lo + first, out[0], sizeof out[0]);
      std::memcpy(c.hi + first, out[1], sizeof out[1]);
    }
  }
  template <auto F> static void arithmetic(const LaneCall &c) {
    arithmetic_lanes<F>(c, std::make_index_sequence<sizeof...(A)>{});
  }
  template <auto F> static void loop(const LaneCall &c) {
    lanes<F>(c, std::make_index_sequence<sizeof...(A)>{});
  }
};

template <auto F> constexpr Opcode packed(const char *name) {
  using S = PackedSignature<decltype(+F)>;
  using T = typename S::Element;
  Opcode o{name, run_pairs, ExecClass::valu};
  if constexpr (sizeof(T) == 2) o.run = run_halves<T>;
  o.lanes = S::template loop<F>;
  o.sources = S::count;
  // What a constant is read as: of a pair, each half.
  for (unsigned s = 0; s < o.sources; s++) o.src[s] = sizeof(T) == 4 ? Type::f32 : Type::pk16;
  o.dst = sizeof(T) == 4 ? Type::u64 : Type::pk16;
  return o;
}
template <auto F> constexpr Opcode packed_arithmetic(const char *name) {
  Opcode o = packed<F>(name);
  o.lanes = PackedSignature<decltype(+F)>::template arithmetic<F>;
  return o;
}
template <auto F> constexpr Opcode packed_clamped(Opcode o) {
  o.lanes_clamp = PackedSignature<decltype(+F)>::template loop<F>;
  return o;
}

// v_fma_mix: each source is an f32 or a half of a register; signs as in VOP3 (neg_hi is the
// absolute value).
Rows stage_mixed(Wave &w, const Instruction &in, unsigned s, Room &room, u64 &writable) {
  const bool half = in.op_sel_hi >> s & 1, upper = in.op_sel >> s & 1;
  const Rows from = source_words(w, in, s, half ? Type::pk16 : Type::f32, room, writable);
  const bool abs = in.neg_hi >> s & 1, neg = in.neg_lo >> s & 1;
  const bool flush = flushes(w, half ? Type::f16 : Type::f32, true);
  for (unsigned i = 0; i < w.lanes; i++) {
    f32 v;
    if (half) {
      const f16 h = half_of<f16>(from.lo[i], upper);
      v = to_f32(flush ? flushed(h) : h);
    } else {
      v = flush ? flushed(as_f32(from.lo[i])) : as_f32(from.lo[i]);
    }
    v = abs ? magnitude(v) : v;
    room[0][i] = bits(neg ? negated(v) : v);
  }
  return {room[0], room[1]};
}

enum class MixResult { f32, low, high };

template <MixResult R> void run_mix(Wave &w, const Instruction &in) {
  alignas(64) Room room[3];
  alignas(64) u32 result[64];
  LaneCall c = call_for(w, result, nullptr);
  u64 writable = w.exec();
  for (unsigned s = 0; s < 3; s++) c.src[s] = stage_mixed(w, in, s, room[s], writable);
  {
    RoundingScope rounding(w.mode, Type::f32, Type::none);
    in.opcode->lanes(c);
  }
  if (in.clamp)
    for (unsigned i = 0; i < w.lanes; i++)
      result[i] = bits(clamp_unit(as_f32(result[i]), nan_clamps_to_zero(w)));
  if (R == MixResult::f32 && flushes(w, Type::f32, false))
    flush_denormals(result, nullptr, Type::f32, w.lanes);
  const u32 *to = w.vgpr[in.dst.index];
  if constexpr (R != MixResult::f32) {
    RoundingScope rounding(w.mode, Type::f16, Type::none);
    const bool flush = flushes(w, Type::f16, false);
    for (unsigned i = 0; i < w.lanes; i++) {
      f16 h = to_f16(as_f32(result[i]));
      if (flush) h = flushed(h);
      result[i] = R == MixResult::low ? (to[i] & 0xffff0000) | h.bits
                                      : (to[i] & 0xffff) | u32{h.bits} << 16;
    }
  }
  write_lanes(w, in, result, writable);
}

// Dot products of small integers. `Signed` may differ between the operands.
template <unsigned Width, bool Signed> i64 element(u32 word, unsigned n) {
  const u32 v = word >> Width * n;
  if constexpr (Signed)
    return static_cast<i32>(v << (32 - Width)) >> (32 - Width);
  else
    return v & ((1u << Width) - 1);
}
template <unsigned Width, bool SignedA, bool SignedB> i64 dot(u32 a, u32 b) {
  i64 sum = 0;
  for (unsigned n = 0; n < 32 / Width; n++)
    sum += element<Width, SignedA>(a, n) * element<Width, SignedB>(b, n);
  return sum;
}

// Each product is exact in f32; the additions round. gfx90a knows no denormals here.
template <class H> f32 dot2(u32 a, u32 b, f32 c, Machine m) {
  auto operand = [&](u32 word, unsigned n) {
    const H h{static_cast<u16>(word >> 16 * n)};
    const f32 v = to_f32(h);
    if constexpr (std::is_same_v<H, f16>)
      return m.gfx90a && is_denormal(h) ? with_sign(0.0f, sign_of(h)) : v;
    else
      return m.gfx90a ? flushed(v) : v;
  };
  f32 sum = m.gfx90a ? flushed(c) : c;
  for (unsigned n = 0; n < 2; n++) sum = fma(operand(a, n), operand(b, n), sum);
  return m.gfx90a ? flushed(sum) : sum;
}
f16 dot2_half(u32 a, u32 b, f16 c) {
  for (unsigned n = 0; n < 2; n++) c = fma(half_of<f16>(a, n), half_of<f16>(b, n), c);
  return c;
}
u16 dot2_brain(u32 a, u32 b, u16 c) {
  auto value = [](u32 word, unsigned n) { return to_f32(bf16{static_cast<u16>(word >> 16 * n)}); };
  for (unsigned n = 0; n < 2; n++) c = to_bf16(fma(value(a, n), value(b, n), value(c, 0))).bits;
  return c;
}

// v_dot2_f32_*: halves picked and negated like a packed instruction's; the addend has a sign, too.
template <class H> void run_dot2(Wave &w, const Instruction &in) {
  const HalfSelect sel(in);
  alignas(64) Room room[3];
  alignas(64) u32 result[64];
  LaneCall c = call_for(w, result, nullptr);
  u64 writable = w.exec();
  for (unsigned s = 0; s < 2; s++) c.src[s] = stage_halves(w, in, sel, s, true, room[s], writable);
  const Rows addend = operand_rows(w, in.src[2], Type::f32, room[2]);
  for (unsigned i = 0; i < w.lanes; i++)
    room[2][0][i] = addend.lo[i] ^ (sel.neg_low >> 2 & 1) << 31;
  c.src[2] = {room[2][0], room[2][1]};
  in.opcode->lanes(c);
  if (in.clamp)
    for (unsigned i = 0; i < w.lanes; i++)
      result[i] = bits(clamp_unit(as_f32(result[i]), nan_clamps_to_zero(w)));
  write_lanes(w, in, result, writable);
}

// gfx11: neg_lo says which of the two operands is signed.
template <unsigned Width> void run_dot_mixed_sign(Wave &w, const Instruction &in) {
  using Dot = i64 (*)(u32, u32);
  static constexpr Dot dots[] = {dot<Width, false, false>, dot<Width, true, false>,
                                 dot<Width, false, true>, dot<Width, true, true>};
  const Dot f = dots[in.neg_lo & 3];
  alignas(64) Room room[3];
  alignas(64) u32 result[64];
  Rows src[3];
  for (unsigned s = 0; s < 3; s++) src[s] = operand_rows(w, in.src[s], Type::i32, room[s]);
  for (unsigned i = 0; i < w.lanes; i++) {
    const i64 sum = f(src[0].lo[i], src[1].lo[i]) + static_cast<i32>(src[2].lo[i]);
    result[i] = static_cast<u32>(in.clamp ? saturate<i32>(sum) : static_cast<i32>(sum));
  }
  blend(w.vgpr[in.dst.index], result, w.active(), w.lanes);
}

template <class T> T smaller(T a, T b) { return a < b ? a : b; }
template <class T> T larger(T a, T b) { return a < b ? b : a; }
} // namespace

#define PACKED(NAME, PARAMS, ...) packed<[] PARAMS { return (__VA_ARGS__); }>(#NAME)
#define PACKED_CLAMPABLE(NAME, T, PARAMS, ...)                                                     \
  packed_clamped<[] PARAMS { return saturate<T>(static_cast<i32>(__VA_ARGS__)); }>(                \
      packed<[] PARAMS { return static_cast<T>(__VA_ARGS__); }>(#NAME))
#define DOT(NAME, T, PARAMS, ...)                                                                  \
  clamped<[] PARAMS { return saturate<T>(__VA_ARGS__); }>(                                         \
      VALU(NAME, PARAMS, static_cast<T>(__VA_ARGS__)))

std::span<const Opcode> valu_packed_opcodes() {
  static constexpr Opcode table[] = {
      // 16-bit integers
      PACKED_CLAMPABLE(v_pk_add_u16, u16, (u16 a, u16 b), a + b),
      PACKED_CLAMPABLE(v_pk_sub_u16, u16, (u16 a, u16 b), a - b),
      PACKED_CLAMPABLE(v_pk_add_i16, i16, (i16 a, i16 b), a + b),
      PACKED_CLAMPABLE(v_pk_sub_i16, i16, (i16 a, i16 b), a - b),
      PACKED(v_pk_mul_lo_u16, (u16 a, u16 b), static_cast<u16>(u32{a} * b)),
      packed_clamped<[](u16 a, u16 b, u16 c) { return saturate<u16>(i64{a} * b + c); }>(
          PACKED(v_pk_mad_u16, (u16 a, u16 b, u16 c), static_cast<u16>(u32{a} * b + c))),
      packed_clamped<[](i16 a, i16 b, i16 c) { return saturate<i16>(i64{a} * b + c); }>(
          PACKED(v_pk_mad_i16, (i16 a, i16 b, i16 c), static_cast<i16>(i64{a} * b + c))),
      PACKED(v_pk_lshlrev_b16, (u16 a, u16 b), static_cast<u16>(b << (a & 15))),
      PACKED(v_pk_lshrrev_b16, (u16 a, u16 b), static_cast<u16>(b >> (a & 15))),
      PACKED(v_pk_ashrrev_i16, (i16 a, i16 b), static_cast<i16>(b >> (a & 15))),
      PACKED(v_pk_min_i16, (i16 a, i16 b), smaller(a, b)),
      PACKED(v_pk_max_i16, (i16 a, i16 b), larger(a, b)),
      PACKED(v_pk_min_u16, (u16 a, u16 b), smaller(a, b)),
      PACKED(v_pk_max_u16, (u16 a, u16 b), larger(a, b)),

      // f16
      PACKED(v_pk_add_f16, (f16 a, f16 b), add(a, b)),
      PACKED(v_pk_mul_f16, (f16 a, f16 b), mul(a, b)),
      PACKED(v_pk_fma_f16, (f16 a, f16 b, f16 c), fma(a, b, c)),
      accumulate(PACKED(v_pk_fmac_f16, (f16 a, f16 b, f16 d), fma(a, b, d))),
      PACKED(v_pk_min_f16, (f16 a, f16 b, Machine m), min_num(a, b, m.ieee)),
      PACKED(v_pk_max_f16, (f16 a, f16 b, Machine m), max_num(a, b, m.ieee)),
      PACKED(v_pk_min_num_f16, (f16 a, f16 b), minimum_number(a, b)),
      PACKED(v_pk_max_num_f16, (f16 a, f16 b), maximum_number(a, b)),
      PACKED(v_pk_minimum_f16, (f16 a, f16 b), minimum(a, b)),
      PACKED(v_pk_maximum_f16, (f16 a, f16 b), maximum(a, b)),

      // f32
      packed_arithmetic<[](f32 a, f32 b) { return a + b; }>("v_pk_add_f32"),
      packed_arithmetic<[](f32 a, f32 b) { return a * b; }>("v_pk_mul_f32"),
      packed_arithmetic<[](f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }>(
          "v_pk_fma_f32"),
      Opcode{"v_pk_mov_b32", run_move_pair, ExecClass::valu},

      // Mixed precision
      run_by(VALU(v_fma_mix_f32, (f32 a, f32 b, f32 c), fma(a, b, c)), run_mix<MixResult::f32>),
      run_by(VALU(v_fma_mixlo_f16, (f32 a, f32 b, f32 c), fma(a, b, c)), run_mix<MixResult::low>),
      run_by(VALU(v_fma_mixhi_f16, (f32 a, f32 b, f32 c), fma(a, b, c)), run_mix<MixResult::high>),

      // Dot products
      run_by(VALU(v_dot2_f32_f16, (u32 a, u32 b, f32 c, Machine m), dot2<f16>(a, b, c, m)),
             run_dot2<f16>),
      run_by(VALU(v_dot2_f32_bf16, (u32 a, u32 b, f32 c, Machine m), dot2<bf16>(a, b, c, m)),
             run_dot2<bf16>),
      accumulate(VALU(v_dot2c_f32_bf16, (u32 a, u32 b, f32 d, Machine m), dot2<bf16>(a, b, d, m))),
      accumulate(VALU(v_dot2c_f32_f16, (u32 a, u32 b, f32 d, Machine m), dot2<f16>(a, b, d, m))),
      VALU(v_dot2_f16_f16, (u32 a, u32 b, f16 c), dot2_half(a, b, c)),
      VALU(v_dot2_bf16_bf16, (u32 a, u32 b, u16 c), dot2_brain(a, b, c)),
      DOT(v_dot2_i32_i16, i32, (u32 a, u32 b, i32 c), dot<16, true, true>(a, b) + c),
      DOT(v_dot2_u32_u16, u32, (u32 a, u32 b, u32 c), dot<16, false, false>(a, b) + c),
      DOT(v_dot4_i32_i8, i32, (u32 a, u32 b, i32 c), dot<8, true, true>(a, b) + c),
      DOT(v_dot4_u32_u8, u32, (u32 a, u32 b, u32 c), dot<8, false, false>(a, b) + c),
      DOT(v_dot8_i32_i4, i32, (u32 a, u32 b, i32 c), dot<4, true, true>(a, b) + c),
      DOT(v_dot8_u32_u4, u32, (u32 a, u32 b, u32 c), dot<4, false, false>(a, b) + c),
      accumulate(DOT(v_dot2c_i32_i16, i32, (u32 a, u32 b, i32 d), dot<16, true, true>(a, b) + d)),
      accumulate(DOT(v_dot4c_i32_i8, i32, (u32 a, u32 b, i32 d), dot<8, true, true>(a, b) + d)),
      accumulate(DOT(v_dot8c_i32_i4, i32, (u32 a, u32 b, i32 d), dot<4, true, true>(a, b) + d)),
      Opcode{"v_dot4_i32_iu8", run_dot_mixed_sign<8>, ExecClass::valu},
      Opcode{"v_dot8_i32_iu4", run_dot_mixed_sign<4>, ExecClass::valu},
  };
  return table;
}

} // namespace fade::sim
