// Threads of the device: one per queue, plus one that watches the doorbells of queues whose threads
// sleep.
#pragma once

#include "device/packet_processor.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <vector>

namespace fade::sim {

// A thread with all signals blocked: handlers of the application must not run on it. Throws
// std::system_error when the system has no thread.
class DeviceThread {
public:
  template <class F> DeviceThread(const char *name, F body) {
    start(name, new Task<F>(std::move(body)));
  }
  ~DeviceThread() { join(); }
  // Tests put another one here, that fails.
  using Create = int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  static Create create;
  DeviceThread(const DeviceThread &) = delete;
  DeviceThread &operator=(const DeviceThread &) = delete;
  void join();

private:
  struct TaskBase {
    virtual ~TaskBase() = default;
    virtual void run() = 0;
  };
  template <class F> struct Task : TaskBase {
    explicit Task(F f) : body(std::move(f)) {}
    void run() override { body(); }
    F body;
  };
  void start(const char *name, TaskBase *task);
  static void *entry(void *task);
  pthread_t thread_{};
  bool running_ = false;
};

class QueueRunner;

// Polls doorbells, often when there was work a moment ago and rarely when not.
class DoorbellPoller {
public:
  DoorbellPoller() = default;
  ~DoorbellPoller();
  void add(QueueRunner *runner);
  void remove(QueueRunner *runner);
  // Looks now: the host is about to sleep, and what it waits for may have been submitted just
  // before.
  void kick();
  // Does something while no queue is looked at.
  template <class F> auto apart(F f) {
    std::lock_guard lock(mutex_);
    return f();
  }

private:
  void loop();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<QueueRunner *> runners_;
  bool stop_ = false;
  std::unique_ptr<DeviceThread> thread_;
};

class QueueRunner {
public:
  QueueRunner(DoorbellPoller &poller, std::unique_ptr<PacketProcessor> processor, const char *name);
  // Waits for the packet that runs.
  ~QueueRunner();
  // Takes no more packets. Whether the one that runs ended within the time given.
  bool finish(std::chrono::milliseconds patience);

  PacketProcessor &processor() { return *processor_; }
  // No packet is taken while paused. `wait`: return only once none runs.
  void pause(bool wait);
  void resume();
  // While paused. The poller, which still looks for work, sees the old ring or the new one.
  bool set_ring(uint64_t address, uint64_t size);

private:
  friend class DoorbellPoller;
  bool asleep_with_work() const { return asleep_.load() && processor_->has_work(); }
  void wake();
  void loop();
  bool linger();
  void sleep(std::unique_lock<std::mutex> &lock);

  DoorbellPoller &poller_;
  std::unique_ptr<PacketProcessor> processor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> asleep_{false}, stop_{false};
  bool woken_ = false, paused_ = false, busy_ = false, ended_ = false;
  std::unique_ptr<DeviceThread> thread_;
};

} // namespace fade::sim
