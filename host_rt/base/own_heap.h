// A thread whose part of the heap is its own: if it crashes while it allocates, that part stays
// locked, and whoever frees memory of it waits forever.
//
// glibc gives a new thread the arena of one that has ended, in which others may still have memory:
// also glibc itself, which keeps the stacks of ended threads with their tables of variables.
#pragma once

#include "base/quiet_thread.h"

#include <exception>

namespace fade {

/// Whether nobody but this thread has memory where this thread's allocations come from. True also
/// if that cannot be known: it is not glibc's allocator.
bool hasOwnHeap() noexcept;

/// Finds out where the first allocation in a new arena is, which differs between versions of glibc:
/// of a few threads that run at the same time one is likely to have a new arena. For the thread
/// that starts others: glibc allocates tables of theirs in it.
void learnNewHeap() noexcept;

/// Calls f, in another thread if this one has been given the arena of one that has ended. glibc
/// makes eight arenas per core, no more: after a few attempts f is called with what there is.
template <typename F> void callWithOwnHeap(const char *name, F &f, unsigned attempts = 8) {
  std::thread next;
  if (attempts > 0 && !hasOwnHeap()) try {
      next = makeQuietThread(name, [=, &f] { callWithOwnHeap(name, f, attempts - 1); });
    } catch (const std::exception &) { // there are no more threads: this one does it
    }
  if (next.joinable())
    next.join(); // meanwhile nobody else gets this thread's arena
  else
    f();
}

/// As startQuietThread, for threads that may crash while they allocate. `name`: a literal.
template <typename F> std::thread startThreadWithOwnHeap(const char *name, F &&f) {
  learnNewHeap();
  return startQuietThread(name,
                          [name, f = std::forward<F>(f)]() mutable { callWithOwnHeap(name, f); });
}

} // namespace fade
