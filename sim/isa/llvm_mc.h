// The little of LLVM's MC layer that the decoder needs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fade::sim {

class LlvmDisassembler {
public:
  // `features` as LLVM's -mattr, such as "+real-true16".
  LlvmDisassembler(const char *cpu, bool wave32, const char *features = "");
  ~LlvmDisassembler();

  struct Answer {
    unsigned size = 0; // 0: not an instruction
    std::string mnemonic;
    std::string text; // only when asked for
  };
  Answer disassemble(std::span<const uint8_t> bytes, uint64_t pc, bool with_text);

  // Names of the registers that an instruction reads and writes, as LLVM has them: "VGPR4_VGPR5".
  // Those that the instruction names come first, in the order of its operands.
  struct Registers {
    std::vector<std::string> reads, writes;
    size_t named_reads = 0;
    unsigned size = 0;   // of the instruction in bytes; 0: not one
    unsigned opcode = 0; // LLVM's number
    unsigned cycles = 0; // until its result can be used, as LLVM's model of the processor has it
    std::string mnemonic;
    bool writes_part = false; // of its register: said by the table of what LLVM does not know
  };
  Registers registers(std::span<const uint8_t> bytes, uint64_t pc);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fade::sim
