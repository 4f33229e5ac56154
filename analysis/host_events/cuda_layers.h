// Libraries with CUDA's names in a process that uses HIP: ZLUDA, and others that stand in for
// NVIDIA's.
#pragma once

#include "analysis/host_events/event_reader.h"

#include <string>
#include <string_view>
#include <vector>

namespace fade::host_trace {

/// A library that has CUDA's names: NVIDIA's own, or one that stands in for it.
bool isCudaLibrary(std::string_view path);
/// cudaMalloc, cuLaunchKernel, cublasSgemm_v2.
bool isCudaName(std::string_view function);
/// Without its folders.
std::string fileName(std::string_view path);

/// Who takes which functions from such a library, as the loader sees it: by the symbols of the
/// files, so that also a layer that leaves no trace on the stack (a jump) is named. One line each.
std::vector<std::string> layersBySymbols(const Process &process);

} // namespace fade::host_trace
