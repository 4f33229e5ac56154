// A run of which a part was recorded (--sample auto): what kernels did in the workgroups that were
// recorded, as much more as there were others.
#pragma once

#include "analysis/run_log.h"

namespace fade::report {

/// Scales what was counted of each kernel to all workgroups of all of its dispatches, and says in
/// the kernel how many stand for how many. Bytes of memory are not more than the parts
/// of allocations that the kernel uses have, where all that it touches fits in L2: others find
/// there what one has brought.
void scaleSampled(RunLog &log);

/// Whether numbers of a kernel are scaled: then they are estimates.
bool hasEstimates(const RunLog &log);

} // namespace fade::report
