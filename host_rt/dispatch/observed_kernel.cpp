#include "dispatch/observed_kernel.h"

#include <algorithm>

namespace fade {

uint32_t ObservedKernel::find(const std::vector<ObservedPlace> &places, uint64_t address) {
  const auto at = std::ranges::lower_bound(places, address, {}, &ObservedPlace::address);
  return at != places.end() && at->address == address ? at->site : FADE_NO_INDEX;
}

std::span<const fade_site_instruction> ObservedKernel::instructions(uint64_t pc,
                                                                    uint64_t end) const {
  const auto all = info->sites()->table.instructions();
  const auto from = std::ranges::lower_bound(all, pc - delta, {}, &fade_site_instruction::address);
  const auto to = std::ranges::lower_bound(all, end - delta, {}, &fade_site_instruction::address);
  return from < to ? std::span(from, to) : std::span<const fade_site_instruction>();
}

Result<std::shared_ptr<const ObservedKernel>>
ObservedKernels::find(const std::shared_ptr<KernelEntry> &kernel, KernelRegistry &registry,
                      ObservedParts parts) {
  const std::lock_guard lock(mutex_);
  auto &known = kernels_[kernel];
  if (known) return known;
  const std::string &symbol = kernel->info->symbol();
  if (!kernel->code || !kernel->code->object())
    return Error::of("its code object could not be read");
  const auto object = kernel->code->sharedObject();
  const auto index = object->findKernel(symbol);
  if (!index) return Error::of("it is not in its code object");
  const auto described = object->kernel(*index);
  if (!described) return described.error();
  auto made = std::make_shared<ObservedKernel>();
  made->delta = kernel->device.object - described->descriptor_address;
  auto made_sites = makeSites(object, symbol, parts);
  if (!made_sites) return std::move(made_sites).error();
  made->accesses = std::move(made_sites->accesses);
  made->blocks = std::move(made_sites->blocks);
  std::string error;
  auto table = SiteTable::parse(made_sites->table, error);
  if (!table) return Error::of(error);
  auto sites = std::make_shared<ModuleSites>(ModuleSites{*std::move(table), object->file()});
  made->info = registry.info(*kernel->info->identity(), sites);
  known = made;
  return known;
}

} // namespace fade
