#include "hsa/instrumentation.h"

#include "base/diagnostics.h"
#include "base/own_file.h"
#include "hsa/run_place.h"

#include <cstdlib>
#include <exception>
#include <string_view>

namespace fade {
namespace {

constexpr uint32_t kNeedsRecords = FADE_NEEDS_ACCESSES | FADE_NEEDS_BLOCKS | FADE_NEEDS_COUNTS;
constexpr std::chrono::seconds kRewritePatience(120); // for a library with thousands of kernels

/// Whether the software GPU will ask this library (fade_observer).
bool isObserverOfGpu() {
  const char *library = std::getenv("FADE_GPU_OBSERVER");
  return library && std::string_view(library).ends_with("libfade.so");
}

} // namespace

Instrumentation::Instrumentation(const Settings &settings, const Selection &selection,
                                 KernelRegistry &registry, CodeLoader &loader, GpuPools &pools)
    : settings_(settings), selection_(selection), cache_(settings.cache),
      planner_(registry, cache_, loader, settings.instrumented), pools_(pools),
      can_observe_(settings.instrumented && isObserverOfGpu()) {
  // A user who names a kernel cache is told why it was not used, instead of getting rewritten code.
  const bool rewrites_itself =
      settings.observe == Observe::automatic && !can_observe_ && settings.cache.empty();
  if (settings.instrumented && (settings.observe == Observe::rewrite || rewrites_itself))
    rewritten_ =
        std::make_unique<RewrittenCode>(ownDirectory() + "/fade/fade-rewrite",
                                        settings.patient(kRewritePatience), settings.kernels);
  planner_.setRewritten(rewritten_.get());
}

void Instrumentation::start(Analysis &analysis, TraceWriter *trace) {
  analysis_ = &analysis;
  trace_ = trace;
  if (settings_.workgroups.automatic != 0) sample_plan_.emplace(settings_.workgroups.automatic);
  if (cache_.empty()) return;
  try {
    cache_watch_ = std::make_unique<CacheWatch>(cache_, planner_);
  } catch (const std::exception &e) {
    warn("changes of the kernel cache will not be seen: {}", e.what());
  }
}

void Instrumentation::stop(std::chrono::milliseconds patience) {
  if (cache_watch_) (void)cache_watch_->stop(patience);
}

uint32_t Instrumentation::rewriteFor() const {
  const uint32_t needs = analysis_->needs();
  const bool is_of_use = (needs & kNeedsRecords) != 0 || isRecording();
  if (!is_of_use && settings_.observe != Observe::rewrite) return 0;
  uint32_t modes = 0;
  if ((needs & FADE_NEEDS_ACCESSES) != 0 || isRecording()) modes |= FADE_MODE_ACCESSES;
  if (analysis_->needsBlockRecords()) modes |= FADE_MODE_BLOCKS;
  if (modes == FADE_MODE_ACCESSES && !wantsRecords()) modes |= FADE_MODE_SUMMARY;
  // Counts come from records of blocks if there are any.
  if (modes == 0 || ((needs & FADE_NEEDS_COUNTS) != 0 && (modes & FADE_MODE_BLOCKS) == 0))
    modes |= FADE_MODE_COUNTS;
  return modes;
}

RingPool *Instrumentation::observedRings(const Agent &gpu) const {
  const uint32_t needs = analysis_->needs();
  const bool only_counts =
      (needs & FADE_NEEDS_INSTRUCTIONS) != 0 && (needs & kNeedsRecords) == 0 && !isRecording();
  return pools_.rings(gpu, only_counts ? RingUse::counted : RingUse::observed);
}

bool Instrumentation::wantsRecords() const {
  return settings_.stream || settings_.lossy || settings_.workgroups.sample_executions > 1 ||
         !analysis_->takesSummaries();
}

void Instrumentation::skipped(const std::string &kernel, const std::string &reason) {
  analysis_->log().skipped(kernel, reason);
  if (trace_) trace_->skipped(kernel, reason);
}

} // namespace fade
