// A copy of a kernel's code that counts how often given places are executed, and by how many lanes.
//
// Counts are kept in scalar registers that the kernel does not use, from the start of the wave to
// its end, and then added to memory, as twins without a stream do it (fade/block_counts.h). Where
// these do not suffice, lanes of vector registers that are added count. What is inserted preserves
// EXEC, VCC and, where it is read later, SCC.
#pragma once

#include "rewrite/assembler.h"
#include "rewrite/launch.h"
#include "rewrite/program.h"

#include <array>

namespace fade::rewrite {

/// A kernel's copy, ready to be loaded at the address it was made for.
struct CountingCode {
  std::vector<uint8_t> code;                                  ///< its first byte is the entry
  std::array<uint8_t, codeobj::kDescriptorSize> descriptor{}; ///< without the entry's offset
  std::map<uint64_t, uint32_t> counters; ///< by place; places that are never reached have none
  std::map<uint64_t, uint32_t> times;    ///< by place: counters whose entries are clocks
  uint32_t counter_count = 0;            ///< with those of times
  /// The counter of the entry, which nobody adds to: all waves run it once, with all their lanes.
  std::optional<uint32_t> of_entry;
  bool counts_missing = false; ///< counters have what is missing of all waves and lanes
  unsigned registers = 0, vector_registers = 0; ///< that were taken
};

struct CountingRequest {
  const codeobj::CodeObject &object;
  const codeobj::Kernel &kernel;
  const Program &program;
  std::vector<uint64_t> places; ///< addresses of instructions
  uint64_t address = 0;         ///< where the copy will be; a multiple of 256
  bool has_times = false;       ///< clocks that blocks take are added up as well
};

/// An error says why the kernel cannot be copied.
Result<CountingCode> makeCounting(const CountingRequest &request, Assembler &assembler);

} // namespace fade::rewrite
