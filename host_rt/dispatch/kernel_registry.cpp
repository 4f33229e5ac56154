#include "dispatch/kernel_registry.h"

namespace fade {

void KernelRegistry::add(std::shared_ptr<KernelEntry> kernel) {
  const std::unique_lock lock(mutex_);
  by_symbol_[{kernel->executable, kernel->agent, kernel->info->symbol()}] = kernel;
  by_object_[kernel->device.object] = std::move(kernel);
}

void KernelRegistry::remove(ExecutableHandle executable) {
  const std::unique_lock lock(mutex_);
  auto at = by_symbol_.lower_bound({executable, 0, ""});
  while (at != by_symbol_.end() && std::get<0>(at->first) == executable) {
    const auto known = by_object_.find(at->second->device.object);
    if (known != by_object_.end() && known->second == at->second) by_object_.erase(known);
    at = by_symbol_.erase(at);
  }
}

std::shared_ptr<KernelEntry> KernelRegistry::find(uint64_t object) const {
  const std::shared_lock lock(mutex_);
  const auto at = by_object_.find(object);
  return at == by_object_.end() ? nullptr : at->second;
}

std::shared_ptr<KernelEntry> KernelRegistry::find(ExecutableHandle executable, AgentHandle agent,
                                                  const std::string &symbol) const {
  const std::shared_lock lock(mutex_);
  const auto at = by_symbol_.find({executable, agent, symbol});
  return at == by_symbol_.end() ? nullptr : at->second;
}

std::vector<std::shared_ptr<KernelEntry>> KernelRegistry::all() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<KernelEntry>> kernels;
  kernels.reserve(by_symbol_.size());
  for (const auto &[key, kernel] : by_symbol_) kernels.push_back(kernel);
  return kernels;
}

std::shared_ptr<const KernelInfo> KernelRegistry::info(KernelIdentity kernel,
                                                       std::shared_ptr<const ModuleSites> sites) {
  const std::unique_lock lock(mutex_);
  std::shared_ptr<const KernelInfo> plain, with_sites;
  const auto [first, last] = infos_.equal_range(kernel.symbol);
  for (auto at = first; at != last; ++at) {
    const auto &info = at->second;
    if (info->target() != kernel.target || info->module() != kernel.module) continue;
    const ModuleSites *known = info->sites();
    if (!sites && !known) return info;
    if (sites && known && known->table.moduleId() == sites->table.moduleId()) return info;
    (known ? with_sites : plain) = info;
  }
  // With and without sites it is the same kernel, but a second site table makes another one.
  const KernelInfo *same = sites ? (with_sites ? nullptr : plain.get()) : with_sites.get();
  if (!same) kernel.id = next_id_++;
  auto info = same ? std::make_shared<KernelInfo>(same->identity(), std::move(sites))
                   : std::make_shared<KernelInfo>(std::move(kernel), std::move(sites));
  return infos_.emplace(info->symbol(), std::move(info))->second;
}

} // namespace fade
