// Which libraries the process has, as host events: who asks for one, where they are, when they go.
// Addresses of stacks are resolved with that later, also if the library is gone by then.
#pragma once

#include <cstdint>

namespace fade::hip {

struct AddressRange {
  uint64_t begin = 0, end = 0;
  bool has(uint64_t address) const { return address >= begin && address < end; }
};
/// Of the library that the address is in; empty if it is in none.
AddressRange rangeAround(const void *address) noexcept;

/// Somebody calls dlopen(file). `caller`: the address it returns to.
void recordRequest(const char *file, const void *caller) noexcept;

/// How often libraries were unloaded so far: others may be at their addresses now.
uint64_t librariesUnloaded() noexcept;

/// Records what was loaded and unloaded since the last time. Quick if nothing was.
void recordLibraries() noexcept;

} // namespace fade::hip
