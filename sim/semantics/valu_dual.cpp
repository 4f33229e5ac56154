// Dual instructions (VOPD): two operations that read all their operands before either writes.
#include "semantics/minimum.h"
#include "semantics/opcodes.h"
#include "semantics/valu.h"

namespace fade::sim {
namespace {

using Room = uint32_t[2][64];

void compute(Wave &w, const Instruction &in, Room &result) {
  uint64_t flags = 0;
  if (!w.plain_mode) {
    compute_result(w, in, result, flags);
    return;
  }
  alignas(64) Room room[3];
  LaneCall call{};
  call.machine = &w.machine;
  call.lo = result[0], call.hi = result[1], call.flags = &flags, call.lanes = w.lanes;
  for (unsigned s = 0; s < in.opcode->sources; s++)
    call.src[s] = operand_rows(w, in.src[s], in.opcode->src[s], room[s]);
  in.opcode->lanes(call);
}

void run_dual(Wave &w, const Instruction &in) {
  const Instruction *halves[2] = {&in, in.paired};
  alignas(64) Room result[2];
  for (unsigned n = 0; n < 2; n++) compute(w, *halves[n], result[n]);
  for (unsigned n = 0; n < 2; n++)
    blend(w.vgpr[halves[n]->dst.index], result[n][0], w.active(), w.lanes);
}

f32 dot2(u32 a, u32 b, f32 c, f32 (*value)(u16)) {
  c = fma(value(static_cast<u16>(a)), value(static_cast<u16>(b)), c);
  return fma(value(static_cast<u16>(a >> 16)), value(static_cast<u16>(b >> 16)), c);
}
f32 half_value(u16 x) { return to_f32(f16{x}); }
f32 brain_value(u16 x) { return to_f32(bf16{x}); }
f32 mul_legacy(f32 a, f32 b) { return a == 0 || b == 0 ? 0.0f : mul(a, b); }

constexpr Opcode dual(Opcode o) { return run_by(o, run_dual); }

} // namespace

std::span<const Opcode> valu_dual_opcodes() {
  static constexpr Opcode table[] = {
      dual(accumulate(VALU(v_dual_fmac_f32, (f32 a, f32 b, f32 d), fma(a, b, d)))),
      with(Form::literal_in_middle,
           dual(VALU(v_dual_fmamk_f32, (f32 a, f32 k, f32 b), fma(a, k, b)))),
      with(Form::literal_at_end, dual(VALU(v_dual_fmaak_f32, (f32 a, f32 b, f32 k), fma(a, b, k)))),
      dual(VALU(v_dual_mul_f32, (f32 a, f32 b), mul(a, b))),
      dual(VALU(v_dual_add_f32, (f32 a, f32 b), add(a, b))),
      dual(VALU(v_dual_sub_f32, (f32 a, f32 b), sub(a, b))),
      dual(VALU(v_dual_subrev_f32, (f32 a, f32 b), sub(b, a))),
      dual(VALU(v_dual_mul_dx9_zero_f32, (f32 a, f32 b), mul_legacy(a, b))),
      dual(VALU(v_dual_mov_b32, (u32 a), a)),
      dual(VALU(v_dual_cndmask_b32, (u32 a, u32 b, bool c), c ? b : a)),
      dual(VALU(v_dual_max_f32, (f32 a, f32 b, Machine m), max_num(a, b, m.ieee))),
      dual(VALU(v_dual_min_f32, (f32 a, f32 b, Machine m), min_num(a, b, m.ieee))),
      dual(VALU(v_dual_max_num_f32, (f32 a, f32 b), maximum_number(a, b))),
      dual(VALU(v_dual_min_num_f32, (f32 a, f32 b), minimum_number(a, b))),
      dual(accumulate(
          VALU(v_dual_dot2acc_f32_f16, (u32 a, u32 b, f32 d), dot2(a, b, d, half_value)))),
      dual(accumulate(
          VALU(v_dual_dot2acc_f32_bf16, (u32 a, u32 b, f32 d), dot2(a, b, d, brain_value)))),
      dual(VALU(v_dual_add_nc_u32, (u32 a, u32 b), a + b)),
      dual(VALU(v_dual_lshlrev_b32, (u32 a, u32 b), b << (a & 31))),
      dual(VALU(v_dual_and_b32, (u32 a, u32 b), a & b)),
  };
  return table;
}

} // namespace fade::sim
