// Waiting for the software GPU.
//
// HIP waits for a kernel in a loop that never sleeps, which on a card costs a core that has nothing
// else to do. Kernels of the software GPU run on the cores of this machine, so that loop takes one
// from them: half of a machine with two. Here a wait without a time limit looks for a moment, and
// then sleeps between its looks.
#pragma once

#include "hsa/hsa_api.h"

namespace fade {

/// As ROCr's hsa_signal_wait_relaxed and hsa_signal_wait_scacquire.
hsa_signal_value_t waitAsleepRelaxed(hsa_signal_t signal, hsa_signal_condition_t condition,
                                     hsa_signal_value_t value, uint64_t timeout,
                                     hsa_wait_state_t state);
hsa_signal_value_t waitAsleepAcquire(hsa_signal_t signal, hsa_signal_condition_t condition,
                                     hsa_signal_value_t value, uint64_t timeout,
                                     hsa_wait_state_t state);

/// The application's waits, where its GPUs are software; elsewhere nothing changes.
void hookWaits(HsaTables &tables);

} // namespace fade
