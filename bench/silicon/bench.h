// The measurements.
#pragma once

#include "cuda_backend.h"
#include "report.h"

#include <string>

namespace fade::silicon {

// Measures limits of the machine, records per second and what tracing costs the five kernels. Only
// those lines whose title contains `only`; titles are the name of the table and what its rows begin
// with.
void runBench(CudaBackend &backend, Report &report, const std::string &artefacts,
              const std::string &only, bool quick);

} // namespace fade::silicon
