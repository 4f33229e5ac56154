// The graph of a program with the times of a model in the place of those that the software GPU
// took: as far as the model goes it is the critical path of a card, and the same in each run.
//
// Kernels take what the model says, and begin as soon as what they wait for has ended. When each
// node ends follows from the edges of the graph. What the host does is as it was, unless a software
// GPU ran the kernels: then HIP calls contain its driver, and the start and the end of what it
// emulates, and compete with it for the cores. So copies take what their bytes take, HIP calls
// as long as calls usually take, and the program itself what it took, but for short times between
// calls, which are mostly waiting for a core. A call that waits for a kernel waits as long as the
// edge from the kernel says.
#pragma once

#include "analysis/critical_path/program_dag.h"
#include "profiles/profile.h"

#include <optional>
#include <vector>

namespace fade::profile {

/// What kernels take is taken from the profile; those that were not counted keep what they took,
/// and `times` says how many. `instructions`: that each operation of `events` executed, where it is
/// known; dispatches of a kernel share its time by them, else by their workgroups.
ProgramDag withModeledTimes(const ProgramDag &measured, const host_trace::HostEvents &events,
                            const Profile &profile,
                            const std::vector<std::optional<uint64_t>> &instructions);

/// The events as the graph has them. `measured` is the graph that was made of them.
host_trace::HostEvents withTimesOf(const ProgramDag &modeled, const ProgramDag &measured,
                                   const host_trace::HostEvents &events);

} // namespace fade::profile
