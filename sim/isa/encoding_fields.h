// Reads the fields of an instruction word. One function per encoding; the differences between
// architectures are here.
#pragma once

#include "isa/arch.h"
#include "isa/instruction.h"
#include "isa/opcode_table.h"

#include <cstdint>
#include <span>

namespace fade::sim {

class FieldReader {
public:
  FieldReader(const Arch &arch, unsigned lanes, std::span<const uint8_t> bytes);

  bool is_dual() const; // VOPD: two operations in one
  // Fills in what the opcode (already set) leaves open. False when the encoding is not understood.
  bool read(Instruction &in);
  // gfx950: the scales of the matrix instruction that follows.
  void read_scales(Instruction &in) const;
  bool read_dual(Instruction &x, Instruction &y, const OpcodeTable &opcodes);

private:
  Encoding encoding() const;
  uint64_t field(unsigned low, unsigned count) const {
    return word_ >> low & ((1ull << count) - 1);
  }
  bool bit(unsigned n) const { return word_ >> n & 1; }
  unsigned scalar_number(unsigned encoded) const;
  Operand scalar(unsigned encoded) const;
  Operand source(unsigned encoded) const;
  Operand vector(unsigned number) const;
  static Operand none() { return {}; }
  Operand literal_operand() const;

  void read_sop(Instruction &in) const;
  void read_smem(Instruction &in) const;
  void read_vop12c(Instruction &in) const;
  void read_vop3(Instruction &in) const;
  bool read_vop3p(Instruction &in) const;
  void read_sdwa(Instruction &in) const;
  void read_dpp(Instruction &in, unsigned dword, bool dpp8) const;
  void read_ds(Instruction &in) const;
  void read_flat(Instruction &in) const;
  void read_mubuf(Instruction &in) const;
  void read_mtbuf(Instruction &in) const;
  void read_mimg(Instruction &in) const;
  // gfx12's own (encoding_fields_gfx12.cpp).
  Encoding gfx12_encoding() const;
  void read_smem12(Instruction &in) const;
  void read_flat12(Instruction &in) const;
  void read_buffer12(Instruction &in) const;
  void read_scope(Instruction &in, unsigned scope, unsigned hint) const;
  static void select_small_float(Instruction &in);
  void place_sources(Instruction &in, const Operand *given, unsigned count) const;
  void place_vector_result(Instruction &in, unsigned number) const;
  void split_half_registers(Instruction &in) const;

  const Arch &arch_;
  [[maybe_unused]] unsigned lanes_;
  unsigned dwords_;
  uint32_t dword_[5] = {};
  uint64_t word_;
};

} // namespace fade::sim
