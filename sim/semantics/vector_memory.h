// The parts that make up the table of vector memory instructions.
#pragma once

#include "isa/opcode.h"

#include <span>

namespace fade::sim {

std::span<const Opcode> load_store_opcodes();
std::span<const Opcode> memory_atomic_opcodes();
std::span<const Opcode> typed_buffer_opcodes();
std::span<const Opcode> image_opcodes();

} // namespace fade::sim

// An instruction that exists in the flat, global, scratch and buffer encodings under the same name.
#define FADE_ALL_SPACES(NAME, ...)                                                                 \
  Opcode{"flat_" NAME, __VA_ARGS__}, Opcode{"global_" NAME, __VA_ARGS__},                          \
      Opcode{"scratch_" NAME, __VA_ARGS__}, Opcode {                                               \
    "buffer_" NAME, __VA_ARGS__                                                                    \
  }
