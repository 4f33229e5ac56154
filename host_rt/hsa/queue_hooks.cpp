#include "hsa/queue_hooks.h"

#include "base/diagnostics.h"
#include "hip/install.h"
#include "hsa/queue_watch.h"
#include "hsa/runtime.h"
#include "hsa/unseen.h"

#include <algorithm>
#include <atomic>
#include <bit>

namespace fade {
namespace {

/// While a queue is made the runtime may call what is in its table.
thread_local bool is_inside = false;
struct Inside {
  Inside() { is_inside = true; }
  ~Inside() { is_inside = false; }
};

hsa_status_t queueCreate(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                         QueueErrorFunction callback, void *data, uint32_t private_size,
                         uint32_t group_size, hsa_queue_t **queue) {
  hip::lookAgain();
  const auto next = [&](QueueErrorFunction function, void *function_data, hsa_queue_t **made) {
    return hsaApi().core.hsa_queue_create_fn(agent, size, type, function, function_data,
                                             private_size, group_size, made);
  };
  const Visit visit;
  if (!visit.runtime() || !queue || is_inside) return next(callback, data, queue);
  const Inside inside;
  const auto services = QueueServices::of(*visit.runtime());
  const QueueRequest request{agent, size, type, callback, data, private_size, group_size};
  const auto made = services ? makeWatched(*services, request, next) : std::nullopt;
  if (!made) return next(callback, data, queue);
  *queue = *made;
  return HSA_STATUS_SUCCESS;
}

// ---- queues by descriptors, since ROCm 10

template <typename T> bool areZero(const T &values) {
  return std::ranges::all_of(values, [](auto value) { return value == 0; });
}

/// Whether a queue that can be watched can be all that is asked for. What is wrong with a
/// descriptor is for the runtime to say.
bool isWatchable(const QueueDescriptor &d) {
  constexpr uint16_t known_flags = QueueDescriptor::kRingOnDevice | QueueDescriptor::kQueueOnDevice;
  const auto &compute = d.compute;
  const bool is_plain = d.priority == HSA_AMD_QUEUE_PRIORITY_NORMAL && compute.cu_mask_bits == 0;
  return d.version == QueueDescriptor::kVersion && d.engine == QueueDescriptor::kCompute &&
         (d.flags & ~known_flags) == 0 && areZero(d.reserved_header) && areZero(compute.reserved) &&
         d.traffic_class == 0 && areZero(d.reserved) && std::has_single_bit(d.ring_bytes) &&
         d.ring_bytes >= sizeof(hsa_kernel_dispatch_packet_t) &&
         d.priority <= HSA_AMD_QUEUE_PRIORITY_HIGH && compute.cu_mask_bits % 32 == 0 &&
         (compute.cu_mask || compute.cu_mask_bits == 0) &&
         // All who want the cooperative queue of an agent get the same.
         (compute.type <= HSA_QUEUE_TYPE_SINGLE ||
          (compute.type == HSA_QUEUE_TYPE_COOPERATIVE && is_plain));
}

/// A status below the errors says more than success, such as that a mask was reduced.
bool isDone(hsa_status_t status) { return status < HSA_STATUS_ERROR; }

// What a queue is asked to be besides; it is not in use yet.
bool setPriority(hsa_queue_t *queue, uint32_t priority) {
  return priority == HSA_AMD_QUEUE_PRIORITY_NORMAL ||
         isDone(hsaApi().amd.hsa_amd_queue_set_priority_fn(
             queue, static_cast<hsa_amd_queue_priority_t>(priority)));
}
bool setMask(hsa_queue_t *queue, const QueueDescriptor::Compute &compute) {
  return compute.cu_mask_bits == 0 || isDone(hsaApi().amd.hsa_amd_queue_cu_set_mask_fn(
                                          queue, compute.cu_mask_bits, compute.cu_mask));
}

bool makeDescribed(const QueueServices &services, hsa_agent_t agent, QueueDescriptor &d) {
  if (!isWatchable(d)) return false;
  if (d.flags != 0) note("a queue is created in host memory instead of GPU memory");
  const auto packets = static_cast<uint32_t>(d.ring_bytes / sizeof(hsa_kernel_dispatch_packet_t));
  const auto made = makeWatched(
      services,
      {agent, packets, d.compute.type, d.callback, d.callback_data, d.compute.private_size},
      [&](QueueErrorFunction function, void *data, hsa_queue_t **queue) {
        QueueDescriptor own = d;
        own.callback = function;
        own.callback_data = data;
        const hsa_status_t status = hsaApi().amd.hsa_amd_queue_create_fn(agent, &own, 1);
        *queue = own.queue;
        return status;
      });
  if (!made) return false;
  if (!setPriority(*made, d.priority) || !setMask(*made, d.compute)) {
    (void)destroyWatched(*made);
    return false;
  }
  d.queue = *made;
  return true;
}

hsa_status_t createOne(const QueueServices &services, hsa_agent_t agent, QueueDescriptor &d) {
  if (makeDescribed(services, agent, d)) return HSA_STATUS_SUCCESS;
  const hsa_status_t status = hsaApi().amd.hsa_amd_queue_create_fn(agent, &d, 1);
  if (!ok(status) || !d.queue) return status;
  if (d.engine == QueueDescriptor::kCompute && !watch(services, d.queue, agent))
    unseen().add(Unseen::Kind::queue);
  if (d.engine == QueueDescriptor::kSdma) unseen().add(Unseen::Kind::sdma_queue);
  return status;
}

hsa_status_t createDescribed(hsa_agent_t agent, QueueDescriptor *descriptors, uint32_t count) {
  hip::lookAgain();
  const auto next = hsaApi().amd.hsa_amd_queue_create_fn;
  const Visit visit;
  Runtime *runtime = visit.runtime();
  if (!runtime || !descriptors || count == 0 || is_inside) return next(agent, descriptors, count);
  const Inside inside;
  const auto services = QueueServices::of(*runtime);
  // Descriptors of another version may have another size.
  if (!services || descriptors->version != QueueDescriptor::kVersion) {
    const hsa_status_t status = next(agent, descriptors, count);
    if (ok(status)) unseen().add(Unseen::Kind::queue, count);
    return status;
  }
  hsa_status_t first_error = HSA_STATUS_SUCCESS;
  for (uint32_t i = 0; i < count; ++i) {
    const hsa_status_t status = createOne(*services, agent, descriptors[i]);
    if (!ok(status) && ok(first_error)) first_error = status;
  }
  return first_error;
}

// ---- queues that are shared when there are many

/// The runtime's cannot be watched, so each gets one of its own; more than that go to the runtime.
constexpr unsigned kMostCounted = 32;
constexpr uint32_t kCountedPackets = 4096;
std::atomic<unsigned> counted_queues{0};

hsa_queue_t *makeCounted(const QueueServices &services, hsa_agent_t agent, uint32_t type,
                         uint32_t priority, QueueErrorFunction callback, void *data) {
  if (type != HSA_QUEUE_TYPE_MULTI || priority > HSA_AMD_QUEUE_PRIORITY_HIGH) return nullptr;
  if (counted_queues.fetch_add(1) >= kMostCounted) {
    --counted_queues;
    return nullptr;
  }
  const auto made =
      makeWatched(services, {agent, kCountedPackets, type, callback, data},
                  [](QueueErrorFunction, void *, hsa_queue_t **) { return HSA_STATUS_ERROR; });
  QueueState *state = made ? queues().find(*made) : nullptr;
  if (!state || !setPriority(*made, priority)) {
    if (made) (void)destroyWatched(*made);
    --counted_queues;
    return nullptr;
  }
  state->is_counted = true;
  return *made;
}

hsa_status_t acquireCounted(hsa_agent_t agent, uint32_t type, uint32_t priority,
                            QueueErrorFunction callback, void *data, uint64_t flags,
                            hsa_queue_t **queue) {
  hip::lookAgain();
  const auto next = hsaApi().amd.hsa_amd_counted_queue_acquire_fn;
  const Visit visit;
  Runtime *runtime = visit.runtime();
  if (!runtime || !queue || is_inside)
    return next(agent, type, priority, callback, data, flags, queue);
  const Inside inside;
  const auto services = QueueServices::of(*runtime);
  if (hsa_queue_t *made =
          services ? makeCounted(*services, agent, type, priority, callback, data) : nullptr) {
    *queue = made;
    return HSA_STATUS_SUCCESS;
  }
  const hsa_status_t status = next(agent, type, priority, callback, data, flags, queue);
  if (ok(status) && *queue && (!services || !watch(*services, *queue, agent)))
    unseen().add(Unseen::Kind::queue);
  return status;
}

hsa_status_t releaseCounted(hsa_queue_t *queue) {
  const QueueState *state = Runtime::isInChild() ? nullptr : queues().find(queue);
  if (!state) return hsaApi().amd.hsa_amd_counted_queue_release_fn(queue);
  if (state->is_counted) {
    const hsa_status_t status = destroyWatched(queue);
    if (ok(status)) --counted_queues;
    return status;
  }
  std::shared_ptr<QueueState> ours; // the runtime's own, which it keeps
  (void)queues().take(queue, ours);
  return hsaApi().amd.hsa_amd_counted_queue_release_fn(queue);
}

/// Copies that the application gives to an engine itself.
template <typename... Words> hsa_status_t createSdma(Words... words) {
  const hsa_status_t status = hsaApi().amd.hsa_amd_sdma_queue_create_fn(words...);
  if (ok(status)) unseen().add(Unseen::Kind::sdma_queue);
  return status;
}

hsa_status_t queueDestroy(hsa_queue_t *queue) { return destroyWatched(queue); }

/// The application may switch profiling of its queues on and off; FADE needs it on.
hsa_status_t setProfiling(hsa_queue_t *queue, int enable) {
  const bool ours = Runtime::active() && queues().has(queue);
  return hsaApi().amd.hsa_amd_profiling_set_profiler_enabled_fn(queue, ours ? 1 : enable);
}

} // namespace

void hookQueues(HsaTables &tables) {
  tables.core().hsa_queue_create_fn = queueCreate;
  tables.core().hsa_queue_destroy_fn = queueDestroy;
  tables.replace(&AmdApi::hsa_amd_profiling_set_profiler_enabled_fn, setProfiling);
  tables.replace(&AmdApi::hsa_amd_queue_create_fn, createDescribed);
  tables.replace(&AmdApi::hsa_amd_sdma_queue_create_fn,
                 static_cast<decltype(AmdApi::hsa_amd_sdma_queue_create_fn)>(createSdma));
  if (!hsaApi().amd.hsa_amd_counted_queue_release_fn) return;
  tables.replace(&AmdApi::hsa_amd_counted_queue_acquire_fn, acquireCounted);
  tables.replace(&AmdApi::hsa_amd_counted_queue_release_fn, releaseCounted);
}

} // namespace fade
