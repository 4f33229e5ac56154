// Instructions that LLVM 19's decoder does not know. gfx950 is not among its processors: it is
// decoded as gfx942, of which it is an extension, and what it adds is told by this table.
#pragma once

#include "isa/arch.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace fade::sim {

enum class AddedEncoding : uint8_t { none, vop1, vop2, vop3, vop3p, ds, global, mubuf_lds };

struct AddedOpcode {
  AddedEncoding encoding;
  uint16_t number;
  const char *name;
  uint8_t dst, src[3]; // registers that each operand takes; 0: there is none
};

struct AddedInstruction {
  const AddedOpcode *opcode = nullptr; // null: none of the table
  unsigned size = 0;
  const char *name = "";

  bool is_f8f6f4() const { return std::string_view(name).ends_with("_f8f6f4"); }
};
AddedInstruction find_added(const Arch &arch, std::span<const uint8_t> bytes);

// An instruction of the processor that stands for it, which it does not have itself.
bool is_removed(const Arch &arch, std::string_view mnemonic);
// The processor as which LLVM decodes it.
const char *llvm_processor(const Arch &arch);

} // namespace fade::sim
