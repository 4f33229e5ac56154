#include "dispatch/kernel_registry.h"

namespace fade {

void KernelRegistry::add(std::shared_ptr<KernelEntry> kernel) {
  const std::unique_lock lock(mutex_);
  by_symbol_[{kernel->executable, kernel->agent, kernel->symbol}] = kernel;
  by_object_[kernel->object] = std::move(kernel);
}

void KernelRegistry::remove(ExecutableHandle executable) {
  const std::unique_lock lock(mutex_);
  auto at = by_symbol_.lower_bound({executable, 0, ""});
  while (at != by_symbol_.end() && std::get<0>(at->first) == executable) {
    const auto known = by_object_.find(at->second->object);
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

std::shared_ptr<const KernelInfo> KernelRegistry::info(const std::string &name,
                                                       const std::string &symbol,
                                                       const std::string &target,
                                                       std::shared_ptr<const ModuleSites> sites) {
  const std::unique_lock lock(mutex_);
  std::shared_ptr<const KernelInfo> plain;
  bool id_has_sites = false;
  for (const auto &info : infos_) {
    if (info->symbol() != symbol || info->target() != target) continue;
    const ModuleSites *known = info->sites();
    if (!sites && !known) return info;
    if (sites && known && known->module_id == sites->module_id) return info;
    if (!known)
      plain = info;
    else
      id_has_sites = true;
  }
  // With and without sites it is the same kernel, but a second site table makes another one.
  const bool shares_id = sites ? plain && !id_has_sites : id_has_sites;
  uint32_t id = next_id_;
  if (shares_id) {
    for (const auto &info : infos_)
      if (info->symbol() == symbol && info->target() == target) {
        id = info->id();
        break;
      }
  } else {
    ++next_id_;
  }
  infos_.push_back(std::make_shared<KernelInfo>(id, name, symbol, target, std::move(sites)));
  return infos_.back();
}

} // namespace fade
