#include "hsa/queue_hooks.h"

#include "base/diagnostics.h"
#include "hip/install.h"
#include "hip/recorder.h"
#include "hsa/capture_session.h"
#include "hsa/packet_rewrite.h"
#include "hsa/queue_registry.h"
#include "hsa/runtime.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace fade {
namespace {

/// The packets, with room for one more. ROCr that gives many at once has not always taken care of
/// those that go on at the beginning of the ring.
std::vector<DispatchPacket> copyOf(const void *packets, uint64_t count, const hsa_queue_t &queue) {
  std::vector<DispatchPacket> own;
  own.reserve(count + 1);
  const auto *from = static_cast<const DispatchPacket *>(packets);
  const auto *begin = static_cast<const DispatchPacket *>(queue.base_address);
  const DispatchPacket *end = begin ? begin + queue.size : nullptr;
  const bool is_in_ring = begin && !std::less<>()(from, begin) && std::less<>()(from, end);
  const uint64_t in_a_row = is_in_ring ? std::min(count, static_cast<uint64_t>(end - from)) : count;
  own.assign(from, from + in_a_row);
  if (in_a_row < count) own.insert(own.end(), begin, begin + (count - in_a_row));
  return own;
}

void onPackets(const void *packets, uint64_t count, uint64_t index, void *data,
               hsa_amd_queue_intercept_packet_writer writer) {
  std::vector<DispatchPacket> own;
  try {
    const Visit visit;
    if (visit.runtime() && count != 0) {
      const auto &queue = *static_cast<std::shared_ptr<QueueState> *>(data);
      own = copyOf(packets, count, *queue->queue);
      if (CaptureSession *captures = visit.runtime()->captures())
        captures->rewrite(queue, own);
      else
        rewritePackets(*visit.runtime(), queue, own, index);
    }
  } catch (const std::exception &e) { // each packet is whole, or there are none
    warn("packets are passed on unchanged: {}", e.what());
  }
  if (own.empty())
    writer(packets, count);
  else
    writer(own.data(), own.size());
}

/// What watches a queue destroys it as its own when it is destroyed, and the runtime would destroy
/// its cooperative queue again. So the watcher stays behind, and the queue is given back twice: for
/// the watcher, and for the name.
hsa_status_t giveBack(hsa_queue_t *cooperative) {
  const auto destroy = hsaApi().core.hsa_queue_destroy_fn;
  (void)destroy(cooperative);
  return destroy(cooperative);
}

/// The application's own callback for errors of a queue, and which queue that is.
struct ErrorCallback {
  void (*function)(hsa_status_t, hsa_queue_t *, void *) = nullptr;
  void *data = nullptr;
  std::atomic<uint64_t> queue{UINT64_MAX};
};

void keepForGood(std::shared_ptr<void> callback) {
  static std::mutex mutex;
  static auto *kept = new std::vector<std::shared_ptr<void>>; // outlives every exit handler
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(callback));
}

/// Says what happened, then lets the application know as if FADE were not there.
void onQueueError(hsa_status_t status, hsa_queue_t *queue, void *data) {
  const auto &callback = *static_cast<ErrorCallback *>(data);
  try {
    const Visit visit;
    Runtime *runtime = visit.runtime();
    if (runtime && runtime->deaths() && !ok(status)) {
      const char *text = nullptr;
      (void)hsaApi().core.hsa_status_string_fn(status, &text);
      const std::string error =
          text ? text : fmt::format("error {:#x}", static_cast<unsigned>(status));
      runtime->settleRecords();
      runtime->sayDeath(
          runtime->deaths()->queueError(callback.queue.load(), error.substr(0, error.find(':'))));
    }
    if (runtime && runtime->captures() && !ok(status))
      runtime->captures()->gpuStopped(callback.queue.load());
  } catch (...) {
  }
  if (callback.function) callback.function(status, queue, callback.data);
}

hsa_status_t queueCreate(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                         void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                         uint32_t private_size, uint32_t group_size, hsa_queue_t **queue) {
  const HsaApi &api = hsaApi();
  hip::lookAgain();
  const auto plain = [&] {
    return api.core.hsa_queue_create_fn(agent, size, type, callback, data, private_size, group_size,
                                        queue);
  };
  const Visit visit;
  Runtime *runtime = visit.runtime();
  if (!runtime) return plain();
  try {
    const Agent *known = runtime->agents().find(agent);
    if (!known || !known->is_gpu) return plain();
    // The runtime has one cooperative queue for each agent, which all get who ask for one. It
    // cannot be watched twice.
    static auto *cooperative_mutex = new std::mutex;
    std::unique_lock lock(*cooperative_mutex, std::defer_lock);
    const bool is_cooperative = type == HSA_QUEUE_TYPE_COOPERATIVE;
    if (is_cooperative) {
      lock.lock();
      if (hsa_queue_t *there = queue ? queues().shareCooperative(known) : nullptr) {
        *queue = there;
        return HSA_STATUS_SUCCESS;
      }
    }
    std::shared_ptr<ErrorCallback> errors;
    if (runtime->deaths() || runtime->captures()) {
      errors = std::make_shared<ErrorCallback>();
      errors->function = callback;
      errors->data = data;
    }
    const hsa_status_t status = api.amd.hsa_amd_queue_intercept_create_fn(
        agent, size, type, errors ? onQueueError : callback, errors ? errors.get() : data,
        private_size, group_size, queue);
    if (!ok(status)) {
      warn("a queue cannot be watched (status {:#x})", static_cast<unsigned>(status));
      return plain();
    }
    auto state = std::make_shared<QueueState>(*queue);
    state->number = runtime->nextQueue();
    if (errors) errors->queue = state->number;
    state->error_callback = errors;
    state->agent = known;
    if (is_cooperative)
      (void)api.core.hsa_queue_create_fn(agent, size, type, callback, data, private_size,
                                         group_size, &state->cooperative);
    if (hip::hasRecorder()) state->calls = std::make_unique<PacketCalls>((*queue)->size);
    if (runtime->settings().instrumented) state->rings = runtime->rings(*known);
    // The runtime calls back until the queue is destroyed, and maybe a little longer.
    auto *forever = new std::shared_ptr<QueueState>(state);
    if (ok(api.amd.hsa_amd_queue_intercept_register_fn(*queue, onPackets, forever)))
      (void)api.amd.hsa_amd_profiling_set_profiler_enabled_fn(*queue, 1);
    note("queue {} on agent {} ({}), {} packets", state->number, known->number, known->target,
         state->flow.size());
    queues().add(std::move(state));
    return status;
  } catch (const std::exception &e) {
    warn("a queue cannot be watched: {}", e.what());
    return plain();
  }
}

hsa_status_t queueDestroy(hsa_queue_t *queue) {
  if (Runtime::isInChild()) return hsaApi().core.hsa_queue_destroy_fn(queue);
  std::shared_ptr<QueueState> state;
  // Before another queue can get this address.
  if (!queues().take(queue, state)) return HSA_STATUS_SUCCESS;
  const hsa_status_t status = state && state->cooperative
                                  ? giveBack(state->cooperative)
                                  : hsaApi().core.hsa_queue_destroy_fn(queue);
  if (state && (state->cooperative || !ok(status))) // the queue lives on, and may fail yet
    keepForGood(std::move(state->error_callback));
  if (!state || !ok(status)) return status;
  if (const Visit visit; visit.runtime()) state->flow.dropMarks(visit.runtime()->polledSignals());
  state->destroyed.store(true);
  return status;
}

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
}

} // namespace fade
