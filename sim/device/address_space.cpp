#include "device/address_space.h"

#include <algorithm>
#include <cstring>

namespace fade::sim {
namespace {

// The first region that ends after `va`.
auto first_after(const std::vector<Region> &table, uint64_t va) {
  return std::partition_point(table.begin(), table.end(),
                              [va](const Region &r) { return r.end() <= va; });
}

// `table` without [va, end); regions that straddle a border are cut.
std::unique_ptr<std::vector<Region>> without(const std::vector<Region> &table, uint64_t va,
                                             uint64_t end) {
  auto next = std::make_unique<std::vector<Region>>();
  next->reserve(table.size() + 2);
  for (const Region &r : table) {
    if (r.end() <= va || r.va >= end) {
      next->push_back(r);
      continue;
    }
    if (r.va < va) next->push_back({r.va, va - r.va, r.host, r.writable});
    if (r.end() > end) next->push_back({end, r.end() - end, r.host + (end - r.va), r.writable});
  }
  return next;
}

} // namespace

AddressSpace::AddressSpace() { publish(std::make_unique<Table>()); }
AddressSpace::~AddressSpace() = default;

void AddressSpace::publish(std::unique_ptr<Table> next) {
  table_.store(next.get(), std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
  tables_.push_back(std::move(next));
}

void AddressSpace::map(uint64_t va, uint64_t size, void *host, bool writable) {
  if (size == 0) return;
  std::lock_guard lock(mutex_);
  auto next = without(*table_.load(std::memory_order_relaxed), va, va + size);
  next->insert(first_after(*next, va), {va, size, static_cast<std::byte *>(host), writable});
  publish(std::move(next));
}

void AddressSpace::unmap(uint64_t va, uint64_t size) {
  if (size == 0) return;
  std::lock_guard lock(mutex_);
  publish(without(*table_.load(std::memory_order_relaxed), va, va + size));
}

const Region *AddressSpace::find(uint64_t va) const {
  const Table &t = *table_.load(std::memory_order_acquire);
  auto it = first_after(t, va);
  return it != t.end() && it->va <= va ? &*it : nullptr;
}

std::byte *AddressSpace::translate(uint64_t va, uint64_t size) const {
  const Region *r = find(va);
  return r && r->contains(va, size) ? r->at(va) : nullptr;
}

bool AddressSpace::covers(uint64_t va, uint64_t size) const {
  while (size) {
    const Region *r = find(va);
    if (!r) return false;
    uint64_t n = std::min(size, r->end() - va);
    va += n, size -= n;
  }
  return true;
}

bool AddressSpace::read(uint64_t va, void *to, uint64_t size, uint64_t *fault) const {
  auto *out = static_cast<std::byte *>(to);
  while (size) {
    const Region *r = find(va);
    if (!r) {
      if (fault) *fault = va;
      return false;
    }
    uint64_t n = std::min(size, r->end() - va);
    std::memcpy(out, r->at(va), n);
    va += n, out += n, size -= n;
  }
  return true;
}

bool AddressSpace::write(uint64_t va, const void *from, uint64_t size, uint64_t *fault) const {
  auto *in = static_cast<const std::byte *>(from);
  while (size) {
    const Region *r = find(va);
    if (!r || !r->writable) {
      if (fault) *fault = va;
      return false;
    }
    uint64_t n = std::min(size, r->end() - va);
    std::memcpy(r->at(va), in, n);
    va += n, in += n, size -= n;
  }
  return true;
}

} // namespace fade::sim
