#include "replay/time_limit.h"

#include <chrono>
#include <fmt/format.h>

namespace fade::replay {

TimeLimit::TimeLimit(double seconds, std::function<void()> stop) {
  if (seconds <= 0) return;
  thread_ = std::thread([this, seconds, stop = std::move(stop)] {
    constexpr auto again = std::chrono::milliseconds(10);
    std::unique_lock lock(mutex_);
    const auto isOver = [this] { return is_over_; };
    for (bool over = changed_.wait_for(lock, std::chrono::duration<double>(seconds), isOver); !over;
         over = changed_.wait_for(lock, again, isOver))
      stop();
  });
}

TimeLimit::~TimeLimit() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::string notEndedText(double seconds) {
  return fmt::format("it had not ended after {} s (--timeout)", seconds);
}

} // namespace fade::replay
