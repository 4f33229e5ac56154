// Plans of replacements follow the folders of the kernel cache, on a thread of their own: it reads
// files that have changed and loads code, which may take long. Packet callbacks do neither.
//
// The rule for dispatches that come meanwhile: a change that was made before a dispatch counts for
// it. The callback asks the system whether there are changes that the thread has not read, and if
// so waits for the thread; not longer than its patience, after which the plans of before hold.
#pragma once

#include "dispatch/kernel_cache.h"
#include "dispatch/replacement.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace fade {

class CacheWatch {
public:
  static constexpr auto kPatience = std::chrono::milliseconds(10000);

  /// Throws std::system_error if there is no thread to be had.
  CacheWatch(KernelCache &cache, ReplacementPlanner &planner,
             std::chrono::milliseconds patience = kPatience);
  ~CacheWatch();
  CacheWatch(const CacheWatch &) = delete;
  CacheWatch &operator=(const CacheWatch &) = delete;

  /// In packet callbacks, before plans are used: see above. Cheap to call often: the system is
  /// asked at most every few milliseconds.
  void settle();

  /// False if the thread does not come to its end in that time. It is then left to itself, and this
  /// object has to live on.
  bool stop(std::chrono::milliseconds patience);

private:
  void run();
  /// The round of reading after which all that has changed by now is known.
  uint64_t roundToWaitFor();

  KernelCache &cache_;
  ReplacementPlanner &planner_;
  const std::chrono::milliseconds patience_;
  std::atomic<int64_t> looked_{0}; ///< when the system was asked, in steady nanoseconds
  std::atomic<uint64_t> begun_{0}; ///< rounds, counted before the changes are taken from the system
  std::atomic<uint64_t> done_{0};
  std::atomic<bool> said_{false};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable changed_; ///< done_ or has_ended_
  bool has_ended_ = false;
  std::thread thread_;
};

} // namespace fade
