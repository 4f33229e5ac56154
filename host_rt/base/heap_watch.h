// A part of glibc's heap that a thread has left locked, and the threads that wait for it.
#pragma once

#include <atomic>

namespace fade {

/// The lock of the part of the heap that this memory is from. Null if that cannot be known: it is
/// the part that the program began with, or the memory is not from glibc's allocator as it is
/// known here.
const int *heapLockOf(const void *memory) noexcept;

/// For a thread that has crashed, perhaps while it had this lock. Returns when a thread waits for
/// it that is none of those that run analyzers, and has done so for some seconds; never if there
/// is none. Of one that runs analyzers it says so, once that has waited as long: nobody else may
/// wait for it any more. Allocates nothing.
void watchHeapLock(const int *lock, std::atomic<bool> &keeps_analyzer) noexcept;

} // namespace fade
