// How far the GPU has come with the packets of a queue, and packets held back while its queue has
// no room for them.
#pragma once

#include "hsa/signal_pool.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

namespace fade {

/// Packets are numbered from 0, in the order in which they are passed on.
class QueueFlow {
public:
  static constexpr auto kPatience = std::chrono::milliseconds(1000);

  /// `size`: of the GPU's queue, in packets. `patience`: how long packets are held back while the
  /// GPU takes none out.
  explicit QueueFlow(uint32_t size, std::chrono::milliseconds patience = kPatience)
      : size_(size), patience_(patience) {}

  uint32_t size() const { return size_; }

  /// So many keep GPUs from taking packets out just now: patience starts when they have ended.
  static inline std::atomic<int> standstills{0};

  /// So many packets are about to be passed on: waits until there is room for them and returns the
  /// number of the first. One thread at a time: the runtime calls for one doorbell after the other.
  uint64_t submit(uint64_t count, SignalPool &signals);
  /// A packet to be passed on behind the others from time to time: it waits for nothing and tells
  /// when the GPU has come to it. What other packets tell is heard by threads that may be late, and
  /// nobody should have to wait for those. Nothing if none is due, or if there are no signals.
  std::optional<hsa_barrier_and_packet_t> mark(SignalPool &signals);

  /// The GPU has taken this packet out, and with it all before: packets leave a queue in order.
  void hasConsumed(uint64_t packet) noexcept;
  /// The queue is gone: the GPU will not come to its marks any more.
  void dropMarks(SignalPool &signals);

private:
  bool isFull(uint64_t count) const;
  void collectMarks(SignalPool &signals);

  struct Mark {
    uint64_t packet;
    hsa_signal_t signal;
  };

  const uint32_t size_;
  const std::chrono::milliseconds patience_;
  std::atomic<uint64_t> submitted_{0}; ///< packets passed on
  std::atomic<uint64_t> consumed_{0};  ///< packets that the GPU has certainly taken out
  uint64_t marked_ = 0;                ///< up to where packets lie before a mark
  std::mutex marks_mutex_;
  std::deque<Mark> marks_;
};

} // namespace fade
