// With glibc's allocator: not for the builds with sanitizers, which have their own.
#include "base/heap_watch.h"
#include "base/own_heap.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <latch>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace fade {
namespace {

/// Memory of threads that have ended, which share no arena: as many arenas are free for others.
std::vector<void *> memoryOfEndedThreads(int count, std::size_t size = 5000) {
  std::vector<void *> kept(count);
  std::vector<std::thread> threads;
  std::latch all(count);
  for (void *&one : kept)
    threads.emplace_back([&] {
      one = std::malloc(size);
      all.arrive_and_wait();
    });
  for (std::thread &thread : threads) thread.join();
  return kept;
}

TEST(OwnHeap, AThreadDoesNotWorkWithTheHeapOfOneThatHasEnded) {
  learnNewHeap();
  const std::vector<void *> kept = memoryOfEndedThreads(3);
  bool as_it_comes = true, own = false;
  startQuietThread("usual", [&] { as_it_comes = hasOwnHeap(); }).join();
  EXPECT_FALSE(as_it_comes) << "then this test shows nothing";
  startThreadWithOwnHeap("own", [&] { own = heapOfThread().is_own; }).join();
  EXPECT_TRUE(own);
  for (void *one : kept) std::free(one);
}

TEST(OwnHeap, ASmallPieceOfSomebodyElseIsEnough) {
  learnNewHeap();
  const std::vector<void *> kept = memoryOfEndedThreads(3, 24);
  bool as_it_comes = true, own = false;
  startQuietThread("usual", [&] { as_it_comes = hasOwnHeap(); }).join();
  EXPECT_FALSE(as_it_comes);
  startThreadWithOwnHeap("own", [&] { own = heapOfThread().is_own; }).join();
  EXPECT_TRUE(own);
  for (void *one : kept) std::free(one);
}

TEST(OwnHeap, APieceOfSomebodyElseBehindFreeMemoryIsEnough) {
  void *kept = nullptr;
  learnNewHeap();
  std::thread([&] {
    void *const before = std::malloc(120'000);
    kept = std::malloc(5000);
    std::free(before);
  }).join();
  bool as_it_comes = true;
  void *own = nullptr;
  startQuietThread("usual", [&] { as_it_comes = hasOwnHeap(); }).join();
  EXPECT_FALSE(as_it_comes);
  startThreadWithOwnHeap("own", [&] { own = std::malloc(5000); }).join();
  constexpr uintptr_t arena = uintptr_t{64} << 20;
  EXPECT_NE(reinterpret_cast<uintptr_t>(kept) / arena, reinterpret_cast<uintptr_t>(own) / arena);
  std::free(kept);
  std::free(own);
}

TEST(OwnHeap, AsManyArenasAreTriedAsThereAre) {
  const std::vector<void *> kept = memoryOfEndedThreads(11);
  bool own = false;
  startThreadWithOwnHeap("own", [&] { own = heapOfThread().is_own; }).join();
  EXPECT_TRUE(own);
  for (void *one : kept) std::free(one);
}

TEST(OwnHeap, ItsMemoryIsNotAmongThatOfThreadsThatHaveEnded) {
  const std::vector<void *> kept = memoryOfEndedThreads(3);
  void *mine = nullptr;
  startThreadWithOwnHeap("own", [&] { mine = std::malloc(5000); }).join();
  constexpr uintptr_t arena = uintptr_t{64} << 20;
  for (void *one : kept)
    EXPECT_NE(reinterpret_cast<uintptr_t>(one) / arena, reinterpret_cast<uintptr_t>(mine) / arena);
  std::free(mine);
  for (void *one : kept) std::free(one);
}

TEST(OwnHeap, WhereEveryArenaIsTakenTheWorkIsDoneAllTheSame) {
  learnNewHeap();
  const auto all = static_cast<int>(8 * std::thread::hardware_concurrency() + 4);
  const std::vector<void *> kept = memoryOfEndedThreads(all);
  bool is_done = false, is_own = true;
  startThreadWithOwnHeap("own", [&] {
    is_done = true;
    is_own = heapOfThread().is_own;
  }).join();
  EXPECT_TRUE(is_done);
  EXPECT_FALSE(is_own);
  for (void *one : kept) std::free(one);
}

TEST(OwnHeap, ItsLockIsKnown) {
  const int *lock = nullptr;
  void *memory = nullptr;
  startThreadWithOwnHeap("own", [&] {
    lock = heapOfThread().lock;
    memory = std::malloc(5000);
  }).join();
  ASSERT_NE(lock, nullptr);
  EXPECT_EQ(*lock, 0);
  // While a thread has it, others wait in free().
  auto *const value = reinterpret_cast<std::atomic<int> *>(const_cast<int *>(lock));
  *value = 1;
  std::atomic<bool> is_freed{false};
  std::thread waiting([&] {
    std::free(memory);
    is_freed = true;
  });
  std::atomic<bool> keeps_analyzer{false};
  watchHeapLock(lock, keeps_analyzer);
  EXPECT_FALSE(keeps_analyzer);
  EXPECT_FALSE(is_freed);
  EXPECT_EQ(*value, 2);
  *value = 0;
  syscall(SYS_futex, lock, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  waiting.join();
  EXPECT_TRUE(is_freed);
}

} // namespace
} // namespace fade
