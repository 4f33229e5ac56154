// Finds the symbol of a kernel in GPU memory. A loaded code object still carries its ELF header and
// dynamic symbols, at the start of the allocation that holds the kernel descriptor. The runtime's
// own kernels (copies, fills) have neither; they are told apart by their code, for where they lie
// differs between runs.
#pragma once

#include "base/address_space.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace fade::sim {

class KernelNames {
public:
  explicit KernelNames(const AddressSpace &memory) : memory_(memory) {}

  // The symbol without ".kd", or "unnamed_" and a number made of the code when there is none. The
  // address in hexadecimal where no kernel can be.
  std::string find(uint64_t kernel_object);

private:
  std::string look_up(uint64_t kernel_object) const;

  const AddressSpace &memory_;
  std::mutex mutex_;
  uint64_t generation_ = 0; // names are true for this state of the address space
  std::unordered_map<uint64_t, std::string> names_;
};

} // namespace fade::sim
