#include "hsa/copy_hooks.h"

#include "base/handed_over.h"
#include "hip/recorder.h"
#include "hsa/capture_session.h"
#include "hsa/runtime.h"
#include "hsa/timed_copy.h"
#include "hsa/unseen.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
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

/// The copies of one engine that wait, oldest first. One thread at a time looks after the first of
/// them; the lock is not held while it asks the runtime.
class CopyQueue {
public:
  /// Takes the copy over if it or one before it has to wait. Else it can be started as it is, and
  /// counts as started. So it does if there is no memory to keep it in.
  bool takes(Copy copy) {
    {
      const std::lock_guard lock(mutex_);
      if (is_tended_ || !copies_.empty()) {
        copies_.push_back(std::move(copy));
        return true;
      }
      is_tended_ = true;
    }
    const Tending rest(*this); // for those that come meanwhile
    if (whatWaitsFor(copy).handle == 0) return false;
    const std::lock_guard lock(mutex_);
    copies_.push_front(std::move(copy));
    return true;
  }

  /// Gives all of them to the runtime. The engine waits for what they wait for.
  void flush() {
    std::deque<Copy> all;
    {
      std::unique_lock lock(mutex_);
      untended_.wait(lock, [&] { return !is_tended_; });
      if (copies_.empty()) return;
      is_tended_ = true;
      all.swap(copies_);
    }
    const Tending rest(*this);
    for (const Copy &copy : all) start(copy, copy.waits_for);
  }

private:
  /// Whoever has set is_tended_ leaves the queue with this, whatever happens.
  class Tending {
  public:
    explicit Tending(CopyQueue &queue) : queue_(queue) {}
    ~Tending() { queue_.tend(); }
    Tending(const Tending &) = delete;
    Tending &operator=(const Tending &) = delete;

  private:
    CopyQueue &queue_;
  };

  /// On a thread of the runtime.
  static bool onZero(hsa_signal_value_t, void *queue) {
    takeOver(queue);
    auto &self = *static_cast<CopyQueue *>(queue);
    {
      const std::lock_guard lock(self.mutex_);
      self.has_news_ = self.is_tended_;
      if (std::exchange(self.is_tended_, true)) return false;
    }
    self.tend();
    return false;
  }

  /// By who has set is_tended_. Starts what may start, and sees to it that onZero is called when
  /// there is more. If that cannot be, the engine has to wait after all.
  void tend() noexcept {
    for (;;) {
      Copy *first = nullptr; // it stays where it is: others only add behind it
      {
        const std::lock_guard lock(mutex_);
        has_news_ = false;
        if (copies_.empty()) return leave();
        first = &copies_.front();
      }
      hsa_signal_t pending{};
      bool is_known = true;
      try {
        pending = whatWaitsFor(*first);
      } catch (...) { // no memory
        is_known = false;
      }
      if (is_known && pending.handle != 0 && callWhenZero(pending)) {
        const std::lock_guard lock(mutex_);
        if (!has_news_) return leave();
        continue;
      }
      start(*first, is_known && pending.handle == 0 ? Signals{} : first->waits_for);
      const std::lock_guard lock(mutex_);
      copies_.pop_front();
    }
  }

  /// With the lock.
  void leave() noexcept {
    is_tended_ = false;
    untended_.notify_all();
  }

  /// Handle 0: nothing, it counts as started.
  static hsa_signal_t whatWaitsFor(Copy &copy) {
    for (;;) {
      const auto pending = std::ranges::find_if_not(copy.waits_for, isZero);
      if (pending != copy.waits_for.end()) return *pending;
      copy.waits_for.reserve(copy.waits_for.size() + 1); // a door that was met is not forgotten
      const hsa_signal_t door = copy.enter();
      if (door.handle == 0) return door;
      copy.waits_for.push_back(door);
    }
  }

  bool callWhenZero(hsa_signal_t signal) {
    handOver(this);
    return ok(hsaApi().amd.hsa_amd_signal_async_handler_fn(signal, HSA_SIGNAL_CONDITION_EQ, 0,
                                                           onZero, this));
  }

  static void start(const Copy &copy, Signals waits_for) {
    // It was taken over and can only fail in the way in which copies fail later.
    if (!ok(copy.start(waits_for)))
      hsaApi().core.hsa_signal_store_screlease_fn(copy.completion, -1);
  }

  std::mutex mutex_;
  std::condition_variable untended_;
  std::deque<Copy> copies_;
  bool is_tended_ = false; ///< somebody looks after the first
  bool has_news_ = false;  ///< for him: a signal has become zero meanwhile
};

/// By the GPU that copies and the direction. Lines stay: the runtime calls back.
CopyQueue &copyQueueOf(hsa_agent_t agent, int direction) {
  static auto *mutex = new std::mutex;
  static auto *queues = new std::map<std::pair<uint64_t, int>, CopyQueue>;
  const std::lock_guard lock(*mutex);
  return (*queues)[{agent.handle, direction}];
}

/// Null: the runtime will not like it.
CopyQueue *copyQueueOf(hsa_agent_t to, hsa_agent_t from, const Agents &agents) {
  const Agent *source = agents.find(from), *target = agents.find(to);
  if (!source || !target) return nullptr;
  const auto direction = source->is_gpu ? (target->is_gpu ? hsaDeviceToDevice : hsaDeviceToHost)
                                        : (target->is_gpu ? hsaHostToDevice : hsaHostToHost);
  return &copyQueueOf(source->is_gpu ? from : to, direction);
}

/// Records a copy if that is wanted. `start`: gives it to the runtime with that completion signal.
template <typename F>
hsa_status_t startTimed(const CopyServices &services, const CopyPlaces &places,
                        hsa_signal_t completion, F start, uint32_t count = 1) {
  TimedCopy *timed = TimedCopy::begin(services, places, completion, count);
  if (!timed) return start(completion, nullptr);
  try {
    const hsa_status_t status = start(timed->signal(), timed);
    timed->started(ok(status));
    return status;
  } catch (...) { // no memory: it is started without being recorded
    timed->started(false);
    throw;
  }
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
      const CopyServices services = CopyServices::of(*runtime);
      CopyPlaces places = placesOf(services.agents, to, to_agent, from, from_agent, size);
      places.engine = engine;
      status = startTimed(services, places, completion, [&](hsa_signal_t done, TimedCopy *timed) {
        CopyQueue *queue =
            holds_back ? copyQueueOf(to_agent, from_agent, services.agents) : nullptr;
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

/// While memory is captured, the caller waits.
void waitForDoor(TimedCopy *timed) {
  if (!timed) return;
  while (timed->goesToEngine().handle != 0) // a door that is shut
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  timed->isWithEngine();
}

/// These are not taken over. Whether the runtime can do it shows only when it is asked to, and
/// there are applications that then try something else.
hsa_status_t copyRect(const hsa_pitched_ptr_t *to, const hsa_dim3_t *to_offset,
                      const hsa_pitched_ptr_t *from, const hsa_dim3_t *from_offset,
                      const hsa_dim3_t *range, hsa_agent_t agent,
                      hsa_amd_copy_direction_t direction, uint32_t count,
                      const hsa_signal_t *signals, hsa_signal_t completion) {
  const auto start = [&](hsa_signal_t done, TimedCopy *timed) {
    waitForDoor(timed);
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
      status = startTimed(CopyServices::of(*runtime), places, completion, start);
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

/// What several copies in one call are together: recorded as one. Nothing if that is not known.
std::optional<CopyPlaces> placesOf(const Agents &agents,
                                   std::span<const CopyOperation> operations) {
  std::optional<CopyPlaces> all;
  for (const CopyOperation &one : operations) {
    if (one.version != CopyOperation::kVersion ||
        one.completion.handle != operations[0].completion.handle)
      return std::nullopt;
    // Addresses that are lists, or that the engine finds out itself, are not recorded.
    const bool is_plain = one.entries == 0 && one.type == CopyOperation::kLinear;
    const CopyPlaces places = placesOf(agents, is_plain ? one.to : nullptr, one.firstTarget(),
                                       is_plain ? one.from : nullptr, one.from_agent, one.bytes());
    if (!all) {
      all = places;
      continue;
    }
    all->bytes += places.bytes;
    if (all->direction != places.direction) all->direction = events::Direction::none;
  }
  return all;
}

/// Gives a batch to the runtime now, or when what it waits for has happened.
hsa_status_t startBatch(const Agents &agents, std::vector<CopyOperation> operations,
                        Signals waits_for, hsa_signal_t done, TimedCopy *timed) {
  for (CopyOperation &one : operations) one.completion = done;
  const auto next = hsaApi().amd.hsa_amd_memory_async_batch_copy_fn;
  const auto startBy = [next](const std::vector<CopyOperation> &all, Signals signals) {
    return next(all.data(), static_cast<uint32_t>(all.size()),
                static_cast<uint32_t>(signals.size()), signals.empty() ? nullptr : signals.data());
  };
  // Lists are the application's, and may be gone later.
  const bool can_wait =
      std::ranges::all_of(operations, [](const CopyOperation &one) { return one.entries == 0; });
  CopyQueue *first = nullptr;
  if (holds_back)
    for (const CopyOperation &one : operations)
      if (CopyQueue *queue = copyQueueOf(one.firstTarget(), one.from_agent, agents)) {
        if (!first) first = queue;
        if (queue != first || !can_wait) queue->flush();
      }
  if (first && can_wait) {
    const auto enter = [timed] { return timed ? timed->goesToEngine() : hsa_signal_t{}; };
    const auto start = [=](Signals signals) {
      if (timed) timed->isWithEngine();
      return startBy(operations, signals);
    };
    if (first->takes({{waits_for.begin(), waits_for.end()}, enter, start, done}))
      return HSA_STATUS_SUCCESS;
    if (timed) timed->isWithEngine();
  } else {
    waitForDoor(timed);
  }
  return startBy(operations, waits_for);
}

/// Several copies, which have one signal.
hsa_status_t copyBatch(const CopyOperation *operations, uint32_t count, uint32_t wait_count,
                       const hsa_signal_t *waits_for) {
  std::optional<hsa_status_t> status;
  try {
    const Visit visit;
    Runtime *runtime = visit.runtime();
    const std::span<const CopyOperation> all(operations, operations ? count : 0);
    const auto places = runtime && !all.empty() ? placesOf(runtime->agents(), all) : std::nullopt;
    if (runtime && !all.empty() && !places) unseen().add(Unseen::Kind::copy);
    if (places)
      status = startTimed(
          CopyServices::of(*runtime), *places, all[0].completion,
          [&](hsa_signal_t done, TimedCopy *timed) {
            return startBatch(runtime->agents(), {all.begin(), all.end()}, {waits_for, wait_count},
                              done, timed);
          },
          count);
  } catch (...) { // no memory to record it
  }
  return status ? *status
                : hsaApi().amd.hsa_amd_memory_async_batch_copy_fn(operations, count, wait_count,
                                                                  waits_for);
}

/// The driver moves pages then; nobody tells which and when.
hsa_status_t prefetch(void *memory, size_t size, hsa_agent_t agent, uint32_t wait_count,
                      const hsa_signal_t *waits_for, hsa_signal_t completion) {
  unseen().add(Unseen::Kind::prefetch);
  return hsaApi().amd.hsa_amd_svm_prefetch_async_fn(memory, size, agent, wait_count, waits_for,
                                                    completion);
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
  tables.replace(&AmdApi::hsa_amd_memory_async_batch_copy_fn, copyBatch);
  tables.replace(&AmdApi::hsa_amd_svm_prefetch_async_fn, prefetch);
  tables.replace(&AmdApi::hsa_amd_profiling_async_copy_enable_fn, setCopyTimes);
}

} // namespace fade
