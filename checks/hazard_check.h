// hazard: instructions that come earlier behind another one than the GPU allows. The software GPU
// knows the rules of each architecture (sim/isa/hazards.h) and says where one is broken; it
// executes one instruction after the other itself, so nothing goes wrong there.
#pragma once

#include "checks/reporter.h"

namespace fade::checks {

/// `site`: of the second instruction, with its stack.
void reportHazard(const ObservedWave &wave, const ObservedHazard &hazard, uint64_t site,
                  Reporter &reporter);

} // namespace fade::checks
