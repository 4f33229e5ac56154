// The ways in which a process ends, and how the report is still made.
#pragma once

#include "hsa/hsa_api.h"

namespace fade {

/// Reports when the application shuts the HSA runtime down. When that calls OnUnload it is too
/// late: ROCr 7 tells no times any more and destroys no signals.
void hookShutDown(HsaTables &tables);

/// Keeps the library in memory when the runtime unloads it: exit handlers and threads need it.
void stayLoaded();

/// Reports at exit(), quick_exit() and the signals that end a process and that the application has
/// not taken for itself, which wait `patience` times as long for the report as they usually do.
/// Children after fork report nothing. Safe to call again.
void watchExits(double patience);

} // namespace fade
