#include "dispatch/replacement.h"

#include "base/diagnostics.h"
#include "fade/clone.h"
#include "stream/run_notes.h"

#include <fmt/format.h>

#include <set>

namespace fade {
namespace {

uint32_t flagsOf(const std::string &symbol, const SiteTable &sites) {
  for (const fade_site_kernel &kernel : sites.kernels())
    if (sites.string(kernel.clone) == symbol) return kernel.flags;
  return 0;
}

/// How an instrumented kernel gets its arguments.
Result<codeobj::KernargRewrite> argumentsOf(const codeobj::KernargLayout &original,
                                            const LoadedCode &code, const std::string &symbol,
                                            uint32_t flags) {
  if ((flags & FADE_KERNEL_KEEPS_ARGUMENTS) != 0) {
    const auto index = code.object()->findKernel(symbol);
    if (!index) return Error::of(code.file() + " has no kernel " + symbol);
    const auto twin = code.object()->kernel(*index);
    if (!twin) return twin.error();
    return codeobj::KernargRewrite::behind(original, twin->descriptor.kernarg_size);
  }
  const auto after = code.layout(symbol);
  if (!after) return after.error();
  return codeobj::KernargRewrite::plan(original, *after);
}

} // namespace

void ReplacementPlanner::plan(KernelEntry &kernel) {
  const std::lock_guard lock(kernel.plan_mutex);
  // Earlier plans stay: dispatches on other threads may be using them.
  kernel.plans.push_back(make(kernel));
  const ReplacementPlan &plan = *kernel.plans.back();
  for (const Replacement &choice : plan.choices)
    note("{}: runs as {}", kernel.info->name(), *choice.variant);
  if (plan.choices.empty()) note("{}: the original runs: {}", kernel.info->name(), plan.reason);
  kernel.plan.store(&plan, std::memory_order_release);
}

const ReplacementPlan &ReplacementPlanner::planOf(const KernelEntry &kernel) {
  static const auto *none = new ReplacementPlan{{}, "the replacement could not be identified"};
  const ReplacementPlan *plan = kernel.plan.load(std::memory_order_acquire);
  return plan ? *plan : *none;
}

void ReplacementPlanner::refresh(const std::atomic<bool> &stopping) {
  const std::set<std::string> changed = cache_.refresh();
  if (changed.empty()) return;
  for (const auto &kernel : registry_.all()) {
    const std::string &symbol = kernel->info->symbol();
    if (stopping.load(std::memory_order_acquire)) return;
    // A kernel that is being registered gets its first plan from who registers it, after this.
    if (kernel->is_chosen &&
        (changed.contains(symbol) || changed.contains(FADE_CLONE_PREFIX + symbol)))
      plan(*kernel);
  }
}

std::shared_ptr<const ReplacementPlan> ReplacementPlanner::make(const KernelEntry &kernel) {
  auto plan = std::make_shared<ReplacementPlan>();
  if (instrumented_ && addTwin(kernel, *plan)) return plan;
  const std::string twin_reason = plan->reason;
  // In comparison mode all versions take turns.
  for (const auto &code : cache_.find(kernel.info->symbol()))
    if (addCached(kernel, code, kernel.info->symbol(), *plan) && instrumented_) return plan;
  const std::string twin = FADE_CLONE_PREFIX + kernel.info->symbol();
  if (instrumented_)
    for (const auto &code : cache_.find(twin))
      if (addCached(kernel, code, twin, *plan)) return plan;
  if (plan->choices.empty() && plan->reason.empty())
    plan->reason = "the cache has no kernel of this name";
  // What the cache had to say comes on top of what was said about the twin.
  if (!twin_reason.empty() && plan->reason != twin_reason)
    plan->reason = twin_reason + "; " + plan->reason;
  return plan;
}

Result<Replacement> ReplacementPlanner::instrumentedForm(const KernelEntry &kernel,
                                                         const LoadedCode &original,
                                                         const LoadedCode &code,
                                                         const std::string &symbol) {
  const KernelInfo &info = *kernel.info;
  const auto before = original.layout(info.symbol());
  if (!before) return before.error();
  auto sites = code.sitesOf(symbol);
  if (!sites) return std::move(sites).error();
  const uint32_t flags = flagsOf(symbol, (*sites)->table);
  // Variables in another copy of the code object are others.
  if (&original != &code && (flags & FADE_KERNEL_HAS_VARIABLES) != 0)
    return Error::of("it uses variables of its code object: --observe rewrite loads both together");
  auto rewrite = argumentsOf(*before, code, symbol, flags);
  if (!rewrite) return std::move(rewrite).error();
  Replacement choice;
  choice.instrumented = true;
  choice.was_rewritten = (flags & FADE_KERNEL_KEEPS_ARGUMENTS) != 0;
  choice.needs = ResidencyNeeds::of(original.object(), info.symbol(), code.object(), symbol);
  if (const auto *sync = before->findHidden(codeobj::ArgKind::HiddenMultigridSyncArg))
    choice.cooperative_offset = sync->offset;
  choice.twin_kernargs = std::make_shared<codeobj::KernargRewrite>(*std::move(rewrite));
  choice.info = registry_.info(*info.identity(), *std::move(sites));
  return choice;
}

Result<Replacement> ReplacementPlanner::otherVersion(const KernelEntry &kernel,
                                                     const LoadedCode &code) {
  const auto before = kernel.code->layout(kernel.info->symbol());
  if (!before) return before.error();
  const auto after = code.layout(kernel.info->symbol());
  if (!after) return after.error();
  auto kernargs = codeobj::VariantKernargs::plan(*before, *after);
  if (!kernargs) return std::move(kernargs).error();
  Replacement choice;
  choice.needs = ResidencyNeeds::of(kernel.code->object(), kernel.info->symbol(), code.object(),
                                    kernel.info->symbol());
  if (const auto *sync = before->findHidden(codeobj::ArgKind::HiddenMultigridSyncArg))
    choice.cooperative_offset = sync->offset;
  choice.variant_kernargs = std::make_shared<codeobj::VariantKernargs>(*std::move(kernargs));
  choice.info = kernel.info;
  return choice;
}

bool ReplacementPlanner::addTwin(const KernelEntry &kernel, ReplacementPlan &plan) {
  const std::string symbol = FADE_CLONE_PREFIX + kernel.info->symbol();
  const auto twin = registry_.find(kernel.executable, kernel.agent, symbol);
  if (!twin || !twin->code) {
    plan.reason = kNoTwin;
    if (const auto why = rewritten_ ? rewritten_->refusal(kernel.info->symbol()) : std::nullopt)
      plan.reason += ": " + *why;
    return false;
  }
  auto choice = instrumentedForm(kernel, *twin->code, *twin->code, symbol);
  if (!choice) {
    plan.reason = choice.error().message();
    return false;
  }
  choice->kernel = twin->device;
  choice->variant = std::make_shared<std::string>("instrumented");
  plan.choices.push_back(*std::move(choice));
  return true;
}

bool ReplacementPlanner::addCached(const KernelEntry &kernel,
                                   const std::shared_ptr<const LoadedCode> &code,
                                   const std::string &symbol, ReplacementPlan &plan) {
  const auto fail = [&](const std::string &why) {
    plan.reason = fmt::format("{}: {}", code->file(), why);
    return false;
  };
  if (!kernel.code) return fail("the arguments of the original are not known");
  auto choice = instrumented_ ? instrumentedForm(kernel, *kernel.code, *code, symbol)
                              : otherVersion(kernel, *code);
  if (!choice) return fail(choice.error().message());
  if (instrumented_ && !code->isFor(*kernel.code))
    return fail("it was made from another kernel of this name");
  const auto loaded = loader_.load(kernel.agent, code, symbol);
  if (!loaded) return fail(loaded.error().message());
  choice->kernel = *loaded;
  choice->variant = std::make_shared<std::string>(code->file());
  plan.choices.push_back(*std::move(choice));
  return true;
}

} // namespace fade
