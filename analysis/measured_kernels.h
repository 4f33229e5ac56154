// From what a run has left behind to what is known of its kernels.
#pragma once

#include "analysis/gpu_model.h"
#include "analysis/kernel_profile.h"
#include "analysis/time_model.h"

#include <vector>

namespace fade::profile {

/// As many as the log has, in the same order. Where nobody has counted the instructions of a
/// kernel, they are estimated from its accesses, its blocks and its machine code.
std::vector<KernelProfile> kernelsOf(const report::RunLog &log);

/// Works out again what follows from the kernel's accesses: bytes of all levels, turns of LDS, and
/// how long instructions wait for what they load.
void useAccesses(KernelProfile &kernel);

/// Lines of L1 that an access wants, and would want if its lanes lay side by side.
struct LinesOfL1 {
  uint64_t wanted = 0, needed = 0;
};
LinesOfL1 linesOfL1(const report::Access &access, uint32_t line_size, uint32_t l1_line);

/// Share of the lines of an access that L1 does not have.
double missedShare(const report::Access &access);

/// A kernel, and how long it takes by the model.
struct ModeledKernel {
  KernelProfile counts;
  GpuModel gpu;
  ModelTime time;

  /// Whether there is anything that the model can work on.
  bool isKnown() const { return counts.is_counted || counts.is_estimated; }
  /// Of all dispatches.
  double allNs() const {
    return isKnown() ? time.total() * static_cast<double>(counts.dispatches) : 0;
  }
};

/// The one place where kernels get their times. `peaks`: what was measured; empty: the table of
/// GPUs.
std::vector<ModeledKernel> modelOf(std::vector<KernelProfile> kernels,
                                   const std::vector<MeasuredPeaks> &peaks = {});

} // namespace fade::profile
