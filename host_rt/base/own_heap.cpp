#include "base/own_heap.h"

#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <gnu/libc-version.h>

namespace fade {
namespace {

bool isAllocatorOfLibc() noexcept {
  Dl_info allocator{}, libc{};
  return dladdr(reinterpret_cast<void *>(&std::malloc), &allocator) != 0 &&
         dladdr(reinterpret_cast<void *>(&gnu_get_libc_version), &libc) != 0 &&
         allocator.dli_fbase == libc.dli_fbase;
}

} // namespace

bool hasOwnHeap() noexcept {
  if (!isAllocatorOfLibc()) return true;
  // An arena begins at a multiple of 64 MiB, with what glibc keeps about it and about the thread
  // (0xb70 bytes in glibc 2.36, 0x880 in 2.43).
  // In one that is new, small and large allocations follow each other directly behind that; in
  // another, small ones come from gaps and large ones from behind all that there is.
  constexpr uintptr_t arena = uintptr_t{64} << 20, most_before = 0xc00, most_between = 0x100;
  void *const small = std::malloc(24);
  void *const large = std::malloc(100'000);
  const auto first = reinterpret_cast<uintptr_t>(small),
             second = reinterpret_cast<uintptr_t>(large);
  const bool is_new =
      first % arena < most_before && second > first && second - first < most_between;
  std::free(large);
  std::free(small);
  return is_new;
}

} // namespace fade
