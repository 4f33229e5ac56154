#include "dispatch/replacement.h"

#include "fade/clone.h"

#include <fmt/format.h>

namespace fade {
namespace {

std::shared_ptr<const Replacement> original(std::string reason) {
  auto replacement = std::make_shared<Replacement>();
  replacement->reason = std::move(reason);
  return replacement;
}

} // namespace

std::shared_ptr<const Replacement> planTwin(KernelRegistry &registry, const KernelEntry &kernel) {
  const std::string symbol = FADE_CLONE_PREFIX + kernel.symbol;
  auto twin = registry.find(kernel.executable, kernel.agent, symbol);
  if (!twin || !twin->code) return original("it has no instrumented twin");
  const auto own_layout = twin->code->layout(kernel.symbol);
  if (!own_layout) return original(own_layout.error().message());
  const auto twin_layout = twin->code->layout(symbol);
  if (!twin_layout) return original(twin_layout.error().message());
  auto rewrite = codeobj::KernargRewrite::plan(*own_layout, *twin_layout);
  if (!rewrite) return original(rewrite.error().message());
  std::string why;
  auto sites = twin->code->sitesOf(symbol, why);
  if (!sites) return original(why);

  auto replacement = std::make_shared<Replacement>();
  replacement->instrumented = true;
  replacement->kernargs = std::make_shared<codeobj::KernargRewrite>(*std::move(rewrite));
  replacement->info =
      registry.info(kernel.name, kernel.symbol, kernel.info->target(), std::move(sites));
  replacement->variant = std::make_shared<std::string>("instrumented");
  replacement->kernel = std::move(twin);
  return replacement;
}

} // namespace fade
