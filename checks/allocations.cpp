#include "checks/allocations.h"

#include "checks/finding_log.h"

#include <iterator>
#include <mutex>

namespace fade::checks {

AllocationMap &AllocationMap::instance() {
  static auto *map = new AllocationMap; // outlives every exit handler
  return *map;
}

void AllocationMap::add(Allocation allocation) {
  const std::unique_lock lock(mutex_);
  allocation.number = next_++;
  allocation.slot = FindingLog::instance().addAllocation(allocation.info());
  // What was there before is forgotten.
  auto at = all_.lower_bound(allocation.base);
  if (at != all_.begin() && std::prev(at)->second.end_of_block > allocation.base) --at;
  while (at != all_.end() && at->first < allocation.end_of_block) at = all_.erase(at);
  all_.emplace(allocation.base, allocation);
  generation_.fetch_add(1, std::memory_order_release);
}

uint32_t AllocationMap::takeNumber() {
  const std::unique_lock lock(mutex_);
  return next_++;
}

std::optional<Allocation> AllocationMap::free(uint64_t base,
                                              const std::array<HostCall, kMostCallers> &by) {
  const std::unique_lock lock(mutex_);
  const auto at = all_.find(base);
  if (at == all_.end() || at->second.is_freed) return std::nullopt;
  at->second.is_freed = true;
  at->second.freed_by = by;
  FindingLog::instance().removeAllocation(at->second.slot);
  freed_.emplace_back(base, at->second.number);
  if (freed_.size() > kMostFreed) {
    const auto old = all_.find(freed_.front().first);
    if (old != all_.end() && old->second.number == freed_.front().second) all_.erase(old);
    freed_.pop_front();
  }
  generation_.fetch_add(1, std::memory_order_release);
  return at->second;
}

void AllocationMap::countAsWritten(uint64_t base) {
  const std::unique_lock lock(mutex_);
  const auto at = all_.find(base);
  if (at == all_.end()) return;
  at->second.counts_as_written = true;
  generation_.fetch_add(1, std::memory_order_release);
}

void AllocationMap::forgetFreed(uint64_t begin, uint64_t end) {
  const std::unique_lock lock(mutex_);
  auto at = all_.lower_bound(begin);
  if (at != all_.begin()) --at;
  while (at != all_.end() && at->first < end)
    at = at->second.is_freed && at->second.end_of_block > begin ? all_.erase(at) : std::next(at);
  generation_.fetch_add(1, std::memory_order_release);
}

std::optional<Allocation> AllocationMap::find(uint64_t address) const {
  const std::shared_lock lock(mutex_);
  auto at = all_.upper_bound(address);
  if (at == all_.begin() || !std::prev(at)->second.holds(address)) return std::nullopt;
  return std::prev(at)->second;
}

std::optional<Allocation> AllocationMap::nearest(uint64_t address, uint64_t reach,
                                                 Owner owner) const {
  const std::shared_lock lock(mutex_);
  const auto counts = [&](const Allocation &a) {
    return owner == Owner::anybody || FindingLog::instance().isApplications(a.api, a.path);
  };
  const auto after = all_.upper_bound(address);
  std::optional<Allocation> found;
  for (auto at = after; at != all_.begin() && !found;) {
    const Allocation &before = (--at)->second;
    const uint64_t distance = address < before.end() ? 0 : address - before.end();
    if (distance >= reach) break;
    if (counts(before)) found = before, reach = distance;
  }
  for (auto at = after; at != all_.end() && at->first - address < reach; ++at)
    if (counts(at->second)) return at->second;
  return found;
}

bool AllocationMap::touches(uint64_t begin, uint64_t end) const {
  const std::shared_lock lock(mutex_);
  const auto after = all_.lower_bound(end);
  return after != all_.begin() && std::prev(after)->second.end_of_block > begin;
}

} // namespace fade::checks
