// Starts recording what the application asks of HIP: fadeprobe trace.
#pragma once

#include "base/settings.h"

#include <string>
#include <string_view>

namespace fade::hip {

/// Opens the file that FADE_TRACE names, if it does, and starts to record; once in a process.
/// `own_directory`: of libfade.so. Whatever cannot be done is said. May come before the GPU is
/// used: markers are recorded from then on.
void openTrace(const Settings &settings, const std::string &own_directory);

/// In OnLoad, which the HSA runtime calls inside of HIP's own initialization: HIP is not called.
/// The same, and all functions of HIP are hooked.
void startTrace(const Settings &settings, const std::string &own_directory);

/// Hooks what is there of HIP and hiprtc before the GPU is used; the first call calls `open`.
/// `is_in_use`: it is used already, or FADE is being loaded: only hiprtc.
void watchFirstCalls(const Settings &settings, void (*open)(), bool is_in_use);
/// A table of functions that HIP gives to rocprofiler-register, under this name; before HIP calls
/// anything through it.
void takeTable(const Settings &settings, void (*open)(), std::string_view name, void *table);
/// Whether libraries were loaded since it was asked last.
bool hasNewLibraries();

/// The end of the process: what was recorded is in the file that was asked for when this returns.
void endTrace() noexcept;

/// Looks for what was not there yet: HIP, if something else has loaded the HSA runtime; hiprtc.
/// Quick if nothing was loaded since.
void lookAgain() noexcept;

} // namespace fade::hip
