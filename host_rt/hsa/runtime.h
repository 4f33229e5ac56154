// FADE inside a process: everything that lives from the first use of the GPU to the report.
#pragma once

#include "base/progress_line.h"
#include "base/selection.h"
#include "base/settings.h"
#include "dispatch/kernel_registry.h"
#include "hsa/agents.h"
#include "hsa/allocation_policy.h"
#include "hsa/allocations.h"
#include "hsa/code_loader.h"
#include "hsa/copy_teller.h"
#include "hsa/death_watch.h"
#include "hsa/gpu_pools.h"
#include "hsa/instrumentation.h"
#include "hsa/signal_pool.h"
#include "stream/analysis.h"
#include "stream/collector.h"
#include "stream/trace_writer.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

namespace fade {

class CaptureSession;
class Visit;

class Runtime {
public:
  /// Null before OnLoad, after the report, and in a child process.
  static Runtime *active() { return active_.load(std::memory_order_acquire); }
  /// Whether there will be a report. For signal handlers, too.
  static bool hasReport() {
    const Runtime *runtime = active();
    return runtime && runtime->is_running_.load(std::memory_order_acquire);
  }
  static void start(Settings settings);
  /// After a start that failed: as if it had not been tried.
  static void forget() { active_.store(nullptr, std::memory_order_release); }
  /// In a child after fork: forgets everything, touches nothing.
  static void forgetInChild() {
    forget();
    is_child_.store(true, std::memory_order_relaxed);
  }
  /// A child has none of FADE's threads, and locks of the process may be held for ever by threads
  /// that it does not have.
  static bool isInChild() { return is_child_.load(std::memory_order_relaxed); }
  /// Reports, once. Any thread; others that come wait for the first.
  static void finish();
  /// The same, when the HSA runtime is being shut down: it counts what is left.
  static void finishAndRelease();

  const Settings &settings() const { return settings_; }
  const Selection &selection() const { return selection_; }
  KernelRegistry &registry() { return registry_; }
  AllocationTable &allocations() { return allocations_; }
  AllocationPolicy &allocationPolicy() { return allocation_policy_; }
  /// Null unless deaths are to be explained.
  DeathWatch *deaths() { return settings_.explain ? &deaths_ : nullptr; }
  /// For analyzers, and to tell in which direction a kernel copies.
  bool wantsAllocations() const;
  bool keepsCode() const {
    return settings_.instrumented || !settings_.cache.empty() || captures_ != nullptr;
  }
  /// Null unless dispatches are to be captured.
  CaptureSession *captures() { return captures_.get(); }

  /// Known, and threads running, from the first call on; that needs the HSA runtime to be up.
  const Agents &agents();
  Collector &collector() { return *collector_; }
  CopyTeller &copyTeller() { return copy_teller_; }
  GpuPools &pools() { return pools_; }
  /// What runs instead of the application's kernels.
  Instrumentation &instrumentation() { return instrumentation_; }
  SignalPool &polledSignals() { return polled_; }
  SignalPool &interruptSignals() { return interrupts_; }

  /// A kernel of the application's was loaded; HIP has some of its own.
  void noteLoaded() { has_kernels_.store(true, std::memory_order_relaxed); }
  /// Counts the queues that are watched, and the dispatches; their numbers.
  std::atomic<uint64_t> &queueCount() { return queues_; }
  std::atomic<uint64_t> &dispatchCount() { return dispatches_; }

  /// Before a death is explained: what kernels have written down is to be known, as far as it
  /// comes.
  void settleRecords();
  /// Before the process ends without the report: dispatches that have ended are to be known.
  void settleTimes();
  /// On stderr, and to the file for deaths.
  void sayDeath(Death death);

private:
  friend class Visit;
  explicit Runtime(Settings settings);
  ~Runtime() = delete; // threads of the application may be inside of it at any time
  void startThreads();
  void close();
  void release();

  static std::atomic<Runtime *> active_;
  static std::atomic<bool> is_child_;
  static Runtime *latest_; ///< for the HSA runtime alone, which loads and unloads

  const Settings settings_;
  const Selection selection_;
  KernelRegistry registry_;
  HsaCodeLoader loader_;
  AllocationTable allocations_;
  AllocationPolicy allocation_policy_;
  DeathWatch deaths_;
  GpuPools pools_;
  Instrumentation instrumentation_;
  SignalPool polled_{SignalPool::Kind::polled};
  SignalPool interrupts_{SignalPool::Kind::interrupts};

  std::unique_ptr<CaptureSession> captures_;

  std::once_flag started_;
  std::atomic<bool> is_running_{false}; ///< startThreads has ended
  Agents agents_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<TraceWriter> trace_;
  std::unique_ptr<Analysis> analysis_;
  std::unique_ptr<Collector> collector_;
  CopyTeller copy_teller_;
  std::unique_ptr<ProgressLine> progress_;
  std::atomic<uint64_t> dispatches_{0}, queues_{0};
  std::atomic<bool> has_kernels_{false};
};

/// A thread of the application inside of FADE. The report waits until all have left, and so do
/// signals that end the process. A visit may happen during another one.
class Visit {
public:
  Visit() noexcept;
  ~Visit();
  Visit(const Visit &) = delete;
  Visit &operator=(const Visit &) = delete;

  /// Null: there is nobody to visit.
  Runtime *runtime() const { return runtime_; }

  /// In a signal handler: if this thread is on a visit, the signal is raised again at its end. Not
  /// a second time.
  static bool postpone(int signal) noexcept;
  /// True if all threads have left within that time.
  static bool waitForAll(std::chrono::milliseconds patience) noexcept;

private:
  Runtime *const runtime_;
};

} // namespace fade
