// What if: an instruction tried with other values in some of its registers, for observers that
// follow values. Nothing of it is left afterwards.
#pragma once

#include "exec/program.h"
#include "isa/opcode.h"
#include "wave/wave.h"

namespace fade::sim {

// Whether an instruction does no more than write registers.
bool can_be_tried(const Wave &w, const Instruction &in);

class Trial : public ObservedTrial {
public:
  Trial(Wave &w, const Instruction &in, const RegisterUse &use) : w_(w), in_(in), use_(use) {}
  uint32_t depends(const ObservedBytes *inputs, uint32_t count, ObservedBytes *results,
                   uint32_t room) const override;

private:
  Wave &w_;
  const Instruction &in_;
  const RegisterUse &use_;
};

} // namespace fade::sim
