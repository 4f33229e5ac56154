#include "semantics/opcodes.h"

#include <array>

namespace fade::sim {

std::span<const std::span<const Opcode>> opcode_families() {
  static const auto families = std::to_array<std::span<const Opcode>>(
      {salu_opcodes(), salu_float_opcodes(), valu_integer_opcodes(), valu_float_opcodes(),
       valu_compare_opcodes(), valu_special_opcodes(), valu_packed_opcodes(), valu_dual_opcodes(),
       valu_cdna4_opcodes(), matrix_opcodes(), matrix_f8f6f4_opcodes(), scalar_memory_opcodes(),
       vector_memory_opcodes(), lds_opcodes(), salu_gfx12_opcodes(), valu_gfx12_opcodes(),
       memory_gfx12_opcodes(), matrix_gfx12_opcodes()});
  return families;
}

const OpcodeTable &opcodes() {
  static const OpcodeTable table(opcode_families());
  return table;
}

} // namespace fade::sim
