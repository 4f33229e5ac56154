// Machine code to Instruction. LLVM says which instruction the bytes are and how long; the fields
// are read here.
#pragma once

#include "isa/arch.h"
#include "isa/hazards.h"
#include "isa/instruction.h"
#include "isa/opcode_table.h"
#include "isa/register_use.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

namespace fade::sim {

class Decoder {
public:
  Decoder(const Arch &arch, unsigned wave_lanes, const OpcodeTable &opcodes);
  ~Decoder();

  struct Result {
    bool valid = false; // the bytes are an instruction of this architecture
    bool known = false; // ... and the table has semantics for it; else `instruction` has
                        // only pc and size
    Instruction instruction;
    std::string mnemonic; // as LLVM spells it, with encoding suffix
  };
  // `bytes` starts at the instruction and may hold more. The second half of a dual instruction and
  // the rows of constants are kept by the decoder.
  Result decode(std::span<const uint8_t> bytes, uint64_t pc);

  // The whole instruction as text.
  std::string text(std::span<const uint8_t> bytes, uint64_t pc);

  // The registers it uses, for observers.
  RegisterUse registers(std::span<const uint8_t> bytes, uint64_t pc);
  HazardUse hazard_use(const HazardTable &table, std::span<const uint8_t> bytes, uint64_t pc);

private:
  struct Llvm;
  std::unique_ptr<Llvm> llvm_;
  const Arch &arch_;
  unsigned lanes_;
  const OpcodeTable &opcodes_;
  void repeat_constants(Instruction &in);

  std::deque<Instruction> paired_;
  std::unordered_map<uint64_t, std::array<uint32_t, 128>> rows_; // of constants, see Operand::rows
};

} // namespace fade::sim
