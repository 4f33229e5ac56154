#include "dispatch/replacement.h"

#include "base/diagnostics.h"
#include "fade/clone.h"
#include "stream/run_notes.h"

#include <fmt/format.h>

namespace fade {

const ReplacementPlan &ReplacementPlanner::planFor(KernelEntry &kernel) {
  const uint64_t generation = cache_.generation();
  if (const ReplacementPlan *known = kernel.plan.load(std::memory_order_acquire);
      known && known->generation == generation)
    return *known;
  const std::lock_guard lock(kernel.plan_mutex);
  if (const ReplacementPlan *known = kernel.plan.load(std::memory_order_relaxed);
      known && known->generation == generation)
    return *known;
  // Earlier plans stay: dispatches on other threads may be using them.
  kernel.plans.push_back(make(kernel, generation));
  const ReplacementPlan &plan = *kernel.plans.back();
  for (const Replacement &choice : plan.choices)
    note("{}: runs as {}", kernel.name, *choice.variant);
  if (plan.choices.empty()) note("{}: the original runs: {}", kernel.name, plan.reason);
  kernel.plan.store(&plan, std::memory_order_release);
  return plan;
}

std::shared_ptr<const ReplacementPlan> ReplacementPlanner::make(const KernelEntry &kernel,
                                                                uint64_t generation) {
  auto plan = std::make_shared<ReplacementPlan>();
  plan->generation = generation;
  if (instrumented_ && addTwin(kernel, *plan)) return plan;
  const std::string twin_reason = plan->reason;
  for (const auto &code : cache_.find(kernel.symbol)) {
    if (instrumented_) {
      if (addInstrumented(kernel, code, kernel.symbol, *plan)) return plan;
    } else {
      addVariant(kernel, code, *plan);
    }
  }
  if (instrumented_)
    for (const auto &code : cache_.find(FADE_CLONE_PREFIX + kernel.symbol))
      if (addInstrumented(kernel, code, FADE_CLONE_PREFIX + kernel.symbol, *plan)) return plan;
  if (plan->choices.empty() && plan->reason.empty())
    plan->reason = "the cache has no kernel of this name";
  // What the cache had to say comes on top of what was said about the twin.
  if (!twin_reason.empty() && plan->reason != twin_reason)
    plan->reason = twin_reason + "; " + plan->reason;
  return plan;
}

bool ReplacementPlanner::addTwin(const KernelEntry &kernel, ReplacementPlan &plan) {
  const std::string symbol = FADE_CLONE_PREFIX + kernel.symbol;
  auto twin = registry_.find(kernel.executable, kernel.agent, symbol);
  if (!twin || !twin->code) {
    plan.reason = kNoTwin;
    return false;
  }
  const auto original = twin->code->layout(kernel.symbol);
  const auto clone = twin->code->layout(symbol);
  if (!original || !clone) {
    plan.reason = (original ? clone : original).error().message();
    return false;
  }
  auto rewrite = codeobj::KernargRewrite::plan(*original, *clone);
  if (!rewrite) {
    plan.reason = rewrite.error().message();
    return false;
  }
  auto sites = twin->code->sitesOf(symbol, plan.reason);
  if (!sites) return false;
  Replacement choice;
  choice.instrumented = true;
  choice.twin_kernargs = std::make_shared<codeobj::KernargRewrite>(*std::move(rewrite));
  choice.info = registry_.info(kernel.name, kernel.symbol, kernel.info->target(), std::move(sites));
  choice.variant = std::make_shared<std::string>("instrumented");
  choice.kernel = std::move(twin);
  plan.choices.push_back(std::move(choice));
  return true;
}

bool ReplacementPlanner::addInstrumented(const KernelEntry &kernel,
                                         const std::shared_ptr<const LoadedCode> &code,
                                         const std::string &symbol, ReplacementPlan &plan) {
  const auto fail = [&](const std::string &why) {
    plan.reason = fmt::format("{}: {}", code->file(), why);
    return false;
  };
  if (!kernel.code) return fail("the arguments of the original are not known");
  const auto original = kernel.code->layout(kernel.symbol);
  const auto other = code->layout(symbol);
  if (!original || !other) return fail((original ? other : original).error().message());
  auto rewrite = codeobj::KernargRewrite::plan(*original, *other);
  if (!rewrite) return fail(rewrite.error().message());
  std::string why;
  auto sites = code->sitesOf(symbol, why);
  if (!sites) return fail(why);
  auto loaded = loader_.load(kernel.agent, code, symbol, why);
  if (!loaded) return fail(why);
  Replacement choice;
  choice.instrumented = true;
  choice.twin_kernargs = std::make_shared<codeobj::KernargRewrite>(*std::move(rewrite));
  choice.info = registry_.info(kernel.name, kernel.symbol, kernel.info->target(), std::move(sites));
  choice.variant = std::make_shared<std::string>(code->file());
  choice.kernel = std::move(loaded);
  plan.choices.push_back(std::move(choice));
  return true;
}

bool ReplacementPlanner::addVariant(const KernelEntry &kernel,
                                    const std::shared_ptr<const LoadedCode> &code,
                                    ReplacementPlan &plan) {
  const auto fail = [&](const std::string &why) {
    plan.reason = fmt::format("{}: {}", code->file(), why);
    return false;
  };
  if (!kernel.code) return fail("the arguments of the original are not known");
  const auto original = kernel.code->layout(kernel.symbol);
  const auto other = code->layout(kernel.symbol);
  if (!original || !other) return fail((original ? other : original).error().message());
  auto kernargs = VariantKernargs::plan(*original, *other);
  if (!kernargs) return fail(kernargs.error().message());
  std::string why;
  auto loaded = loader_.load(kernel.agent, code, kernel.symbol, why);
  if (!loaded) return fail(why);
  Replacement choice;
  choice.variant_kernargs = std::make_shared<VariantKernargs>(*std::move(kernargs));
  choice.info = kernel.info;
  choice.variant = std::make_shared<std::string>(code->file());
  choice.kernel = std::move(loaded);
  plan.choices.push_back(std::move(choice));
  return true;
}

} // namespace fade
