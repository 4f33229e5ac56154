// What the checks know about memory, without a GPU.
#include "checks/allocations.h"
#include "checks/lds_shadow.h"
#include "checks/options.h"
#include "checks/written_memory.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace fade::checks {
namespace {

/// Accesses of single lanes to the LDS of one workgroup.
class Group {
public:
  explicit Group(uint32_t waves = 4, uint32_t bytes = 256) { shadow.begin(waves, bytes); }

  bool races(uint32_t wave, AccessKind kind, uint64_t address, uint32_t size = 4,
             bool returns = false, std::vector<uint32_t> values = {}) {
    ObservedAccess a;
    values.resize(4, ++next_value * 0x01010101u); // else no two bytes are the same
    a.stored = values.data(), a.stored_stride = 1;
    const uint64_t addresses[64] = {address};
    a.pc = 0x100 + wave, a.lanes = 1, a.address = addresses, a.size = size, a.kind = kind;
    a.returns = returns;
    const bool found = !shadow.readsOnly(wave, a) && shadow.race(wave, 0, a, other);
    shadow.endAccess(wave);
    return found;
  }
  bool load(uint32_t wave, uint64_t at, uint32_t n = 4) {
    return races(wave, AccessKind::load, at, n);
  }
  bool store(uint32_t wave, uint64_t at, uint32_t n = 4) {
    return races(wave, AccessKind::store, at, n);
  }
  bool atomic(uint32_t wave, uint64_t at, bool returns = false) {
    return races(wave, AccessKind::atomic, at, 4, returns);
  }

  bool storeValues(uint32_t wave, uint64_t at, const std::vector<uint32_t> &values) {
    return races(wave, AccessKind::store, at, static_cast<uint32_t>(values.size() * 4), false,
                 values);
  }

  LdsShadow shadow;
  LdsShadow::Other other;
  uint32_t next_value = 0;
};

TEST(LdsRace, StoresOfEqualValuesDoNotRaceByteByByte) {
  Group g;
  EXPECT_FALSE(g.storeValues(0, 16, {1, 2}));
  EXPECT_FALSE(g.storeValues(1, 20, {2, 3}));
  EXPECT_FALSE(g.storeValues(2, 16, {1, 2, 3}));
  EXPECT_TRUE(g.storeValues(3, 16, {1, 2, 4}));
}

TEST(LdsRace, LoadsBeforeAnyStoreAreKnownToTheStoreThatComesThen) {
  Group g(3);
  EXPECT_FALSE(g.load(0, 0));
  EXPECT_FALSE(g.load(1, 4));
  EXPECT_FALSE(g.store(1, 4));
  EXPECT_TRUE(g.store(1, 0));
  EXPECT_EQ(g.other.wave, 0u);
  EXPECT_EQ(g.other.kind, AccessKind::load);
  g.shadow.barrier();
  EXPECT_FALSE(g.load(2, 8));
  g.shadow.barrier();
  EXPECT_FALSE(g.store(0, 8));
}

TEST(LdsRace, OfMoreLoadsThanArePutOffNoneIsForgotten) {
  constexpr uint32_t loads = 1000;
  Group g(2, loads * 4);
  for (uint32_t i = 0; i < loads; ++i) EXPECT_FALSE(g.load(0, i * 4));
  for (uint32_t i = 0; i < loads; ++i) EXPECT_TRUE(g.store(1, i * 4)) << i;
}

// gfx12: what a wave does between its signal and its wait is in order with nobody.
TEST(LdsRace, ASplitBarrierOrdersWhatIsBeforeTheSignalWithWhatIsBehindTheWait) {
  Group g(2);
  EXPECT_FALSE(g.store(0, 0));
  g.shadow.arrive(0);
  EXPECT_FALSE(g.store(0, 4)); // after its signal
  g.shadow.arrive(1);
  g.shadow.completeBarrier();
  EXPECT_FALSE(g.store(1, 8)); // before its wait
  EXPECT_TRUE(g.load(1, 0));
  g.shadow.leave(1);
  EXPECT_FALSE(g.load(1, 0));
  EXPECT_TRUE(g.load(1, 4));
  g.shadow.leave(0);
  EXPECT_TRUE(g.load(0, 8));
}

TEST(LdsRace, AWaveThatSignalsEarlyForTheNextBarrierTellsNothingToThisOne) {
  Group g(3);
  for (const uint32_t wave : {0u, 1u, 2u}) g.shadow.arrive(wave);
  g.shadow.completeBarrier();
  g.shadow.leave(0);
  EXPECT_FALSE(g.store(0, 0));
  g.shadow.arrive(0); // for the next
  g.shadow.leave(1);
  EXPECT_TRUE(g.load(1, 0));
  for (const uint32_t wave : {1u, 2u}) g.shadow.arrive(wave);
  g.shadow.completeBarrier();
  g.shadow.leave(2);
  EXPECT_FALSE(g.load(2, 0));
}

TEST(LdsRace, AWriteAndAReadOfDifferentWavesRaceUnlessABarrierIsBetween) {
  Group g;
  EXPECT_FALSE(g.store(0, 16));
  EXPECT_FALSE(g.load(0, 16)); // its own
  EXPECT_TRUE(g.load(1, 16));
  EXPECT_EQ(g.other.wave, 0u);
  EXPECT_EQ(g.other.kind, AccessKind::store);
  EXPECT_EQ(g.other.pc, 0x100u);
  g.shadow.barrier();
  EXPECT_FALSE(g.load(2, 16));
  EXPECT_TRUE(g.store(3, 16)); // what wave 2 reads
  g.shadow.barrier();
  EXPECT_FALSE(g.store(1, 16));
}

TEST(LdsRace, AWriterMeetsTheReaderThatIsNotItself) {
  Group g;
  g.load(0, 0), g.load(1, 0);
  EXPECT_TRUE(g.store(1, 0));
  EXPECT_EQ(g.other.wave, 0u);
  g.shadow.barrier();
  g.load(0, 0), g.load(1, 0);
  EXPECT_TRUE(g.store(0, 0));
  EXPECT_EQ(g.other.wave, 1u);
}

TEST(LdsRace, BytesSideBySideDoNotRaceAndWideAccessesDoInAnyOfTheirParts) {
  Group g;
  for (uint32_t wave = 0; wave < 4; ++wave) EXPECT_FALSE(g.store(wave, wave, 1)) << wave;
  for (uint32_t wave = 0; wave < 4; ++wave) EXPECT_FALSE(g.load(wave, wave, 1)) << wave;
  EXPECT_TRUE(g.load(3, 1, 1)); // although others have written beside it since
  EXPECT_TRUE(g.store(3, 0, 1));
  g.shadow.barrier();
  EXPECT_FALSE(g.store(0, 44, 4));
  EXPECT_TRUE(g.load(1, 32, 16)); // bytes 32 to 47
  EXPECT_FALSE(g.load(1, 48, 16));
}

TEST(LdsRace, AtomicsRaceWithPlainAccessesButNotWithEachOther) {
  Group g;
  EXPECT_FALSE(g.atomic(0, 128));
  EXPECT_FALSE(g.atomic(1, 128));
  EXPECT_TRUE(g.load(1, 128)); // the last one was its own
  EXPECT_FALSE(g.atomic(0, 8));
  EXPECT_FALSE(g.atomic(1, 8));
  EXPECT_TRUE(g.load(2, 8));
  EXPECT_TRUE(g.store(3, 8));
  g.shadow.barrier();
  EXPECT_FALSE(g.store(0, 8)); // cleared, and then counted in:
  EXPECT_FALSE(g.atomic(0, 8));
  EXPECT_TRUE(g.atomic(1, 8)); // by one who does not know that it was cleared
}

TEST(LdsRace, LoopsOfCompareAndSwapMayBeginWithPlainLoads) {
  Group g;
  for (const uint32_t wave : {0u, 1u, 2u}) EXPECT_FALSE(g.load(wave, 0));
  for (const uint32_t wave : {2u, 0u, 1u}) EXPECT_FALSE(g.atomic(wave, 0, true));
  EXPECT_FALSE(g.load(3, 0));
  EXPECT_FALSE(g.load(0, 8));
  EXPECT_TRUE(g.atomic(1, 8));
}

TEST(LdsRace, AnAtomicWhoseResultIsUsedOrdersWhatCameBefore) {
  Group g;
  g.store(0, 100);
  g.atomic(0, 4, true);
  g.atomic(1, 4); // learns nothing
  EXPECT_TRUE(g.load(1, 100));
  g.atomic(2, 4, true);
  EXPECT_FALSE(g.load(2, 100));
  g.store(0, 104); // after it was passed on
  EXPECT_TRUE(g.load(2, 104));
}

TEST(LdsRace, ALockThatIsOpenedByAPlainStoreOrdersToo) {
  Group g;
  g.atomic(0, 4, true);
  EXPECT_FALSE(g.store(0, 100));
  EXPECT_FALSE(g.store(0, 4)); // opens it
  EXPECT_FALSE(g.atomic(1, 4, true));
  EXPECT_FALSE(g.store(1, 100));
}

TEST(LdsRace, TheNextWorkgroupStartsFresh) {
  Group g;
  g.store(0, 0);
  g.shadow.write(0, 4);
  g.shadow.begin(4, 256);
  EXPECT_FALSE(g.load(1, 0));
  EXPECT_TRUE(g.shadow.isUnwritten(0, 4));
}

TEST(LdsRace, WhatLiesBeyondLdsIsLeftAlone) {
  Group g(4, 16);
  EXPECT_FALSE(g.store(0, 16));
  EXPECT_FALSE(g.load(1, 16));
  EXPECT_FALSE(g.load(1, ~uint64_t{0}));
  EXPECT_FALSE(g.shadow.isUnwritten(12, 8));
}

Allocation allocation(uint64_t base, uint64_t size, uint64_t gap = 4096) {
  Allocation a;
  a.base = base, a.size = size, a.end_of_block = base + size + gap;
  return a;
}

TEST(AllocationMap, TheNearestIsFoundAndFreedOnesAreKnownUntilSomethingTakesTheirPlace) {
  AllocationMap map;
  map.add(allocation(0x10000, 100));
  map.add(allocation(0x20000, 0x1000));
  EXPECT_EQ(map.find(0x10063)->number, 1u);
  EXPECT_FALSE(map.find(0x10064));
  EXPECT_EQ(map.nearest(0x10064, 16, AllocationMap::Owner::anybody)->number, 1u);
  EXPECT_EQ(map.nearest(0x1fffc, 16, AllocationMap::Owner::anybody)->number, 2u);
  EXPECT_FALSE(map.nearest(0x18000, 16, AllocationMap::Owner::anybody));
  EXPECT_TRUE(map.touches(0x10000, 0x10001));
  EXPECT_TRUE(map.touches(0x10100, 0x10200)); // the gap
  EXPECT_FALSE(map.touches(0x12000, 0x20000));
  const uint64_t before = map.generation();
  EXPECT_TRUE(map.free(0x10000));
  EXPECT_FALSE(map.free(0x10000)); // twice
  EXPECT_NE(map.generation(), before);
  EXPECT_TRUE(map.find(0x10010)->is_freed);
  map.add(allocation(0x10010, 16));
  EXPECT_EQ(map.find(0x10010)->number, 3u);
  EXPECT_FALSE(map.find(0x10000));
}

TEST(WrittenMemory, BytesAreFollowedOneByOneAcrossPieces) {
  WrittenMemory &memory = WrittenMemory::instance();
  // Not mapped by this process, so that nobody can have touched it.
  const uint64_t at = 0x600000000000 + WrittenMemory::kChunk - 2;
  HostPages pages;
  EXPECT_TRUE(memory.isUnwritten(at, 4, pages));
  memory.mark(at + 3, 1);
  EXPECT_FALSE(memory.isUnwritten(at, 4, pages));
  EXPECT_TRUE(memory.isUnwritten(at, 3, pages));
  memory.clear(at, 4);
  EXPECT_TRUE(memory.isUnwritten(at, 4, pages));
}

TEST(WrittenMemory, PagesThatTheHostTouchedCountAsWritten) {
  WrittenMemory &memory = WrittenMemory::instance();
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  auto *own = static_cast<char *>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(own, MAP_FAILED);
  own[page] = 1; // of the second page
  const auto first = reinterpret_cast<uint64_t>(own), second = first + page;
  HostPages pages;
  EXPECT_TRUE(memory.isKnownUnwritten(first, 4, pages));
  EXPECT_FALSE(memory.isKnownUnwritten(first, page + 4, pages));
  EXPECT_TRUE(memory.isUnwritten(second - 4, 4, pages)); // to ask changed nothing
  EXPECT_FALSE(memory.isUnwritten(second - 2, 4, pages));
  EXPECT_TRUE(memory.isWritten(second, page));
  EXPECT_TRUE(memory.isUnwritten(second - 4, 4, pages)); // only the touched page counts
  munmap(own, 2 * page);
}

TEST(WrittenMemory, SeveralThreadsMarkAtOnce) {
  WrittenMemory &memory = WrittenMemory::instance();
  constexpr uint64_t base = 0x610000000000, each = 3 * WrittenMemory::kChunk / 4;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = t; i < each; i += 4) memory.mark(base + i, 1);
    });
  for (auto &t : threads) t.join();
  for (uint64_t i = 0; i < each; i += 997) EXPECT_TRUE(memory.isWritten(base + i, 1)) << i;
  HostPages pages;
  EXPECT_TRUE(memory.isUnwritten(base + each, 1, pages));
}

TEST(Options, ChecksAreNamedAndMistakesSaid) {
  Options o;
  EXPECT_FALSE(readChecks("", o));
  EXPECT_TRUE(o.has(Check::memory) && o.has(Check::init) && o.has(Check::race));
  EXPECT_FALSE(o.has(Check::leak));
  EXPECT_FALSE(readChecks("leak,sync", o));
  EXPECT_TRUE(o.has(Check::leak) && o.has(Check::sync) && !o.has(Check::memory));
  EXPECT_FALSE(readChecks("all", o));
  EXPECT_TRUE(o.has(Check::leak) && o.has(Check::memory));
  const auto wrong = readChecks("memory,rase", o);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("'rase'"), std::string::npos);
  EXPECT_NE(wrong->find("race"), std::string::npos);
  EXPECT_TRUE(readChecks("memory,", o));
}

} // namespace
} // namespace fade::checks
