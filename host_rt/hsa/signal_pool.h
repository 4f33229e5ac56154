// Completion signals for dispatches, used again and again.
#pragma once

#include "hsa/hsa_api.h"

#include <mutex>
#include <vector>

namespace fade {

class SignalPool {
public:
  enum class Kind {
    polled,     ///< the GPU just writes to it
    interrupts, ///< the GPU wakes a thread of the runtime
  };
  explicit SignalPool(Kind kind) : kind_(kind) {}

  /// With the value 1; handle 0 if there are no more.
  hsa_signal_t take();
  void giveBack(hsa_signal_t signal);
  /// Before the runtime is shut down: those that are not in use.
  void destroyAll();

private:
  const Kind kind_;
  std::mutex mutex_;
  std::vector<hsa_signal_t> free_;
};

} // namespace fade
