// What host events add to what is known of a run's kernels.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "analysis/measured_kernels.h"

#include <vector>

namespace fade::profile {

/// As many as the log has, in the same order. `events`: for what kernels need of registers; null if
/// there are none. If they `measure`, they are those of a run on a card in which kernels were as
/// compiled, and say how long these took.
std::vector<KernelProfile> kernelsOf(const report::RunLog &log,
                                     const host_trace::HostEvents *events, bool measures);

} // namespace fade::profile
