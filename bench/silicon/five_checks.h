// The checks of the five kernels.
#pragma once

#include "cuda_backend.h"
#include "report.h"

#include <string>

namespace fade::silicon {

// Where the shared memory of a kernel with a single variable in it starts. `plain` is five.ptx.
uint32_t sharedStart(CudaBackend &backend, CUmodule plain);

// Returns how many checks failed.
unsigned runFive(CudaBackend &backend, Report &report, const std::string &artefacts);

} // namespace fade::silicon
