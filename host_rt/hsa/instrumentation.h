// What runs instead of the application's kernels, and what is recorded of it: twins, other versions
// from the kernel cache, rewritten code, or the kernel itself, observed on the software GPU.
#pragma once

#include "base/selection.h"
#include "base/settings.h"
#include "dispatch/cache_watch.h"
#include "dispatch/kernel_registry.h"
#include "dispatch/observed_kernel.h"
#include "dispatch/replacement.h"
#include "dispatch/rewritten_code.h"
#include "dispatch/sample_plan.h"
#include "hsa/gpu_pools.h"
#include "stream/analysis.h"
#include "stream/trace_writer.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace fade {

class Instrumentation {
public:
  Instrumentation(const Settings &settings, const Selection &selection, KernelRegistry &registry,
                  CodeLoader &loader, GpuPools &pools);

  /// The analyzers are known, and the recording if there is one: before the first packet comes.
  void start(Analysis &analysis, TraceWriter *trace);
  /// No more code is loaded from the kernel cache.
  void stop(std::chrono::milliseconds patience);

  /// Whether there can be anything that runs instead of a kernel.
  bool isNeeded() const { return planner_.isNeeded(); }
  /// Whether the dispatch with that number, of this kernel, is one of those.
  bool wants(const KernelEntry &kernel, uint64_t ordinal) const {
    return kernel.is_chosen && isNeeded() &&
           selection_.wantsDispatch(kernel.info->symbol(), ordinal);
  }
  /// When a kernel is loaded: finds out what can run instead. May take long.
  void plan(KernelEntry &kernel) { planner_.plan(kernel); }
  /// What was found, as of the kernel cache's last change. In packet callbacks.
  const ReplacementPlan &planOf(const KernelEntry &kernel) {
    if (cache_watch_) cache_watch_->settle();
    return ReplacementPlanner::planOf(kernel);
  }
  bool hasCache() const { return !cache_.empty(); }
  /// Null unless code objects are to be rewritten when they are loaded.
  RewrittenCode *rewrittenCode() { return rewritten_.get(); }
  /// What rewritten kernels are to do for the analyzers, once these are known; 0: nothing that they
  /// need.
  uint32_t rewriteFor() const;

  /// Whether the software GPU is asked what kernels do.
  Observe observing() const { return can_observe_ ? settings_.observe : Observe::pass; }
  ObservedKernels &observedKernels() { return observed_; }
  RingPool *observedRings(const Agent &gpu) const;

  /// Null unless a sample is taken that depends on the dispatches.
  SamplePlan *samplePlan() { return sample_plan_ ? &*sample_plan_ : nullptr; }
  /// Whether kernels that can add their accesses up are to record them: that depends on what the
  /// handlers take, and on what is to be known of each execution.
  bool wantsRecords() const;
  bool isRecording() const { return !settings_.record.empty(); }
  const WorkgroupFilter &workgroups() const { return settings_.workgroups; }
  const Analysis &analysis() const { return *analysis_; }
  GpuPools &pools() const { return pools_; }

  /// Tells the report that the original ran.
  void skipped(const std::string &kernel, const std::string &reason);

private:
  const Settings &settings_;
  const Selection &selection_;
  KernelCache cache_;
  ReplacementPlanner planner_;
  GpuPools &pools_;
  const bool can_observe_; ///< the software GPU is there, and tells libfade
  ObservedKernels observed_;
  std::unique_ptr<RewrittenCode> rewritten_;
  std::unique_ptr<CacheWatch> cache_watch_; ///< null if there is no cache
  std::optional<SamplePlan> sample_plan_;
  Analysis *analysis_ = nullptr;
  TraceWriter *trace_ = nullptr; ///< null: nothing is recorded
};

} // namespace fade
