#include "hsa/ring_end.h"

#include "hsa/queue_flow.h"

#include <thread>

namespace fade {

void waitToFill(const hsa_queue_t *queue, uint64_t first, uint64_t count,
                std::chrono::milliseconds patience) noexcept {
  using Clock = std::chrono::steady_clock;
  const CoreApiTable &core = hsaApi().core;
  uint64_t read = core.hsa_queue_load_read_index_scacquire_fn(queue);
  if (mayFill(first, count, read, queue->size)) return;
  auto deadline = Clock::now() + patience;
  while (true) {
    // Those who have filled places before may want to ring later, for all at once.
    core.hsa_signal_store_screlease_fn(queue->doorbell_signal,
                                       static_cast<hsa_signal_value_t>(first - 1));
    const uint64_t now = core.hsa_queue_load_read_index_scacquire_fn(queue);
    if (mayFill(first, count, now, queue->size)) return;
    if (now != read || QueueFlow::standstills.load(std::memory_order_relaxed) > 0)
      deadline = Clock::now() + patience;
    else if (Clock::now() >= deadline)
      return;
    read = now;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

} // namespace fade
