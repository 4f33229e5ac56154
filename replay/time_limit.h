// What ends a run of a kernel that takes too long.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace fade::replay {

/// While it lives: calls `stop` once the time is over, and again until it is gone, for what is to
/// be stopped may only be about to begin.
class TimeLimit {
public:
  /// 0 seconds: never.
  TimeLimit(double seconds, std::function<void()> stop);
  ~TimeLimit();
  TimeLimit(const TimeLimit &) = delete;
  TimeLimit &operator=(const TimeLimit &) = delete;

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

/// For people: why a run failed.
std::string notEndedText(double seconds);

} // namespace fade::replay
