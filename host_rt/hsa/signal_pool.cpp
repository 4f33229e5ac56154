#include "hsa/signal_pool.h"

namespace fade {

hsa_signal_t SignalPool::take() {
  const HsaApi &api = hsaApi();
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const hsa_signal_t signal = free_.back();
      free_.pop_back();
      return signal;
    }
  }
  hsa_signal_t signal{};
  const hsa_status_t status =
      kind_ == Kind::polled
          ? api.amd.hsa_amd_signal_create_fn(1, 0, nullptr, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &signal)
          : api.core.hsa_signal_create_fn(1, 0, nullptr, &signal);
  return ok(status) ? signal : hsa_signal_t{};
}

void SignalPool::giveBack(hsa_signal_t signal) {
  hsaApi().core.hsa_signal_store_relaxed_fn(signal, 1);
  const std::lock_guard lock(mutex_);
  free_.push_back(signal);
}

void SignalPool::destroyAll() {
  const std::lock_guard lock(mutex_);
  for (const hsa_signal_t signal : free_) (void)hsaApi().core.hsa_signal_destroy_fn(signal);
  free_.clear();
}

} // namespace fade
