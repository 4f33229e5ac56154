// Vector instructions that gfx12 adds: minima and maxima of IEEE 754-2019, functions of one scalar
// value, dot products of 8-bit floats, shuffles that each lane chooses for itself.
#include "semantics/minimum.h"
#include "semantics/opcodes.h"
#include "semantics/salu.h"
#include "semantics/small_float.h"
#include "semantics/transcendental.h"
#include "semantics/valu.h"

#include <algorithm>
#include <cstring>

namespace fade::sim {
namespace {

// v_s_exp_f32 and its like: operand and result are scalar registers, all lanes compute the same,
// whatever EXEC says.
void run_pseudo_scalar(Wave &w, const Instruction &in) {
  alignas(64) uint32_t result[2][64];
  uint64_t flags = 0;
  compute_result(w, in, result, flags);
  write_scalar(w, in.dst, is_16(in.opcode->dst) ? result[0][0] & 0xffff : result[0][0]);
}
constexpr Opcode pseudo_scalar(Opcode o) {
  return with(Form::scalar_result, run_by(o, run_pseudo_scalar));
}

// Four products of bytes, each added in turn. Only the sum's third operand has signs.
f32 dot4(SmallFormat first, SmallFormat second, u32 a, u32 b, f32 c) {
  for (unsigned n = 0; n < 32; n += 8)
    c = fma(small_value(first, a >> n & 0xff), small_value(second, b >> n & 0xff), c);
  return c;
}
void run_dot4(Wave &w, const Instruction &in) {
  Instruction plain = in;
  plain.op_sel = plain.op_sel_hi = plain.omod = 0;
  plain.clamp = false;
  plain.src[2].neg = in.neg_lo & 4;
  plain.src[2].abs = in.neg_hi & 4;
  plain.plain = in.plain && !plain.src[2].neg && !plain.src[2].abs;
  run_valu(w, plain);
}
constexpr Opcode dot4_with_signs(Opcode o) { return run_by(o, run_dot4); }

// Each lane reads the lane of its row of 16, or of the neighbouring row, that its own register
// names; inactive lanes can be read.
template <unsigned other_row> void run_permute_var(Wave &w, const Instruction &in) {
  u32 old[64];
  std::copy_n(w.vgpr[in.src[0].index], w.lanes, old);
  const u32 *select = w.vgpr[in.src[1].index];
  u32 result[64];
  for (unsigned i = 0; i < w.lanes; i++)
    result[i] = old[((i & ~15u) ^ other_row) + (select[i] & 15)];
  blend(w.vgpr[in.dst.index], result, w.active(), w.lanes);
}

// Halves of two registers change places.
void run_swap_halves(Wave &w, const Instruction &in) {
  u32 *a = w.vgpr[in.dst.index], *b = w.vgpr[in.src[0].index];
  const unsigned from = in.op_sel & 1 ? 16 : 0, to = in.op_sel & 8 ? 16 : 0;
  for (unsigned i = 0; i < w.lanes; i++) {
    if (!w.active()[i]) continue;
    const u32 first = a[i] >> to & 0xffff, second = b[i] >> from & 0xffff;
    a[i] = (a[i] & ~(0xffffu << to)) | second << to;
    b[i] = (b[i] & ~(0xffffu << from)) | first << from;
  }
}
constexpr Opcode swap_halves() {
  Opcode o{"v_swap_b16", run_swap_halves, ExecClass::valu};
  o.sources = 1;
  o.src[0] = o.dst = Type::b16;
  return o;
}

constexpr Opcode handled(const char *name, Handler run) { return {name, run, ExecClass::valu}; }

} // namespace

#define NUMBERS(TYPE)                                                                              \
  UNLESS_NAN(v_min_num_##TYPE, (TYPE a, TYPE b), min_of(a, b), minimum_number(a, b)),              \
      UNLESS_NAN(v_max_num_##TYPE, (TYPE a, TYPE b), max_of(a, b), maximum_number(a, b)),          \
      UNLESS_NAN(v_minimum_##TYPE, (TYPE a, TYPE b), min_of(a, b), minimum(a, b)),                 \
      UNLESS_NAN(v_maximum_##TYPE, (TYPE a, TYPE b), max_of(a, b), maximum(a, b))
#define NUMBERS3(TYPE)                                                                             \
  UNLESS_NAN(v_min3_num_##TYPE, (TYPE a, TYPE b, TYPE c), min_of(min_of(a, b), c),                 \
             minimum_number3(a, b, c)),                                                            \
      UNLESS_NAN(v_max3_num_##TYPE, (TYPE a, TYPE b, TYPE c), max_of(max_of(a, b), c),             \
                 maximum_number3(a, b, c)),                                                        \
      VALU(v_med3_num_##TYPE, (TYPE a, TYPE b, TYPE c), median_number3(a, b, c)),                  \
      VALU(v_maxmin_num_##TYPE, (TYPE a, TYPE b, TYPE c),                                          \
           minimum_number(maximum_number(a, b), c)),                                               \
      VALU(v_minmax_num_##TYPE, (TYPE a, TYPE b, TYPE c),                                          \
           maximum_number(minimum_number(a, b), c)),                                               \
      VALU(v_maximumminimum_##TYPE, (TYPE a, TYPE b, TYPE c), minimum(maximum(a, b), c)),          \
      VALU(v_minimummaximum_##TYPE, (TYPE a, TYPE b, TYPE c), maximum(minimum(a, b), c))
#define PSEUDO_SCALAR(TYPE, FLUSH)                                                                 \
  pseudo_scalar(VALU(v_s_exp_##TYPE, (TYPE a), exp2_instruction(a))),                              \
      pseudo_scalar(VALU(v_s_log_##TYPE, (TYPE a), log2_instruction(a))),                          \
      pseudo_scalar(VALU(v_s_rcp_##TYPE, (TYPE a), FLUSH(rcp_instruction(FLUSH(a))))),             \
      pseudo_scalar(VALU(v_s_rsq_##TYPE, (TYPE a), rsq_instruction(FLUSH(a)))),                    \
      pseudo_scalar(VALU(v_s_sqrt_##TYPE, (TYPE a), sqrt_instruction(a)))
#define DOT4(A, B)                                                                                 \
  dot4_with_signs(                                                                                 \
      VALU(v_dot4_f32_##A##_##B, (u32 a, u32 b, f32 c), dot4(ocp_##A, ocp_##B, a, b, c)))

std::span<const Opcode> valu_gfx12_opcodes() {
  static constexpr Opcode table[] = {
      NUMBERS(f16),
      NUMBERS(f32),
      NUMBERS(f64),
      NUMBERS3(f16),
      NUMBERS3(f32),
      VALU(v_minimum3_f16, (f16 a, f16 b, f16 c), minimum(minimum(a, b), c)),
      VALU(v_maximum3_f16, (f16 a, f16 b, f16 c), maximum(maximum(a, b), c)),
      PSEUDO_SCALAR(f32, flushed),
      PSEUDO_SCALAR(f16, ),
      DOT4(fp8, fp8),
      DOT4(fp8, bf8),
      DOT4(bf8, fp8),
      DOT4(bf8, bf8),
      handled("v_permlane16_var_b32", run_permute_var<0>),
      handled("v_permlanex16_var_b32", run_permute_var<16>),
      swap_halves(),
  };
  return table;
}

} // namespace fade::sim
