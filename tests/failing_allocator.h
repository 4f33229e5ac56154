// An allocator for test programs, which fails where it is told to. It replaces operator new of the
// program: include it in one file of it, and not with TSan, which does not allow that.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace fade::testing {

/// Whether what is being allocated is FADE's, and not the test's or the runtime's. By the program.
bool isAllocationOfFade();

// Of those: which fail, counted from 1.
inline std::atomic<long> first_failure{0}, last_failure{0}; // 0: none
inline std::atomic<long> allocations{0}, failures{0};

/// Fails allocations from the first to the last of these, counted from now.
inline void failAllocations(long first, long last) {
  allocations = failures = 0;
  last_failure = last;
  first_failure = first;
}
inline void failNoAllocations() { first_failure = 0; }

inline void *allocate(std::size_t size, std::size_t alignment) {
  if (first_failure.load(std::memory_order_relaxed) != 0 && isAllocationOfFade()) {
    const long number = allocations.fetch_add(1) + 1;
    if (number >= first_failure && number <= last_failure) {
      ++failures;
      throw std::bad_alloc();
    }
  }
  void *memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(std::max<std::size_t>(size, 1))
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

} // namespace fade::testing

void *operator new(std::size_t size) { return fade::testing::allocate(size, 1); }
void *operator new[](std::size_t size) { return fade::testing::allocate(size, 1); }
void *operator new(std::size_t size, std::align_val_t alignment) {
  return fade::testing::allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
