#include "hsa/queue_watch.h"

#include "base/diagnostics.h"
#include "hip/recorder.h"
#include "hsa/capture_session.h"
#include "hsa/packet_rewrite.h"
#include "hsa/runtime.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
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
        rewritePackets(PacketServices::of(*visit.runtime()), queue, own, index);
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
  QueueErrorFunction function = nullptr;
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

/// Registers for its packets. False if the runtime does not let us.
bool startWatching(const QueueServices &services, const Agent &agent,
                   std::shared_ptr<QueueState> state) {
  const HsaApi &api = hsaApi();
  state->number = services.count.fetch_add(1, std::memory_order_relaxed);
  state->agent = &agent;
  if (hip::hasRecorder()) state->calls = std::make_unique<PacketCalls>(state->queue->size);
  if (services.pools) state->rings = services.pools->rings(agent, RingUse::kernels);
  // The runtime calls back until the queue is destroyed, and maybe a little longer.
  auto forever = std::make_unique<std::shared_ptr<QueueState>>(state);
  if (!ok(api.amd.hsa_amd_queue_intercept_register_fn(state->queue, onPackets, forever.get())))
    return false;
  (void)forever.release();
  (void)api.amd.hsa_amd_profiling_set_profiler_enabled_fn(state->queue, 1);
  note("queue {} on agent {} ({}), {} packets", state->number, agent.number, agent.target,
       state->flow.size());
  queues().add(std::move(state));
  return true;
}

/// The application's callback, or ours in front of it.
std::shared_ptr<ErrorCallback> errorsOf(const QueueServices &services,
                                        const QueueRequest &request) {
  if (!services.wants_errors) return nullptr;
  auto errors = std::make_shared<ErrorCallback>();
  errors->function = request.callback;
  errors->data = request.data;
  return errors;
}

/// Tools that were there before FADE make the queue. It can be watched by several, if it is of the
/// kind that can be watched at all.
hsa_queue_t *adopt(const QueueServices &services, const Agent &agent, const QueueRequest &request,
                   const MakeQueue &next) {
  const auto errors = errorsOf(services, request);
  hsa_queue_t *queue = nullptr;
  if (!ok(next(errors ? onQueueError : request.callback, errors ? errors.get() : request.data,
               &queue)) ||
      !queue)
    return nullptr;
  if (queues().share(queue, &agent)) return queue;
  auto state = std::make_shared<QueueState>(queue);
  state->error_callback = errors;
  if (startWatching(services, agent, state)) {
    if (errors) errors->queue = state->number;
    return queue;
  }
  (void)hsaApi().core.hsa_queue_destroy_fn(queue);
  if (errors) keepForGood(errors);
  return nullptr;
}

std::optional<hsa_queue_t *> makeInterceptQueue(const QueueServices &services, const Agent &agent,
                                                const QueueRequest &request) {
  const HsaApi &api = hsaApi();
  const auto errors = errorsOf(services, request);
  hsa_queue_t *queue = nullptr;
  const hsa_status_t status = api.amd.hsa_amd_queue_intercept_create_fn(
      request.agent, request.size, request.type, errors ? onQueueError : request.callback,
      errors ? errors.get() : request.data, request.private_size, request.group_size, &queue);
  if (!ok(status) || !queue) {
    warn("a queue cannot be watched (status {:#x})", static_cast<unsigned>(status));
    return std::nullopt;
  }
  auto state = std::make_shared<QueueState>(queue);
  state->error_callback = errors;
  if (request.type == HSA_QUEUE_TYPE_COOPERATIVE)
    (void)api.core.hsa_queue_create_fn(request.agent, request.size, request.type, request.callback,
                                       request.data, request.private_size, request.group_size,
                                       &state->cooperative);
  if (!startWatching(services, agent, state)) {
    warn("the packets of a queue are not seen");
    queues().add(state);
  }
  if (errors) errors->queue = state->number;
  return queue;
}

/// The runtime has one cooperative queue for each agent, which all get who ask for one. It cannot
/// be watched twice, so threads make it one after the other. No lock is held meanwhile.
class CooperativeTurn {
public:
  explicit CooperativeTurn(const Agent *agent) : agent_(agent) {
    std::unique_lock lock(turns().mutex);
    turns().ended.wait(lock, [&] { return !turns().agents.contains(agent); });
    turns().agents.insert(agent);
  }
  ~CooperativeTurn() {
    {
      const std::lock_guard lock(turns().mutex);
      turns().agents.erase(agent_);
    }
    turns().ended.notify_all();
  }
  CooperativeTurn(const CooperativeTurn &) = delete;
  CooperativeTurn &operator=(const CooperativeTurn &) = delete;

private:
  struct Turns {
    std::mutex mutex;
    std::condition_variable ended;
    std::set<const Agent *> agents; // whose queue is being made
  };
  static Turns &turns() {
    static auto *turns = new Turns; // outlives the application's threads
    return *turns;
  }

  const Agent *agent_;
};

const Agent *gpuOf(const Agents &agents, hsa_agent_t agent) {
  const Agent *known = agents.find(agent);
  return known && known->is_gpu ? known : nullptr;
}

} // namespace

std::optional<QueueServices> QueueServices::of(Runtime &runtime) noexcept {
  try {
    const Settings &settings = runtime.settings();
    return QueueServices{runtime.agents(), settings.instrumented ? &runtime.pools() : nullptr,
                         runtime.queueCount(), runtime.deaths() || runtime.captures(),
                         settings.keeps_other_tools};
  } catch (const std::exception &e) {
    warn("a queue cannot be watched: {}", e.what());
    return std::nullopt;
  }
}

std::optional<hsa_queue_t *> makeWatched(const QueueServices &services, const QueueRequest &request,
                                         const MakeQueue &next) noexcept {
  try {
    const Agent *agent = gpuOf(services.agents, request.agent);
    if (!agent) return std::nullopt;
    if (services.keeps_other_tools)
      if (hsa_queue_t *queue = adopt(services, *agent, request, next)) return queue;
    std::optional<CooperativeTurn> turn;
    if (request.type == HSA_QUEUE_TYPE_COOPERATIVE) {
      turn.emplace(agent);
      if (hsa_queue_t *there = queues().shareCooperative(agent)) return there;
    }
    return makeInterceptQueue(services, *agent, request);
  } catch (const std::exception &e) {
    warn("a queue cannot be watched: {}", e.what());
    return std::nullopt;
  }
}

bool watch(const QueueServices &services, hsa_queue_t *queue, hsa_agent_t agent) noexcept {
  try {
    const Agent *known = gpuOf(services.agents, agent);
    if (!known) return true; // nobody wants to see it
    return queues().share(queue, known) ||
           startWatching(services, *known, std::make_shared<QueueState>(queue));
  } catch (const std::exception &e) {
    warn("a queue cannot be watched: {}", e.what());
    return false;
  }
}

hsa_status_t destroyWatched(hsa_queue_t *queue) noexcept {
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

} // namespace fade
