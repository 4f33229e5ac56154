// Counts of accesses by page: a hash table made for streams in which the next access is mostly in
// the page of the last one.
#pragma once

#include "access_kind.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace fade::handlers {

class PageCounts {
public:
  struct Page {
    uint64_t address = 0;
    std::array<uint64_t, 3> counts{}; ///< by AccessKind
    uint64_t total() const { return counts[0] + counts[1] + counts[2]; }
  };

  explicit PageCounts(uint64_t page_size)
      : shift_(static_cast<uint32_t>(std::countr_zero(page_size))), slots_(64) {}

  uint64_t pageSize() const { return uint64_t{1} << shift_; }

  void add(uint64_t address, AccessKind kind, uint64_t n) {
    find(address >> shift_).counts[static_cast<std::size_t>(kind)] += n;
  }
  void add(const PageCounts &other) {
    for (const Slot &slot : other.slots_)
      if (slot.used)
        for (std::size_t kind = 0; kind < 3; ++kind)
          find(slot.page.address >> shift_).counts[kind] += slot.page.counts[kind];
  }
  std::vector<Page> sorted() const {
    std::vector<Page> pages;
    for (const Slot &slot : slots_)
      if (slot.used) pages.push_back(slot.page);
    std::ranges::sort(pages, {}, &Page::address);
    return pages;
  }
  bool empty() const { return size_ == 0; }

private:
  struct Slot {
    Page page;
    bool used = false;
  };

  Page &find(uint64_t number) {
    const uint64_t address = number << shift_;
    if (slots_[last_].page.address == address && slots_[last_].used) return slots_[last_].page;
    std::size_t at = hash(number) & (slots_.size() - 1);
    while (slots_[at].used && slots_[at].page.address != address)
      at = (at + 1) & (slots_.size() - 1);
    if (!slots_[at].used) {
      if (size_ * 2 >= slots_.size()) {
        grow();
        return find(number);
      }
      ++size_;
      slots_[at].used = true;
      slots_[at].page.address = address;
    }
    last_ = at;
    return slots_[at].page;
  }
  static std::size_t hash(uint64_t number) {
    return static_cast<std::size_t>((number * 0x9e3779b97f4a7c15ull) >> 20);
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    last_ = 0;
    for (const Slot &slot : old) {
      if (!slot.used) continue;
      std::size_t at = hash(slot.page.address >> shift_) & (slots_.size() - 1);
      while (slots_[at].used) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  uint32_t shift_;
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  std::size_t last_ = 0;
};

} // namespace fade::handlers
