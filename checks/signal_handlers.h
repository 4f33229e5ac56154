// The application's handlers of HSA signals, called by a thread of ROCr.
#pragma once

#include "hsa/hsa_api.h"

namespace fade::checks {

/// Registers the handler with ROCr, by way of an own one that first calls `seen` (may be null).
hsa_status_t registerSignalHandler(hsa_signal_t signal, hsa_signal_condition_t condition,
                                   hsa_signal_value_t value, hsa_amd_signal_handler handler,
                                   void *data, void (*seen)(hsa_signal_t, hsa_signal_value_t));

/// When the application exits, handlers that are due are waited for. HIP 7.2 frees its devices in
/// a static destructor although a handler of its own may still run then, and crashes; a busy
/// software GPU makes that likely.
void awaitSignalHandlersAtExit();

/// The runtime is being shut down, and its signals with it.
void forgetSignalHandlers();

} // namespace fade::checks
