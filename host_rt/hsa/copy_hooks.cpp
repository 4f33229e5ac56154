#include "hsa/copy_hooks.h"

#include "base/handed_over.h"
#include "hip/recorder.h"
#include "hsa/capture_session.h"
#include "hsa/runtime.h"
#include "hsa/timed_copy.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace fade {
namespace {

using Signals = std::span<const hsa_signal_t>;
/// Set when the tables are hooked.
bool holds_back = false;

bool isZero(hsa_signal_t signal) { return hsaApi().core.hsa_signal_load_scacquire_fn(signal) == 0; }

/// A copy that may have to wait before the runtime gets it.
struct Copy {
  std::vector<hsa_signal_t> waits_for;
  /// Right before it starts: what it has to wait for besides. Handle 0: nothing, it counts as
  /// started.
  std::function<hsa_signal_t()> enter;
  std::function<hsa_status_t(Signals waits_for)> start;
  hsa_signal_t completion;
};

/// The copies of one engine that wait, oldest first.
class CopyQueue {
public:
  /// Takes the copy over if it or one before it has to wait. Else it can be started as it is, and
  /// counts as started.
  bool takes(const Copy &copy) {
    const std::lock_guard lock(mutex_);
    copies_.push_back(copy);
    if (copies_.size() > 1) return true;
    if (const auto pending = whatFirstWaitsFor(); pending.handle != 0 && callWhenZero(pending))
      return true;
    copies_.clear();
    return false;
  }

  /// Gives all of them to the runtime. The engine waits for what they wait for.
  void flush() {
    const std::lock_guard lock(mutex_);
    while (!copies_.empty()) startFirst(copies_.front().waits_for);
  }

private:
  /// On a thread of the runtime.
  static bool onZero(hsa_signal_value_t, void *queue) {
    takeOver(queue);
    auto &self = *static_cast<CopyQueue *>(queue);
    const std::lock_guard lock(self.mutex_);
    self.goOn();
    return false;
  }

  /// Starts what may start, and sees to it that onZero is called when there is more. If that cannot
  /// be, the engine has to wait after all.
  void goOn() {
    while (!copies_.empty()) {
      const hsa_signal_t pending = whatFirstWaitsFor();
      if (pending.handle == 0)
        startFirst({});
      else if (callWhenZero(pending))
        return;
      else
        startFirst(copies_.front().waits_for);
    }
  }

  /// Handle 0: nothing, it counts as started.
  hsa_signal_t whatFirstWaitsFor() {
    Copy &first = copies_.front();
    for (;;) {
      const auto pending = std::ranges::find_if_not(first.waits_for, isZero);
      if (pending != first.waits_for.end()) return *pending;
      const hsa_signal_t door = first.enter();
      if (door.handle == 0) return door;
      first.waits_for.push_back(door);
    }
  }

  bool callWhenZero(hsa_signal_t signal) {
    handOver(this);
    return ok(hsaApi().amd.hsa_amd_signal_async_handler_fn(signal, HSA_SIGNAL_CONDITION_EQ, 0,
                                                           onZero, this));
  }

  void startFirst(Signals waits_for) {
    const Copy &copy = copies_.front();
    // It was taken over and can only fail in the way in which copies fail later.
    if (!ok(copy.start(waits_for)))
      hsaApi().core.hsa_signal_store_screlease_fn(copy.completion, -1);
    copies_.pop_front();
  }

  std::mutex mutex_;
  std::deque<Copy> copies_;
};

/// By the GPU that copies and the direction. Lines stay: the runtime calls back.
CopyQueue &copyQueueOf(hsa_agent_t agent, int direction) {
  static auto *mutex = new std::mutex;
  static auto *queues = new std::map<std::pair<uint64_t, int>, CopyQueue>;
  const std::lock_guard lock(*mutex);
  return (*queues)[{agent.handle, direction}];
}

/// Null: the runtime will not like it.
CopyQueue *copyQueueOf(hsa_agent_t to, hsa_agent_t from, Runtime &runtime) {
  const Agents &agents = runtime.agents();
  const Agent *source = agents.find(from), *target = agents.find(to);
  if (!source || !target) return nullptr;
  const auto direction = source->is_gpu ? (target->is_gpu ? hsaDeviceToDevice : hsaDeviceToHost)
                                        : (target->is_gpu ? hsaHostToDevice : hsaHostToHost);
  return &copyQueueOf(source->is_gpu ? from : to, direction);
}

/// Records a copy if that is wanted. `start`: gives it to the runtime with that completion signal.
template <typename F>
hsa_status_t startTimed(Runtime &runtime, const CopyPlaces &places, hsa_signal_t completion,
                        F start) {
  TimedCopy *timed = TimedCopy::begin(runtime, places, completion);
  if (!timed) return start(completion, nullptr);
  const hsa_status_t status = start(timed->signal(), timed);
  timed->started(ok(status));
  return status;
}

/// `later`: as `copy`, for when the application cannot be told any more that it was refused.
template <typename F, typename L>
hsa_status_t copyLinear(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
                        size_t size, Signals waits_for, hsa_signal_t completion,
                        std::optional<uint32_t> engine, F copy, L later) {
  const auto startBy = [=](const auto &call, Signals signals, hsa_signal_t done) {
    return call(to, to_agent, from, from_agent, size, static_cast<uint32_t>(signals.size()),
                signals.empty() ? nullptr : signals.data(), done);
  };
  std::optional<hsa_status_t> status;
  try {
    const Visit visit;
    if (Runtime *runtime = visit.runtime()) {
      CopyPlaces places = placesOf(*runtime, to, to_agent, from, from_agent, size);
      places.engine = engine;
      status = startTimed(*runtime, places, completion, [&](hsa_signal_t done, TimedCopy *timed) {
        CopyQueue *queue = holds_back ? copyQueueOf(to_agent, from_agent, *runtime) : nullptr;
        const auto enter = [timed] { return timed ? timed->goesToEngine() : hsa_signal_t{}; };
        const auto start = [=](Signals signals) {
          if (timed) timed->isWithEngine();
          return startBy(later, signals, done);
        };
        if (queue && queue->takes({{waits_for.begin(), waits_for.end()}, enter, start, done}))
          return HSA_STATUS_SUCCESS;
        if (timed) timed->isWithEngine();
        return startBy(copy, waits_for, done);
      });
    }
  } catch (...) { // no memory to hold it back with, or to record it
  }
  return status ? *status : startBy(copy, waits_for, completion);
}

hsa_status_t copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
                  size_t size, uint32_t count, const hsa_signal_t *signals,
                  hsa_signal_t completion) {
  const auto copy = hsaApi().amd.hsa_amd_memory_async_copy_fn;
  return copyLinear(to, to_agent, from, from_agent, size, {signals, count}, completion,
                    std::nullopt, copy, copy);
}

/// These are not taken over. Whether the runtime can do it shows only when it is asked to, and
/// there are applications that then try something else. While memory is captured, the caller waits.
hsa_status_t copyRect(const hsa_pitched_ptr_t *to, const hsa_dim3_t *to_offset,
                      const hsa_pitched_ptr_t *from, const hsa_dim3_t *from_offset,
                      const hsa_dim3_t *range, hsa_agent_t agent,
                      hsa_amd_copy_direction_t direction, uint32_t count,
                      const hsa_signal_t *signals, hsa_signal_t completion) {
  const auto start = [&](hsa_signal_t done, TimedCopy *timed) {
    if (timed) {
      while (timed->goesToEngine().handle != 0) // a door that is shut
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      timed->isWithEngine();
    }
    return hsaApi().amd.hsa_amd_memory_async_copy_rect_fn(to, to_offset, from, from_offset, range,
                                                          agent, direction, count, signals, done);
  };
  std::optional<hsa_status_t> status;
  try {
    const Visit visit;
    if (Runtime *runtime = visit.runtime()) {
      if (holds_back) copyQueueOf(agent, direction).flush();
      CopyPlaces places;
      places.agent = agent;
      if (to && from && range) {
        places.to = to->base;
        places.from = from->base;
        places.bytes = uint64_t{range->x} * range->y * range->z;
      }
      places.direction = static_cast<events::Direction>(direction + 1); // in the same order
      status = startTimed(*runtime, places, completion, start);
    }
  } catch (...) { // no memory: there is no such queue, either
  }
  return status ? *status : start(completion, nullptr);
}

/// The same on a chosen engine. The runtime refuses engines that cannot do it, and HIP then asks
/// for any; if that happens too late for HIP to hear of it, it is done for it.
hsa_status_t copyOnEngine(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
                          size_t size, uint32_t count, const hsa_signal_t *signals,
                          hsa_signal_t completion, uint32_t engine, bool force) {
  const auto copy = [=](auto... values) {
    return hsaApi().amd.hsa_amd_memory_async_copy_on_engine_fn(values..., engine, force);
  };
  const auto later = [=](auto... values) {
    const hsa_status_t status = copy(values...);
    return ok(status) ? status : hsaApi().amd.hsa_amd_memory_async_copy_fn(values...);
  };
  return copyLinear(to, to_agent, from, from_agent, size, {signals, count}, completion, engine,
                    copy, later);
}

/// The application may switch the times of copies on and off; a recording needs them.
hsa_status_t setCopyTimes(bool enable) {
  return hsaApi().amd.hsa_amd_profiling_async_copy_enable_fn(enable || hip::hasRecorder());
}

static_assert(static_cast<int>(events::Direction::host_to_device) == hsaHostToDevice + 1 &&
              static_cast<int>(events::Direction::device_to_device) == hsaDeviceToDevice + 1);

} // namespace

void hookCopies(HsaTables &tables, bool keeps_engines_free) {
  holds_back = keeps_engines_free;
  tables.replace(&AmdApi::hsa_amd_memory_async_copy_fn, copy);
  tables.replace(&AmdApi::hsa_amd_memory_async_copy_rect_fn, copyRect);
  tables.replace(&AmdApi::hsa_amd_memory_async_copy_on_engine_fn, copyOnEngine);
  tables.replace(&AmdApi::hsa_amd_profiling_async_copy_enable_fn, setCopyTimes);
}

} // namespace fade
