// s_getreg, s_setreg, and other things a wave can ask the hardware.
#pragma once

#include "wave/wave.h"

namespace fade::sim {

// Where the wave runs: HW_ID (gfx9) or HW_ID1.
uint32_t hardware_id(const Wave &w);

// `immediate` as encoded: register number, offset and size of the field.
uint32_t read_hardware_register(const Wave &w, int32_t immediate);
void write_hardware_register(Wave &w, int32_t immediate, uint32_t value);

// The message of s_sendmsg_rtn, which sits in the source field as a number.
uint32_t sendmsg_number(const Instruction &in);

} // namespace fade::sim
