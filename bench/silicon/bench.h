// The measurements.
#pragma once

#include "cuda_backend.h"
#include "report.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace fade::silicon {

// What the machine allows: plain stores to host memory, the copy engine, and bare records of each
// size.
struct Limits {
  double host_stores = 0, copies = 0;                  // bytes per second, best
  std::map<std::pair<bool, uint32_t>, double> records; // per second, by (in host memory, size)
};
Limits measureLimits(CudaBackend &backend, Report &report);

// Records per second, by size of the record and number of waves: into a ring that nobody reads, and
// with the reader at work.
void measureRates(CudaBackend &backend, Report &report, const Limits &limits, bool quick);

// What tracing costs the five kernels.
void measureKernels(CudaBackend &backend, Report &report, const std::string &artefacts, bool quick);

} // namespace fade::silicon
