// What a dispatch executed, in numbers.
#pragma once

#include "isa/instruction.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace fade::sim {

// The counts depend only on the program and its data, never on timing, as
// long as the kernel itself does not.
struct DispatchStats {
  struct Count {
    uint64_t waves = 0; // instructions, one per wave
    uint64_t lanes = 0; // active lanes summed
  };
  std::array<Count, static_cast<size_t>(ExecClass::count)> classes{};
  uint64_t waves = 0;
  uint64_t global_bytes_read = 0, global_bytes_written = 0;
  uint64_t lds_bytes_read = 0, lds_bytes_written = 0;
  uint64_t barriers = 0;
  uint64_t l2_write_backs = 0; // instructions that write back all of an L2
  uint64_t compiled = 0;       // instructions, one per wave, that ran as the host's own code
  double seconds = 0;
  unsigned workers = 0;

  void add(const DispatchStats &other);
  Count total() const;
};

} // namespace fade::sim
