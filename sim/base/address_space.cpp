#include "base/address_space.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace fade::sim {
namespace {

// The first region that ends after `va`.
auto first_after(const std::vector<Region> &table, uint64_t va) {
  return std::partition_point(table.begin(), table.end(),
                              [va](const Region &r) { return r.end() <= va; });
}

// Takes [va, end) out of `table`; regions that straddle a border are cut.
void cut(std::vector<Region> &table, uint64_t va, uint64_t end) {
  auto first = first_after(table, va);
  auto last = first;
  std::vector<Region> rest;
  for (; last != table.end() && last->va < end; ++last) {
    const Region &r = *last;
    if (r.va < va) rest.push_back({r.va, va - r.va, r.host, r.writable, r.local, r.caching});
    if (r.end() > end)
      rest.push_back({end, r.end() - end, r.host + (end - r.va), r.writable, r.local, r.caching});
  }
  table.insert(table.erase(first, last), rest.begin(), rest.end());
}

} // namespace

void AddressSpace::tell_listener(uint64_t va, uint64_t size) const {
  if (!going_) return;
  std::vector<Region> gone;
  {
    std::shared_lock lock(mutex_);
    for (auto r = first_after(table_, va); r != table_.end() && r->va < va + size; ++r)
      gone.push_back(*r);
  }
  for (const Region &r : gone) {
    const uint64_t first = std::max(va, r.va), last = std::min(va + size, r.end());
    going_(r.at(first), last - first);
  }
}

void AddressSpace::map(uint64_t va, uint64_t size, void *host, bool writable, bool local,
                       Caching caching) {
  if (size == 0) return;
  tell_listener(va, size);
  std::unique_lock lock(mutex_);
  cut(table_, va, va + size);
  table_.insert(first_after(table_, va),
                {va, size, static_cast<std::byte *>(host), writable, local, caching});
  generation_.fetch_add(1, std::memory_order_release);
}

void AddressSpace::unmap(uint64_t va, uint64_t size) {
  if (size == 0) return;
  tell_listener(va, size);
  std::unique_lock lock(mutex_);
  cut(table_, va, va + size);
  generation_.fetch_add(1, std::memory_order_release);
}

std::optional<Region> AddressSpace::find(uint64_t va) const {
  std::shared_lock lock(mutex_);
  auto it = first_after(table_, va);
  if (it == table_.end() || it->va > va) return std::nullopt;
  return *it;
}

std::byte *AddressSpace::translate(uint64_t va, uint64_t size) const {
  auto r = find(va);
  return r && r->contains(va, size) ? r->at(va) : nullptr;
}

bool AddressSpace::covers(uint64_t va, uint64_t size) const {
  while (size) {
    auto r = find(va);
    if (!r) return false;
    uint64_t n = std::min(size, r->end() - va);
    va += n, size -= n;
  }
  return true;
}

bool AddressSpace::read(uint64_t va, void *to, uint64_t size, uint64_t *fault) const {
  auto *out = static_cast<std::byte *>(to);
  while (size) {
    auto r = find(va);
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
    auto r = find(va);
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
