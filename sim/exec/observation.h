// What observers are told between the accesses, which instructions report themselves: blocks,
// barriers, waits, fences, branches and ends of waves.
#pragma once

#include "exec/program.h"
#include "isa/opcode.h"
#include "wave/wave.h"

namespace fade::sim {

// s_waitcnt and its like: which counters, down to what.
ObservedWait wait_of(const Arch &arch, const Instruction &in);

void tell_before(Wave &w, const Instruction &in);
void tell_after(Wave &w, const Instruction &in);

inline void observe_segment(Wave &w, const Segment &s) {
  if (s.block_start && w.observer_wants & kWantsBlocks)
    w.observer->block(w.info, s.start, w.active_exec);
  if (w.observer_wants & kWantsRuns)
    w.observer->run(w.info, {s.start, s.end, s.number}, w.active_exec);
}

// Whether an instruction is one that observers are told of, besides accesses.
inline bool is_control(const Instruction &in) {
  return in.opcode->effects != 0 || in.opcode->flow != Flow::next;
}

// Each instruction's registers, for those who want them.
void tell_registers(Wave &w, Program &program, const Instruction &in);

// What comes too early behind another instruction.
void tell_hazards(Wave &w, Program &program, const Instruction &in);

inline void observe_before(Wave &w, Program &program, const Instruction &in) {
  if (w.observer_wants & kWantsHazards) [[unlikely]]
    tell_hazards(w, program, in);
  if ((w.observer_wants | w.info.also_wants) & kWantsRegisters) [[unlikely]]
    tell_registers(w, program, in);
  if (is_control(in) && w.observer_wants & kWantsControl) tell_before(w, in);
}

inline void observe_after(Wave &w, const Instruction &in) {
  if (is_control(in)) tell_after(w, in);
}

} // namespace fade::sim
