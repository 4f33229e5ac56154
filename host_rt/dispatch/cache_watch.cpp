#include "dispatch/cache_watch.h"

#include "base/diagnostics.h"
#include "base/quiet_thread.h"

#include <exception>

namespace fade {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(5);

int64_t nanosecondsNow() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

} // namespace

CacheWatch::CacheWatch(KernelCache &cache, ReplacementPlanner &planner,
                       std::chrono::milliseconds patience)
    : cache_(cache), planner_(planner), patience_(patience),
      thread_(startQuietThread("fade-cache", [this] { run(); })) {}

CacheWatch::~CacheWatch() { (void)stop(std::chrono::hours(1)); }

bool CacheWatch::stop(std::chrono::milliseconds patience) {
  if (!thread_.joinable()) return true;
  stopping_.store(true, std::memory_order_release);
  cache_.wake();
  std::unique_lock lock(mutex_);
  const bool ended = changed_.wait_for(lock, patience, [&] { return has_ended_; });
  lock.unlock();
  ended ? thread_.join() : thread_.detach();
  return ended;
}

void CacheWatch::run() {
  while (cache_.waitForChange(), !stopping_.load(std::memory_order_acquire)) {
    const uint64_t round = begun_.fetch_add(1, std::memory_order_seq_cst) + 1;
    try {
      planner_.refresh(stopping_);
    } catch (const std::exception &e) {
      warn("changes of the kernel cache were not seen: {}", e.what());
    }
    const std::lock_guard lock(mutex_);
    done_.store(round, std::memory_order_release);
    changed_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

/// A change is with the system until a round that has begun takes it from there. So whoever finds
/// one there waits for the next round to begin, as seen before looking; whoever finds none, for the
/// last that has begun.
uint64_t CacheWatch::roundToWaitFor() {
  const uint64_t begun = begun_.load(std::memory_order_seq_cst);
  if (const int64_t now = nanosecondsNow(); now - looked_.load(std::memory_order_relaxed) >
                                            std::chrono::nanoseconds(kLookEvery).count()) {
    if (cache_.hasChanged()) return begun + 1;
    looked_.store(now, std::memory_order_relaxed);
  }
  return begun_.load(std::memory_order_seq_cst);
}

void CacheWatch::settle() {
  const uint64_t round = roundToWaitFor();
  const auto isDone = [&] { return done_.load(std::memory_order_acquire) >= round; };
  if (isDone()) return;
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, patience_, [&] { return isDone() || has_ended_; })) return;
  if (!said_.exchange(true))
    warn("reading the kernel cache takes long: dispatches use its previous contents");
}

} // namespace fade
