#include "hsa/queue_flow.h"

#include <algorithm>
#include <thread>

namespace fade {
namespace {

constexpr uint64_t kMarksPerQueue = 8;

} // namespace

/// The runtime keeps packets in order only while the GPU's queue has room for them.
bool QueueFlow::isFull(uint64_t count) const {
  const uint64_t most = std::max<uint64_t>(size_ / 2, 1);
  // More than that at once need the whole queue; of what lies behind the last mark nobody tells
  // that it was taken out.
  count = std::min(count, most - size_ / kMarksPerQueue);
  return submitted_.load(std::memory_order_relaxed) + count >
         consumed_.load(std::memory_order_relaxed) + most;
}

uint64_t QueueFlow::submit(uint64_t count, SignalPool &signals) {
  using Clock = std::chrono::steady_clock;
  if (isFull(count)) {
    auto deadline = Clock::now() + patience_;
    uint64_t consumed = consumed_.load(std::memory_order_relaxed);
    while (collectMarks(signals), isFull(count) && Clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      const uint64_t now = consumed_.load(std::memory_order_relaxed);
      if (now != consumed || standstills.load(std::memory_order_relaxed) > 0)
        deadline = Clock::now() + patience_;
      consumed = now;
    }
  }
  return submitted_.fetch_add(count, std::memory_order_relaxed);
}

std::optional<hsa_barrier_and_packet_t> QueueFlow::mark(SignalPool &signals) {
  if (submitted_.load(std::memory_order_relaxed) - marked_ < size_ / kMarksPerQueue)
    return std::nullopt;
  const hsa_signal_t signal = signals.take();
  if (signal.handle == 0) return std::nullopt;
  hsa_barrier_and_packet_t barrier{};
  barrier.header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE;
  barrier.completion_signal = signal;
  const uint64_t number = submitted_.fetch_add(1, std::memory_order_relaxed);
  marked_ = number + 1;
  const std::lock_guard lock(marks_mutex_);
  marks_.push_back({number, signal});
  return barrier;
}

void QueueFlow::hasConsumed(uint64_t packet) noexcept {
  uint64_t seen = consumed_.load(std::memory_order_relaxed);
  while (seen < packet + 1 &&
         !consumed_.compare_exchange_weak(seen, packet + 1, std::memory_order_relaxed)) {
  }
}

/// Looks at marks that the GPU has passed.
void QueueFlow::collectMarks(SignalPool &signals) {
  const std::lock_guard lock(marks_mutex_);
  while (!marks_.empty() &&
         hsaApi().core.hsa_signal_load_scacquire_fn(marks_.front().signal) <= 0) {
    hasConsumed(marks_.front().packet);
    signals.giveBack(marks_.front().signal);
    marks_.pop_front();
  }
}

void QueueFlow::dropMarks(SignalPool &signals) {
  const std::lock_guard lock(marks_mutex_);
  for (const Mark &mark : marks_) signals.giveBack(mark.signal);
  marks_.clear();
}

} // namespace fade
