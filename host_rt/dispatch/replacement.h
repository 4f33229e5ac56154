// What runs instead of a kernel, by the replacement rules:
//   1. instrumented mode: its twin in the same executable;
//   2. else a kernel of the same name in the kernel cache: in instrumented mode with its arguments
//      and one more pointer, in comparison mode with the same arguments;
//   3. else nothing: the original runs.
// That is found out where a kernel becomes known, and again when the kernel cache changes;
// dispatches only look at what was found.
#pragma once

#include "codeobj/variant_kernargs.h"
#include "dispatch/kernel_cache.h"
#include "dispatch/kernel_registry.h"
#include "dispatch/residency.h"
#include "dispatch/rewritten_code.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace fade {

/// A kernel that can run in place of another.
struct Replacement {
  KernelOnDevice kernel;
  bool instrumented = false;
  bool was_rewritten = false; ///< made from machine code (FADE_KERNEL_KEEPS_ARGUMENTS)
  std::shared_ptr<const codeobj::KernargRewrite> twin_kernargs;     ///< instrumented
  std::shared_ptr<const codeobj::VariantKernargs> variant_kernargs; ///< comparison
  std::shared_ptr<const KernelInfo> info;
  std::shared_ptr<const std::string> variant;
  std::optional<ResidencyNeeds> needs; ///< nothing if they are not known
  /// Where the original's arguments say that the launch is cooperative, if it asks for that.
  std::optional<uint32_t> cooperative_offset;
};

/// All that was found for a kernel.
struct ReplacementPlan {
  std::vector<Replacement> choices; ///< in comparison mode they take turns
  std::string reason;               ///< why the original runs, if there are none
};

/// Puts code from the kernel cache onto an agent.
class CodeLoader {
public:
  virtual ~CodeLoader() = default;
  virtual Result<KernelOnDevice> load(AgentHandle agent,
                                      const std::shared_ptr<const LoadedCode> &code,
                                      const std::string &symbol) = 0;
};

class ReplacementPlanner {
public:
  ReplacementPlanner(KernelRegistry &registry, KernelCache &cache, CodeLoader &loader,
                     bool instrumented)
      : registry_(registry), cache_(cache), loader_(loader), instrumented_(instrumented) {}

  /// Who knows why a kernel has no twin; may be null.
  void setRewritten(const RewrittenCode *rewritten) { rewritten_ = rewritten; }
  /// Whether there is anything to look for at all.
  bool isNeeded() const { return instrumented_ || !cache_.empty(); }
  /// Finds out what runs instead of a registered kernel. May take long: it loads code.
  void plan(KernelEntry &kernel);
  /// Reads changes of the kernel cache, and plans again for kernels that they are about. May take
  /// longer still; ends early when `stopping` becomes true.
  void refresh(const std::atomic<bool> &stopping);
  /// What was found out. For packet callbacks: reads no files and loads nothing.
  static const ReplacementPlan &planOf(const KernelEntry &kernel);

private:
  std::shared_ptr<const ReplacementPlan> make(const KernelEntry &kernel);
  bool addTwin(const KernelEntry &kernel, ReplacementPlan &plan);
  bool addCached(const KernelEntry &kernel, const std::shared_ptr<const LoadedCode> &code,
                 const std::string &symbol, ReplacementPlan &plan);
  /// What an instrumented form of a kernel needs; `original` is code that has the kernel itself.
  Result<Replacement> instrumentedForm(const KernelEntry &kernel, const LoadedCode &original,
                                       const LoadedCode &code, const std::string &symbol);
  static Result<Replacement> otherVersion(const KernelEntry &kernel, const LoadedCode &code);

  KernelRegistry &registry_;
  KernelCache &cache_;
  CodeLoader &loader_;
  const bool instrumented_;
  const RewrittenCode *rewritten_ = nullptr;
};

} // namespace fade
