// What a wave can reach outside of its workgroup, besides memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace fade::sim {

// Global wave sync: a barrier over the waves of a whole dispatch, which is how cooperative groups
// meet on gfx9.
class GlobalWaveSync {
public:
  void init(uint32_t waves) {
    std::lock_guard lock(mutex_);
    total_ = waves, waiting_ = 0;
    was_prepared_ = true;
  }
  // Nobody has said how many meet, so that nobody waits. True once, for one message.
  bool is_first_unprepared() {
    std::lock_guard lock(mutex_);
    return !std::exchange(was_prepared_, true);
  }
  // A wave arrives; the returned phase is the one it has to see end.
  uint64_t arrive() {
    std::lock_guard lock(mutex_);
    const uint64_t phase = phase_.load(std::memory_order_relaxed);
    if (++waiting_ >= total_) {
      waiting_ = 0;
      phase_.store(phase + 1, std::memory_order_release);
    }
    return phase;
  }
  bool ended(uint64_t phase) const { return phase_.load(std::memory_order_acquire) != phase; }

private:
  std::mutex mutex_;
  uint32_t total_ = 1, waiting_ = 0;
  bool was_prepared_ = false; // or that has been said
  std::atomic<uint64_t> phase_{0};
};

// One for all dispatches of a device.
struct DeviceServices {
  std::function<void(uint32_t event_id)> interrupt; // s_sendmsg MSG_INTERRUPT; may be empty
  GlobalWaveSync global_sync;
};

} // namespace fade::sim
