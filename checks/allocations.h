// What the application has allocated, with the gaps around it, and what it has freed lately.
#pragma once

#include "checks/finding_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <shared_mutex>

namespace fade::checks {

struct Allocation {
  uint64_t base = 0, size = 0;
  uint64_t end_of_block = 0; ///< with the gap
  uint32_t number = 0;       ///< from 1
  bool is_freed = false, on_host = false;
  bool counts_as_written = false;               ///< all of it, whoever may have written
  String api = 0;                               ///< what was called
  std::array<HostCall, kMostCallers> callers{}; ///< by whom
  std::array<HostCall, kMostCallers> freed_by{};
  uint32_t path = 0;
  uint32_t slot = 0; ///< in the log's table

  uint64_t end() const { return base + size; }
  bool holds(uint64_t address) const { return address - base < size; }
  AllocationInfo info() const {
    AllocationInfo info{base, size, number, is_freed, on_host, api, path, 0, {}, {}};
    std::ranges::copy(callers, info.callers);
    std::ranges::copy(freed_by, info.freed_by);
    return info;
  }
};

class AllocationMap {
public:
  static AllocationMap &instance();

  void add(Allocation allocation);
  /// For memory that is kept elsewhere, so that numbers are unique.
  uint32_t takeNumber();
  /// The application has freed it. What it was stays known until something else takes its place.
  std::optional<Allocation> free(uint64_t base, const std::array<HostCall, kMostCallers> &by = {});

  /// Others write there, whom nobody sees.
  void countAsWritten(uint64_t base);

  /// The host has put something else of its own there: what was freed is forgotten.
  void forgetFreed(uint64_t begin, uint64_t end);

  /// Changes with every add and free: what was looked up before may not hold any more.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  /// The one that holds the address, live or freed.
  std::optional<Allocation> find(uint64_t address) const;
  enum class Owner { anybody, application };
  /// The one that the address was probably meant for: the nearest within `reach` bytes.
  std::optional<Allocation> nearest(uint64_t address, uint64_t reach, Owner owner) const;
  /// Whether any of them, with its gap, has a part in [begin, end).
  bool touches(uint64_t begin, uint64_t end) const;

private:
  static constexpr std::size_t kMostFreed = 4096; ///< that are remembered

  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Allocation> all_;              ///< by base
  std::deque<std::pair<uint64_t, uint32_t>> freed_; ///< base and number, oldest first
  std::atomic<uint64_t> generation_{1};
  uint32_t next_ = 1;
};

} // namespace fade::checks
