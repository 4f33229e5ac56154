// Operand fetch, modifiers, EXEC and write-back of vector instructions.
//
// Most instructions have no modifiers and run with the default MODE: their lane loop reads
// registers where they are and, with all lanes active, writes the result in place. All others go
// the long way: each source is staged into a buffer that has the modifiers applied, the same lane
// loop runs, and the result is modified and merged.
#include "semantics/valu.h"

#include "semantics/constants.h"
#include "semantics/dpp.h"
#include "semantics/rounding.h"

namespace fade::sim {

// Denormals as MODE treats them.
bool flushes(const Wave &w, Type t, bool input) {
  if (!is_float(t)) return false;
  unsigned field = t == Type::f32 ? w.mode >> 4 & 3 : w.mode >> 6 & 3;
  return !(field & (input ? 1 : 2));
}

void flush_denormals(uint32_t *lo, uint32_t *hi, Type t, unsigned lanes) {
  for (unsigned i = 0; i < lanes; i++) {
    if (t == Type::f32)
      lo[i] = lo[i] & 0x7f800000 ? lo[i] : lo[i] & 0x80000000;
    else if (t == Type::f16)
      lo[i] = lo[i] & 0x7c00 ? lo[i] : lo[i] & ~0x3ffu;
    else if (!(hi[i] & 0x7ff00000))
      lo[i] = 0, hi[i] &= 0x80000000;
  }
}

namespace {

using Room = uint32_t[2][64];

void fill(uint32_t *row, uint32_t value, unsigned lanes) {
  for (unsigned i = 0; i < (lanes & 96); i++) row[i] = value;
}

// Offset added to a vector register number by s_set_gpr_idx_on; `part` is the enable bit: 0-2
// sources, 3 destination.
unsigned gpr_index(const Wave &w, unsigned part) {
  return w.gpr_index >> (12 + part) & 1 ? w.gpr_index & 0xff : 0;
}

uint32_t sign_bit(Type t) { return is_16(t) ? 0x8000u : 0x80000000u; }

void apply_sign(uint32_t *row, Type type, bool abs, bool neg, unsigned lanes) {
  uint32_t sign = sign_bit(type);
  for (unsigned i = 0; i < lanes; i++) {
    uint32_t v = abs ? row[i] & ~sign : row[i];
    row[i] = neg ? v ^ sign : v;
  }
}

uint32_t select_part(uint32_t v, unsigned sel, bool sext) {
  if (sel < 4)
    return sext ? static_cast<u32>(static_cast<int8_t>(v >> 8 * sel)) : v >> 8 * sel & 0xff;
  if (sel < 6)
    return sext ? static_cast<u32>(static_cast<i16>(v >> 16 * (sel - 4)))
                : v >> 16 * (sel - 4) & 0xffff;
  return v;
}

// A source with all its modifiers applied, in `room`. Lanes that may not be written are taken out
// of `writable`.
Rows stage(Wave &w, const Instruction &in, unsigned s, Room &room, uint64_t &writable) {
  const Type type = in.opcode->src[s];
  if (type == Type::mask) return operand_rows(w, in.src[s], type, room);
  Operand o = in.src[s];
  if (o.is_vgpr() && w.gpr_index) o.index += gpr_index(w, s);
  Rows from = operand_rows(w, o, type, room);
  if (from.lo != room[0]) std::memcpy(room[0], from.lo, 4 * w.lanes);
  if (is_64(type) && from.hi != room[1]) std::memcpy(room[1], from.hi, 4 * w.lanes);

  if (s == 0 && (in.select == LaneSelect::dpp16 || in.select == LaneSelect::dpp8)) {
    DppPlan plan = dpp_plan(w, in);
    writable &= plan.writable;
    dpp_permute(plan, room[0], w.lanes);
    if (is_64(type)) dpp_permute(plan, room[1], w.lanes);
  }
  if (in.select == LaneSelect::sdwa)
    for (unsigned i = 0; i < w.lanes; i++) room[0][i] = select_part(room[0][i], o.sdwa_sel, o.sext);
  if (is_16(type) && in.op_sel >> s & 1)
    for (unsigned i = 0; i < w.lanes; i++) room[0][i] >>= 16;
  if (o.abs || o.neg) apply_sign(is_64(type) ? room[1] : room[0], type, o.abs, o.neg, w.lanes);
  if (flushes(w, type, true)) flush_denormals(room[0], room[1], type, w.lanes);
  return {room[0], room[1]};
}

template <class T> T modified(T v, unsigned omod, bool clamp, bool nan_to_zero) {
  if (omod) v = v * (omod == 1 ? T(2) : omod == 2 ? T(4) : T(0.5)) + T(0); // a zero loses its sign
  if (clamp) {
    if (is_nan(v)) return nan_to_zero ? T(0) : v;
    v = v > 0 ? (v < 1 ? v : T(1)) : T(0);
  }
  return v;
}

// Output modifiers, in place.
void modify_result(const Wave &w, const Instruction &in, uint32_t *lo, uint32_t *hi) {
  const Type t = in.opcode->dst;
  if (!is_float(t)) return;
  const bool gfx12 = w.arch->gfx12;
  const bool nan_to_zero = gfx12 || w.mode >> 8 & 1; // DX10_CLAMP
  // The output multiplier works only where neither IEEE rules nor denormal results are asked for;
  // on gfx12 always, and then there are no denormal results.
  const bool multiplies = gfx12 || (!w.machine.ieee && flushes(w, t, false));
  const unsigned omod = multiplies ? in.omod : 0;
  if (omod || in.clamp)
    for (unsigned i = 0; i < w.lanes; i++) {
      if (t == Type::f32) {
        lo[i] = bits(modified(as_f32(lo[i]), omod, in.clamp, nan_to_zero));
      } else if (t == Type::f16) {
        lo[i] = to_f16(modified(to_f32(f16{static_cast<u16>(lo[i])}), omod, in.clamp, nan_to_zero))
                    .bits;
      } else {
        u64 b = bits(
            modified(as_f64(static_cast<u64>(hi[i]) << 32 | lo[i]), omod, in.clamp, nan_to_zero));
        lo[i] = static_cast<u32>(b), hi[i] = static_cast<u32>(b >> 32);
      }
    }
  if (flushes(w, t, false) || (gfx12 && omod)) flush_denormals(lo, hi, t, w.lanes);
}

// Where the result goes inside the destination word: SDWA's byte or word, the half of a 16-bit
// result.
void place_result(const Wave &w, const Instruction &in, uint32_t *lo, const uint32_t *old) {
  const Type t = in.opcode->dst;
  if (in.select == LaneSelect::sdwa && in.dst_sel < 6) {
    const bool byte = in.dst_sel < 4;
    const unsigned shift = byte ? 8 * in.dst_sel : 16 * (in.dst_sel - 4);
    const uint32_t mask = (byte ? 0xffu : 0xffffu) << shift;
    for (unsigned i = 0; i < w.lanes; i++) {
      uint32_t v = lo[i] << shift & mask;
      if (in.dst_unused == 2)
        v |= old[i] & ~mask;
      else if (in.dst_unused == 1)
        v = static_cast<u32>(byte ? static_cast<i32>(static_cast<int8_t>(lo[i]))
                                  : static_cast<i32>(static_cast<i16>(lo[i])))
            << shift;
      lo[i] = v;
    }
    return;
  }
  if (!is_16(t)) return;
  if (in.op_sel & 8) {
    for (unsigned i = 0; i < w.lanes; i++) lo[i] = lo[i] << 16 | (old[i] & 0xffff);
  } else if (keeps_high_half(*w.arch, in)) {
    for (unsigned i = 0; i < w.lanes; i++) lo[i] = (lo[i] & 0xffff) | (old[i] & 0xffff0000);
  }
}

LaneFunction lane_function(const Instruction &in) {
  return in.clamp && in.opcode->lanes_clamp ? in.opcode->lanes_clamp : in.opcode->lanes;
}

// Stages all sources and runs the lane loop; the result is in `result` and `flags`. Returns the
// lanes to be written.
uint64_t run_staged(Wave &w, const Instruction &in, Room &result, uint64_t &flags) {
  alignas(64) Room room[4];
  uint64_t writable = w.exec();
  LaneCall call{};
  call.machine = &w.machine;
  for (unsigned s = 0; s < in.opcode->sources; s++)
    call.src[s] = stage(w, in, s, room[s], writable);
  call.lo = result[0], call.hi = result[1], call.flags = &flags, call.lanes = w.lanes;
  RoundingScope rounding(w.mode, in.opcode->dst, in.opcode->src[0]);
  lane_function(in)(call);
  return writable;
}

void run_modified(Wave &w, const Instruction &in) {
  alignas(64) Room result;
  uint64_t flags = 0;
  const uint64_t writable = compute_result(w, in, result, flags);
  uint32_t *to = w.vgpr[in.dst.index + gpr_index(w, 3)];
  place_result(w, in, result[0], to);
  alignas(64) uint32_t mask[64];
  expand_mask(writable, mask, w.lanes);
  blend(to, result[0], mask, w.lanes);
  if (is_64(in.opcode->dst)) blend(to + 64, result[1], mask, w.lanes);
  if (in.opcode->flag_out) w.set_mask_register(in.sdst.index, flags & writable);
}

// The call of a plain instruction, without its result.
inline void fetch_plain(Wave &w, const Instruction &in, Room *room, LaneCall &call) {
  const Opcode &op = *in.opcode;
  call.machine = &w.machine, call.lanes = w.lanes;
  for (unsigned s = 0; s < op.sources; s++)
    call.src[s] = operand_rows(w, in.src[s], op.src[s], room[s]);
}

void run_plain(Wave &w, const Instruction &in) {
  const Opcode &op = *in.opcode;
  alignas(64) Room room[4];
  uint64_t flags = 0;
  LaneCall call;
  fetch_plain(w, in, room, call);
  call.flags = &flags;
  if (w.all_active) {
    call.lo = w.vgpr[in.dst.index], call.hi = call.lo + 64;
    op.lanes(call);
  } else {
    merge_active(w, in, call);
  }
  if (op.flag_out) w.set_mask_register(in.sdst.index, flags & w.exec());
}

// A lane that DPP leaves out counts as inactive.
uint64_t compare_modified(Wave &w, const Instruction &in) {
  alignas(64) Room unused;
  uint64_t flags = 0;
  const uint64_t written = run_staged(w, in, unused, flags);
  return flags & written;
}

uint64_t compare(Wave &w, const Instruction &in) {
  if (!in.plain || !w.plain_mode) [[unlikely]]
    return compare_modified(w, in);
  alignas(64) Room room[3];
  uint64_t flags = 0;
  LaneCall call;
  fetch_plain(w, in, room, call);
  call.flags = &flags;
  in.opcode->lanes(call);
  return flags & w.exec();
}

} // namespace

void merge_active(Wave &w, const Instruction &in, LaneCall &call) {
  alignas(64) Room result;
  call.lo = result[0], call.hi = result[1];
  in.opcode->lanes(call);
  uint32_t *to = w.vgpr[in.dst.index];
  blend(to, result[0], w.active(), w.lanes);
  if (is_64(in.opcode->dst)) blend(to + 64, result[1], w.active(), w.lanes);
}

uint64_t compute_result(Wave &w, const Instruction &in, uint32_t (&result)[2][64],
                        uint64_t &flags) {
  const uint64_t writable = run_staged(w, in, result, flags);
  modify_result(w, in, result[0], result[1]);
  return writable;
}

Rows scalar_rows(Wave &w, const Operand &o, Type type, uint32_t (*room)[64]) {
  if (o.kind == Operand::Kind::sgpr && type != Type::mask && !is_64(type)) { // most
    fill(room[0], o.index == sreg::null ? 0 : w.sgpr[o.index], w.lanes);
    return {room[0], room[1]};
  }
  if (type == Type::mask) {
    uint64_t mask =
        o.kind == Operand::Kind::sgpr ? w.mask_register(o.index) : scalar_value(w, o, Type::u64);
    expand_mask(mask, room[0], w.lanes);
    return {room[0], room[1]};
  }
  uint64_t v = scalar_value(w, o, type);
  fill(room[0], static_cast<u32>(v), w.lanes);
  if (is_64(type)) fill(room[1], static_cast<u32>(v >> 32), w.lanes);
  return {room[0], room[1]};
}

uint64_t scalar_value(const Wave &w, const Operand &o, Type type) {
  switch (o.kind) {
  case Operand::Kind::sgpr:
    if (o.index == sreg::null) return 0;
    return is_64(type) ? w.sgpr64(o.index) : w.sgpr[o.index];
  case Operand::Kind::constant: return constant_bits(o, type);
  case Operand::Kind::special: return special_value(w, o.index, is_64(type));
  default: return 0;
  }
}

void run_valu(Wave &w, const Instruction &in) {
  if (!in.plain || !w.plain_mode) [[unlikely]]
    return run_modified(w, in);
  run_plain(w, in);
}

void run_compare(Wave &w, const Instruction &in) {
  w.set_mask_register(in.sdst.index, compare(w, in));
}

void run_compare_exec(Wave &w, const Instruction &in) {
  const uint64_t mask = compare(w, in);
  if (in.sdst.kind == Operand::Kind::sgpr) w.set_mask_register(in.sdst.index, mask);
  w.set_exec(mask);
}

} // namespace fade::sim
