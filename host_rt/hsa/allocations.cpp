#include "hsa/allocations.h"

namespace fade {

void AllocationTable::add(const void *address, uint64_t size, uint32_t agent, bool on_host) {
  const std::lock_guard lock(mutex_);
  fade_allocation allocation{};
  allocation.address = reinterpret_cast<uint64_t>(address);
  allocation.size = size;
  allocation.number = next_++;
  allocation.agent = agent;
  allocation.flags = on_host ? FADE_ALLOCATION_ON_HOST : 0;
  allocations_[allocation.address] = allocation;
  snapshot_ = nullptr;
}

void AllocationTable::remove(const void *address) {
  const std::lock_guard lock(mutex_);
  if (allocations_.erase(reinterpret_cast<uint64_t>(address)) != 0) snapshot_ = nullptr;
}

std::shared_ptr<const Allocations> AllocationTable::snapshot() {
  const std::lock_guard lock(mutex_);
  if (!snapshot_) {
    auto list = std::make_shared<Allocations>();
    list->reserve(allocations_.size());
    for (const auto &[address, allocation] : allocations_) list->push_back(allocation);
    snapshot_ = std::move(list);
  }
  return snapshot_;
}

} // namespace fade
