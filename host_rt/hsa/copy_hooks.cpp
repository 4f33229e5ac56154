#include "hsa/copy_hooks.h"

#include "base/handed_over.h"
#include "hip/recorder.h"
#include "hsa/capture_session.h"
#include "hsa/runtime.h"
#include "hsa/timed_copy.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace fade {
namespace {

using Signals = std::span<const hsa_signal_t>;
/// Set when the tables are hooked.
bool holds_back = false;

using Start = std::function<hsa_status_t(Signals waits_for)>;

bool isZero(hsa_signal_t signal) { return hsaApi().core.hsa_signal_load_scacquire_fn(signal) == 0; }

/// The copies of one engine that wait, oldest first.
class CopyQueue {
public:
  /// Takes the copy over if it or one before it has to wait. Else it can be started as it is.
  bool takes(Signals waits_for, const Start &start, hsa_signal_t completion) {
    const std::lock_guard lock(mutex_);
    if (copies_.empty() && std::ranges::all_of(waits_for, isZero)) return false;
    copies_.push_back({{waits_for.begin(), waits_for.end()}, start, completion});
    if (copies_.size() > 1 || goOn()) return true;
    copies_.clear();
    return false;
  }

  /// Gives all of them to the runtime. The engine waits for what they wait for.
  void flush() {
    const std::lock_guard lock(mutex_);
    while (!copies_.empty()) startFirst(copies_.front().waits_for);
  }

private:
  struct Copy {
    std::vector<hsa_signal_t> waits_for;
    Start start;
    hsa_signal_t completion;
  };

  /// On a thread of the runtime.
  static bool onZero(hsa_signal_value_t, void *queue) {
    takeOver(queue);
    auto &self = *static_cast<CopyQueue *>(queue);
    const std::lock_guard lock(self.mutex_);
    // If nobody would tell when the first may start, the engine has to wait after all.
    while (!self.goOn()) self.startFirst(self.copies_.front().waits_for);
    return false;
  }

  /// Starts what may start, and sees to it that onZero is called when there is more. False if that
  /// cannot be.
  bool goOn() {
    while (!copies_.empty()) {
      const auto &signals = copies_.front().waits_for;
      const auto pending = std::ranges::find_if_not(signals, isZero);
      if (pending != signals.end()) {
        handOver(this);
        return ok(hsaApi().amd.hsa_amd_signal_async_handler_fn(*pending, HSA_SIGNAL_CONDITION_EQ, 0,
                                                               onZero, this));
      }
      startFirst({});
    }
    return true;
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

template <typename F>
hsa_status_t copyLinear(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
                        size_t size, Signals waits_for, hsa_signal_t completion,
                        std::optional<uint32_t> engine, F copy) {
  const auto start = [=](Signals signals, hsa_signal_t done) {
    return copy(to, to_agent, from, from_agent, size, static_cast<uint32_t>(signals.size()),
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
        const auto later = [=](Signals signals) {
          if (timed) timed->goesToEngine();
          return start(signals, done);
        };
        // While a capture is made, it waits for the end of that, too.
        CaptureSession *captures = runtime->captures();
        std::vector<hsa_signal_t> waited(waits_for.begin(), waits_for.end());
        if (const hsa_signal_t door = captures ? captures->doorForCopies() : hsa_signal_t{};
            door.handle != 0)
          waited.push_back(door);
        return queue && queue->takes(waited, later, done) ? HSA_STATUS_SUCCESS : later(waits_for);
      });
    }
  } catch (...) { // no memory to hold it back with, or to record it
  }
  return status ? *status : start(waits_for, completion);
}

hsa_status_t copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
                  size_t size, uint32_t count, const hsa_signal_t *signals,
                  hsa_signal_t completion) {
  return copyLinear(to, to_agent, from, from_agent, size, {signals, count}, completion,
                    std::nullopt, hsaApi().amd.hsa_amd_memory_async_copy_fn);
}

/// These are not held back. Whether the runtime can do it shows only when it is asked to, and there
/// are applications that then try something else.
hsa_status_t copyRect(const hsa_pitched_ptr_t *to, const hsa_dim3_t *to_offset,
                      const hsa_pitched_ptr_t *from, const hsa_dim3_t *from_offset,
                      const hsa_dim3_t *range, hsa_agent_t agent,
                      hsa_amd_copy_direction_t direction, uint32_t count,
                      const hsa_signal_t *signals, hsa_signal_t completion) {
  const auto start = [&](hsa_signal_t done, TimedCopy *timed) {
    if (timed) timed->goesToEngine();
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

/// The same on a chosen engine.
hsa_status_t copyOnEngine(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
                          size_t size, uint32_t count, const hsa_signal_t *signals,
                          hsa_signal_t completion, uint32_t engine, bool force) {
  const auto copy = [=](auto... values) {
    return hsaApi().amd.hsa_amd_memory_async_copy_on_engine_fn(values..., engine, force);
  };
  return copyLinear(to, to_agent, from, from_agent, size, {signals, count}, completion, engine,
                    copy);
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
