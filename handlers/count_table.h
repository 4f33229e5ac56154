// Counts of reads, writes and atomics by key: a hash table made for streams in which the next
// access mostly goes where the last one went.
#pragma once

#include "access_kind.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <vector>

namespace fade::handlers {

using Counts = std::array<uint64_t, 3>; ///< by AccessKind

inline uint64_t sumOf(const Counts &counts) { return counts[0] + counts[1] + counts[2]; }
inline void addTo(Counts &to, const Counts &from) {
  for (std::size_t kind = 0; kind < to.size(); ++kind) to[kind] += from[kind];
}

class CountTable {
public:
  struct Key {
    uint64_t place = 0; ///< what it stands for is the owner's business
    uint64_t part = 0;
    auto operator<=>(const Key &) const = default;
  };
  struct Entry {
    Key key;
    Counts counts{};
  };

  CountTable() : slots_(64) {}

  void add(Key key, AccessKind kind, uint64_t n) { find(key)[static_cast<std::size_t>(kind)] += n; }
  void add(Key key, const Counts &counts) { addTo(find(key), counts); }
  void add(const CountTable &other) {
    other.forEach([&](const Entry &entry) { add(entry.key, entry.counts); });
  }
  template <typename F> void forEach(F &&f) const {
    for (const Slot &slot : slots_)
      if (slot.used) f(slot.entry);
  }
  std::vector<Entry> sorted() const {
    std::vector<Entry> entries;
    entries.reserve(size_);
    forEach([&](const Entry &entry) { entries.push_back(entry); });
    std::ranges::sort(entries, {}, &Entry::key);
    return entries;
  }
  std::size_t size() const { return size_; }

private:
  struct Slot {
    Entry entry;
    bool used = false;
  };

  Counts &find(Key key) {
    if (Slot &last = slots_[last_]; last.entry.key == key && last.used) return last.entry.counts;
    std::size_t at = hash(key) & (slots_.size() - 1);
    while (slots_[at].used && slots_[at].entry.key != key) at = (at + 1) & (slots_.size() - 1);
    if (!slots_[at].used) {
      if (size_ * 2 >= slots_.size()) {
        grow();
        return find(key);
      }
      ++size_;
      slots_[at].used = true;
      slots_[at].entry.key = key;
    }
    last_ = at;
    return slots_[at].entry.counts;
  }
  static std::size_t hash(Key key) {
    const uint64_t mixed = (key.place + (key.part << 40)) * 0x9e3779b97f4a7c15ull;
    return static_cast<std::size_t>(mixed >> 20 ^ mixed >> 44);
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    last_ = 0;
    for (const Slot &slot : old) {
      if (!slot.used) continue;
      std::size_t at = hash(slot.entry.key) & (slots_.size() - 1);
      while (slots_[at].used) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  std::size_t last_ = 0;
};

} // namespace fade::handlers
