// FADE's own memory: how far it is from the application's, and which ring a dispatch gets.
#include "fake_hsa.h"
#include "hsa/own_memory.h"
#include "hsa/ring_pool.h"
#include "hsa/stack_budget.h"

#include <gtest/gtest.h>

#include <future>
#include <set>
#include <thread>

namespace fade {
namespace {

constexpr std::size_t kGuard = OwnMemory::kGuard;

/// Bytes between a block and the ends of the runtime's allocation that it lies in.
std::pair<std::size_t, std::size_t> distances(const FakeHsa &hsa, const void *block,
                                              std::size_t size) {
  const auto *at = static_cast<const std::byte *>(block);
  for (const auto &[memory, room] : hsa.allocations())
    if (at >= memory && at + size <= memory + room)
      return {static_cast<std::size_t>(at - memory),
              static_cast<std::size_t>(memory + room - (at + size))};
  ADD_FAILURE() << "not in any allocation";
  return {};
}

TEST(OwnMemory, BlocksOfAnySizeLieBetweenGuards) {
  FakeHsa hsa;
  OwnMemory memory(*hsa.gpu.device_pool, hsa.gpu.handle);
  for (const std::size_t size : {std::size_t{1}, std::size_t{512}, std::size_t{4096},
                                 std::size_t{100'000}, std::size_t{1} << 20, std::size_t{17} << 20})
    for (int i = 0; i < 40; ++i) {
      std::byte *block = memory.allocate(size);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<uint64_t>(block) % OwnMemory::kAlignment, 0u);
      const auto [before, behind] = distances(hsa, block, size);
      EXPECT_GE(before, kGuard) << size;
      EXPECT_GE(behind, kGuard) << size;
    }
}

TEST(OwnMemory, BlocksDoNotOverlapAndAreUsedAgain) {
  FakeHsa hsa;
  OwnMemory memory(*hsa.gpu.device_pool, hsa.gpu.handle);
  std::map<std::byte *, std::size_t> blocks;
  for (std::size_t i = 1; i <= 300; ++i) {
    const std::size_t size = i * 37 % 20'000 + 1;
    blocks[memory.allocate(size)] = size;
  }
  ASSERT_EQ(blocks.size(), 300u);
  const std::byte *end = nullptr;
  for (const auto &[at, size] : blocks) {
    EXPECT_GE(at, end);
    end = at + size;
  }
  const std::size_t chunks = hsa.allocations().size();
  for (int round = 0; round < 20; ++round) {
    for (const auto &[at, size] : blocks) memory.free(at);
    std::set<std::byte *> again;
    for (const auto &[at, size] : blocks) again.insert(memory.allocate(size));
    EXPECT_EQ(again.size(), blocks.size());
  }
  EXPECT_LE(hsa.allocations().size(), chunks + 1);
}

TEST(OwnMemory, ALargeBlockGoesBackToTheRuntime) {
  FakeHsa hsa;
  OwnMemory memory(*hsa.gpu.device_pool, hsa.gpu.handle);
  std::byte *block = memory.allocate(16 << 20);
  EXPECT_EQ(hsa.allocations().size(), 1u);
  memory.free(block);
  EXPECT_EQ(hsa.allocations().size(), 0u);
  memory.free(nullptr);
  memory.free(block);
}

TEST(OwnMemory, WhereMemoryIsShortGuardsAreSmaller) {
  FakeHsa hsa;
  hsa.most_memory = 64 << 10;
  OwnMemory memory(*hsa.gpu.device_pool, hsa.gpu.handle);
  std::byte *block = memory.allocate(4096);
  ASSERT_NE(block, nullptr);
  const auto [before, behind] = distances(hsa, block, 4096);
  EXPECT_GE(std::min(before, behind), OwnMemory::kAlignment);
}

TEST(OwnMemory, NoMemoryIsNull) {
  FakeHsa hsa;
  hsa.most_memory = 8 << 20;
  OwnMemory memory(*hsa.gpu.device_pool, hsa.gpu.handle);
  EXPECT_EQ(memory.allocate(8 << 20), nullptr);
  EXPECT_NE(memory.allocate(4096), nullptr);
}

class Rings : public testing::Test {
protected:
  RingPool &pool(std::chrono::milliseconds patience, uint64_t memory = 256 << 20,
                 RingUse use = RingUse::kernels) {
    budget_ = std::make_unique<MemoryBudget>(memory);
    pool_ = std::make_unique<RingPool>(hsa.gpu, hsa.host, settings_, *budget_, allocations,
                                       patience, use);
    return *pool_;
  }

  FakeHsa hsa;
  AllocationTable allocations;

private:
  Settings settings_;
  std::unique_ptr<MemoryBudget> budget_;
  std::unique_ptr<RingPool> pool_;
};

/// As the collector does after a dispatch.
void recycle(HsaRing &ring) {
  EXPECT_TRUE(ring.fetchControl());
  EXPECT_TRUE(ring.recycle());
}

constexpr uint64_t kLarge = 16 << 20, kSmall = 64 << 10;
constexpr uint64_t kMany = UINT64_MAX; ///< bytes of records

TEST_F(Rings, FewRecordsTakeASmallRingAndNeverWait) {
  RingPool &rings = pool(std::chrono::hours(1));
  for (int i = 0; i < 1000; ++i) {
    HsaRing *ring = rings.take(1000, {});
    ASSERT_NE(ring, nullptr);
    EXPECT_EQ(ring->capacity(), kSmall);
  }
  EXPECT_EQ(rings.take(kSmall, {})->capacity(), kLarge);
}

TEST_F(Rings, ManyDispatchesInFlightAllGetLargeRings) {
  RingPool &rings = pool(std::chrono::hours(1));
  std::vector<HsaRing *> in_flight;
  // What the GPU does: the oldest ends while the application waits for a ring.
  std::mutex mutex;
  std::atomic<bool> done{false};
  std::thread device([&] {
    while (!done) {
      std::unique_lock lock(mutex);
      if (in_flight.empty()) continue;
      HsaRing *oldest = in_flight.front();
      in_flight.erase(in_flight.begin());
      lock.unlock();
      recycle(*oldest);
    }
  });
  for (int i = 0; i < 200; ++i) {
    HsaRing *ring = rings.take(kMany, {});
    ASSERT_NE(ring, nullptr);
    EXPECT_EQ(ring->capacity(), kLarge) << i;
    const std::lock_guard lock(mutex);
    in_flight.push_back(ring);
  }
  done = true;
  device.join();
}

TEST_F(Rings, ARingIsGivenBackWhileAnotherOneIsMade) {
  RingPool &rings = pool(std::chrono::hours(1));
  HsaRing *ring = rings.take(kMany, {});
  ASSERT_NE(ring, nullptr);
  // The runtime may need the GPU for a new ring, and the GPU the thread that gives rings back.
  std::promise<void> done;
  std::thread collector;
  bool is_given_back = false;
  hsa.before_a_signal = [&] {
    collector = std::thread([&] {
      ring->giveBackUnused();
      done.set_value();
    });
    is_given_back =
        done.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  };
  EXPECT_NE(rings.take(kMany, {}), nullptr);
  ASSERT_TRUE(collector.joinable());
  collector.join();
  EXPECT_TRUE(is_given_back);
}

TEST_F(Rings, WhatCannotWaitGetsASmallRing) {
  RingPool &rings = pool(std::chrono::seconds(1));
  std::vector<HsaRing *> large;
  HsaRing *ring = rings.take(kMany, {});
  while (ring && ring->capacity() == kLarge) {
    large.push_back(ring);
    ring = rings.take(kMany, {});
  }
  ASSERT_GE(large.size(), 4u);
  ASSERT_NE(ring, nullptr);
  EXPECT_EQ(ring->capacity(), kSmall);
  // A kernel that runs on and on keeps its ring: what comes and goes beside it does not wait again.
  recycle(*ring);
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    HsaRing *next = rings.take(kMany, {});
    ASSERT_NE(next, nullptr);
    EXPECT_EQ(next->capacity(), kSmall);
    recycle(*next);
  }
  // If each of them waited, it would be 100 seconds.
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(60));
  recycle(*large.back());
  EXPECT_EQ(rings.take(kMany, {})->capacity(), kLarge);
}

const fade_control &controlOf(const HsaRing &ring) {
  return *reinterpret_cast<const fade_control *>(ring.controlAddress());
}

TEST_F(Rings, ARingCountsWhatItWasTakenFor) {
  RingPool &rings = pool(std::chrono::milliseconds(1));
  HsaRing *ring = rings.take(kMany, {});
  ASSERT_NE(ring, nullptr);
  EXPECT_EQ(controlOf(*ring).counters, 0u);
  ring->giveBackUnused();
  ASSERT_EQ(rings.take(kMany, {10, {}}), ring);
  EXPECT_NE(controlOf(*ring).counters, 0u);
}

TEST_F(Rings, ARingThatCouldNotBePreparedIsPreparedTheNextTime) {
  for (const int copies : {0, 1}) { // of the counters, of the control block
    RingPool &rings = pool(std::chrono::milliseconds(1));
    HsaRing *ring = rings.take(kMany, {});
    ASSERT_NE(ring, nullptr);
    ring->giveBackUnused();
    hsa.copies_until_failure = copies;
    EXPECT_EQ(rings.take(kMany, {10, {}}), nullptr);
    EXPECT_TRUE(rings.whyNone().starts_with("its ring could not be prepared"));
    hsa.copies_until_failure = -1;
    ASSERT_EQ(rings.take(kMany, {10, {}}), ring);
    EXPECT_NE(controlOf(*ring).counters, 0u) << "the kernel would count at address 0";
  }
}

TEST_F(Rings, WhyThereIsNoneIsSaid) {
  RingPool &small = pool(std::chrono::milliseconds(1), 1 << 20);
  while (small.take(kMany, {})) {
  }
  EXPECT_EQ(small.whyNone(), "all rings were in use (FADE_MEMORY)");
  RingPool &without = pool(std::chrono::milliseconds(1));
  hsa.most_memory = 0;
  EXPECT_EQ(without.take(kMany, {}), nullptr);
  EXPECT_EQ(without.whyNone(), "the runtime had no memory for its records");
}

TEST_F(Rings, WhatTheHostWritesIsNeverCopied) {
  RingPool &rings = pool(std::chrono::milliseconds(1), 256 << 20, RingUse::observed);
  hsa.copies_until_failure = 0;
  HsaRing *ring = rings.take(kMany, {10, {}});
  ASSERT_NE(ring, nullptr);
  for (int i = 0; i < 2; ++i) { // the second time as the first
    auto *control = reinterpret_cast<fade_control *>(ring->controlAddress());
    EXPECT_EQ(control->head, 0u);
    ASSERT_NE(control->counters, 0u);
    auto *counters = reinterpret_cast<fade_counter *>(control->counters);
    EXPECT_EQ(counters[9].entries, 0u);
    control->waves = 3, counters[9].entries = 5;
    EXPECT_TRUE(ring->fetchControl());
    EXPECT_EQ(ring->control().waves, 3u);
    ASSERT_EQ(ring->counters().size(), 10u);
    EXPECT_EQ(ring->counters()[9].entries, 5u);
    EXPECT_EQ(ring->damage(), "");
    EXPECT_TRUE(ring->recycle());
    ASSERT_EQ(rings.take(kMany, {10, {}}), ring);
  }
}

TEST_F(Rings, ObservedDispatchesInFlightTakeLittleMemory) {
  for (const RingUse use : {RingUse::observed, RingUse::counted}) {
    RingPool &rings = pool(std::chrono::milliseconds(1), 256 << 20, use);
    uint64_t all = 0;
    for (int i = 0; i < 9; ++i) all += rings.take(kMany, {10, {}})->capacity();
    EXPECT_EQ(all, use == RingUse::counted ? 9 * kSmall : 8 * (uint64_t{2} << 20) + kSmall);
  }
}

TEST_F(Rings, MemoryOfARingHasGuards) {
  RingPool &rings = pool(std::chrono::milliseconds(1));
  HsaRing *ring = rings.take(kMany, {10, {}});
  ASSERT_NE(ring, nullptr);
  const auto control =
      distances(hsa, reinterpret_cast<void *>(ring->controlAddress()), sizeof(fade_control));
  EXPECT_GE(std::min(control.first, control.second), kGuard);
  const auto arguments = distances(hsa, ring->kernargs(100).data(), 4096);
  EXPECT_GE(std::min(arguments.first, arguments.second), kGuard);
  const auto *device = reinterpret_cast<const fade_control *>(ring->controlAddress());
  const auto data = distances(hsa, reinterpret_cast<void *>(device->data), kLarge);
  EXPECT_GE(std::min(data.first, data.second), kGuard);
  const auto counters = distances(hsa, reinterpret_cast<void *>(device->counters), 160);
  EXPECT_GE(std::min(counters.first, counters.second), kGuard);
}

TEST_F(Rings, ADamagedControlBlockIsNamedWithTheNearestAllocation) {
  RingPool &rings = pool(std::chrono::milliseconds(1));
  HsaRing *ring = rings.take(kMany, {});
  auto *device = reinterpret_cast<fade_control *>(ring->controlAddress());
  const uint64_t at = ring->controlAddress();
  allocations.add(reinterpret_cast<void *>(at - 10'000), 4096, 1, false);
  allocations.add(reinterpret_cast<void *>(at + 100'000), 64, 1, false);
  device->head = 32; // what a kernel does
  device->limit += 4096;
  device->waves = 3;
  EXPECT_TRUE(ring->fetchControl());
  EXPECT_EQ(ring->damage(), "");
  device->tail ^= 1;
  EXPECT_TRUE(ring->fetchControl());
  EXPECT_EQ(ring->damage(),
            fmt::format("the application wrote into FADE's own memory at {:#x}, 5928 bytes beyond "
                        "the end of allocation 1 (4096 bytes at {:#x})",
                        at + offsetof(fade_control, tail), at - 10'000));
  EXPECT_TRUE(ring->recycle());
  ring = rings.take(kMany, {});
  EXPECT_TRUE(ring->fetchControl());
  EXPECT_EQ(ring->damage(), "") << "the next dispatch begins with a control block that is whole";
  device->reserved_3[27] = 7;
  EXPECT_TRUE(ring->fetchControl());
  EXPECT_NE(ring->damage(), "");
}

TEST(AllocationTable, TheNearestAllocationIsBeforeOrBehind) {
  AllocationTable table;
  EXPECT_EQ(table.describeNearest(1000), "");
  table.add(reinterpret_cast<void *>(0x10000), 0x1000, 1, false);
  table.add(reinterpret_cast<void *>(0x20000), 0x1000, 1, false);
  EXPECT_EQ(table.describeNearest(0x11004),
            ", 4 bytes beyond the end of allocation 1 (4096 bytes at 0x10000)");
  EXPECT_EQ(table.describeNearest(0x1ff00),
            ", 256 bytes before allocation 2 (4096 bytes at 0x20000)");
  EXPECT_EQ(table.describeNearest(0x100),
            ", 65280 bytes before allocation 1 (4096 bytes at 0x10000)");
  EXPECT_EQ(table.describeNearest(0x10010), ", in allocation 1 (4096 bytes at 0x10000)");
}

TEST(StackBudget, StacksTakeAHundredthOfTheTimeAndALittleAtTheStart) {
  using namespace std::chrono_literals;
  const StackBudget::Clock::time_point start{};
  StackBudget budget(start);
  EXPECT_TRUE(budget.allows(start));
  budget.spend(49ms);
  EXPECT_TRUE(budget.allows(start));
  budget.spend(1ms);
  EXPECT_FALSE(budget.allows(start)) << "what is free is spent";
  EXPECT_TRUE(budget.allows(start + 1s)) << "10 ms more";
  budget.spend(10ms);
  EXPECT_FALSE(budget.allows(start + 1s));
  EXPECT_TRUE(budget.allows(start + 2s));
}

} // namespace
} // namespace fade
