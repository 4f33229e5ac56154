#include "device/queue_runner.h"

#include "device/clock.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sched.h>
#include <sys/prctl.h>

namespace fade::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A host that dispatches and waits in turn comes back within this time; until then waking up would
// cost more than looking.
constexpr auto spin_time = microseconds(60);

// Sleeping time between looks, by the time since there was work last.
microseconds pause_after(std::chrono::nanoseconds idle) {
  if (idle < milliseconds(2)) return microseconds(20);
  if (idle < milliseconds(50)) return microseconds(100);
  if (idle < milliseconds(1000)) return microseconds(500);
  return microseconds(2000);
}

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

} // namespace

void DeviceThread::start(const char *name, TaskBase *task) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  running_ = pthread_create(&thread_, nullptr, entry, task) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (running_)
    pthread_setname_np(thread_, name);
  else
    delete task;
}

void *DeviceThread::entry(void *task) {
  prctl(PR_SET_TIMERSLACK, 1000); // the default of 50 us is as long as a whole dispatch
  std::unique_ptr<TaskBase>(static_cast<TaskBase *>(task))->run();
  return nullptr;
}

void DeviceThread::join() {
  if (running_) pthread_join(thread_, nullptr);
  running_ = false;
}

// ---- doorbells

DoorbellPoller::~DoorbellPoller() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.reset();
}

void DoorbellPoller::add(QueueRunner *runner) {
  std::lock_guard lock(mutex_);
  runners_.push_back(runner);
  if (!thread_) thread_ = std::make_unique<DeviceThread>("fadegpu-bell", [this] { loop(); });
  kicked_ = true;
  wake_.notify_all();
}

void DoorbellPoller::remove(QueueRunner *runner) {
  std::lock_guard lock(mutex_);
  std::erase(runners_, runner);
}

void DoorbellPoller::kick() {
  std::lock_guard lock(mutex_);
  if (runners_.empty()) return;
  kicked_ = true;
  wake_.notify_all();
}

void DoorbellPoller::loop() {
  auto last_work = now();
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (runners_.empty()) {
      wake_.wait(lock, [this] { return stop_ || !runners_.empty(); });
      continue;
    }
    for (QueueRunner *runner : runners_)
      if (runner->asleep_with_work()) {
        runner->wake();
        last_work = now();
      }
    wake_.wait_for(lock, pause_after(now() - last_work), [this] { return stop_ || kicked_; });
    if (kicked_) {
      kicked_ = false;
      last_work = now();
    }
  }
}

// ---- queues

QueueRunner::QueueRunner(DoorbellPoller &poller, std::unique_ptr<PacketProcessor> processor,
                         const char *name)
    : poller_(poller), processor_(std::move(processor)) {
  thread_ = std::make_unique<DeviceThread>(name, [this] { loop(); });
  poller_.add(this);
}

QueueRunner::~QueueRunner() {
  poller_.remove(this);
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.reset();
}

void QueueRunner::wake() {
  std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

void QueueRunner::pause(bool wait) {
  std::unique_lock lock(mutex_);
  paused_ = true;
  changed_.notify_all();
  if (wait) changed_.wait(lock, [this] { return !busy_; });
}

void QueueRunner::resume() {
  std::lock_guard lock(mutex_);
  paused_ = false;
  woken_ = true;
  changed_.notify_all();
}

// Until the poller sees work, the queue is resumed or ends.
void QueueRunner::sleep(std::unique_lock<std::mutex> &lock) {
  woken_ = false;
  asleep_ = true;
  changed_.wait(lock, [this] { return stop_ || (!paused_ && (woken_ || processor_->has_work())); });
  asleep_ = false;
}

void QueueRunner::loop() {
  using Step = PacketProcessor::Step;
  auto last_work = now();
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (paused_) {
      changed_.wait(lock, [this] { return stop_ || !paused_; });
      continue;
    }
    busy_ = true;
    lock.unlock();
    Step step = processor_->step();
    if (step == Step::progressed) last_work = now();
    auto idle = now() - last_work;
    if (step == Step::idle && idle < spin_time) sched_yield();
    lock.lock();
    busy_ = false;
    if (paused_) changed_.notify_all();
    if (step == Step::halted) {
      changed_.wait(lock, [this] { return stop_.load(); });
    } else if (step == Step::idle && idle >= spin_time) {
      sleep(lock);
      last_work = now();
    } else if (step == Step::waiting) {
      if (idle < spin_time) {
        lock.unlock();
        sched_yield();
        lock.lock();
      } else {
        changed_.wait_for(lock, std::min(pause_after(idle), microseconds(500)),
                          [this] { return stop_ || paused_; });
      }
    }
  }
}

} // namespace fade::sim
