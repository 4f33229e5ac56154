// The queues of the application that FADE watches.
#pragma once

#include "hsa/agents.h"
#include "hsa/packet_calls.h"
#include "hsa/queue_flow.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace fade {

class RingPool;

/// A queue of the application. Outlives it as long as dispatches refer to it.
struct QueueState {
  explicit QueueState(hsa_queue_t *handle) : queue(handle), flow(handle->size) {}

  hsa_queue_t *const queue;
  uint64_t number = 0;
  const Agent *agent = nullptr;
  /// A cooperative queue is shared: what the runtime itself calls it, and how many have it.
  hsa_queue_t *cooperative = nullptr;
  unsigned users = 1;
  RingPool *rings = nullptr;            ///< null: nothing is instrumented on it
  std::unique_ptr<PacketCalls> calls;   ///< null: nobody wants to know who has made its packets
  std::shared_ptr<void> error_callback; ///< what the runtime gets back when the queue fails
  std::atomic<bool> destroyed{false};
  bool is_counted = false; ///< made for hsa_amd_counted_queue_acquire
  QueueFlow flow;
};

class QueueRegistry {
public:
  void add(std::shared_ptr<QueueState> state);
  /// One who has it gives it up. False if others still have it; else the queue is forgotten, and
  /// `state` is null if it was not known.
  bool take(hsa_queue_t *queue, std::shared_ptr<QueueState> &state);
  /// One more has it. Null if the agent has no cooperative queue; an agent of a runtime that was
  /// started again is another one.
  hsa_queue_t *shareCooperative(const Agent *agent);
  /// One more has this one, which is the agent's. False if it is not known: one of a runtime that
  /// was shut down may have had the same address.
  bool share(hsa_queue_t *queue, const Agent *agent);
  bool has(const hsa_queue_t *queue);
  /// Null if it is not known. Quick for the queue that the thread has asked for before.
  QueueState *find(const hsa_queue_t *queue);

private:
  std::mutex mutex_;
  std::atomic<uint64_t> changes_{0};
  std::unordered_map<hsa_queue_t *, std::shared_ptr<QueueState>> states_;
};

/// Of the process.
QueueRegistry &queues();

} // namespace fade
