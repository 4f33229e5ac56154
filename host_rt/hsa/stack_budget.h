// How much time may go into keeping who called: a stack takes some microseconds, which is nothing
// for a program that allocates now and then, and ten times the work itself for one that does
// nothing else.
#pragma once

#include <atomic>
#include <chrono>

namespace fade {

class StackBudget {
public:
  using Clock = std::chrono::steady_clock;
  /// At any time this much, and a hundredth of the time that has passed.
  static constexpr std::chrono::milliseconds kFree{50};
  static constexpr int kShare = 100;

  explicit StackBudget(Clock::time_point start = Clock::now()) : start_(start) {}

  bool allows(Clock::time_point now) const {
    const Clock::duration spent(spent_.load(std::memory_order_relaxed));
    return spent < kFree + (now - start_) / kShare;
  }
  void spend(Clock::duration time) { spent_.fetch_add(time.count(), std::memory_order_relaxed); }

private:
  const Clock::time_point start_;
  std::atomic<Clock::rep> spent_{0};
};

} // namespace fade
