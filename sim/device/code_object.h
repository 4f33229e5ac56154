// A code object loaded into GPU memory without a driver: what the tests and benchmarks of the
// device core run.
#pragma once

#include "base/address_space.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace fade::sim {

class CodeObject {
public:
  // Maps the image at `va`. Throws std::runtime_error that says what is wrong with the bytes.
  CodeObject(std::span<const uint8_t> elf, AddressSpace &memory, uint64_t va);
  ~CodeObject();
  CodeObject(const CodeObject &) = delete;
  CodeObject &operator=(const CodeObject &) = delete;

  // Address of a symbol, such as "vadd.kd"; 0 when there is none.
  uint64_t symbol(const std::string &name) const;
  const std::map<std::string, uint64_t> &symbols() const { return symbols_; }

private:
  void load(std::span<const uint8_t> elf);

  AddressSpace &memory_;
  uint64_t va_, size_ = 0;
  std::unique_ptr<std::byte[]> image_;
  std::map<std::string, uint64_t> symbols_;
};

} // namespace fade::sim
