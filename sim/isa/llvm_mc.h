// The little of LLVM's MC layer that the decoder needs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

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

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fade::sim
