#include "base/own_heap.h"

#include "base/heap_watch.h"
#include "base/semaphore.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <gnu/libc-version.h>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace fade {
namespace {

bool isAllocatorOfLibc() noexcept {
  Dl_info allocator{}, libc{};
  return dladdr(reinterpret_cast<void *>(&std::malloc), &allocator) != 0 &&
         dladdr(reinterpret_cast<void *>(&gnu_get_libc_version), &libc) != 0 &&
         allocator.dli_fbase == libc.dli_fbase;
}

constexpr uintptr_t kArena = uintptr_t{64} << 20; ///< one begins at a multiple of that
constexpr std::size_t kLarge = 100'000;     ///< beyond what threads keep, and no mapping of its own
constexpr std::size_t kLearners = 64;       ///< threads that look for a new arena
constexpr std::size_t kTrials = 256;        ///< threads that may be the one with its own
constexpr uintptr_t kLargestFirst = 0x1000; ///< what glibc keeps about an arena is less
constexpr std::size_t kProbe = 2000;        ///< beyond what threads keep, too

/// Bytes from one allocation of that size to the next.
constexpr uintptr_t strideOf(std::size_t size) { return (size + 8 + 15) / 16 * 16; }

uintptr_t addressOf(const void *memory) { return reinterpret_cast<uintptr_t>(memory); }

/// Where the first allocation of this thread is.
uintptr_t firstOfThread() noexcept {
  // glibc makes a thread's cache at its first malloc() or free(): before what is looked at.
  void *volatile any = std::malloc(40);
  std::free(any);
  void *const small = std::malloc(24);
  std::free(small);
  return addressOf(small);
}

/// Whether allocations follow each other from there to the end of the arena: then it had nothing
/// else in it. Free memory in front of somebody's looks like a new arena up to that.
bool fillsArenaFrom(uintptr_t first) noexcept {
  struct Block {
    Block *next;
  };
  const uintptr_t end = first / kArena * kArena + kArena - strideOf(kLarge) - 4096;
  void *const small = std::malloc(24);
  uintptr_t expected = first + strideOf(24);
  bool is_alone = addressOf(small) == first;
  Block *blocks = nullptr, **last = &blocks;
  while (is_alone && expected < end) {
    auto *const block = static_cast<Block *>(std::malloc(kLarge));
    if (!block) break;
    block->next = nullptr;
    is_alone = addressOf(block) == expected;
    expected += strideOf(kLarge);
    *last = block;
    last = &block->next;
  }
  is_alone &= expected >= end;
  // In the order of addresses: the pages go back to the system once, with the last one.
  while (blocks) std::free(std::exchange(blocks, blocks->next));
  std::free(small);
  return is_alone;
}

std::atomic<uintptr_t> first_of_new_arena{0}; ///< from its beginning; 0: not known
thread_local __attribute__((tls_model("initial-exec"))) HeapOfThread heap_of_thread;

/// A thread that waits for whether it is the one.
struct Trial {
  Semaphore judged, decided;
  bool is_own = false, is_chosen = false;
  uintptr_t arena = 0;
  std::thread thread;
};

void stand(const std::shared_ptr<Trial> &trial) noexcept {
  const bool is_known = isAllocatorOfLibc();
  const uintptr_t first = is_known ? firstOfThread() : 0;
  trial->arena = first / kArena;
  trial->is_own = !is_known || hasOwnHeap();
  const bool is_shared = !trial->is_own;
  trial->judged.release();
  trial->decided.acquire();
  if (!trial->is_chosen || !is_known) return;
  void *const probe = std::malloc(kProbe);
  heap_of_thread.is_own = !is_shared;
  heap_of_thread.lock = probe ? heapLockOf(probe) : nullptr;
  if (is_shared && !heap_of_thread.lock)
    heap_of_thread.probe = probe;
  else
    std::free(probe);
}

/// Of the same arena as another thread that still has it: there are no more.
bool isRepeated(const std::vector<std::shared_ptr<Trial>> &trials) {
  return std::any_of(trials.begin(), trials.end() - 1, [&](const std::shared_ptr<Trial> &other) {
    return other->arena == trials.back()->arena;
  });
}

void endAll(const std::vector<std::shared_ptr<Trial>> &trials) {
  for (const auto &trial : trials) trial->decided.release();
  for (const auto &trial : trials)
    if (trial->thread.joinable()) trial->thread.join();
}

} // namespace

bool hasOwnHeap() noexcept {
  if (!isAllocatorOfLibc()) return true;
  const uintptr_t first = firstOfThread();
  return first % kArena == first_of_new_arena.load(std::memory_order_relaxed) &&
         fillsArenaFrom(first);
}

void learnNewHeap() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    // All of them stay until the last one has looked, so that no two have the same arena. Arenas of
    // ended threads come first; they may all have the same in them.
    std::vector<std::shared_ptr<Trial>> trials;
    uintptr_t least = kLargestFirst;
    try {
      do {
        auto trial = std::make_shared<Trial>();
        trial->thread = makeQuietThread("fade-heap", [&least, trial] {
          const uintptr_t first = firstOfThread();
          trial->arena = first / kArena;
          least = std::min(least, first % kArena);
          trial->judged.release();
          trial->decided.acquire();
        });
        trial->judged.acquire();
        trials.push_back(std::move(trial));
      } while (!isRepeated(trials) && trials.size() < kLearners);
    } catch (const std::exception &) { // there are no more threads
    }
    endAll(trials);
    first_of_new_arena = least;
  });
}

std::thread startThreadWithOwnHeap(const char *name, std::function<void()> f) {
  learnNewHeap();
  std::vector<std::shared_ptr<Trial>> trials;
  const auto body = [&f](const std::shared_ptr<Trial> &trial) {
    return [trial = std::shared_ptr(trial), f]() mutable {
      stand(trial);
      const bool is_chosen = trial->is_chosen;
      trial.reset();
      if (is_chosen) f();
    };
  };
  do {
    auto trial = std::make_shared<Trial>();
    try {
      trial->thread =
          trials.empty() ? startQuietThread(name, body(trial)) : makeQuietThread(name, body(trial));
    } catch (const std::exception &) {
      if (trials.empty()) throw;
      break; // there are no more threads: one of those that are there does it
    }
    trial->judged.acquire();
    trials.push_back(std::move(trial));
  } while (!trials.back()->is_own && !isRepeated(trials) && trials.size() < kTrials);
  trials.back()->is_chosen = true;
  std::thread chosen = std::move(trials.back()->thread);
  endAll(trials);
  return chosen;
}

const HeapOfThread &heapOfThread() noexcept { return heap_of_thread; }

} // namespace fade
