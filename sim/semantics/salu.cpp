// Scalar arithmetic, moves, compares and the flow of control.
#include "semantics/salu.h"

#include "base/clock.h"
#include "semantics/constants.h"
#include "semantics/hardware_registers.h"
#include "semantics/opcodes.h"
#include "wave/device_services.h"
#include "wave/faults.h"
#include "wave/workgroup.h"

#include <array>
#include <bit>

namespace fade::sim {
namespace {

u64 saved_exec(Scalar &s, u64 next) { // s_*_saveexec: the old EXEC is the result
  const u64 old = s.w.exec();
  s.w.set_exec(next);
  s.scc = s.w.exec() != 0;
  return old;
}
u32 saved_exec32(Scalar &s, u64 next) { return static_cast<u32>(saved_exec(s, next)); }

template <class T> T extract(T v, u32 offset, u32 width) { // bit field; sign-extends if T is signed
  constexpr u32 size = sizeof(T) * 8;
  if (width == 0) return 0;
  if (offset + width >= size) return v >> offset;
  return static_cast<T>(v << (size - offset - width)) >> (size - width);
}

i32 leading_zeros_signed(i32 v) { // distance of the first bit that differs from the sign
  const u32 x = static_cast<u32>(v < 0 ? ~v : v);
  return x == 0 ? -1 : std::countl_zero(x);
}
i32 leading_zeros_signed64(i64 v) {
  const u64 x = static_cast<u64>(v < 0 ? ~v : v);
  return x == 0 ? -1 : std::countl_zero(x);
}

u64 quad_mask(u64 v) {
  u64 r = 0;
  for (unsigned i = 0; i < 64; i += 4)
    if (v >> i & 15) r |= 1ull << i / 4;
  return r;
}
u64 whole_quads(u64 v) {
  u64 r = 0;
  for (unsigned i = 0; i < 64; i += 4)
    if (v >> i & 15) r |= 15ull << i;
  return r;
}
template <class T> T reverse_bits(T v) {
  T r = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; i++) r |= (v >> i & 1) << (sizeof(T) * 8 - 1 - i);
  return r;
}
u64 replicate_bits(u32 v) { // every bit twice
  u64 r = 0;
  for (unsigned i = 0; i < 32; i++)
    if (v >> i & 1) r |= 3ull << 2 * i;
  return r;
}

u32 add_carry(Scalar &s, u32 a, u32 b, bool carry) {
  const u64 r = static_cast<u64>(a) + b + carry;
  s.scc = r >> 32;
  return static_cast<u32>(r);
}
u32 sub_borrow(Scalar &s, u32 a, u32 b, bool borrow) {
  s.scc = static_cast<u64>(b) + borrow > a;
  return a - b - borrow;
}
i32 add_overflow(Scalar &s, i32 a, i32 b) {
  i32 r;
  s.scc = __builtin_add_overflow(a, b, &r);
  return r;
}
i32 sub_overflow(Scalar &s, i32 a, i32 b) {
  i32 r;
  s.scc = __builtin_sub_overflow(a, b, &r);
  return r;
}
u32 shift_add(Scalar &s, u32 a, u32 b, unsigned shift) {
  const u64 r = (static_cast<u64>(a) << shift) + b;
  s.scc = r >> 32 != 0;
  return static_cast<u32>(r);
}
template <class T> T pick(Scalar &s, bool first, T a, T b) {
  s.scc = first;
  return first ? a : b;
}

void jump(Scalar &s, bool taken) {
  if (taken) s.w.pc = s.in.target;
}
u64 next_pc(Scalar &s) { return s.in.pc + s.in.size; }

void trap(Scalar &s) {
  if ((s.in.imm & 0xff) == 3) return; // debugger trap: nothing without a debugger
  throw TrapRaised{s.in.pc, static_cast<u32>(s.in.imm & 0xff)};
}

void send_message(Scalar &s) {
  constexpr int interrupt = 1;
  if ((s.in.imm & 15) != interrupt || !s.w.device) return;
  const auto &hook = s.w.device->interrupt;
  if (hook) hook(s.w.sgpr[sreg::m0] & 0xffffff);
}

u64 message_return(Scalar &s, u32 message) { // s_sendmsg_rtn
  constexpr u32 get_doorbell = 128, get_realtime = 131, get_tba_to_pc = 133;
  switch (message & 0xff) {
  case get_realtime: return gpu_clock();
  case get_doorbell:
  case get_tba_to_pc:
  default: return (void)s, 0;
  }
}

void nothing() {}

// M0 keeps the index in [7:0] and the enable bits in [15:12] while register indexing is on.
void set_index(Scalar &s, u32 value) {
  s.w.sgpr[sreg::m0] = (s.w.sgpr[sreg::m0] & 0xffff0f00) | value;
  s.w.set_gpr_index(value);
}

u32 relative(Scalar &s, const Operand &o, int delta) { return s.w.sgpr[(o.index + delta) & 127]; }

// clang-format off
constexpr auto table = std::to_array<Opcode>({
    // Arithmetic.
    SALU(s_add_u32, (u32 a, u32 b), add_carry(s, a, b, false)),
    SALU(s_sub_u32, (u32 a, u32 b), sub_borrow(s, a, b, false)),
    SALU(s_add_i32, (i32 a, i32 b), add_overflow(s, a, b)),
    SALU(s_sub_i32, (i32 a, i32 b), sub_overflow(s, a, b)),
    SALU(s_addc_u32, (u32 a, u32 b), add_carry(s, a, b, s.scc)),
    SALU(s_subb_u32, (u32 a, u32 b), sub_borrow(s, a, b, s.scc)),
    SALU(s_add_u64, (u64 a, u64 b), a + b),
    SALU(s_sub_u64, (u64 a, u64 b), a - b),
    SALU(s_mul_i32, (u32 a, u32 b), a * b),
    SALU(s_mul_hi_u32, (u32 a, u32 b), static_cast<u32>(static_cast<u64>(a) * b >> 32)),
    SALU(s_mul_hi_i32, (i32 a, i32 b), static_cast<u32>(static_cast<i64>(a) * b >> 32)),
    SALU(s_min_i32, (i32 a, i32 b), pick(s, a < b, a, b)),
    SALU(s_max_i32, (i32 a, i32 b), pick(s, a > b, a, b)),
    SALU(s_min_u32, (u32 a, u32 b), pick(s, a < b, a, b)),
    SALU(s_max_u32, (u32 a, u32 b), pick(s, a > b, a, b)),
    SALU(s_absdiff_i32, (i32 a, i32 b), s.nonzero(a > b ? static_cast<u32>(a) - static_cast<u32>(b)
                                                        : static_cast<u32>(b) - static_cast<u32>(a))),
    SALU(s_abs_i32, (i32 a), s.nonzero(a < 0 ? 0u - static_cast<u32>(a) : static_cast<u32>(a))),
    SALU(s_lshl1_add_u32, (u32 a, u32 b), shift_add(s, a, b, 1)),
    SALU(s_lshl2_add_u32, (u32 a, u32 b), shift_add(s, a, b, 2)),
    SALU(s_lshl3_add_u32, (u32 a, u32 b), shift_add(s, a, b, 3)),
    SALU(s_lshl4_add_u32, (u32 a, u32 b), shift_add(s, a, b, 4)),
    // Logic.
    SALU(s_and_b32, (u32 a, u32 b), s.nonzero(a & b)),
    SALU(s_and_b64, (u64 a, u64 b), s.nonzero(a & b)),
    SALU(s_or_b32, (u32 a, u32 b), s.nonzero(a | b)),
    SALU(s_or_b64, (u64 a, u64 b), s.nonzero(a | b)),
    SALU(s_xor_b32, (u32 a, u32 b), s.nonzero(a ^ b)),
    SALU(s_xor_b64, (u64 a, u64 b), s.nonzero(a ^ b)),
    SALU(s_andn2_b32, (u32 a, u32 b), s.nonzero(a & ~b)),
    SALU(s_andn2_b64, (u64 a, u64 b), s.nonzero(a & ~b)),
    SALU(s_orn2_b32, (u32 a, u32 b), s.nonzero(a | ~b)),
    SALU(s_orn2_b64, (u64 a, u64 b), s.nonzero(a | ~b)),
    SALU(s_nand_b32, (u32 a, u32 b), s.nonzero(~(a & b))),
    SALU(s_nand_b64, (u64 a, u64 b), s.nonzero(~(a & b))),
    SALU(s_nor_b32, (u32 a, u32 b), s.nonzero(~(a | b))),
    SALU(s_nor_b64, (u64 a, u64 b), s.nonzero(~(a | b))),
    SALU(s_xnor_b32, (u32 a, u32 b), s.nonzero(~(a ^ b))),
    SALU(s_xnor_b64, (u64 a, u64 b), s.nonzero(~(a ^ b))),
    SALU(s_not_b32, (u32 a), s.nonzero(~a)),
    SALU(s_not_b64, (u64 a), s.nonzero(~a)),
    SALU(s_wqm_b32, (u32 a), s.nonzero(static_cast<u32>(whole_quads(a)))),
    SALU(s_wqm_b64, (u64 a), s.nonzero(whole_quads(a))),
    SALU(s_quadmask_b32, (u32 a), s.nonzero(static_cast<u32>(quad_mask(a)))),
    SALU(s_quadmask_b64, (u64 a), s.nonzero(quad_mask(a))),
    // Shifts and bit fields.
    SALU(s_lshl_b32, (u32 a, u32 b), s.nonzero(a << (b & 31))),
    SALU(s_lshl_b64, (u64 a, u32 b), s.nonzero(a << (b & 63))),
    SALU(s_lshr_b32, (u32 a, u32 b), s.nonzero(a >> (b & 31))),
    SALU(s_lshr_b64, (u64 a, u32 b), s.nonzero(a >> (b & 63))),
    SALU(s_ashr_i32, (i32 a, u32 b), s.nonzero(a >> (b & 31))),
    SALU(s_ashr_i64, (i64 a, u32 b), s.nonzero(a >> (b & 63))),
    SALU(s_bfe_u32, (u32 a, u32 b), s.nonzero(extract(a, b & 31, b >> 16 & 0x7f))),
    SALU(s_bfe_i32, (i32 a, u32 b), s.nonzero(extract(a, b & 31, b >> 16 & 0x7f))),
    SALU(s_bfe_u64, (u64 a, u32 b), s.nonzero(extract(a, b & 63, b >> 16 & 0x7f))),
    SALU(s_bfe_i64, (i64 a, u32 b), s.nonzero(extract(a, b & 63, b >> 16 & 0x7f))),
    SALU(s_bfm_b32, (u32 a, u32 b), ((1u << (a & 31)) - 1) << (b & 31)),
    SALU(s_bfm_b64, (u32 a, u32 b), ((1ull << (a & 63)) - 1) << (b & 63)),
    SALU(s_pack_ll_b32_b16, (u32 a, u32 b), (a & 0xffff) | b << 16),
    SALU(s_pack_lh_b32_b16, (u32 a, u32 b), (a & 0xffff) | (b & 0xffff0000)),
    SALU(s_pack_hl_b32_b16, (u32 a, u32 b), a >> 16 | b << 16),
    SALU(s_pack_hh_b32_b16, (u32 a, u32 b), a >> 16 | (b & 0xffff0000)),
    SALU(s_brev_b32, (u32 a), reverse_bits(a)),
    SALU(s_brev_b64, (u64 a), reverse_bits(a)),
    SALU(s_bcnt0_i32_b32, (u32 a), s.nonzero(static_cast<u32>(std::popcount(~a)))),
    SALU(s_bcnt0_i32_b64, (u64 a), s.nonzero(static_cast<u32>(std::popcount(~a)))),
    SALU(s_bcnt1_i32_b32, (u32 a), s.nonzero(static_cast<u32>(std::popcount(a)))),
    SALU(s_bcnt1_i32_b64, (u64 a), s.nonzero(static_cast<u32>(std::popcount(a)))),
    SALU(s_ff0_i32_b32, (u32 a), ~a == 0 ? -1 : std::countr_one(a)),
    SALU(s_ff0_i32_b64, (u64 a), ~a == 0 ? -1 : std::countr_one(a)),
    SALU(s_ff1_i32_b32, (u32 a), a == 0 ? -1 : std::countr_zero(a)),
    SALU(s_ff1_i32_b64, (u64 a), a == 0 ? -1 : std::countr_zero(a)),
    SALU(s_flbit_i32_b32, (u32 a), a == 0 ? -1 : std::countl_zero(a)),
    SALU(s_flbit_i32_b64, (u64 a), a == 0 ? -1 : std::countl_zero(a)),
    SALU(s_flbit_i32, (i32 a), leading_zeros_signed(a)),
    SALU(s_flbit_i32_i64, (i64 a), leading_zeros_signed64(a)),
    SALU(s_sext_i32_i8, (u32 a), static_cast<i32>(static_cast<int8_t>(a))),
    SALU(s_sext_i32_i16, (u32 a), static_cast<i32>(static_cast<i16>(a))),
    SALU(s_bitset0_b32, (u32 a), s.w.sgpr[s.in.dst.index] & ~(1u << (a & 31))),
    SALU(s_bitset0_b64, (u32 a), s.w.sgpr64(s.in.dst.index) & ~(1ull << (a & 63))),
    SALU(s_bitset1_b32, (u32 a), s.w.sgpr[s.in.dst.index] | 1u << (a & 31)),
    SALU(s_bitset1_b64, (u32 a), s.w.sgpr64(s.in.dst.index) | 1ull << (a & 63)),
    SALU(s_bitreplicate_b64_b32, (u32 a), replicate_bits(a)),
    // Moves.
    SALU(s_mov_b32, (u32 a), a),
    SALU(s_mov_b64, (u64 a), a),
    SALU(s_cmov_b32, (u32 a), s.scc ? a : s.w.sgpr[s.in.dst.index]),
    SALU(s_cmov_b64, (u64 a), s.scc ? a : s.w.sgpr64(s.in.dst.index)),
    SALU(s_cselect_b32, (u32 a, u32 b), s.scc ? a : b),
    SALU(s_cselect_b64, (u64 a, u64 b), s.scc ? a : b),
    SALU(s_movrels_b32, (), relative(s, s.in.src[0], static_cast<int>(s.w.sgpr[sreg::m0]))),
    SALU_DO(s_movreld_b32, salu, (u32 a), s.w.sgpr[(s.in.dst.index + s.w.sgpr[sreg::m0]) & 127] = a),
    SALU_DO(s_movreld_b64, salu, (u64 a), s.w.set_sgpr64((s.in.dst.index + s.w.sgpr[sreg::m0]) & 126, a)),
    SALU(s_movrels_b64, (), s.w.sgpr64((s.in.src[0].index + s.w.sgpr[sreg::m0]) & 126)),
    // Immediate forms: the first source is the destination register, the second the constant.
    SALU(s_movk_i32, (u32, i32 k), k),
    SALU(s_cmovk_i32, (i32 d, i32 k), s.scc ? k : d),
    SALU(s_addk_i32, (i32 d, i32 k), add_overflow(s, d, k)),
    SALU(s_mulk_i32, (u32 d, u32 k), d * k),
    SALU_DO(s_cmpk_eq_i32, salu, (i32 d, i32 k), s.scc = d == k),
    SALU_DO(s_cmpk_lg_i32, salu, (i32 d, i32 k), s.scc = d != k),
    SALU_DO(s_cmpk_gt_i32, salu, (i32 d, i32 k), s.scc = d > k),
    SALU_DO(s_cmpk_ge_i32, salu, (i32 d, i32 k), s.scc = d >= k),
    SALU_DO(s_cmpk_lt_i32, salu, (i32 d, i32 k), s.scc = d < k),
    SALU_DO(s_cmpk_le_i32, salu, (i32 d, i32 k), s.scc = d <= k),
    with(Form::unsigned_immediate, SALU_DO(s_cmpk_eq_u32, salu, (u32 d, u32 k), s.scc = d == k)),
    with(Form::unsigned_immediate, SALU_DO(s_cmpk_lg_u32, salu, (u32 d, u32 k), s.scc = d != k)),
    with(Form::unsigned_immediate, SALU_DO(s_cmpk_gt_u32, salu, (u32 d, u32 k), s.scc = d > k)),
    with(Form::unsigned_immediate, SALU_DO(s_cmpk_ge_u32, salu, (u32 d, u32 k), s.scc = d >= k)),
    with(Form::unsigned_immediate, SALU_DO(s_cmpk_lt_u32, salu, (u32 d, u32 k), s.scc = d < k)),
    with(Form::unsigned_immediate, SALU_DO(s_cmpk_le_u32, salu, (u32 d, u32 k), s.scc = d <= k)),
    // Compares.
    SALU_DO(s_cmp_eq_i32, salu, (i32 a, i32 b), s.scc = a == b),
    SALU_DO(s_cmp_lg_i32, salu, (i32 a, i32 b), s.scc = a != b),
    SALU_DO(s_cmp_gt_i32, salu, (i32 a, i32 b), s.scc = a > b),
    SALU_DO(s_cmp_ge_i32, salu, (i32 a, i32 b), s.scc = a >= b),
    SALU_DO(s_cmp_lt_i32, salu, (i32 a, i32 b), s.scc = a < b),
    SALU_DO(s_cmp_le_i32, salu, (i32 a, i32 b), s.scc = a <= b),
    SALU_DO(s_cmp_eq_u32, salu, (u32 a, u32 b), s.scc = a == b),
    SALU_DO(s_cmp_lg_u32, salu, (u32 a, u32 b), s.scc = a != b),
    SALU_DO(s_cmp_gt_u32, salu, (u32 a, u32 b), s.scc = a > b),
    SALU_DO(s_cmp_ge_u32, salu, (u32 a, u32 b), s.scc = a >= b),
    SALU_DO(s_cmp_lt_u32, salu, (u32 a, u32 b), s.scc = a < b),
    SALU_DO(s_cmp_le_u32, salu, (u32 a, u32 b), s.scc = a <= b),
    SALU_DO(s_cmp_eq_u64, salu, (u64 a, u64 b), s.scc = a == b),
    SALU_DO(s_cmp_lg_u64, salu, (u64 a, u64 b), s.scc = a != b),
    SALU_DO(s_bitcmp0_b32, salu, (u32 a, u32 b), s.scc = !(a >> (b & 31) & 1)),
    SALU_DO(s_bitcmp1_b32, salu, (u32 a, u32 b), s.scc = a >> (b & 31) & 1),
    SALU_DO(s_bitcmp0_b64, salu, (u64 a, u32 b), s.scc = !(a >> (b & 63) & 1)),
    SALU_DO(s_bitcmp1_b64, salu, (u64 a, u32 b), s.scc = a >> (b & 63) & 1),
    // EXEC.
    with(Effect::writes_exec, SALU(s_and_saveexec_b64, (u64 a), saved_exec(s, a & s.w.exec()))),
    with(Effect::writes_exec, SALU(s_or_saveexec_b64, (u64 a), saved_exec(s, a | s.w.exec()))),
    with(Effect::writes_exec, SALU(s_xor_saveexec_b64, (u64 a), saved_exec(s, a ^ s.w.exec()))),
    with(Effect::writes_exec, SALU(s_andn2_saveexec_b64, (u64 a), saved_exec(s, a & ~s.w.exec()))),
    with(Effect::writes_exec, SALU(s_orn2_saveexec_b64, (u64 a), saved_exec(s, a | ~s.w.exec()))),
    with(Effect::writes_exec, SALU(s_nand_saveexec_b64, (u64 a), saved_exec(s, ~(a & s.w.exec())))),
    with(Effect::writes_exec, SALU(s_nor_saveexec_b64, (u64 a), saved_exec(s, ~(a | s.w.exec())))),
    with(Effect::writes_exec, SALU(s_xnor_saveexec_b64, (u64 a), saved_exec(s, ~(a ^ s.w.exec())))),
    with(Effect::writes_exec, SALU(s_andn1_saveexec_b64, (u64 a), saved_exec(s, ~a & s.w.exec()))),
    with(Effect::writes_exec, SALU(s_orn1_saveexec_b64, (u64 a), saved_exec(s, ~a | s.w.exec()))),
    with(Effect::writes_exec, SALU(s_and_saveexec_b32, (u32 a), saved_exec32(s, a & s.w.exec()))),
    with(Effect::writes_exec, SALU(s_or_saveexec_b32, (u32 a), saved_exec32(s, a | s.w.exec()))),
    with(Effect::writes_exec, SALU(s_xor_saveexec_b32, (u32 a), saved_exec32(s, a ^ s.w.exec()))),
    with(Effect::writes_exec, SALU(s_andn2_saveexec_b32, (u32 a), saved_exec32(s, a & ~s.w.exec()))),
    with(Effect::writes_exec, SALU(s_orn2_saveexec_b32, (u32 a), saved_exec32(s, a | ~s.w.exec()))),
    with(Effect::writes_exec, SALU(s_nand_saveexec_b32, (u32 a), saved_exec32(s, ~(a & s.w.exec())))),
    with(Effect::writes_exec, SALU(s_nor_saveexec_b32, (u32 a), saved_exec32(s, ~(a | s.w.exec())))),
    with(Effect::writes_exec, SALU(s_xnor_saveexec_b32, (u32 a), saved_exec32(s, ~(a ^ s.w.exec())))),
    with(Effect::writes_exec, SALU(s_andn1_saveexec_b32, (u32 a), saved_exec32(s, ~a & s.w.exec()))),
    with(Effect::writes_exec, SALU(s_orn1_saveexec_b32, (u32 a), saved_exec32(s, ~a | s.w.exec()))),
    with(Effect::writes_exec, SALU(s_andn1_wrexec_b64, (u64 a), (saved_exec(s, ~a & s.w.exec()), s.w.exec()))),
    with(Effect::writes_exec, SALU(s_andn2_wrexec_b64, (u64 a), (saved_exec(s, a & ~s.w.exec()), s.w.exec()))),
    with(Effect::writes_exec, SALU(s_andn1_wrexec_b32, (u32 a), (saved_exec(s, ~a & s.w.exec()), static_cast<u32>(s.w.exec())))),
    with(Effect::writes_exec, SALU(s_andn2_wrexec_b32, (u32 a), (saved_exec(s, a & ~s.w.exec()), static_cast<u32>(s.w.exec())))),
    // Flow of control. The executor has set the pc to the next instruction.
    with(Flow::branch, SALU_DO(s_branch, branch, (), jump(s, true))),
    with(Flow::conditional, SALU_DO(s_cbranch_scc0, branch, (), jump(s, !s.scc))),
    with(Flow::conditional, SALU_DO(s_cbranch_scc1, branch, (), jump(s, s.scc))),
    with(Flow::conditional, SALU_DO(s_cbranch_vccz, branch, (), jump(s, s.w.vcc() == 0))),
    with(Flow::conditional, SALU_DO(s_cbranch_vccnz, branch, (), jump(s, s.w.vcc() != 0))),
    with(Flow::conditional, SALU_DO(s_cbranch_execz, branch, (), jump(s, s.w.exec() == 0))),
    with(Flow::conditional, SALU_DO(s_cbranch_execnz, branch, (), jump(s, s.w.exec() != 0))),
    with(Flow::conditional, SALU_DO(s_cbranch_cdbgsys, branch, (), jump(s, false))),
    with(Flow::conditional, SALU_DO(s_cbranch_cdbguser, branch, (), jump(s, false))),
    SALU(s_getpc_b64, (), next_pc(s)),
    with(Flow::indirect, salu<[](Scalar &s, u64 a) -> void { s.w.pc = a; }>("s_setpc_b64", ExecClass::branch)),
    with(Flow::indirect_call, salu<[](Scalar &s, u64 a) -> u64 { return s.w.pc = a, next_pc(s); }>("s_swappc_b64", ExecClass::branch)),
    with(Flow::call, salu<[](Scalar &s) -> u64 { return s.w.pc = s.in.target, next_pc(s); }>("s_call_b64", ExecClass::branch)),
    with(Flow::end, SALU_DO(s_endpgm, branch, (), s.w.state = WaveState::ended)),
    with(Flow::end, SALU_DO(s_endpgm_saved, branch, (), s.w.state = WaveState::ended)),
    with(Effect::barrier, SALU_DO(s_barrier, other, (), s.w.state = WaveState::at_barrier)),
    with(Effect::outside, SALU_DO(s_sleep, other, (), s.w.state = WaveState::sleeping)),
    with(Effect::outside, SALU_DO(s_trap, other, (), trap(s))),
    with(Effect::sends, with(Effect::outside, SALU_DO(s_sendmsg, other, (), send_message(s)))),
    with(Effect::outside, SALU_DO(s_sendmsghalt, other, (), send_message(s))),
    with(Effect::sends, SALU(s_sendmsg_rtn_b32, (), static_cast<u32>(message_return(s, sendmsg_number(s.in))))),
    with(Effect::sends, SALU(s_sendmsg_rtn_b64, (), message_return(s, sendmsg_number(s.in)))),
    with(Effect::outside, SALU_DO(s_sethalt, other, (), nothing())),
    SALU_DO(s_setkill, other, (), nothing()),
    with(Effect::outside, SALU_DO(s_wakeup, other, (), nothing())),
    // State.
    SALU(s_getreg_b32, (), read_hardware_register(s.w, s.in.imm)),
    with(Effect::writes_mode, SALU_DO(s_setreg_b32, salu, (u32 d), write_hardware_register(s.w, s.in.imm, d))),
    with(Effect::writes_mode, SALU_DO(s_setreg_imm32_b32, salu, (),
         write_hardware_register(s.w, s.in.imm, static_cast<u32>(s.in.src[2].value)))),
    with(Effect::writes_mode, SALU_DO(s_round_mode, other, (), s.w.set_mode((s.w.mode & ~15u) | (s.in.imm & 15)))),
    with(Effect::writes_mode, SALU_DO(s_denorm_mode, other, (), s.w.set_mode((s.w.mode & ~0xf0u) | (s.in.imm & 15) << 4))),
    with(Effect::writes_mode, SALU_DO(s_set_gpr_idx_on, other, (u32 a), set_index(s, (a & 0xff) | static_cast<u32>(s.in.imm & 15) << 12))),
    with(Effect::writes_mode, SALU_DO(s_set_gpr_idx_off, other, (), s.w.set_gpr_index(0))),
    with(Effect::writes_mode, SALU_DO(s_set_gpr_idx_idx, other, (u32 a), set_index(s, (s.w.gpr_index & ~0xffu) | (a & 0xff)))),
    with(Effect::writes_mode, SALU_DO(s_set_gpr_idx_mode, other, (), set_index(s, (s.w.gpr_index & 0xff) | static_cast<u32>(s.in.imm & 15) << 12))),
    // Waits and hints: execution is in order, and stores are ordered where they are made.
    SALU_DO(s_nop, other, (), nothing()),
    with(Waits::several, SALU_DO(s_waitcnt, other, (), nothing())),
    with(Waits::stores, SALU_DO(s_waitcnt_vscnt, other, (), nothing())),
    with(Waits::vector, SALU_DO(s_waitcnt_vmcnt, other, (), nothing())),
    with(Waits::exports, SALU_DO(s_waitcnt_expcnt, other, (), nothing())),
    with(Waits::scalar, SALU_DO(s_waitcnt_lgkmcnt, other, (), nothing())),
    with(Effect::wait, SALU_DO(s_waitcnt_depctr, other, (), nothing())),
    SALU_DO(s_wait_idle, other, (), nothing()),
    SALU_DO(s_wait_event, other, (), nothing()),
    SALU_DO(s_delay_alu, other, (), nothing()),
    SALU_DO(s_singleuse_vdst, other, (), nothing()), // a register is read once only
    SALU_DO(s_clause, other, (), nothing()),
    SALU_DO(s_inst_prefetch, other, (), nothing()),
    SALU_DO(s_set_inst_prefetch_distance, other, (), nothing()),
    SALU_DO(s_setprio, other, (), nothing()),
    SALU_DO(s_icache_inv, other, (), nothing()),
    SALU_DO(s_incperflevel, other, (), nothing()),
    SALU_DO(s_decperflevel, other, (), nothing()),
    SALU_DO(s_ttracedata, other, (), nothing()),
    SALU_DO(s_ttracedata_imm, other, (), nothing()),
    SALU_DO(s_version, other, (), nothing()),
    SALU_DO(s_code_end, other, (), nothing()),
});
// clang-format on

} // namespace

std::span<const Opcode> salu_opcodes() { return table; }

} // namespace fade::sim
