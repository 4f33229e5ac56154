// What an instruction is: its name, what runs it, and what must be known about it to decode and
// schedule it.
#pragma once

#include "isa/instruction.h"

#include <cstdint>

namespace fade::sim {

constexpr bool is_float(Type t) { return t == Type::f16 || t == Type::f32 || t == Type::f64; }
constexpr bool is_64(Type t) { return t >= Type::b64 && t <= Type::f64; }
constexpr bool is_16(Type t) { return t >= Type::b16 && t <= Type::f16; }

// Where control goes behind an instruction.
enum class Flow : uint8_t {
  next,          // to the next one
  branch,        // to Instruction::target
  conditional,   // to the target or to the next one
  call,          // to the target, and from there back
  indirect,      // to where a register says
  indirect_call, // the same, and from there back
  end,           // nowhere: the wave has ended
};
constexpr bool has_target(Flow f) {
  return f == Flow::branch || f == Flow::conditional || f == Flow::call;
}
constexpr bool reaches_next(Flow f) {
  return f == Flow::next || f == Flow::conditional || f == Flow::call || f == Flow::indirect_call;
}

// What an instruction does besides its result and the flow of control.
enum class Effect : uint16_t {
  barrier = 1 << 0,        // the wave arrives where those of its workgroup meet
  wait = 1 << 1,           // waits for memory accesses: s_waitcnt
  writes_exec = 1 << 2,    // changes EXEC, whatever its destination is
  writes_mode = 1 << 3,    // changes MODE, or how registers are indexed
  outside = 1 << 4,        // the wave stops for a while, or is heard of outside
  invalidates = 1 << 5,    // what caches hold: loads behind it see what others wrote
  writes_back = 1 << 6,    // what caches hold: others see what was stored before it
  reaches_device = 1 << 7, // of those two: beyond the workgroup's own cache, on gfx10 and later
  sends = 1 << 8,          // a message, whose end is waited for
  global_barrier = 1 << 9, // waits for waves of other workgroups
  crosses_lanes = 1 << 10, // a lane's result comes from another one, or is 0 if that is not active
};

// The counter that a wait is for. gfx12 has more of them: what it loads from memory and LDS, scalar
// loads, samples and rays are counted apart.
enum class Waits : uint8_t {
  nothing,
  several,
  vector,
  stores,
  scalar,
  exports,
  lds,
  vector_and_lds,
  stores_and_lds,
  samples,
};

// What the encoding leaves unsaid about the operands.
enum class Form : uint8_t {
  usual,
  literal_in_middle,  // v_fmamk: a literal as the second of three sources
  literal_at_end,     // v_fmaak: as the third
  unsigned_immediate, // s_cmpk_*_u32: the 16-bit constant is not extended with its sign
  scalar_result,      // v_readlane: a vector instruction that writes a scalar register
  two_addresses,      // ds_read2 and its like: two offsets of 8 bits
  accumulator_read,   // v_accvgpr_*: which side is the accumulator
  accumulator_write,
  accumulator_move,
  matrix,        // v_mfma: modifier bits have another meaning, registers may be accumulators
  sparse_matrix, // v_smfmac: the same, with positions in the third source
};

struct LaneCall;
using LaneFunction = void (*)(const LaneCall &);

struct Opcode {
  const char *name;
  Handler run;
  ExecClass cls;
  Handler run_rows = nullptr;         // VALU: for plain instructions, see Instruction::plain, whose
                                      // sources are registers and constants
  LaneFunction lanes = nullptr;       // VALU: the operation, on all lanes
  LaneFunction lanes_clamp = nullptr; // the same with the clamp bit, for integers
  uint8_t sources = 0;                // VALU: how many, with their types
  Type src[4] = {};
  Type dst = Type::none;
  bool flag_out = false;       // also writes a mask
  bool reads_dst = false;      // the last source is the destination register (v_fmac)
  bool preserves_high = false; // 16-bit result leaves the upper half alone, even on gfx9
  Flow flow = Flow::next;
  uint16_t effects = 0;          // bits of Effect
  LdsUse lds_use = LdsUse::none; // as far as the opcode alone says so
  Form form = Form::usual;
  Waits waits = Waits::nothing;

  constexpr bool has(Effect e) const { return effects & static_cast<uint16_t>(e); }
};

// An opcode with one property more: with(Flow::branch, SALU_DO(s_branch, ...)).
constexpr Opcode with(Flow flow, Opcode o) {
  o.flow = flow;
  return o;
}
constexpr Opcode with(Effect effect, Opcode o) {
  o.effects |= static_cast<uint16_t>(effect);
  return o;
}
constexpr Opcode with(LdsUse use, Opcode o) {
  o.lds_use = use;
  return o;
}
constexpr Opcode with(Form form, Opcode o) {
  o.form = form;
  return o;
}
constexpr Opcode with(Waits waits, Opcode o) {
  o.effects |= static_cast<uint16_t>(Effect::wait);
  o.waits = waits;
  return o;
}

} // namespace fade::sim
