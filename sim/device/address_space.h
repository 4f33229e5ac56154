// What one GPU can see: ranges of GPU virtual addresses, each backed by host memory.
//
// The driver side changes it (map, unmap); workers read it all the time and must not take a lock. So the
// table is immutable once published: a change builds a new table and swaps the pointer. A reader keeps
// the table it holds while `generation()` stays the same. Old tables are kept until the address space
// dies: they are a few kilobytes each and changes are rare.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace fade::sim {

struct Region {
  uint64_t va = 0;
  uint64_t size = 0;
  std::byte *host = nullptr;
  bool writable = true;

  uint64_t end() const { return va + size; }
  bool contains(uint64_t a, uint64_t n) const { return a >= va && n <= size && a - va <= size - n; }
  std::byte *at(uint64_t a) const { return host + (a - va); }
};

class AddressSpace {
public:
  AddressSpace();
  ~AddressSpace();
  AddressSpace(const AddressSpace &) = delete;
  AddressSpace &operator=(const AddressSpace &) = delete;

  // Later mappings win where ranges overlap.
  void map(uint64_t va, uint64_t size, void *host, bool writable = true);
  void unmap(uint64_t va, uint64_t size);

  // The region that holds `va`, or null. Lock-free; the answer stays readable for ever, and true until the next
  // change of the address space.
  const Region *find(uint64_t va) const;
  // Host pointer to [va, va + size), or null unless all of it lies in one region.
  std::byte *translate(uint64_t va, uint64_t size) const;
  // Whether all of [va, va + size) is mapped, be it by several regions.
  bool covers(uint64_t va, uint64_t size) const;
  template <class T> T *at(uint64_t va) const {
    return reinterpret_cast<T *>(translate(va, sizeof(T)));
  }
  // Copies between host and GPU memory, across regions. False, with nothing promised about the rest, when an
  // address is not mapped; `*fault` then names it.
  bool read(uint64_t va, void *to, uint64_t size, uint64_t *fault = nullptr) const;
  bool write(uint64_t va, const void *from, uint64_t size, uint64_t *fault = nullptr) const;

  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

private:
  using Table = std::vector<Region>; // sorted by va, disjoint
  void publish(std::unique_ptr<Table> next);

  std::mutex mutex_;
  std::atomic<const Table *> table_;
  std::atomic<uint64_t> generation_{1};
  std::vector<std::unique_ptr<const Table>> tables_; // current and former
};

} // namespace fade::sim
