// What the interpreter and compiled code say to each other, and what the compiler is asked for.
//
// Code that has become hot is compiled to the host's code, region by region: some segments that
// lead to each other. The compiler is a library of its own (sim/jit), loaded when something is hot.
// Between two segments all state is where the interpreter has it, so each may go on where the other
// has stopped.
#pragma once

#include "isa/instruction.h"
#include "wave/wave.h"

#include <cstddef>
#include <cstdint>
#include <exception>

namespace fade::sim {

struct Segment;

// Where compiled code leaves what it says besides its result.
struct JitFrame {
  const Instruction **current = nullptr; // the instruction whose handler it has called last
  std::exception_ptr error;              // what that handler threw
};

// Runs from segment `entry` of its region on, whose checks of LDS the caller has made. `done` is
// how many instructions the wave has executed; returns how many when it stops: because `budget` is
// reached, a wave changes its state, control leaves the region, or a handler has thrown.
using JitFunction = uint64_t (*)(Wave &, JitFrame &, uint64_t done, uint64_t budget,
                                 uint32_t entry);

struct JitEntry {
  JitFunction run;
  uint32_t number;
};

// Both sides must have been compiled from the same headers: to be counted up when something changes
// that sizes do not show.
constexpr uint64_t jit_version = uint64_t{1} << 48 | sizeof(Wave) << 24 | sizeof(Instruction);

struct JitRequest {
  uint64_t version = jit_version;
  const Segment *const *segments = nullptr;
  uint32_t count = 0;
  uint32_t lanes = 64;
  const Arch *arch = nullptr;
  // Runs an instruction's handler; true if it has thrown.
  bool (*call)(JitFrame &, Wave &, const Instruction &) = nullptr;
  uint64_t (*constant)(const Operand &, Type) = nullptr;
  void (*expand_exec)(Wave &) = nullptr;
};

struct JitResult {
  JitFunction run = nullptr; // null: it could not be compiled
  void *memory = nullptr;    // mapped for the code, which nothing else refers to
  size_t size = 0;
  uint32_t translated = 0, called = 0; // instructions with and without code of their own
};

// The library's only function, by its name there.
extern "C" using JitCompile = void(const JitRequest &, JitResult &);
constexpr const char jit_compile_name[] = "fade_gpu_jit_compile";
constexpr const char jit_library_name[] = "libfadegpu-jit.so";

} // namespace fade::sim
