// A worker's way to memory through the caches of the workgroup that it runs (wave/caches.h).
#pragma once

#include "wave/caches.h"
#include "wave/workgroup.h"

#include <algorithm>
#include <optional>

namespace fade::sim {

class CachedView {
public:
  CachedView(const AddressSpace &space, Caches &caches) : space_(space), caches_(caches) {}

  Caches &caches() { return caches_; }
  void enter(Workgroup &group) { group_ = &group; }
  unsigned die() const { return group_->die; }

  // False, with `*fault` set and nothing promised about the rest, where no memory is mapped.
  bool load(uint64_t va, void *to, uint64_t size, Reach reach, uint64_t *fault) {
    return in_lines(va, size, false, fault, [&](const CachedBytes &b, uint64_t done) {
      group_->l1->load(caches_, die(), b, static_cast<std::byte *>(to) + done, reach);
    });
  }
  bool store(uint64_t va, const void *from, uint64_t size, Reach reach, uint64_t *fault) {
    return in_lines(va, size, true, fault, [&](const CachedBytes &b, uint64_t done) {
      group_->l1->store(caches_, die(), b, static_cast<const std::byte *>(from) + done, reach);
    });
  }
  // `past`: past the scalar cache.
  bool load_scalar(uint64_t va, void *to, uint64_t size, bool past, uint64_t *fault) {
    return in_lines(va, size, false, fault, [&](const CachedBytes &b, uint64_t done) {
      caches_.load_scalar(die(), group_->number, b, static_cast<std::byte *>(to) + done, past);
    });
  }
  bool store_scalar(uint64_t va, const void *from, uint64_t size, uint64_t *fault) {
    return in_lines(va, size, true, fault, [&](const CachedBytes &b, uint64_t done) {
      caches_.store_scalar(die(), group_->number, b, static_cast<const std::byte *>(from) + done);
    });
  }
  // f works on the value and returns what was there; nothing if no memory is mapped there.
  template <class T, class F> std::optional<T> atomic(uint64_t va, Reach reach, F &&f) {
    const Region *r = find(va);
    if (!r || !r->contains(va, sizeof(T)) || !r->writable) return std::nullopt;
    const CachedBytes b = bytes_at(*r, va, sizeof(T));
    group_->l1->forget(b);
    return caches_.atomic<T>(die(), b, reach, f);
  }

  void invalidate_l1() { group_->l1->clear(); }
  void invalidate_scalar() { caches_.invalidate_scalar(die(), group_->number); }

private:
  static CachedBytes bytes_at(const Region &r, uint64_t va, uint64_t size) {
    return {r.at(va), static_cast<uint32_t>(size), r.host, r.host + r.size, r.caching};
  }
  template <class F> bool in_lines(uint64_t va, uint64_t size, bool write, uint64_t *fault, F &&f) {
    for (uint64_t done = 0; done < size;) {
      const Region *r = find(va + done);
      if (!r || (write && !r->writable)) return *fault = va + done, false;
      const uint64_t in_line =
          CacheLine::bytes - reinterpret_cast<uintptr_t>(r->at(va + done)) % CacheLine::bytes;
      const uint64_t n = std::min({size - done, r->end() - (va + done), in_line});
      f(bytes_at(*r, va + done, n), done);
      done += n;
    }
    return true;
  }
  const Region *find(uint64_t va) {
    if (generation_ != space_.generation()) {
      generation_ = space_.generation();
      for (Region &r : slots_) r = Region{};
    }
    for (const Region &r : slots_)
      if (r.contains(va, 1)) return &r;
    auto found = space_.find(va);
    if (!found) return nullptr;
    Region &slot = slots_[next_++ % std::size(slots_)];
    slot = *found;
    return &slot;
  }

  const AddressSpace &space_;
  Caches &caches_;
  Workgroup *group_ = nullptr;
  uint64_t generation_ = 0;
  Region slots_[8];
  unsigned next_ = 0;
};

} // namespace fade::sim
