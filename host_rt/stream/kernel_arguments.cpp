#include "stream/kernel_arguments.h"

#include "stream/dispatch_record.h"

#include <algorithm>
#include <cstring>

namespace fade {
namespace {

/// The number of the allocation that holds the address; 0 if none does.
uint32_t allocationAt(const Allocations &allocations, uint64_t address) {
  const auto after =
      std::ranges::upper_bound(allocations.list, address, {}, &fade_allocation::address);
  if (after == allocations.list.begin()) return 0;
  const fade_allocation &before = *std::prev(after);
  return address - before.address < before.size ? before.number : 0;
}

} // namespace

DispatchArguments DispatchArguments::read(std::shared_ptr<const KernelArguments> of,
                                          std::span<const std::byte> block,
                                          const Allocations *allocations) {
  DispatchArguments arguments;
  arguments.of = std::move(of);
  for (const KernelArguments::One &one : arguments.of->list) {
    if (one.offset > block.size() || one.size > block.size() - one.offset) break;
    fade_argument &to = arguments.list.emplace_back();
    to.offset = one.offset;
    to.size = one.size;
    to.flags = one.flags;
    std::memcpy(&to.value, block.data() + one.offset, std::min<std::size_t>(one.size, 8));
    if (allocations && (one.flags & FADE_ARGUMENT_POINTER))
      to.allocation = allocationAt(*allocations, to.value);
    to.name = one.name.c_str();
    to.type = one.type.c_str();
  }
  return arguments;
}

} // namespace fade
