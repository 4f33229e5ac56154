// A worker's window on GPU memory: the regions it used last, so that an access seldom takes the
// address space's lock.
//
// Where caches are modelled, nobody gets a pointer to memory: no region is found, and all accesses
// come to read(), write() and atomic(), which take the way through the caches. So they cost nothing
// where they are not.
#pragma once

#include "base/address_space.h"
#include "wave/cached_view.h"
#include "wave/faults.h"
#include "wave/quad.h"

#include <fade/observer.h>

#include <cstring>

namespace fade::sim {

class MemoryView {
public:
  explicit MemoryView(const AddressSpace &space, Caches *caches = nullptr) : space_(space) {
    if (caches) cached_.emplace(space, *caches);
  }
  // Null for most.
  CachedView *cached() { return cached_ ? &*cached_ : nullptr; }

  // The region that holds all of [va, va + size), or null when it is unmapped or straddles regions.
  // Throws nothing.
  const Region *region(uint64_t va, uint64_t size, bool write) {
    if (generation_ != space_.generation()) [[unlikely]]
      forget();
    for (const Region &r : slots_)
      if (r.contains(va, size) && (!write || r.writable)) return &r;
    return look_up(va, size, write);
  }

  // Host address of [va, va + size); throws MemoryFault when that cannot be.
  std::byte *at(uint64_t va, uint64_t size, bool write) {
    if (const Region *r = region(va, size, write)) return r->at(va);
    if (passes_fault(va, size, write) && size <= sizeof nowhere_) {
      std::memset(nowhere_, 0, sizeof nowhere_);
      return nowhere_;
    }
    throw MemoryFault{first_unmapped(va, size, write), write};
  }

  // Any size, any alignment, across regions. 16 aligned bytes are whole. `reach` is for caches.
  void read(uint64_t va, void *to, uint64_t size, Reach reach = Reach::workgroup) {
    if (const Region *r = region(va, size, false)) {
      if (size == sizeof(Quad)) {
        const Quad q = load_quad(r->at(va), host_moves_quads);
        std::memcpy(to, &q, sizeof q);
      } else {
        std::memcpy(to, r->at(va), size);
      }
      return;
    }
    uint64_t fault = va;
    if (cached_ ? cached_->load(va, to, size, reach, &fault) : space_.read(va, to, size, &fault))
      return;
    read_nothing(va, to, size, fault);
  }
  void write(uint64_t va, const void *from, uint64_t size, Reach reach = Reach::workgroup) {
    if (const Region *r = region(va, size, true)) {
      if (size == sizeof(Quad)) {
        Quad q;
        std::memcpy(&q, from, sizeof q);
        store_quad(r->at(va), q, host_moves_quads);
      } else {
        std::memcpy(r->at(va), from, size);
      }
      return;
    }
    uint64_t fault = va;
    if (cached_ ? cached_->store(va, from, size, reach, &fault)
                : space_.write(va, from, size, &fault))
      return;
    if (!passes_fault(va, size, true)) throw MemoryFault{fault, true};
  }
  // The same by the scalar unit.
  void read_scalar(uint64_t va, void *to, uint64_t size, bool past_cache) {
    if (!cached_) return read(va, to, size);
    uint64_t fault = va;
    if (!cached_->load_scalar(va, to, size, past_cache, &fault)) read_nothing(va, to, size, fault);
  }
  void write_scalar(uint64_t va, const void *from, uint64_t size) {
    if (!cached_) return write(va, from, size);
    uint64_t fault = va;
    if (!cached_->store_scalar(va, from, size, &fault) && !passes_fault(va, size, true))
      throw MemoryFault{fault, true};
  }
  // One operation on an aligned value; f gets a pointer to it and returns what was there.
  template <class T, class F> T atomic(uint64_t va, Reach reach, F &&f) {
    if (cached_)
      if (const auto old = cached_->atomic<T>(va, reach, f)) return *old;
    return f(reinterpret_cast<T *>(at(va, sizeof(T), true)));
  }

  // Whether an atomic can be done there, by what lies between the GPU and that memory.
  bool allows_atomics() const { return space_.has_host_atomics(); }
  bool allows_atomic(uint64_t va) {
    const Region *r = region(va, 1, true);
    return !r || r->local; // what is not there faults anyway
  }

  // Who may let faults pass: then loads read 0 and stores are lost.
  void set_observer(WorkerObserver *observer) { observer_ = observer; }

private:
  bool passes_fault(uint64_t va, uint64_t size, bool write) const {
    return observer_ && observer_->passesFault(va, size, write);
  }
  void read_nothing(uint64_t va, void *to, uint64_t size, uint64_t fault) const {
    if (!passes_fault(va, size, false)) throw MemoryFault{fault, false};
    std::memset(to, 0, size);
  }
  const Region *look_up(uint64_t va, uint64_t size, bool write) {
    if (cached_) return nullptr;
    auto r = space_.find(va);
    if (!r || !r->contains(va, size) || (write && !r->writable)) return nullptr;
    Region &slot = slots_[next_++ % slots];
    slot = *r;
    return &slot;
  }
  uint64_t first_unmapped(uint64_t va, uint64_t size, bool write) const {
    for (uint64_t a = va; a < va + size;) {
      auto r = space_.find(a);
      if (!r || (write && !r->writable)) return a;
      a = r->end();
    }
    return va;
  }
  void forget() {
    generation_ = space_.generation();
    for (Region &r : slots_) r = Region{};
  }

  static constexpr unsigned slots = 8;
  const AddressSpace &space_;
  uint64_t generation_ = 0;
  Region slots_[slots];
  unsigned next_ = 0;
  WorkerObserver *observer_ = nullptr;
  std::optional<CachedView> cached_;
  alignas(16) std::byte nowhere_[64];
};

} // namespace fade::sim
