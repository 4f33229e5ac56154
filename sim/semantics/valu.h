// Vector instructions. The semantics of one is a short expression on single values; this file turns
// the expression into a loop over lanes and a table entry. Operand fetch, modifiers, EXEC and
// write-back are in valu.cpp, once for all.
#pragma once

#include "isa/opcode.h"
#include "semantics/values.h"
#include "wave/wave.h"

#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fade::sim {

// A source or destination: a word per lane, and a second one for 64-bit values.
struct Rows {
  const uint32_t *lo;
  const uint32_t *hi;
};

// An expression may take Machine, or the lane's number, as a last parameter.
struct Lane {
  unsigned number;
};

struct LaneCall {
  Rows src[4];
  const Machine *machine;
  uint32_t *lo; // result; all lanes are written
  uint32_t *hi;
  uint64_t *flags; // second result, a bit per lane
  unsigned lanes;
};

// A value and a flag: carry out, overflow, v_div_scale's VCC.
template <class T> struct Flagged {
  T value;
  bool flag;
};

template <class T> struct TypeOf;
template <> struct TypeOf<u16> { static constexpr Type type = Type::u16; };
template <> struct TypeOf<i16> { static constexpr Type type = Type::i16; };
template <> struct TypeOf<f16> { static constexpr Type type = Type::f16; };
template <> struct TypeOf<u32> { static constexpr Type type = Type::u32; };
template <> struct TypeOf<i32> { static constexpr Type type = Type::i32; };
template <> struct TypeOf<f32> { static constexpr Type type = Type::f32; };
template <> struct TypeOf<u64> { static constexpr Type type = Type::u64; };
template <> struct TypeOf<i64> { static constexpr Type type = Type::i64; };
template <> struct TypeOf<f64> { static constexpr Type type = Type::f64; };
template <> struct TypeOf<bool> { static constexpr Type type = Type::mask; };
template <class T> struct TypeOf<Flagged<T>> : TypeOf<T> {};

template <class R> constexpr bool has_flag = std::is_same_v<R, bool> || requires(R r) { r.flag; };

template <class T>
constexpr bool is_operand = !std::is_same_v<T, Machine> && !std::is_same_v<T, Lane>;

template <class T> constexpr bool is_long_operand = is_operand<T> && sizeof(T) == 8;

template <class T> inline bool nan_operand(T x) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, f32> || std::is_same_v<T, f64>)
    return is_nan(x);
  else
    return false;
}

template <class T> inline T fetch(const Rows &r, [[maybe_unused]] Machine m, unsigned i) {
  if constexpr (std::is_same_v<T, Machine>)
    return m;
  else if constexpr (std::is_same_v<T, Lane>)
    return Lane{i};
  else if constexpr (std::is_same_v<T, bool>)
    return r.lo[i] != 0;
  else if constexpr (std::is_same_v<T, f16>)
    return f16{static_cast<u16>(r.lo[i])};
  else if constexpr (sizeof(T) == 2)
    return static_cast<T>(r.lo[i]);
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(r.lo[i]);
  else
    return std::bit_cast<T>(static_cast<u64>(r.hi[i]) << 32 | r.lo[i]);
}

// Eight 64-bit values of lanes that follow each other, in an order in which processors put two rows
// together with one instruction for each four: those of lanes 0, 1, 4, 5, 2, 3, 6, 7.
template <class T> struct Eight { alignas(32) T of[8]; };
using EightWords [[gnu::vector_size(32)]] = u32;
template <class T> inline Eight<T> fetch_eight(const Rows &r, unsigned first) {
  EightWords lo, hi, together[2];
  std::memcpy(&lo, r.lo + first, sizeof lo);
  std::memcpy(&hi, r.hi + first, sizeof hi);
  together[0] = __builtin_shufflevector(lo, hi, 0, 8, 1, 9, 4, 12, 5, 13);
  together[1] = __builtin_shufflevector(lo, hi, 2, 10, 3, 11, 6, 14, 7, 15);
  return std::bit_cast<Eight<T>>(together);
}
template <class T> inline void put_eight(const LaneCall &c, unsigned first, const Eight<T> &v) {
  EightWords from[2];
  std::memcpy(from, &v, sizeof from);
  const EightWords lo = __builtin_shufflevector(from[0], from[1], 0, 2, 8, 10, 4, 6, 12, 14),
                   hi = __builtin_shufflevector(from[0], from[1], 1, 3, 9, 11, 5, 7, 13, 15);
  std::memcpy(c.lo + first, &lo, sizeof lo);
  std::memcpy(c.hi + first, &hi, sizeof hi);
}

template <class T> inline void put(const LaneCall &c, unsigned i, T v) {
  if constexpr (std::is_same_v<T, f16>)
    c.lo[i] = v.bits;
  else if constexpr (sizeof(T) == 2)
    c.lo[i] = static_cast<u16>(v);
  else if constexpr (sizeof(T) == 4)
    c.lo[i] = std::bit_cast<u32>(v);
  else {
    u64 b = std::bit_cast<u64>(v);
    c.lo[i] = static_cast<u32>(b);
    c.hi[i] = static_cast<u32>(b >> 32);
  }
}
// What has a flag returns it.
inline u32 put_flagged(const LaneCall &, unsigned, bool v) { return v; }
template <class T> inline u32 put_flagged(const LaneCall &c, unsigned i, Flagged<T> v) {
  put(c, i, v.value);
  return v.flag;
}

// Before a loop over lanes: iterations do not depend on each other.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" // a few expressions have to stay scalar
#define LANE_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define LANE_LOOP _Pragma("GCC ivdep")
#endif
// 32 or 64, in a form that tells the compiler so.
inline unsigned lanes_of(const LaneCall &c) { return c.lanes & 96; }

template <class F> struct Signature;
template <class R, class... A> struct Signature<R (*)(A...)> {
  using Result = R;
  static constexpr unsigned count = (0u + ... + (is_operand<A> ? 1u : 0u));
  static constexpr bool is_long = is_64(TypeOf<R>::type) || (is_long_operand<A> || ...);
  static constexpr bool sets_flag = has_flag<R> && !std::is_same_v<R, bool>;

  static constexpr unsigned arguments = sizeof...(A);
  static_assert(arguments <= 4);

  template <auto F, size_t... I> static void lanes(const LaneCall &c, std::index_sequence<I...>) {
    const Machine m = *c.machine;
    const unsigned lanes = lanes_of(c);
    // The rows never overlap in part: a destination is either a row of its own or exactly one of
    // the sources.
    if constexpr (has_flag<R>) {
      // Flags are collected in registers. If each went through memory, reading many at once would
      // have to wait for the stores, and for all stores of the program before them.
      u64 flags = 0;
      for (unsigned first = 0; first < lanes; first += 32) {
        u32 bits = 0;
        LANE_LOOP
        for (unsigned i = 0; i < 32; i++)
          bits |= put_flagged(c, first + i, F(fetch<A>(c.src[I], m, first + i)...)) << i;
        flags |= u64{bits} << first;
      }
      *c.flags = flags;
    } else {
      LANE_LOOP
      for (unsigned i = 0; i < lanes; i++) put(c, i, F(fetch<A>(c.src[I], m, i)...));
    }
  }
  // The same in two steps: the usual expression on as many lanes as fit into the processor's
  // registers, and only if one of them turns out odd, the exact one. The usual one has no checks
  // for NaN or range, which would cost more than the operation. Results are stored when all is
  // well: a destination may be one of the operands.
  template <auto Usual, auto Odd, auto Exact, size_t... I>
  static void checked_lanes(const LaneCall &c, std::index_sequence<I...> operands) {
    static_assert(!has_flag<R>);
    if constexpr (sizeof(R) == 8 && ((sizeof(A) == 8) && ...)) {
      checked_long_lanes<Usual, Odd, Exact>(c, operands);
      return;
    }
    // Where widths are mixed, all lanes at once were measured to be faster.
    constexpr bool has_long = sizeof(R) == 8;
    using Flag = std::conditional_t<has_long, u64, u32>;
    const Machine m = *c.machine;
    const unsigned lanes = lanes_of(c), at_once = has_long ? lanes : 32;
    for (unsigned first = 0; first < lanes; first += at_once) {
      alignas(64) R out[has_long ? 64 : 32];
      Flag odd = 0;
      LANE_LOOP
      for (unsigned i = 0; i < at_once; i++) {
        out[i] = Usual(fetch<A>(c.src[I], m, first + i)...);
        odd |= Odd(out[i], fetch<A>(c.src[I], m, first + i)...) ? Flag{1} : Flag{0};
      }
      if (odd) [[unlikely]] {
        exact_lanes<Exact>(c, first, at_once, operands);
        continue;
      }
      LANE_LOOP
      for (unsigned i = 0; i < at_once; i++) put(c, first + i, out[i]);
    }
  }
  template <auto Usual, auto Odd, auto Exact, size_t... I>
  static void checked_long_lanes(const LaneCall &c, std::index_sequence<I...> operands) {
    constexpr unsigned at_once = 16;
    const unsigned lanes = lanes_of(c);
    for (unsigned first = 0; first < lanes; first += at_once) {
      Eight<R> out[2];
      Eight<u64> odds{}; // so that they stay where the values are
      for (unsigned n = 0; n < 2; n++) {
        const std::tuple in{fetch_eight<A>(c.src[I], first + 8 * n)...};
        for (unsigned i = 0; i < 8; i++) {
          out[n].of[i] = Usual(std::get<I>(in).of[i]...);
          odds.of[i] |= Odd(out[n].of[i], std::get<I>(in).of[i]...) ? ~u64{0} : u64{0};
        }
      }
      u64 odd = 0;
      for (const u64 one : odds.of) odd |= one;
      if (odd) [[unlikely]] {
        exact_lanes<Exact>(c, first, at_once, operands);
        continue;
      }
      for (unsigned n = 0; n < 2; n++) put_eight(c, first + 8 * n, out[n]);
    }
  }
  template <auto Exact, size_t... I>
  [[gnu::noinline, gnu::cold]] static void
  exact_lanes(const LaneCall &c, unsigned first, unsigned how_many, std::index_sequence<I...>) {
    const Machine m = *c.machine;
    for (unsigned i = first; i < first + how_many; i++)
      put(c, i, Exact(fetch<A>(c.src[I], m, i)...));
  }
  static constexpr Opcode describe(const char *name) {
    Opcode o{name, nullptr, ExecClass::valu};
    o.sources = count;
    unsigned n = 0;
    (
        [&] {
          if constexpr (is_operand<A>) o.src[n++] = TypeOf<A>::type;
        }(),
        ...);
    o.dst = TypeOf<R>::type;
    o.flag_out = sets_flag;
    return o;
  }
};

template <auto F> void lane_loop(const LaneCall &c) {
  using S = Signature<decltype(+F)>;
  S::template lanes<F>(c, std::make_index_sequence<S::arguments>{});
}

template <auto Usual, auto Odd, auto Exact> void checked_loop(const LaneCall &c) {
  using S = Signature<decltype(+Usual)>;
  S::template checked_lanes<Usual, Odd, Exact>(c, std::make_index_sequence<S::arguments>{});
}

// Handlers (valu.cpp).
void run_valu(Wave &, const Instruction &);         // vector result
void run_compare(Wave &, const Instruction &);      // mask result
void run_compare_exec(Wave &, const Instruction &); // v_cmpx

// The same for instructions that ask for the least (Opcode::run_rows): a few machine instructions
// for each operand.
template <unsigned sources, bool is_long>
inline void take_rows(Wave &w, const Instruction &in, LaneCall &call) {
  call.machine = &w.machine, call.lanes = w.lanes;
  for (unsigned s = 0; s < sources; s++) {
    const Operand &o = in.src[s];
    call.src[s].lo = o.rows ? o.rows : w.vgpr[o.index];
    if constexpr (is_long) call.src[s].hi = call.src[s].lo + 64;
  }
}
void merge_active(Wave &w, const Instruction &in, LaneCall &call); // where some lanes are inactive
template <unsigned sources, bool is_long, bool has_flag>
void run_valu_rows(Wave &w, const Instruction &in) {
  if (!w.plain_mode) [[unlikely]]
    return run_valu(w, in);
  LaneCall call;
  uint64_t flags = 0;
  take_rows<sources, is_long>(w, in, call);
  if constexpr (has_flag) call.flags = &flags;
  if (w.all_active) [[likely]] {
    call.lo = w.vgpr[in.dst.index];
    if constexpr (is_long) call.hi = call.lo + 64;
    in.opcode->lanes(call);
  } else {
    merge_active(w, in, call);
  }
  if constexpr (has_flag) w.set_mask_register(in.sdst.index, flags & w.exec());
}
template <unsigned sources, bool is_long> void run_compare_rows(Wave &w, const Instruction &in) {
  if (!w.plain_mode) [[unlikely]]
    return run_compare(w, in);
  LaneCall call;
  uint64_t flags = 0;
  take_rows<sources, is_long>(w, in, call);
  call.flags = &flags;
  in.opcode->lanes(call);
  w.set_mask_register(in.sdst.index, flags & w.exec());
}

template <auto F> constexpr Opcode valu(const char *name) {
  using S = Signature<decltype(+F)>;
  Opcode o = S::describe(name);
  o.lanes = lane_loop<F>;
  if (o.dst == Type::mask) {
    o.run = run_compare;
    o.run_rows = run_compare_rows<S::count, S::is_long>;
  } else {
    o.run = run_valu;
    o.run_rows = run_valu_rows<S::count, S::is_long, S::sets_flag>;
  }
  return o;
}
constexpr Opcode run_by(Opcode o, Handler run) { // a handler of its own
  o.run = run;
  o.run_rows = nullptr;
  return o;
}
template <auto Usual, auto Odd, auto Exact> constexpr Opcode checked_valu(const char *name) {
  Opcode o = valu<Usual>(name);
  o.lanes = checked_loop<Usual, Odd, Exact>;
  return o;
}
constexpr Opcode accumulate(Opcode o) { // last source is the destination
  o.reads_dst = true;
  return o;
}
constexpr Opcode preserve(Opcode o) { // 16-bit result, upper half kept on every architecture
  o.preserves_high = true;
  return o;
}
template <auto F>
constexpr Opcode clamped(Opcode o) { // integer clamp saturates: its own expression
  o.lanes_clamp = lane_loop<F>;
  return o;
}

// For instructions with a handler of their own.
bool flushes(const Wave &w, Type t,
             bool input); // MODE asks for denormal operands or results to become 0
void flush_denormals(uint32_t *lo, uint32_t *hi, Type t, unsigned lanes);
// The result of an instruction, with all modifiers but not yet in its register; returns the lanes
// to be written.
uint64_t compute_result(Wave &w, const Instruction &in, uint32_t (&result)[2][64], uint64_t &flags);
// mask: 0 or ~0 per lane
inline void blend(uint32_t *to, const uint32_t *from, const uint32_t *mask, unsigned lanes) {
  for (unsigned base = 0; base < (lanes & 96); base += 32) {
    LANE_LOOP
    for (unsigned i = base; i < base + 32; i++) to[i] = (from[i] & mask[i]) | (to[i] & ~mask[i]);
  }
}

// A scalar or a lane mask, repeated or expanded into `room` (two rows).
Rows scalar_rows(Wave &w, const Operand &o, Type type, uint32_t (*room)[64]);
// The 64 words of a source operand: the register itself, a constant that the decoder has repeated,
// or what is put into `room`.
inline Rows operand_rows(Wave &w, const Operand &o, Type type, uint32_t (*room)[64]) {
  if (o.is_vgpr()) return {w.vgpr[o.index], w.vgpr[o.index + 1]};
  if (o.rows && o.rows_type == type) return {o.rows, o.rows + 64};
  return scalar_rows(w, o, type, room);
}
// Whether a 16-bit result leaves the upper half of its register alone: gfx9 clears it, except in a
// few instructions.
inline bool keeps_high_half(const Arch &arch, const Instruction &in) {
  return arch.gfx10_up || in.opcode->preserves_high;
}
// A scalar operand's value (never a vector register).
uint64_t scalar_value(const Wave &w, const Operand &o, Type type);

} // namespace fade::sim

// VALU(v_add_f32, (f32 a, f32 b), add(a, b)): an entry of an opcode table.
// ARITHMETIC(v_add_f32, (f32 a, f32 b), a + b): IEEE arithmetic. A NaN result is the first NaN
// among the operands.
#define ARITHMETIC(NAME, PARAMS, ...)                                                              \
  checked_valu<[] PARAMS { return (__VA_ARGS__); }, [](auto r, auto...) { return is_nan(r); },     \
               [](auto... operands) {                                                              \
                 auto r = [] PARAMS { return (__VA_ARGS__); }(operands...);                        \
                 return is_nan(r) ? nan_of(operands...) : r;                                       \
               }>(#NAME)
// UNLESS_NAN(v_min_f32, (f32 a, f32 b), a < b ? a : b, min_num(a, b)): the first expression, unless
// an operand is NaN.
#define UNLESS_NAN(NAME, PARAMS, USUAL, ...)                                                       \
  checked_valu<[] PARAMS { return (USUAL); },                                                      \
               [](auto, auto... operands) { return (nan_operand(operands) || ...); },              \
               [] PARAMS { return (__VA_ARGS__); }>(#NAME)

#define VALU(NAME, PARAMS, ...) valu<[] PARAMS { return (__VA_ARGS__); }>(#NAME)
