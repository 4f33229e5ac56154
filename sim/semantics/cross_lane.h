// Which lanes of a shuffle read one that is not active. DPP and v_permlane are not meant: their
// encodings say what a lane gets then (0, the old value, or what the register holds).
#pragma once

#include "isa/instruction.h"
#include "wave/wave.h"

namespace fade::sim {

// The active lanes that do, before the instruction is executed; `from` is then the lane that each
// reads.
uint64_t lanes_from_inactive(const Wave &w, const Instruction &in, uint8_t (&from)[64]);

} // namespace fade::sim
