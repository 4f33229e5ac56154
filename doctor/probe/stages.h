// The stages: each tries one thing on every GPU, checks every result, and says what it saw.
#pragma once

#include "outcome.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fade::probe {

struct Stage {
  std::string_view name;
  std::string_view about;
  /// What it saw. Throws Failed, Limited or Skipped.
  std::string (*run)();
};

/// In the order in which they make sense.
std::span<const Stage> stages();

/// For --probe fade: the kernel of fade_kernels.cl, on the first GPU. Where its buffers are is
/// written to stdout, as "place NAME ADDRESS".
std::string runFadeKernel();
/// The same through HIP, from which it comes in nearly every program.
std::string runFadeKernelWithHip();
/// The same with 16 times as many work-items and so many rounds of its loop, for many records.
std::string runFadeKernelOften(uint32_t rounds);

/// For fadeprobe peaks; `only_tried`: as little work as possible, to see that it works.
std::string measurePeaks(bool only_tried);

// Those that need HIP and the libraries above it (hip_stages.cpp).
std::string tryGraphs();
std::string tryRocblas();
std::string tryMiopen();

} // namespace fade::probe
