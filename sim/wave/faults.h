// What stops a wave for good. Thrown inside the executor, caught by the worker, turned into a
// DispatchResult.
#pragma once

#include <cstdint>
#include <string>

namespace fade::sim {

struct MemoryFault {
  uint64_t address;
  bool write;
  bool fetch = false; // there is no memory where the next instruction should be
};

// Atomics are never split: at other addresses than multiples of their size they are a memory
// violation.
struct MisalignedAtomic {
  uint64_t address;
};

// An atomic on host memory, where PCIe has none.
struct HostAtomic {
  uint64_t address;
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
