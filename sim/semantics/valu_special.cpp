// Vector instructions that are no function of one lane's operands: values cross lanes or go to
// scalar registers, registers are named by an index, or two registers are written.
#include "semantics/valu.h"

#include "semantics/opcodes.h"
#include "wave/faults.h"

#include <algorithm>

namespace fade::sim {
namespace {

// A source that must be one value for the wave: a scalar, or the named lane of a vector register.
u32 lane_value(const Wave &w, const Operand &o, unsigned lane) {
  return o.is_vgpr() ? w.vgpr[o.index][lane] : static_cast<u32>(scalar_value(w, o, Type::u32));
}
u32 uniform_value(const Wave &w, const Operand &o) {
  return lane_value(w, o, w.exec() ? static_cast<unsigned>(std::countr_zero(w.exec())) : 0);
}

void run_readfirstlane(Wave &w, const Instruction &in) {
  w.sgpr[in.dst.index] = uniform_value(w, in.src[0]);
}
void run_readlane(Wave &w, const Instruction &in) {
  const unsigned lane = uniform_value(w, in.src[1]) & (w.lanes - 1);
  w.sgpr[in.dst.index] = lane_value(w, in.src[0], lane);
}
void run_writelane(Wave &w, const Instruction &in) { // EXEC does not matter
  const unsigned lane = uniform_value(w, in.src[1]) & (w.lanes - 1);
  w.vgpr[in.dst.index][lane] = uniform_value(w, in.src[0]);
}

void write_active(const Wave &w, u32 *to, const u32 *from) {
  for (unsigned i = 0; i < w.lanes; i++)
    if (w.exec() >> i & 1) to[i] = from[i];
}

void run_swap(Wave &w, const Instruction &in) {
  u32 *a = w.vgpr[in.dst.index], *b = w.vgpr[in.src[0].index];
  for (unsigned i = 0; i < w.lanes; i++)
    if (w.exec() >> i & 1) std::swap(a[i], b[i]);
}

// Registers chosen by M0: an offset for the source in [9:0] or all of M0, one for the destination
// in [25:16] or all.
constexpr unsigned vector_registers = 256;

u32 *register_at(Wave &w, const Instruction &in, const Operand &o, u32 offset) {
  const u64 index = u64{o.index} + offset;
  if (in.select != LaneSelect::none)
    throw IllegalInstruction{in.pc, "relative register access with DPP or SDWA"};
  if (!o.is_vgpr() || index >= vector_registers)
    throw IllegalInstruction{in.pc, "relative register access beyond v255"};
  return w.vgpr[index];
}
void run_movreld(Wave &w, const Instruction &in) {
  alignas(64) uint32_t room[2][64];
  write_active(w, register_at(w, in, in.dst, w.sgpr[sreg::m0]),
               operand_rows(w, in.src[0], Type::u32, room).lo);
}
void run_movrels(Wave &w, const Instruction &in) {
  write_active(w, w.vgpr[in.dst.index], register_at(w, in, in.src[0], w.sgpr[sreg::m0]));
}
void run_movrelsd(Wave &w, const Instruction &in) {
  const u32 m0 = w.sgpr[sreg::m0];
  write_active(w, register_at(w, in, in.dst, m0), register_at(w, in, in.src[0], m0));
}
void run_movrelsd_2(Wave &w, const Instruction &in) {
  const u32 m0 = w.sgpr[sreg::m0];
  write_active(w, register_at(w, in, in.dst, m0 >> 16 & 0x3ff),
               register_at(w, in, in.src[0], m0 & 0x3ff));
}
void run_swaprel(Wave &w, const Instruction &in) {
  const u32 m0 = w.sgpr[sreg::m0];
  u32 *a = register_at(w, in, in.dst, m0 >> 16 & 0x3ff),
      *b = register_at(w, in, in.src[0], m0 & 0x3ff);
  for (unsigned i = 0; i < w.lanes; i++)
    if (w.exec() >> i & 1) std::swap(a[i], b[i]);
}

// Each lane of a row of 16 reads a lane of the same row, or of its neighbour, as two words of 4-bit
// numbers say. op_sel[0] lets inactive lanes be read, op_sel[1] makes a lane that cannot be read
// count as 0.
void permute_rows(Wave &w, const Instruction &in, unsigned other_row) {
  const bool fetch_inactive = in.op_sel & 1, zero_invalid = in.op_sel & 2;
  const u64 select = u64{uniform_value(w, in.src[2])} << 32 | uniform_value(w, in.src[1]);
  const u64 exec = w.exec();
  u32 old[64];
  std::copy_n(w.vgpr[in.src[0].index], w.lanes, old);
  u32 *to = w.vgpr[in.dst.index];
  for (unsigned i = 0; i < w.lanes; i++) {
    if (!(exec >> i & 1)) continue;
    const unsigned from = ((i & ~15u) ^ other_row) + (select >> 4 * (i & 15) & 15);
    if (fetch_inactive || exec >> from & 1)
      to[i] = old[from];
    else if (zero_invalid)
      to[i] = 0;
  }
}
void run_permlane16(Wave &w, const Instruction &in) { permute_rows(w, in, 0); }
void run_permlanex16(Wave &w, const Instruction &in) { permute_rows(w, in, 16); }
void run_permlane64(Wave &w, const Instruction &in) { // swaps the halves of a wave64
  if (w.lanes != 64) return;
  u32 swapped[64];
  for (unsigned i = 0; i < 64; i++) swapped[i] = w.vgpr[in.src[0].index][i ^ 32];
  write_active(w, w.vgpr[in.dst.index], swapped);
}

// Four masked sums of absolute differences into 32-bit accumulators: the only result of 128 bits.
void run_mqsad_u32(Wave &w, const Instruction &in) {
  alignas(64) uint32_t room_a[2][64], room_b[2][64];
  const Rows a = operand_rows(w, in.src[0], Type::u64, room_a),
             b = operand_rows(w, in.src[1], Type::u32, room_b);
  for (unsigned i = 0; i < w.lanes; i++) {
    if (!(w.exec() >> i & 1)) continue;
    const u64 window = u64{a.hi[i]} << 32 | a.lo[i];
    const u32 reference = b.lo[i];
    u32 sum[4];
    for (unsigned n = 0; n < 4; n++) {
      const Operand &c = in.src[2];
      u64 s =
          c.is_vgpr() ? w.vgpr[c.index + n][i] : static_cast<u32>(scalar_value(w, c, Type::u32));
      for (unsigned k = 0; k < 4; k++) {
        const int x = static_cast<int>(window >> 8 * (n + k) & 0xff),
                  y = static_cast<int>(reference >> 8 * k & 0xff);
        s += y == 0 ? 0 : static_cast<u32>(x > y ? x - y : y - x);
      }
      sum[n] = in.clamp && s > 0xffffffff ? 0xffffffff : static_cast<u32>(s);
    }
    for (unsigned n = 0; n < 4; n++) w.vgpr[in.dst.index + n][i] = sum[n];
  }
}

void run_nop(Wave &, const Instruction &) {}

constexpr Opcode special(const char *name, Handler run) { return {name, run, ExecClass::valu}; }

} // namespace

std::span<const Opcode> valu_special_opcodes() {
  static constexpr Opcode table[] = {
      special("v_nop", run_nop),
      special("v_pipeflush", run_nop),
      special("v_clrexcp", run_nop),
      with(Form::scalar_result, special("v_readfirstlane_b32", run_readfirstlane)),
      with(Form::scalar_result, special("v_readlane_b32", run_readlane)),
      special("v_writelane_b32", run_writelane),
      special("v_swap_b32", run_swap),
      special("v_movreld_b32", run_movreld),
      special("v_movrels_b32", run_movrels),
      special("v_movrelsd_b32", run_movrelsd),
      special("v_movrelsd_2_b32", run_movrelsd_2),
      special("v_swaprel_b32", run_swaprel),
      special("v_permlane16_b32", run_permlane16),
      special("v_permlanex16_b32", run_permlanex16),
      special("v_permlane64_b32", run_permlane64),
      special("v_mqsad_u32_u8", run_mqsad_u32),
      with(Form::accumulator_read, VALU(v_accvgpr_read_b32, (u32 a), a)),
      with(Form::accumulator_write, VALU(v_accvgpr_write_b32, (u32 a), a)),
      with(Form::accumulator_move, VALU(v_accvgpr_mov_b32, (u32 a), a)),
  };
  return table;
}

} // namespace fade::sim
