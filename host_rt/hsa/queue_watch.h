// Making queues that FADE watches, whichever function of HSA the application asks for one with.
#pragma once

#include "hsa/agents.h"
#include "hsa/gpu_pools.h"
#include "hsa/queue_registry.h"

#include <atomic>
#include <functional>
#include <optional>

namespace fade {

class Runtime;

/// What watching queues needs. All of it outlives every queue.
struct QueueServices {
  const Agents &agents;
  GpuPools *pools; ///< null: kernels write no records
  std::atomic<uint64_t> &count;
  bool wants_errors, keeps_other_tools;

  /// Nothing if FADE cannot begin, as without memory: queues are then made as if it were not there.
  static std::optional<QueueServices> of(Runtime &runtime) noexcept;
};

/// A compute queue as the application wants it.
struct QueueRequest {
  hsa_agent_t agent{};
  uint32_t size = 0; ///< in packets
  hsa_queue_type32_t type = HSA_QUEUE_TYPE_MULTI;
  QueueErrorFunction callback = nullptr;
  void *data = nullptr;
  uint32_t private_size = UINT32_MAX, group_size = UINT32_MAX;
};

/// How the runtime, or another tool before it, makes that queue: with this callback.
using MakeQueue = std::function<hsa_status_t(QueueErrorFunction, void *data, hsa_queue_t **)>;

/// Makes the queue, and watches it. Nothing if that cannot be: the runtime is to make it, as if
/// FADE were not there. `next` is called if tools of others are to be kept (FADE_OTHER_TOOLS).
std::optional<hsa_queue_t *> makeWatched(const QueueServices &services, const QueueRequest &request,
                                         const MakeQueue &next) noexcept;

/// Watches a queue that the runtime has made. False if it is not of a kind that can be watched.
bool watch(const QueueServices &services, hsa_queue_t *queue, hsa_agent_t agent) noexcept;

/// Destroys a queue, or lets go of one that others have, too.
hsa_status_t destroyWatched(hsa_queue_t *queue) noexcept;

} // namespace fade
