#include "device/queue_runner.h"

#include "base/trace.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sys/prctl.h>
#include <system_error>

namespace fade::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A host that dispatches in a row comes back within this time; until then waking up would cost more
// than looking.
constexpr auto spin_time = microseconds(10);

// Not sched_yield: on a busy machine that hands the core away for milliseconds.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory"); // long enough to matter, unlike yield
#endif
}

// Sleeping time between looks, by the time since there was work last: what comes after a while is
// late by an eighth of it at most. Each look costs several microseconds of a processor.
microseconds pause_after(std::chrono::nanoseconds idle) {
  if (idle >= milliseconds(1000)) return microseconds(4000);
  return std::clamp(std::chrono::duration_cast<microseconds>(idle / 8), microseconds(20),
                    microseconds(500));
}

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

} // namespace

DeviceThread::Create DeviceThread::create = pthread_create;

void DeviceThread::start(const char *name, TaskBase *task) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = create(&thread_, nullptr, entry, task);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error) {
    delete task;
    throw std::system_error(error, std::generic_category(), "thread of the device");
  }
  running_ = true;
  pthread_setname_np(thread_, name);
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
  if (!thread_) thread_ = std::make_unique<DeviceThread>("fadegpu-bell", [this] { loop(); });
  runners_.push_back(runner);
  wake_.notify_all();
}

void DoorbellPoller::remove(QueueRunner *runner) {
  std::lock_guard lock(mutex_);
  std::erase(runners_, runner);
}

void DoorbellPoller::kick() {
  std::lock_guard lock(mutex_);
  for (QueueRunner *runner : runners_)
    if (runner->asleep_with_work()) runner->wake();
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
    wake_.wait_for(lock, pause_after(now() - last_work));
  }
}

// ---- queues

QueueRunner::QueueRunner(DoorbellPoller &poller, std::unique_ptr<PacketProcessor> processor,
                         const char *name)
    : poller_(poller), processor_(std::move(processor)) {
  thread_ = std::make_unique<DeviceThread>(name, [this] { loop(); });
  try {
    poller_.add(this);
  } catch (...) { // the thread waits for work that nobody would announce
    finish(milliseconds(0));
    thread_.reset();
    throw;
  }
}

bool QueueRunner::finish(milliseconds patience) {
  poller_.remove(this);
  std::unique_lock lock(mutex_);
  stop_ = true;
  changed_.notify_all();
  return changed_.wait_for(lock, patience, [this] { return ended_; });
}

QueueRunner::~QueueRunner() {
  finish(milliseconds(0));
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

bool QueueRunner::set_ring(uint64_t address, uint64_t size) {
  return poller_.apart([&] { return processor_->set_ring(address, size); });
}

// Until the poller sees work, the queue is resumed or ends.
void QueueRunner::sleep(std::unique_lock<std::mutex> &lock) {
  woken_ = false;
  asleep_ = true;
  changed_.wait(lock, [this] { return stop_ || (!paused_ && (woken_ || processor_->has_work())); });
  asleep_ = false;
}

// Looks for more work for a moment. Returns whether there is any.
bool QueueRunner::linger() {
  auto end = now() + spin_time;
  do {
    if (processor_->has_work()) return true;
    relax();
  } while (!stop_ && now() < end);
  return false;
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
    Step step = Step::halted;
    try {
      step = processor_->step();
    } catch (const std::exception &e) {
      say("a queue has stopped: %s", e.what());
    }
    if (step == Step::progressed) last_work = now();
    bool more = step == Step::progressed || (step == Step::idle && linger());
    lock.lock();
    busy_ = false;
    if (paused_) changed_.notify_all();
    if (more) continue;
    if (step == Step::halted)
      changed_.wait(lock, [this] { return stop_.load(); });
    else if (step == Step::idle)
      sleep(lock);
    else // the head of the queue waits for memory to change, which nobody announces
      changed_.wait_for(lock, pause_after(now() - last_work), [this] { return stop_ || paused_; });
  }
  ended_ = true;
  changed_.notify_all();
}

} // namespace fade::sim
