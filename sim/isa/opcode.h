// What an instruction is: its name, what runs it, and what must be known about it to decode and
// schedule it.
#pragma once

#include "isa/instruction.h"

#include <cstdint>

namespace fade::sim {

// Type of an operand, as the instruction reads or writes it.
enum class Type : uint8_t {
  none,
  b16,
  i16,
  u16,
  f16,
  b32,
  i32,
  u32,
  f32,
  b64,
  i64,
  u64,
  f64,
  pk16, // two 16-bit values
  mask, // one bit per lane, in a scalar register (pair)
};

constexpr bool is_float(Type t) { return t == Type::f16 || t == Type::f32 || t == Type::f64; }
constexpr bool is_64(Type t) { return t >= Type::b64 && t <= Type::f64; }
constexpr bool is_16(Type t) { return t >= Type::b16 && t <= Type::f16; }

struct LaneCall;
using LaneFunction = void (*)(const LaneCall &);

struct Opcode {
  const char *name;
  Handler run;
  ExecClass cls;
  LaneFunction lanes = nullptr;       // VALU: the operation, on all lanes
  LaneFunction lanes_clamp = nullptr; // the same with the clamp bit, for integers
  uint8_t sources = 0;                // VALU: how many, with their types
  Type src[4] = {};
  Type dst = Type::none;
  bool flag_out = false;       // also writes a mask
  bool reads_dst = false;      // the last source is the destination register (v_fmac)
  bool preserves_high = false; // 16-bit result leaves the upper half alone, even on gfx9
};

} // namespace fade::sim
