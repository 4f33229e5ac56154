// The software GPU tells what kernels do that have no instrumented twin (fade/observer.h). What it
// tells becomes the records that a twin would have written, in the same ring.
#pragma once

#include "dispatch/observed_kernel.h"

#include <fade/observer.h>

#include <memory>
#include <mutex>
#include <unordered_map>

namespace fade {

/// A dispatch whose records the GPU's observer is to write.
struct ExpectedDispatch {
  uint64_t control = 0; ///< address of the fade_control
  std::shared_ptr<const ObservedKernel> kernel;
  bool wants_accesses = true; ///< records of them
  bool wants_waves = true;    ///< each of them is announced, whether or not it has records
};

/// Dispatches that are on their way, by their completion signal, which FADE gave them.
class ExpectedDispatches {
public:
  static ExpectedDispatches &instance();
  void expect(uint64_t signal, ExpectedDispatch run);
  /// Once. Without a kernel: not one of ours.
  ExpectedDispatch take(uint64_t signal);

private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, ExpectedDispatch> runs_;
};

/// For the software GPU, which keeps it for ever.
Observer *makeGpuObserver(const ObservedMemory &memory);

} // namespace fade
