// Copies between host and device that are started and looked at again later.
#pragma once

#include "hsa/hsa_api.h"
#include "stream/segment_reader.h"

#include <array>

namespace fade {

/// One copy at a time, by whatever the runtime copies with.
class AsyncCopy {
public:
  /// False if the runtime has no signal left.
  bool create() noexcept {
    // Nobody sleeps on it: it is looked at.
    return ok(
        hsaApi().amd.hsa_amd_signal_create_fn(0, 0, nullptr, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &done_));
  }
  void destroy() noexcept {
    if (done_.handle != 0) (void)hsaApi().core.hsa_signal_destroy_fn(done_);
    done_ = {};
  }
  bool start(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
             std::size_t size) noexcept {
    const HsaApi &api = hsaApi();
    if (size == 0) return true;
    api.core.hsa_signal_store_relaxed_fn(done_, 1);
    if (ok(api.amd.hsa_amd_memory_async_copy_fn(to, to_agent, from, from_agent, size, 0, nullptr,
                                                done_)))
      return true;
    api.core.hsa_signal_store_relaxed_fn(done_, 0);
    return false;
  }
  bool isDone() noexcept { return hsaApi().core.hsa_signal_load_scacquire_fn(done_) <= 0; }

private:
  hsa_signal_t done_{};
};

/// From one GPU to the host.
class HsaCopyEngine final : public CopyEngine {
public:
  HsaCopyEngine(hsa_agent_t gpu, hsa_agent_t cpu) : gpu_(gpu), cpu_(cpu) {}

  bool create() noexcept {
    bool all = true;
    for (AsyncCopy &copy : copies_) all = all && copy.create();
    return all;
  }
  void destroy() noexcept {
    for (AsyncCopy &copy : copies_) copy.destroy();
  }
  bool start(unsigned slot, void *to, uint64_t from, std::size_t size) noexcept override {
    return copies_[slot].start(to, cpu_, reinterpret_cast<const void *>(from), gpu_, size);
  }
  bool isDone(unsigned slot) noexcept override { return copies_[slot].isDone(); }

private:
  const hsa_agent_t gpu_, cpu_;
  std::array<AsyncCopy, kSlots> copies_;
};

} // namespace fade
