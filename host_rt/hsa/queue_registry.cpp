#include "hsa/queue_registry.h"

namespace fade {

void QueueRegistry::add(std::shared_ptr<QueueState> state) {
  const std::lock_guard lock(mutex_);
  changes_.fetch_add(1, std::memory_order_release);
  states_[state->queue] = std::move(state);
}

bool QueueRegistry::take(hsa_queue_t *queue, std::shared_ptr<QueueState> &state) {
  const std::lock_guard lock(mutex_);
  const auto found = states_.find(queue);
  if (found == states_.end()) return true;
  if (--found->second->users > 0) return false;
  changes_.fetch_add(1, std::memory_order_release);
  state = std::move(found->second);
  states_.erase(found);
  return true;
}

hsa_queue_t *QueueRegistry::shareCooperative(const Agent *agent) {
  const std::lock_guard lock(mutex_);
  for (const auto &[queue, state] : states_)
    if (state->cooperative && state->agent == agent) return ++state->users, queue;
  return nullptr;
}

bool QueueRegistry::share(hsa_queue_t *queue, const Agent *agent) {
  const std::lock_guard lock(mutex_);
  const auto found = states_.find(queue);
  if (found == states_.end() || found->second->agent != agent) return false;
  ++found->second->users;
  return true;
}

bool QueueRegistry::has(const hsa_queue_t *queue) {
  const std::lock_guard lock(mutex_);
  return states_.contains(const_cast<hsa_queue_t *>(queue));
}

QueueState *QueueRegistry::find(const hsa_queue_t *queue) {
  // Nothing that would be destroyed: the application may call when its thread has nearly ended.
  struct Last {
    const hsa_queue_t *queue = nullptr;
    uint64_t changes = 0;
    QueueState *state = nullptr; ///< they stay: who watches a queue keeps its state for ever
  };
  static thread_local Last last;
  const uint64_t changes = changes_.load(std::memory_order_acquire);
  if (last.queue != queue || last.changes != changes) {
    const std::lock_guard lock(mutex_);
    const auto found = states_.find(const_cast<hsa_queue_t *>(queue));
    last = {queue, changes, found == states_.end() ? nullptr : found->second.get()};
  }
  return last.state;
}

QueueRegistry &queues() {
  static auto *all = new QueueRegistry; // outlives every exit handler
  return *all;
}

} // namespace fade
