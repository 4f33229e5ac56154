// With glibc's allocator: not for the builds with sanitizers, which have their own.
#include "base/own_heap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <latch>
#include <thread>
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
  const std::vector<void *> kept = memoryOfEndedThreads(3);
  bool as_it_comes = true, own = false;
  learnNewHeap();
  startQuietThread("usual", [&] { as_it_comes = hasOwnHeap(); }).join();
  EXPECT_FALSE(as_it_comes) << "then this test shows nothing";
  startThreadWithOwnHeap("own", [&] { own = hasOwnHeap(); }).join();
  EXPECT_TRUE(own);
  for (void *one : kept) std::free(one);
}

TEST(OwnHeap, ASmallPieceOfSomebodyElseIsEnough) {
  const std::vector<void *> kept = memoryOfEndedThreads(3, 24);
  bool as_it_comes = true, own = false;
  learnNewHeap();
  startQuietThread("usual", [&] { as_it_comes = hasOwnHeap(); }).join();
  EXPECT_FALSE(as_it_comes);
  startThreadWithOwnHeap("own", [&] { own = hasOwnHeap(); }).join();
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
  const std::vector<void *> kept = memoryOfEndedThreads(20);
  bool is_done = false;
  startThreadWithOwnHeap("own", [&] { is_done = true; }).join();
  EXPECT_TRUE(is_done);
  for (void *one : kept) std::free(one);
}

} // namespace
} // namespace fade
