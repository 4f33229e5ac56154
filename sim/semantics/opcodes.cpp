#include "semantics/opcodes.h"

namespace fade::sim {

const OpcodeTable &opcodes() {
  static const OpcodeTable table{
      salu_opcodes(),         valu_integer_opcodes(), valu_float_opcodes(),
      valu_compare_opcodes(), valu_special_opcodes(), valu_packed_opcodes(),
      valu_dual_opcodes(),    matrix_opcodes(),       scalar_memory_opcodes(),
      vector_memory_opcodes(), lds_opcodes()};
  return table;
}

} // namespace fade::sim
