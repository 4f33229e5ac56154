// A dispatch packet that FADE has passed on with a completion signal of its own.
#pragma once

#include "dispatch/kernel_registry.h"
#include "hsa/death_watch.h"
#include "hsa/kernarg_pool.h"
#include "hsa/queue_registry.h"
#include "hsa/signal_pool.h"
#include "stream/collector.h"

#include <atomic>
#include <memory>

namespace fade {

class Runtime;

/// What a dispatch in flight needs. All of it outlives every dispatch.
struct DispatchServices {
  DeathWatch *deaths; ///< null: none is explained
  SignalPool &polled, &interrupts;

  static DispatchServices of(Runtime &runtime);
};

class HsaDispatch final : public LiveDispatch, public Recycled<HsaDispatch> {
public:
  HsaDispatch(const DispatchServices &services, std::shared_ptr<QueueState> queue, uint64_t packet,
              std::shared_ptr<KernelEntry> kernel);
  ~HsaDispatch() override;

  DeathWatch::Dispatch watched; ///< for the explanation of a death
  uint64_t operation = 0;       ///< in the host events; 0: they are not recorded

  /// Puts FADE's signal into the packet. False if there is none; the packet is then untouched.
  bool replaceSignal(hsa_signal_t &completion);

  /// A block of arguments that is given back when the dispatch has ended.
  void keepKernargs(KernargPool &pool, std::span<uint8_t> block) {
    kernarg_pool_ = &pool;
    kernargs_ = block;
  }

  /// That the packet has now.
  hsa_signal_t signal() const { return signal_; }

  bool hasEnded() noexcept override;
  void tellApplication() noexcept override;
  void readTimes(fade_dispatch &view) noexcept override;

private:
  static bool forward(hsa_signal_value_t, void *dispatch);
  void completeTheirs() noexcept;

  const DispatchServices services_;
  std::shared_ptr<QueueState> queue_;
  const uint64_t packet_; ///< number in the queue
  std::shared_ptr<KernelEntry> kernel_;
  hsa_signal_t signal_{};
  hsa_signal_t application_{}; ///< the signal that the packet had
  SignalPool *pool_ = nullptr;
  KernargPool *kernarg_pool_ = nullptr;
  std::span<uint8_t> kernargs_;
  std::atomic<bool> is_told_{false};   ///< the application's signal is being completed
  std::atomic<bool> forwarded_{false}; ///< the runtime has no use for this object any more
};

} // namespace fade
