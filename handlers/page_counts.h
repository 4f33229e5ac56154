// Counts of reads, writes and atomics by page, made for a stream of accesses that may go anywhere.
//
// Pages that lie beside each other are counted beside each other, in chunks, so that the counts of
// an array take little room in the processor's caches. A page that several allocations share has
// parts, which are counted one by one.
//
// Counts stay where they are as long as the table lives: whoever knows several of them in advance
// can have them fetched from memory side by side.
#pragma once

#include "count_table.h"

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <vector>

namespace fade::handlers {

/// Values that are made when they are first asked for and stay where they are.
template <typename Value> class StableMap {
public:
  Value &operator[](uint64_t key) {
    std::size_t at = home(key);
    while (slots_[at].value && slots_[at].key != key) at = next(at);
    if (!slots_[at].value) {
      if (values_.size() * 2 >= slots_.size()) {
        grow();
        return (*this)[key];
      }
      slots_[at] = {key, &values_.emplace_back()};
    }
    return *slots_[at].value;
  }
  /// f(key, value)
  template <typename F> void forEach(F &&f) const {
    for (const Slot &slot : slots_)
      if (slot.value) f(slot.key, *slot.value);
  }

private:
  struct Slot {
    uint64_t key = 0;
    Value *value = nullptr;
  };
  static constexpr uint32_t kFirstBits = 6;

  /// By the golden ratio: keys that follow each other get places of their own.
  std::size_t home(uint64_t key) const { return key * 0x9e3779b97f4a7c15ull >> shift_; }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    --shift_;
    for (const Slot &slot : old) {
      if (!slot.value) continue;
      std::size_t at = home(slot.key);
      while (slots_[at].value) at = next(at);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(std::size_t{1} << kFirstBits);
  uint32_t shift_ = 64 - kFirstBits;
  std::deque<Value> values_; // elements of a deque stay where they are
};

class PageCounts {
public:
  explicit PageCounts(uint64_t page_size)
      : shift_(static_cast<uint32_t>(std::countr_zero(page_size))), recent_(kRecent) {}

  /// Of a page that belongs to one allocation as a whole, by any address in it.
  Counts &ofPage(uint64_t address) {
    const uint64_t page = address >> shift_, chunk = page / kChunk;
    const Recent &recent = recent_[chunk % kRecent];
    Chunk &counts = recent.chunk == chunk && recent.counts ? *recent.counts : find(chunk);
    return counts[page % kChunk];
  }
  /// Of a page, or of the part of a page that begins at this address.
  Counts &operator[](uint64_t address) {
    return address >> shift_ << shift_ == address ? ofPage(address) : parts_[address];
  }
  void add(const PageCounts &other) {
    other.forEach([&](uint64_t address, const Counts &counts) { addTo((*this)[address], counts); });
  }
  /// f(address, counts) for each that is not zero
  template <typename F> void forEach(F &&f) const {
    chunks_.forEach([&](uint64_t chunk, const Chunk &pages) {
      for (uint64_t i = 0; i < kChunk; ++i)
        if (sumOf(pages[i]) != 0) f((chunk * kChunk + i) << shift_, pages[i]);
    });
    parts_.forEach([&](uint64_t address, const Counts &counts) {
      if (sumOf(counts) != 0) f(address, counts);
    });
  }

private:
  static constexpr uint64_t kChunk = 16; // pages
  static constexpr uint64_t kRecent = 2048;
  using Chunk = std::array<Counts, kChunk>;

  Chunk &find(uint64_t chunk) {
    Chunk &found = chunks_[chunk];
    recent_[chunk % kRecent] = {chunk, &found};
    return found;
  }

  struct Recent {
    uint64_t chunk = 0;
    Chunk *counts = nullptr;
  };

  uint32_t shift_;
  StableMap<Chunk> chunks_;
  StableMap<Counts> parts_;
  std::vector<Recent> recent_; ///< some of the chunks, by the last digits of their number
};

} // namespace fade::handlers
