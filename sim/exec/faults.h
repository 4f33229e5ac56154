// What stops a wave for good. Thrown inside the executor, caught by the worker, turned into a DispatchResult.
#pragma once

#include <cstdint>
#include <string>

namespace fade::sim {

struct MemoryFault {
  uint64_t address;
  bool write;
};

struct IllegalInstruction {
  uint64_t pc;
  std::string what; // bytes and mnemonic, as far as known
};

struct TrapRaised {
  uint64_t pc;
  uint32_t code;
};

} // namespace fade::sim
