// Assembles single instructions with LLVM's MC layer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fade::sim {

class Assembler {
public:
  Assembler(const std::string &cpu, bool wave32);
  ~Assembler();

  // Machine code of one line; throws std::runtime_error with LLVM's message when it is not valid.
  std::vector<uint8_t> assemble(const std::string &line);

private:
  std::string cpu_;
  bool wave32_;
};

} // namespace fade::sim
