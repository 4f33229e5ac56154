// Finds instructions by name. The tables themselves are where the semantics are.
#pragma once

#include "isa/opcode.h"

#include <span>
#include <string_view>
#include <unordered_map>

namespace fade::sim {

class OpcodeTable {
public:
  // The families must live as long as the table.
  explicit OpcodeTable(std::span<const std::span<const Opcode>> families);

  // By mnemonic without encoding suffix (`v_add_f32`, in any architecture's spelling); null when
  // unknown.
  const Opcode *find(std::string_view mnemonic) const;

private:
  std::unordered_map<std::string_view, const Opcode *> by_name_;
};

} // namespace fade::sim
