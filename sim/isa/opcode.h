// The table of instructions: a name, what runs it, and what the decoder must know about its
// operands.
#pragma once

#include "isa/instruction.h"

#include <span>
#include <string_view>

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

// Each family of instructions is a table of its own.
std::span<const Opcode> salu_opcodes();
std::span<const Opcode> valu_integer_opcodes();
std::span<const Opcode> valu_float_opcodes();
std::span<const Opcode> valu_compare_opcodes();
std::span<const Opcode> valu_special_opcodes(); // lanes crossed, moves by index, reads into scalars
std::span<const Opcode> valu_packed_opcodes();
std::span<const Opcode> valu_dual_opcodes();
std::span<const Opcode> matrix_opcodes();
std::span<const Opcode> scalar_memory_opcodes();
std::span<const Opcode> vector_memory_opcodes();
std::span<const Opcode> lds_opcodes();

// By mnemonic without encoding suffix (`v_add_f32`, in any architecture's spelling); null when
// unknown.
const Opcode *find_opcode(std::string_view mnemonic);

} // namespace fade::sim
