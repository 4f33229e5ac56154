// The graph of a program with the times of a model in the place of those that the software GPU
// took: as far as the model goes it is the critical path of a card, and the same in each run.
//
// Kernels take what the model says, and begin as soon as what they wait for has ended. Copies,
// calls of HIP and the program itself take what they took. When each of them ends follows from the
// edges of the graph.
#pragma once

#include "profile/profile.h"
#include "profile/program_dag.h"

namespace fade::profile {

/// What kernels take is taken from the profile; those that were not counted keep what they took,
/// and `times` says how many.
ProgramDag withModeledTimes(const ProgramDag &measured, const host_trace::HostEvents &events,
                            const Profile &profile);

/// The events as the graph has them. `measured` is the graph that was made of them.
host_trace::HostEvents withTimesOf(const ProgramDag &modeled, const ProgramDag &measured,
                                   const host_trace::HostEvents &events);

} // namespace fade::profile
