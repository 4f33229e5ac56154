// Memory for small objects that one thread makes and another destroys, many thousand times a
// second. The C library's allocator is slow at that: what another thread has freed has to be put
// together and taken apart again, under a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <pthread.h>

namespace fade {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FADE_PLAIN_ALLOCATION 1 // sanitizers are to see who uses what was given back
#endif
#endif

namespace recycled {
struct Block {
  Block *next;
};
struct alignas(64) Slot {
  std::atomic<bool> is_busy{false};
  Block *first = nullptr;
};
} // namespace recycled

/// Blocks of one size. What was given back is used again and never returned to the system: there
/// are a few times as many as were ever in use at once.
template <std::size_t Size> class RecycledBlocks {
public:
  static void *take() {
#ifndef FADE_PLAIN_ALLOCATION
    // Threads that launch have a list each, as a rule. No thread waits for another.
    Slot &slot = slots[(reinterpret_cast<uintptr_t>(pthread_self()) >> 12) % kSlots];
    if (!slot.is_busy.exchange(true, std::memory_order_acquire)) {
      // All at once: so nobody can be misled by a block that is taken, given back and on top again.
      if (!slot.first) slot.first = given_back.exchange(nullptr, std::memory_order_acquire);
      Block *block = slot.first;
      if (block) slot.first = block->next;
      slot.is_busy.store(false, std::memory_order_release);
      if (block) return block;
    }
#endif
    return ::operator new(kBytes);
  }

  static void giveBack(void *memory) noexcept {
#ifndef FADE_PLAIN_ALLOCATION
    auto *block = new (memory) Block{given_back.load(std::memory_order_relaxed)};
    while (!given_back.compare_exchange_weak(block->next, block, std::memory_order_release,
                                             std::memory_order_relaxed)) {
    }
#else
    ::operator delete(memory);
#endif
  }

private:
  using Block = recycled::Block;
  using Slot = recycled::Slot;
  static constexpr std::size_t kSlots = 8, kBytes = Size < sizeof(Block) ? sizeof(Block) : Size;
  static inline Slot slots[kSlots];
  alignas(64) static inline std::atomic<Block *> given_back{nullptr};
};

/// For a class: `struct X : Recycled<X>`. Its objects come from such blocks, those of derived
/// classes of another size do not.
template <typename T> struct Recycled {
  static void *operator new(std::size_t size) {
    return size == sizeof(T) ? RecycledBlocks<sizeof(T)>::take() : ::operator new(size);
  }
  static void operator delete(void *memory, std::size_t size) noexcept {
    if (size == sizeof(T))
      RecycledBlocks<sizeof(T)>::giveBack(memory);
    else
      ::operator delete(memory);
  }
};

/// For containers whose elements are allocated one by one.
template <typename T> struct RecyclingAllocator {
  using value_type = T;
  RecyclingAllocator() = default;
  template <typename U> RecyclingAllocator(const RecyclingAllocator<U> &) noexcept {}

  T *allocate(std::size_t count) {
    return static_cast<T *>(count == 1 ? RecycledBlocks<sizeof(T)>::take()
                                       : ::operator new(count * sizeof(T)));
  }
  void deallocate(T *memory, std::size_t count) noexcept {
    if (count == 1)
      RecycledBlocks<sizeof(T)>::giveBack(memory);
    else
      ::operator delete(memory);
  }
  template <typename U> bool operator==(const RecyclingAllocator<U> &) const noexcept {
    return true;
  }
};

} // namespace fade
