// What the collector knows of a GPU, in ordinary memory.
#pragma once

#include "stream/collector.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace fade::testing {

/// While waves add to what they count.
inline fade_control copyOf(const fade_control &device) {
  fade_control copy{};
  auto *to = reinterpret_cast<uint64_t *>(&copy);
  const auto *from = reinterpret_cast<const uint64_t *>(&device);
  for (std::size_t i = 0; i < sizeof copy / 8; ++i)
    to[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
  return copy;
}

// A ring in ordinary memory.
class FakeRing final : public Ring {
public:
  explicit FakeRing(uint64_t capacity) : memory_(capacity + FADE_RING_SLACK) {
    device.capacity_mask = capacity - 1;
    device.data = reinterpret_cast<uint64_t>(memory_.data());
    device.tail = reinterpret_cast<uint64_t>(&tail_);
    device.limit = capacity;
    drain = RingDrain(memory_.data(), capacity, &tail_);
  }
  bool fetchControl() noexcept override {
    fetched_ = copyOf(device);
    return ++polls_ % 3 == 0; // device memory takes its time
  }
  bool recycle() noexcept override {
    recycled.store(true);
    return true;
  }
  const fade_control &control() const noexcept override { return fetched_; }
  std::span<const fade_counter> counters() const noexcept override { return {}; }
  uint64_t tail() const { return __atomic_load_n(&tail_, __ATOMIC_ACQUIRE); }
  bool isZero() const {
    return std::ranges::all_of(memory_, [](std::byte b) { return b == std::byte{0}; });
  }

  fade_control device{};
  std::atomic<bool> recycled{false};

private:
  alignas(64) uint64_t tail_ = 0;
  std::vector<std::byte> memory_;
  fade_control fetched_{};
  int polls_ = 0;
};

class FakeDispatch final : public LiveDispatch {
public:
  explicit FakeDispatch(std::shared_ptr<std::atomic<bool>> ended) : ended_(std::move(ended)) {}
  bool hasEnded() noexcept override { return ended_->load(std::memory_order_acquire); }
  void tellApplication() noexcept override {
    if (told) told->store(true);
  }
  std::shared_ptr<std::atomic<bool>> told; ///< the application
  void readTimes(fade_dispatch &view) noexcept override {
    view.start_ns = 10;
    view.end_ns = 20;
    view.flags |= FADE_DISPATCH_HAS_TIMES;
  }

private:
  std::shared_ptr<std::atomic<bool>> ended_;
};

} // namespace fade::testing
