// Vector comparisons: one bit per lane into a scalar register (v_cmp) or into EXEC (v_cmpx).
#include "semantics/opcodes.h"
#include "semantics/valu.h"

namespace fade::sim {
namespace {

// f16 compares as what it is worth.
f32 value(f16 x) { return to_f32(x); }
f32 value(f32 x) { return x; }
f64 value(f64 x) { return x; }
template <class T> T value(T x) requires std::is_integral_v<T> { return x; }

// Bit n of the mask asks for: signalling NaN, quiet NaN, -inf, -normal, -denormal, -0, +0,
// +denormal, +normal, +inf.
template <class T> bool in_class(T x, u32 mask) {
  unsigned kind;
  if (is_nan(x))
    kind = is_snan(x) ? 0 : 1;
  else {
    const unsigned size = is_infinite(x) ? 3 : is_zero(x) ? 0 : is_denormal(x) ? 1 : 2;
    kind = sign_of(x) ? 5 - size : 6 + size;
  }
  return mask >> kind & 1;
}

constexpr Opcode into_exec(Opcode o) {
  return with(Effect::writes_exec, run_by(o, run_compare_exec));
}

} // namespace

#define COMPARE(OP, TYPE, ...)                                                                     \
  VALU(v_cmp_##OP##_##TYPE, (TYPE x, TYPE y), __VA_ARGS__),                                        \
      into_exec(VALU(v_cmpx_##OP##_##TYPE, (TYPE x, TYPE y), __VA_ARGS__))

#define ORDERED_COMPARES(TYPE)                                                                     \
  COMPARE(lt, TYPE, value(x) < value(y)), COMPARE(eq, TYPE, value(x) == value(y)),                 \
      COMPARE(le, TYPE, value(x) <= value(y)), COMPARE(gt, TYPE, value(x) > value(y)),             \
      COMPARE(ge, TYPE, value(x) >= value(y)), VALU(v_cmp_f_##TYPE, (TYPE, TYPE), false),          \
      into_exec(VALU(v_cmpx_f_##TYPE, (TYPE, TYPE), false))

#define INTEGER_COMPARES(TYPE)                                                                     \
  ORDERED_COMPARES(TYPE), COMPARE(ne, TYPE, x != y), VALU(v_cmp_t_##TYPE, (TYPE, TYPE), true),     \
      into_exec(VALU(v_cmpx_t_##TYPE, (TYPE, TYPE), true))

// Every ordered comparison has a negation that is also true for NaN.
#define FLOAT_COMPARES(TYPE)                                                                       \
  ORDERED_COMPARES(TYPE), COMPARE(lg, TYPE, value(x) < value(y) || value(x) > value(y)),           \
      COMPARE(o, TYPE, !is_nan(x) && !is_nan(y)), COMPARE(u, TYPE, is_nan(x) || is_nan(y)),        \
      COMPARE(nge, TYPE, !(value(x) >= value(y))),                                                 \
      COMPARE(nlg, TYPE, !(value(x) < value(y) || value(x) > value(y))),                           \
      COMPARE(ngt, TYPE, !(value(x) > value(y))), COMPARE(nle, TYPE, !(value(x) <= value(y))),     \
      COMPARE(neq, TYPE, !(value(x) == value(y))), COMPARE(nlt, TYPE, !(value(x) < value(y))),     \
      VALU(v_cmp_tru_##TYPE, (TYPE, TYPE), true),                                                  \
      into_exec(VALU(v_cmpx_tru_##TYPE, (TYPE, TYPE), true)),                                      \
      VALU(v_cmp_class_##TYPE, (TYPE x, u32 mask), in_class(x, mask)),                             \
      into_exec(VALU(v_cmpx_class_##TYPE, (TYPE x, u32 mask), in_class(x, mask)))

std::span<const Opcode> valu_compare_opcodes() {
  static constexpr Opcode table[] = {
      INTEGER_COMPARES(i16), INTEGER_COMPARES(u16), INTEGER_COMPARES(i32),
      INTEGER_COMPARES(u32), INTEGER_COMPARES(i64), INTEGER_COMPARES(u64),
      FLOAT_COMPARES(f16),   FLOAT_COMPARES(f32),   FLOAT_COMPARES(f64),
  };
  return table;
}

} // namespace fade::sim
