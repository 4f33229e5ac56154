// A thread that follows what an application records, with pauses, until somebody ends it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace fade::host_trace {

/// The last member of its owner: the thread begins with it, and ends before the others do.
class Follower {
public:
  explicit Follower(std::function<void()> follow) : thread_(std::move(follow)) {}
  ~Follower() { end(); }
  Follower(const Follower &) = delete;
  Follower &operator=(const Follower &) = delete;

  /// For the thread: a moment, or until it is to end. Then false.
  bool pause(std::chrono::milliseconds moment) {
    std::unique_lock lock(mutex_);
    return !wake_.wait_for(lock, moment, [this] { return has_ended_; });
  }
  bool isToEnd() {
    const std::lock_guard lock(mutex_);
    return has_ended_;
  }
  /// For its owner: returns when the thread has ended.
  void end() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      has_ended_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool has_ended_ = false;
  std::thread thread_;
};

} // namespace fade::host_trace
