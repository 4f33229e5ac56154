// Data-parallel primitives: the lanes that a DPP source is read from.
#pragma once

#include "isa/instruction.h"
#include "wave/wave.h"

namespace fade::sim {

struct DppPlan {
  uint8_t from[64];  // lane to read
  bool zero[64];     // read 0 instead
  uint64_t writable; // lanes whose result is written, not counting EXEC
};

DppPlan dpp_plan(const Wave &w, const Instruction &in);
void dpp_permute(const DppPlan &plan, uint32_t *row, unsigned lanes);

} // namespace fade::sim
