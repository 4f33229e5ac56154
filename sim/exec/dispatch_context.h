// What all waves of one dispatch share.
#pragma once

#include "exec/executor.h"

#include <atomic>
#include <cstdint>
#include <mutex>

namespace fade::sim {

class Program;

// Global wave sync: a barrier over the waves of a whole dispatch, which is how cooperative groups
// meet on gfx9.
class GlobalWaveSync {
public:
  void init(uint32_t waves) {
    std::lock_guard lock(mutex_);
    total_ = waves, waiting_ = 0;
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
  std::atomic<uint64_t> phase_{0};
};

// Instructions of a wave before its siblings get their turn. Waves that have the longest turn run
// without regard for each other.
constexpr uint64_t default_turn = 64, longest_turn = 10'000;

struct DispatchContext {
  Dispatch dispatch;
  const Executor::Hooks *hooks = nullptr;
  GlobalWaveSync *global_sync = nullptr; // the device's
  Program *program = nullptr;
  uint64_t turn = default_turn; // of waves that stay in step, see ResidentGroup
  std::atomic<bool> stop{false};
};

} // namespace fade::sim
