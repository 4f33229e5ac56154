#include "hsa/queue_registry.h"

namespace fade {

void QueueRegistry::add(std::shared_ptr<QueueState> state) {
  const std::lock_guard lock(mutex_);
  states_[state->queue] = std::move(state);
}

bool QueueRegistry::take(hsa_queue_t *queue, std::shared_ptr<QueueState> &state) {
  const std::lock_guard lock(mutex_);
  const auto found = states_.find(queue);
  if (found == states_.end()) return true;
  if (--found->second->users > 0) return false;
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

bool QueueRegistry::has(const hsa_queue_t *queue) {
  const std::lock_guard lock(mutex_);
  return states_.contains(const_cast<hsa_queue_t *>(queue));
}

QueueRegistry &queues() {
  static auto *all = new QueueRegistry; // outlives every exit handler
  return *all;
}

} // namespace fade
