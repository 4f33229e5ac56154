// All instructions that the software GPU knows.
#pragma once

#include "isa/opcode_table.h"

#include <span>

namespace fade::sim {

const OpcodeTable &opcodes();
std::span<const std::span<const Opcode>> opcode_families();

// Each family of instructions is a table of its own.
std::span<const Opcode> salu_opcodes();
std::span<const Opcode> salu_float_opcodes();
std::span<const Opcode> valu_integer_opcodes();
std::span<const Opcode> valu_float_opcodes();
std::span<const Opcode> valu_compare_opcodes();
std::span<const Opcode> valu_special_opcodes(); // lanes crossed, moves by index, reads into scalars
std::span<const Opcode> valu_packed_opcodes();
std::span<const Opcode> valu_dual_opcodes();
std::span<const Opcode> valu_cdna4_opcodes();
std::span<const Opcode> salu_gfx12_opcodes();
std::span<const Opcode> valu_gfx12_opcodes();
std::span<const Opcode> memory_gfx12_opcodes();
std::span<const Opcode> matrix_gfx12_opcodes();
std::span<const Opcode> matrix_opcodes();
std::span<const Opcode> matrix_f8f6f4_opcodes();
std::span<const Opcode> scalar_memory_opcodes();
std::span<const Opcode> vector_memory_opcodes();
std::span<const Opcode> lds_opcodes();

} // namespace fade::sim
