// Text to machine code, by LLVM's assembler: what is inserted into kernels is written as text.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fade::rewrite {

class Assembler {
public:
  Assembler(const std::string &processor, bool is_wave32);
  ~Assembler();

  /// The bytes of one instruction per line. Throws std::runtime_error if a line is none: lines are
  /// this program's own.
  std::vector<uint8_t> operator()(const std::vector<std::string> &lines);

private:
  struct Llvm;
  std::vector<uint8_t> assemble(const std::string &line);

  std::unique_ptr<Llvm> llvm_;
  std::map<std::string, std::vector<uint8_t>> known_;
};

} // namespace fade::rewrite
