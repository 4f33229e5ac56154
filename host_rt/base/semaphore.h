// A semaphore on which threads sleep at once. Those of libstdc++ give their turn away several times
// before they do (sched_yield), and on a machine with more work than processors each time costs a
// turn of everybody else: a dispatch that passes through a few threads took a hundred times longer.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <semaphore.h>

namespace fade {

class Semaphore {
public:
  Semaphore() { sem_init(&semaphore_, 0, 0); }
  ~Semaphore() { sem_destroy(&semaphore_); }
  Semaphore(const Semaphore &) = delete;
  Semaphore &operator=(const Semaphore &) = delete;

  void release(unsigned count = 1) {
    order_.fetch_add(1, std::memory_order_release);
    for (; count != 0; --count) sem_post(&semaphore_);
  }
  void acquire() {
    while (sem_wait(&semaphore_) != 0 && errno == EINTR) {
    }
  }
  /// False if there was nothing to be had so long.
  bool tryAcquireFor(std::chrono::nanoseconds patience) {
    constexpr long second = 1'000'000'000;
    if (sem_trywait(&semaphore_) == 0) return true;
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    const auto ns = until.tv_nsec + patience.count();
    until.tv_sec += ns / second;
    until.tv_nsec = ns % second;
    int error = 0;
    while ((error = sem_clockwait(&semaphore_, CLOCK_MONOTONIC, &until)) != 0 && errno == EINTR) {
    }
    (void)order_.load(std::memory_order_acquire);
    return error == 0;
  }

private:
  sem_t semaphore_{};
  std::atomic<unsigned> order_{0}; ///< for TSan, which does not know sem_clockwait
};

} // namespace fade
