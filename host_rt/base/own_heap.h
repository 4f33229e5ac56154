// A thread whose part of the heap is its own: if it crashes while it allocates, that part stays
// locked, and whoever frees memory of it waits forever.
//
// glibc gives a new thread the arena of one that has ended, in which others may still have memory:
// also glibc itself, which keeps the stacks of ended threads with their tables of variables and
// frees those when somebody else, in any thread, starts a thread with that stack.
#pragma once

#include "base/quiet_thread.h"

#include <functional>

namespace fade {

/// Whether nobody but this thread has memory where this thread's allocations come from. True also
/// if that cannot be known: it is not glibc's allocator. For a thread that has allocated nothing.
bool hasOwnHeap() noexcept;

/// Finds out where the first allocation in a new arena is, which differs between versions of glibc:
/// of many threads that run at the same time one is likely to have a new arena. For the thread
/// that starts others: glibc allocates tables of theirs in it.
void learnNewHeap() noexcept;

/// As startQuietThread, for threads that may crash while they allocate. Threads that were given the
/// arena of one that has ended keep it until one has its own, and end. glibc makes eight arenas
/// per core, or as many as it is told to (MALLOC_ARENA_MAX): where there are no more, f is called
/// with what there is. Threads of the application may come to share the arena later, then.
std::thread startThreadWithOwnHeap(const char *name, std::function<void()> f);

/// What is known of the heap of a thread that was started so.
struct HeapOfThread {
  const int *lock = nullptr; ///< if it is known (heapLockOf)
  /// Else, if the heap is not the thread's own, a block of it: free() of that, in another thread,
  /// does not return if this one has crashed while it allocated.
  void *probe = nullptr;
  bool is_own = true; ///< or that cannot be known
};
const HeapOfThread &heapOfThread() noexcept;

} // namespace fade
