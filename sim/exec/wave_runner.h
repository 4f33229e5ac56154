// Runs one wave, segment by segment.
#pragma once

#include "base/trace.h"
#include "exec/program.h"
#include "wave/wave.h"

#include <array>

namespace fade::sim {

class WaveRunner {
public:
  // Must be called before waves of a program run: segments found in another one are forgotten,
  // which may be gone by now.
  void use(const Program &program, JitUse jit = JitUse::off);

  // Runs until the wave stops by itself or has executed about `budget` instructions; returns how
  // many. Throws one of faults.h; `current()` is then the instruction that did it.
  uint64_t run(Wave &w, Program &program, uint64_t budget);

  const Instruction *current() const { return current_; }

private:
  // What an observer is told of.
  enum class Told { nothing, segments, instructions };
  template <Told told> uint64_t run_segments(Wave &w, Program &program, uint64_t budget);
  const Segment *find(Program &program, uint64_t pc);
  const Segment *follow(const Segment &from, Program &program, uint64_t pc);
  bool runs_compiled(Wave &w, Program &program, const Segment &s, uint64_t &done, uint64_t budget);
  void warm(Program &program, const Segment &s, uint64_t interpreted);

  std::array<const Segment *, 1024> found_{}; // by pc
  uint64_t program_ = 0;                      // number of the one they belong to
  const Instruction *current_ = nullptr;
  const bool tracing_ = trace().instructions;
  JitUse jit_ = JitUse::off;
  uint64_t interpreted_ = 0; // instructions that no segment's heat has yet
};

} // namespace fade::sim
