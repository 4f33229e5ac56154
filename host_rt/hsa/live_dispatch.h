// A dispatch packet that FADE has passed on with a completion signal of its own.
#pragma once

#include "hsa/runtime.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

namespace fade {

/// A queue of the application. Outlives it as long as dispatches refer to it.
struct QueueState {
  hsa_queue_t *queue = nullptr;
  uint64_t number = 0;
  const Agent *agent = nullptr;
  uint32_t size = 0;
  /// A cooperative queue is shared: what the runtime itself calls it, and how many have it.
  hsa_queue_t *cooperative = nullptr;
  unsigned users = 1;
  RingPool *rings = nullptr; ///< null: nothing is instrumented on it

  std::atomic<uint64_t> submitted{0}; ///< packets passed on
  std::atomic<uint64_t> consumed{0};  ///< packets that the GPU has certainly taken out of the queue
  std::atomic<bool> destroyed{false};

  /// A packet of ours that does nothing but say how far the GPU has come.
  struct Mark {
    uint64_t packet;
    hsa_signal_t signal;
  };
  std::mutex marks_mutex;
  std::deque<Mark> marks;
  uint64_t marked = 0; ///< up to where packets lie before a mark

  /// Packets leave a queue in order.
  void hasConsumed(uint64_t packet) noexcept {
    uint64_t seen = consumed.load(std::memory_order_relaxed);
    while (seen < packet + 1 &&
           !consumed.compare_exchange_weak(seen, packet + 1, std::memory_order_relaxed)) {
    }
  }
};

class HsaDispatch final : public LiveDispatch {
public:
  HsaDispatch(Runtime &runtime, std::shared_ptr<QueueState> queue, uint64_t packet,
              std::shared_ptr<KernelEntry> kernel);
  ~HsaDispatch() override;

  /// Puts FADE's signal into the packet. False if there is none; the packet is then untouched.
  bool replaceSignal(hsa_signal_t &completion);

  /// A block of arguments that is given back when the dispatch has ended.
  void keepKernargs(KernargPool &pool, std::span<uint8_t> block) {
    kernarg_pool_ = &pool;
    kernargs_ = block;
  }

  bool hasEnded() noexcept override;
  void readTimes(fade_dispatch &view) noexcept override;

private:
  static bool forward(hsa_signal_value_t, void *dispatch);

  Runtime &runtime_;
  std::shared_ptr<QueueState> queue_;
  const uint64_t packet_; ///< number in the queue
  std::shared_ptr<KernelEntry> kernel_;
  hsa_signal_t signal_{};
  hsa_signal_t application_{}; ///< the signal that the packet had
  SignalPool *pool_ = nullptr;
  KernargPool *kernarg_pool_ = nullptr;
  std::span<uint8_t> kernargs_;
  std::atomic<bool> forwarded_{false};
};

} // namespace fade
