// A worker's window on GPU memory: the regions it used last, so that an access seldom takes the
// address space's lock.
#pragma once

#include "base/address_space.h"
#include "wave/faults.h"
#include "wave/quad.h"

#include <fade/observer.h>

#include <cstring>

namespace fade::sim {

class MemoryView {
public:
  explicit MemoryView(const AddressSpace &space) : space_(space) {}

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

  // Any size, any alignment, across regions. 16 aligned bytes are whole.
  void read(uint64_t va, void *to, uint64_t size) {
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
    if (space_.read(va, to, size, &fault)) return;
    if (!passes_fault(va, size, false)) throw MemoryFault{fault, false};
    std::memset(to, 0, size);
  }
  void write(uint64_t va, const void *from, uint64_t size) {
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
    if (!space_.write(va, from, size, &fault) && !passes_fault(va, size, true))
      throw MemoryFault{fault, true};
  }

  // Who may let faults pass: then loads read 0 and stores are lost.
  void set_observer(WorkerObserver *observer) { observer_ = observer; }

private:
  bool passes_fault(uint64_t va, uint64_t size, bool write) const {
    return observer_ && observer_->passesFault(va, size, write);
  }
  const Region *look_up(uint64_t va, uint64_t size, bool write) {
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
  alignas(16) std::byte nowhere_[64];
};

} // namespace fade::sim
