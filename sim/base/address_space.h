// What one GPU can see: ranges of GPU virtual addresses, each backed by host memory.
//
// The driver side changes it (map, unmap). Workers look regions up and keep copies of those they
// use, for as long as `generation()` stays the same; so the lock is taken only when a worker meets
// a region for the first time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <shared_mutex>
#include <vector>

namespace fade::sim {

// How a GPU's L2 treats memory, which the driver decides for each page (MTYPE). Only of interest
// where caches are modelled, see wave/caches.h.
enum class Caching : uint8_t {
  none,        // UC: never kept. CC, which is written through and never old, is the same here
  own,         // RW: what is written is kept; what others write to memory is seen (probes)
  noncoherent, // NC: what was read or written is kept, whatever others write meanwhile
};

struct Region {
  uint64_t va = 0;
  uint64_t size = 0;
  std::byte *host = nullptr;
  bool writable = true;
  bool local = false; // the card's own memory
  Caching caching = Caching::none;

  uint64_t end() const { return va + size; }
  bool contains(uint64_t a, uint64_t n) const { return a >= va && n <= size && a - va <= size - n; }
  std::byte *at(uint64_t a) const { return host + (a - va); }
};

class AddressSpace {
public:
  // Later mappings win where ranges overlap.
  void map(uint64_t va, uint64_t size, void *host, bool writable = true, bool local = false,
           Caching caching = Caching::none);
  void unmap(uint64_t va, uint64_t size);

  // The region that holds `va`; true until the generation changes.
  std::optional<Region> find(uint64_t va) const;
  // Host pointer to [va, va + size), or null unless all of it lies in one region.
  std::byte *translate(uint64_t va, uint64_t size) const;
  // Whether all of [va, va + size) is mapped, be it by several regions.
  bool covers(uint64_t va, uint64_t size) const;
  template <class T> T *at(uint64_t va) const {
    return reinterpret_cast<T *>(translate(va, sizeof(T)));
  }
  // Copies between host and GPU memory, across regions. False, with nothing promised about the
  // rest, when an address is not mapped; `*fault` then names it.
  bool read(uint64_t va, void *to, uint64_t size, uint64_t *fault = nullptr) const;
  bool write(uint64_t va, const void *from, uint64_t size, uint64_t *fault = nullptr) const;

  // Whether the GPU can do atomics on memory that is not its own. Set before it runs anything.
  void set_host_atomics(bool possible) { host_atomics_ = possible; }
  bool has_host_atomics() const { return host_atomics_; }

  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Is told of host memory before it goes: to be set before anything is mapped.
  using Listener = std::function<void(std::byte *host, uint64_t size)>;
  void on_unmap(Listener listener) { going_ = std::move(listener); }

private:
  void tell_listener(uint64_t va, uint64_t size) const;

  Listener going_; // empty for most
  mutable std::shared_mutex mutex_;
  std::vector<Region> table_; // sorted by va, disjoint
  std::atomic<uint64_t> generation_{1};
  bool host_atomics_ = true;
};

} // namespace fade::sim
