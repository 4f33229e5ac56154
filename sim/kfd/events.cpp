#include "kfd/events.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <new>
#include <pthread.h>
#include <unordered_map>

namespace fade::sim::kfd {
namespace {

// The age at which a thread saw each event last, for callers that do not keep it themselves.
struct Seen {
  uint64_t serial, age;
};
using SeenAges = std::unordered_map<uint32_t, Seen>;
// Of the whole process: what a thread has seen must not be taken for an event of another driver.
std::atomic<uint64_t> next_serial{1};

// Those of this thread. Runtimes still wait while a thread ends and, on the main thread, from exit
// handlers: by then objects with thread storage are gone. Thread-specific data goes after them, is
// made anew if it is needed once more, and stays when the process exits.
SeenAges &seen_ages() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    if (pthread_key_create(&made, [](void *ages) { delete static_cast<SeenAges *>(ages); }) != 0)
      throw std::bad_alloc();
    return made;
  }();
  if (auto *ages = static_cast<SeenAges *>(pthread_getspecific(key))) return *ages;
  auto ages = std::make_unique<SeenAges>();
  if (pthread_setspecific(key, ages.get()) != 0) throw std::bad_alloc();
  return *ages.release();
}

} // namespace

std::optional<uint32_t> Events::create(uint32_t type, bool auto_reset) {
  std::lock_guard lock(mutex_);
  if (events_.size() >= limit - 1) return std::nullopt;
  uint32_t id = 1; // lowest that is free: ids index the page of slots
  for (auto &[used, event] : events_) {
    if (used != id) break;
    ++id;
  }
  events_[id] = {.type = type, .auto_reset = auto_reset, .serial = next_serial++};
  return id;
}

bool Events::destroy(uint32_t id) {
  std::lock_guard lock(mutex_);
  bool existed = events_.erase(id);
  changed_.notify_all();
  return existed;
}

bool Events::set(uint32_t id) {
  std::lock_guard lock(mutex_);
  auto it = events_.find(id);
  if (it == events_.end()) return false;
  it->second.signaled = true;
  ++it->second.age;
  changed_.notify_all();
  return true;
}

bool Events::reset(uint32_t id) {
  std::lock_guard lock(mutex_);
  auto it = events_.find(id);
  if (it == events_.end()) return false;
  it->second.signaled = false;
  it->second.quiet_age = it->second.age;
  return true;
}

void Events::raise_memory_exception(const kfd_hsa_memory_exception_data &data) {
  std::lock_guard lock(mutex_);
  for (auto &[id, event] : events_) {
    if (event.type != KFD_IOC_EVENT_MEMORY) continue;
    event.memory = data;
    event.signaled = true;
    ++event.age;
  }
  changed_.notify_all();
}

void Events::raise_reset(uint32_t gpu_id, bool is_ecc_error) {
  kfd_hsa_hw_exception_data hardware{};
  hardware.reset_type = KFD_HW_EXCEPTION_WHOLE_GPU_RESET;
  hardware.reset_cause = is_ecc_error ? KFD_HW_EXCEPTION_ECC : KFD_HW_EXCEPTION_GPU_HANG;
  hardware.memory_lost = 1;
  hardware.gpu_id = gpu_id;
  kfd_hsa_memory_exception_data memory{};
  memory.failure.imprecise = 1;
  memory.ErrorType = KFD_MEM_ERR_SRAM_ECC;
  memory.gpu_id = gpu_id;
  std::lock_guard lock(mutex_);
  for (auto &[id, event] : events_) {
    const bool is_told = event.type == KFD_IOC_EVENT_HW_EXCEPTION ||
                         (is_ecc_error && event.type == KFD_IOC_EVENT_MEMORY);
    if (!is_told) continue;
    event.hardware = hardware;
    event.memory = memory;
    event.signaled = true;
    ++event.age;
  }
  changed_.notify_all();
}

bool Events::ready(const Event &event, const EventData &data) const {
  if (event.type != KFD_IOC_EVENT_SIGNAL || !event.auto_reset) return event.signaled;
  uint64_t seen = data.last_event_age;
  if (!seen) {
    auto it = seen_ages().find(data.event_id);
    bool known = it != seen_ages().end() && it->second.serial == event.serial;
    seen = std::max(known ? it->second.age : 0, event.quiet_age);
  }
  return event.age != seen;
}

void Events::report(Event &event, EventData &data) {
  if (event.type == KFD_IOC_EVENT_SIGNAL) {
    seen_ages()[data.event_id] = {event.serial, event.age};
    data.last_event_age = event.age;
  } else if (event.type == KFD_IOC_EVENT_MEMORY && event.signaled) {
    data.memory = event.memory;
  } else if (event.type == KFD_IOC_EVENT_HW_EXCEPTION && event.signaled) {
    data.hardware = event.hardware;
  }
  if (event.auto_reset) event.signaled = false;
}

int Events::wait(kfd_ioctl_wait_events_args &args) {
  auto *data = reinterpret_cast<EventData *>(args.events_ptr);
  std::unique_lock lock(mutex_);
  for (uint32_t i = 0; i < args.num_events; ++i)
    if (!events_.contains(data[i].event_id)) return EINVAL;

  // An event destroyed meanwhile counts as ready, as nothing will ever set it again.
  auto satisfied = [&] {
    uint32_t count = 0;
    for (uint32_t i = 0; i < args.num_events; ++i) {
      auto it = events_.find(data[i].event_id);
      count += it == events_.end() || ready(it->second, data[i]);
    }
    return args.wait_for_all ? count == args.num_events : count > 0;
  };
  bool complete = true;
  if (args.timeout == 0xffffffff)
    changed_.wait(lock, satisfied);
  else
    complete = changed_.wait_for(lock, std::chrono::milliseconds(args.timeout), satisfied);
  args.wait_result = complete ? KFD_IOC_WAIT_RESULT_COMPLETE : KFD_IOC_WAIT_RESULT_TIMEOUT;
  for (uint32_t i = 0; complete && i < args.num_events; ++i) {
    auto it = events_.find(data[i].event_id);
    if (it != events_.end()) report(it->second, data[i]);
  }
  return 0;
}

} // namespace fade::sim::kfd
