// Which allocation of the application an address lies in.
#pragma once

#include "text_layout.h"

#include <fade/handler.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fade::handlers {

/// An allocation stays the same one in all dispatches: its number is never used again. Number 0
/// stands for memory that the application did not ask for by itself.
struct Allocation {
  uint32_t number = 0;
  uint32_t agent = 0;
  bool on_host = false;
  uint64_t address = 0, size = 0;
  std::string variable; ///< its symbol, if it is a variable of the program
  std::string origin;   ///< "main (app.cpp:12)": who made it
  std::string argument; ///< "in": the kernel's argument that points to it

  Allocation() = default;
  Allocation(const fade_allocation &from, const fade::Dispatch &dispatch)
      : number(from.number), agent(from.agent), on_host(from.flags & FADE_ALLOCATION_ON_HOST),
        address(from.address), size(from.size), variable(dispatch.nameOf(from)),
        origin(dispatch.originOf(from)) {
    for (std::size_t i = 0; i < dispatch.argumentCount(); ++i)
      if (const fade_argument &given = dispatch.argument(i); given.allocation == number)
        argument += (argument.empty() ? "" : ", ") +
                    (*given.name ? std::string(given.name) : "argument " + std::to_string(i + 1));
  }

  /// "#3 out, 16 KiB of agent 1 from main (app.cpp:12)": by order or symbol, the argument that it
  /// was, size, agent and who made it.
  std::string name() const { return briefName() + (origin.empty() ? "" : " from " + origin); }
  /// The same without who made it.
  std::string briefName() const {
    if (number == 0) return "elsewhere";
    return (variable.empty() ? "#" + std::to_string(number) : variable) +
           (argument.empty() ? "" : " " + argument) + ", " + humanSize(size) + " of agent " +
           std::to_string(agent) + (on_host ? " (host)" : "");
  }
};

/// A stretch of addresses that all belong to the same allocation, or all to none.
struct Stretch {
  uint64_t from = 0, bytes = 0;
  uint32_t index = 0; ///< 1 + index of the allocation, or 0
  bool holds(uint64_t address) const { return address - from < bytes; }
};

/// Looks addresses up in the allocations of a dispatch, which are sorted by address.
class AllocationFinder {
public:
  explicit AllocationFinder(const fade::Dispatch &dispatch)
      : dispatch_(dispatch), allocations_(dispatch.allocations()) {}

  const Stretch &find(uint64_t address) {
    if (!last_.holds(address)) last_ = search(address);
    return last_;
  }
  const fade_allocation &operator[](uint32_t index) const { return allocations_[index - 1]; }
  Allocation allocation(uint32_t index) const { return {(*this)[index], dispatch_}; }

private:
  Stretch search(uint64_t address) const {
    const auto next = std::ranges::upper_bound(allocations_, address, {},
                                               [](const fade_allocation &a) { return a.address; });
    uint64_t from = 0;
    if (next != allocations_.begin()) {
      const auto before = std::prev(next);
      // Up to the next one, which may begin within it.
      uint64_t size = before->size;
      if (next != allocations_.end()) size = std::min(size, next->address - before->address);
      if (address - before->address < size)
        return {before->address, size, static_cast<uint32_t>(before - allocations_.begin()) + 1};
      from = before->address + before->size;
    }
    const uint64_t to = next == allocations_.end() ? ~uint64_t{0} : next->address;
    return {from, to - from, 0};
  }

  fade::Dispatch dispatch_;
  std::span<const fade_allocation> allocations_;
  Stretch last_;
};

} // namespace fade::handlers
