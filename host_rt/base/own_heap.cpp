#include "base/own_heap.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <mutex>
#include <thread>

namespace fade {
namespace {

bool isAllocatorOfLibc() noexcept {
  Dl_info allocator{}, libc{};
  return dladdr(reinterpret_cast<void *>(&std::malloc), &allocator) != 0 &&
         dladdr(reinterpret_cast<void *>(&gnu_get_libc_version), &libc) != 0 &&
         allocator.dli_fbase == libc.dli_fbase;
}

constexpr uintptr_t kArena = uintptr_t{64} << 20; ///< one begins at a multiple of that

/// Where the first allocation of this thread is in its arena, and how far behind it a large one is.
struct Layout {
  uintptr_t first = kArena, between = 0;
};
Layout layoutOfThread() noexcept {
  // glibc makes a thread's cache at its first malloc() or free(): before what is looked at.
  void *volatile any = std::malloc(40);
  std::free(any);
  void *const small = std::malloc(24);
  void *const large = std::malloc(100'000);
  const auto first = reinterpret_cast<uintptr_t>(small),
             second = reinterpret_cast<uintptr_t>(large);
  std::free(large);
  std::free(small);
  return {first % kArena, second - first};
}

std::atomic<uintptr_t> first_of_new_arena{0x1000}; ///< at most

} // namespace

bool hasOwnHeap() noexcept {
  if (!isAllocatorOfLibc()) return true;
  // In a new arena, small and large allocations follow each other directly behind what glibc keeps
  // about it. In another, somebody's memory is before them or between them.
  constexpr uintptr_t small_chunk = 32;
  const Layout mine = layoutOfThread();
  return mine.first <= first_of_new_arena.load(std::memory_order_relaxed) &&
         mine.between == small_chunk;
}

void learnNewHeap() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    std::array<std::thread, 4> threads;
    std::atomic<std::size_t> here{0};
    std::atomic<uintptr_t> least{first_of_new_arena.load()};
    const auto look = [&] {
      const uintptr_t first = layoutOfThread().first;
      for (uintptr_t seen = least; first < seen && !least.compare_exchange_weak(seen, first);) {
      }
      ++here;
      while (here < threads.size()) std::this_thread::yield(); // so that no two have the same arena
    };
    try {
      for (std::thread &thread : threads) thread = makeQuietThread("fade-heap", look);
    } catch (const std::exception &) { // there are no more threads
      here = threads.size();
    }
    for (std::thread &thread : threads)
      if (thread.joinable()) thread.join();
    first_of_new_arena = least.load();
  });
}

} // namespace fade
