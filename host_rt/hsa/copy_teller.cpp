#include "hsa/copy_teller.h"

#include "base/quiet_thread.h"
#include "hsa/timed_copy.h"

#include <chrono>

namespace fade {
namespace {

// Long beside what the event thread takes, short beside what somebody who waits would notice.
constexpr auto kPause = std::chrono::milliseconds(2);
// A program that copies all the time must not wake the thread for each copy.
constexpr int kIdleLooks = 25;

} // namespace

void CopyTeller::add(TimedCopy &copy) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return;
    copies_.insert(&copy);
    if (!thread_.joinable()) thread_ = startQuietThread("fade-copies", [this] { run(); });
    if (is_asleep_) wake_.notify_one();
  } catch (...) {
  }
}

void CopyTeller::remove(TimedCopy &copy) noexcept {
  const std::lock_guard lock(mutex_);
  copies_.erase(&copy);
}

void CopyTeller::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void CopyTeller::run() {
  std::unique_lock lock(mutex_);
  int idle = 0;
  while (!is_stopping_) {
    idle = copies_.empty() ? idle + 1 : 0;
    is_asleep_ = idle > kIdleLooks;
    if (is_asleep_) wake_.wait(lock, [this] { return is_stopping_ || !copies_.empty(); });
    is_asleep_ = false;
    wake_.wait_for(lock, kPause, [this] { return is_stopping_; });
    if (is_stopping_) return;
    for (TimedCopy *copy : copies_) copy->tellApplication();
  }
}

} // namespace fade
