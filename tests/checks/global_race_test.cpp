// What orders accesses to global memory, instruction by instruction, without a GPU.
#include "checks/clocks.h"
#include "checks/global_race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <thread>

namespace fade::checks {
namespace {

class NoMemory : public ObservedMemory {
public:
  bool find(uint64_t, ObservedRegion &) const override { return false; }
  bool read(uint64_t, void *, uint64_t) const override { return false; }
};

/// A dispatch of workgroups of two waves each. Accesses are of one lane.
class Grid {
public:
  explicit Grid(const char *gpu, uint32_t groups = 4) : groups_(groups), members_(groups) {
    dispatch_.gpu = gpu;
    dispatch_.lanes = 64;
    dispatch_.grid[0] = groups * 128, dispatch_.workgroup[0] = 128;
    races_ = std::make_unique<DispatchRaces>(dispatch_, memory_);
    for (uint32_t g = 0; g < groups; ++g) {
      groups_[g].dispatch = &dispatch_;
      groups_[g].id[0] = g, groups_[g].size[0] = 128, groups_[g].size[1] = 1;
      groups_[g].size[2] = 1, groups_[g].waves = 2;
      members_[g].begin(*races_, groups_[g]);
    }
  }

  /// Waves are numbered through the grid. Whether it races.
  bool access(uint32_t wave, AccessKind kind, uint64_t address, bool flag = false,
              uint32_t size = 4, std::vector<uint32_t> values = {}) {
    const uint64_t addresses[64] = {address};
    const uint32_t other = ++next_value_; // no two bytes of such stores are the same
    values.resize(4, other * 0x01010101u);
    ObservedAccess a;
    a.pc = 0x100, a.lanes = 1, a.address = addresses, a.size = size, a.kind = kind;
    a.returns = kind == AccessKind::atomic && flag;
    a.coherent = kind != AccessKind::atomic && flag;
    a.device = flag || kind == AccessKind::atomic;
    a.stored = values.data(), a.stored_stride = 1;
    const uint64_t before = reporter_.reported();
    members_[wave / 2].access(of(wave), a, reporter_);
    members_[wave / 2].atomicDone();
    return reporter_.reported() != before;
  }
  bool load(uint32_t wave, uint64_t at) { return access(wave, AccessKind::load, at); }
  bool store(uint32_t wave, uint64_t at) { return access(wave, AccessKind::store, at); }
  bool storeValues(uint32_t wave, uint64_t at, const std::vector<uint32_t> &values,
                   uint32_t size = 0) {
    const auto all = static_cast<uint32_t>(values.size() * 4);
    return access(wave, AccessKind::store, at, false, size ? size : all, values);
  }
  /// Lanes side by side, which store what their addresses have in `memory`. `turned`: the lanes of
  /// the last dword come first. Whether any lane races.
  bool row(uint32_t wave, AccessKind kind, uint64_t at, uint32_t size, uint32_t lanes,
           const std::vector<uint32_t> &memory, bool turned) {
    uint64_t addresses[64] = {};
    std::vector<uint32_t> stored(4 * 64);
    std::vector<uint32_t> order(lanes);
    std::iota(order.begin(), order.end(), 0);
    if (turned) // within a dword, the lanes stay in order
      std::ranges::sort(order, {}, [&](uint32_t of) {
        return std::pair(~((at + uint64_t{of} * size) / std::max(4u, size)), of);
      });
    for (uint32_t i = 0; i < lanes; ++i) {
      const uint32_t of = order[i];
      addresses[i] = at + uint64_t{of} * size;
      for (uint32_t k = 0; k < std::max(1u, size / 4); ++k)
        stored[k * 64 + i] = memory[of * size / 4 + k] >> of * size % 4 * 8;
    }
    ObservedAccess a;
    a.pc = 0x100, a.lanes = ~uint64_t{0} >> (64 - lanes), a.address = addresses, a.size = size;
    a.kind = kind, a.stored = stored.data();
    const uint64_t before = reporter_.reported();
    members_[wave / 2].access(of(wave), a, reporter_);
    return reporter_.reported() != before;
  }
  bool loadByte(uint32_t wave, uint64_t at) { return access(wave, AccessKind::load, at, false, 1); }
  bool storeByte(uint32_t wave, uint64_t at) {
    return access(wave, AccessKind::store, at, false, 1);
  }
  Place place(const Mark &mark, uint64_t address) const { return races_->place(mark, address); }
  void poll(uint32_t wave, uint64_t at) { EXPECT_FALSE(access(wave, AccessKind::load, at, true)); }
  bool atomic(uint32_t wave, uint64_t at, bool returns) {
    return access(wave, AccessKind::atomic, at, returns);
  }
  void wait(uint32_t wave, uint32_t vector, uint32_t stores = ObservedWait::any) {
    ObservedWait w;
    w.vector = vector, w.stores = stores;
    members_[wave / 2].wait(of(wave), w);
  }
  void fence(uint32_t wave, FenceKind kind, bool device = true) {
    ObservedFence f;
    f.kind = kind, f.device = device;
    members_[wave / 2].fence(of(wave), f);
  }
  void invalidate(uint32_t wave, bool device = true) { fence(wave, FenceKind::invalidate, device); }
  void barrier(uint32_t group) { members_[group].barrierPassed(); }
  void arrive(uint32_t wave) { members_[wave / 2].arrive(of(wave)); }
  void complete(uint32_t group) { members_[group].completeBarrier(); }
  void leave(uint32_t wave) { members_[wave / 2].leave(of(wave)); }
  void globalBarrier(uint32_t wave) { members_[wave / 2].globalBarrier(of(wave)); }

private:
  ObservedWave of(uint32_t wave) {
    ObservedWave w;
    w.group = &groups_[wave / 2], w.number = wave % 2;
    return w;
  }
  std::atomic<uint32_t> next_value_{0};
  NoMemory memory_;
  ObservedDispatch dispatch_;
  std::unique_ptr<DispatchRaces> races_;
  std::vector<ObservedGroup> groups_;
  std::vector<GroupRaces> members_;
  Reporter reporter_{dispatch_};
};

constexpr uint64_t kData = 0x10000, kFlag = 0x20000;

TEST(GlobalRace, ABarrierOrdersTheWavesOfAWorkgroupAndNobodyElse) {
  Grid g("gfx90a");
  EXPECT_FALSE(g.store(0, kData));
  EXPECT_FALSE(g.load(0, kData));
  EXPECT_TRUE(g.load(1, kData));
  g.barrier(0);
  EXPECT_FALSE(g.load(1, kData));
  EXPECT_TRUE(g.load(2, kData));
  EXPECT_TRUE(g.store(4, kData)); // those have read it
}

// Lanes in another order are looked at one by one.
TEST(GlobalRace, RowsOfLanesRaceAsTheirLanesDo) {
  std::mt19937 random(7);
  const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  uint64_t racing = 0, fine = 0;
  for (int round = 0; round < 300; ++round) {
    Grid rows("gfx90a"), lanes("gfx90a");
    for (int step = 0; step < 60; ++step) {
      if (draw(6) == 0) {
        const uint32_t group = draw(4);
        rows.barrier(group), lanes.barrier(group);
        continue;
      }
      const uint32_t wave = draw(8), size = 1u << draw(5);
      const AccessKind kind = draw(3) ? AccessKind::load : AccessKind::store;
      const uint32_t count = draw(4) ? 64 : 1 + draw(64);
      const uint64_t at = kData + (draw(4) ? draw(8) * 256u : draw(512) * size);
      std::vector<uint32_t> memory(4 * 64, draw(2)); // mostly what others store, too
      if (draw(2))
        for (uint32_t &value : memory) value = draw(2) << draw(4) * 8;
      const bool found = rows.row(wave, kind, at, size, count, memory, false);
      ASSERT_EQ(found, lanes.row(wave, kind, at, size, count, memory, true))
          << "round " << round << ", step " << step;
      ++(found ? racing : fine);
    }
  }
  EXPECT_GT(racing, 500u);
  EXPECT_GT(fine, 500u);
}

TEST(GlobalRace, OfLanesThatShareADwordTheOneThatHasTheByteIsNamed) {
  Grid g("gfx90a");
  Mark mark;
  mark.wave = 3, mark.lane = 8, mark.bytes = 15, mark.part = Mark::kOfLanes;
  mark.setSize(1);
  EXPECT_EQ(g.place(mark, kData + 3).lane, 11u);
  EXPECT_EQ(g.place(mark, kData + 3).item[0], 64u + 11);
  EXPECT_EQ(g.place(mark.behind(2), kData + 9).lane, 17u);
  EXPECT_EQ(g.place(mark, kData + 3).byte, 0u);
  mark.setSize(2);
  EXPECT_EQ(g.place(mark, kData + 3).lane, 9u);
  EXPECT_EQ(g.place(mark, kData + 3).byte, 1u);
  EXPECT_EQ(g.place(mark.behind(3), kData + 12).lane, 14u);
}

TEST(GlobalRace, ASplitBarrierOrdersWhatIsBeforeTheSignalWithWhatIsBehindTheWait) {
  Grid g("gfx1201");
  EXPECT_FALSE(g.store(0, kData));
  g.arrive(0);
  EXPECT_FALSE(g.store(0, kData + 4)); // after its signal
  g.arrive(1);
  g.complete(0);
  EXPECT_TRUE(g.load(1, kData)); // before its wait
  g.leave(1);
  EXPECT_FALSE(g.load(1, kData));
  EXPECT_TRUE(g.load(1, kData + 4));
  EXPECT_TRUE(g.load(2, kData)); // another workgroup
}

TEST(GlobalRace, WhoLeavesAGlobalBarrierLateKnowsNothingOfTheNextOne) {
  for (const bool meets_again : {false, true}) {
    Grid g("gfx90a", 2);
    EXPECT_FALSE(g.store(0, kData));
    g.wait(0, 0);
    g.globalBarrier(0), g.globalBarrier(2);
    EXPECT_FALSE(g.store(0, kData + 64)); // and comes to the next one
    g.wait(0, 0);
    g.barrier(0);
    g.globalBarrier(1); // another wave of the workgroup
    EXPECT_FALSE(g.load(2, kData));
    if (meets_again) g.globalBarrier(2);
    EXPECT_EQ(g.load(2, kData + 64), !meets_again);
  }
}

TEST(GlobalRace, WhatWasNotWaitedForIsNotPassedOn) {
  for (const bool waits : {false, true}) {
    Grid g("gfx90a");
    g.store(0, kData);
    if (waits) g.wait(0, 0);
    g.atomic(0, kFlag, false);
    g.atomic(2, kFlag, true);
    EXPECT_EQ(g.load(2, kData), !waits);
  }
}

TEST(GlobalRace, AnAtomicLearnsNothingFromOneThatIsMadeRightAfterIt) {
  for (const bool is_first : {false, true}) {
    Grid g("gfx90a");
    const auto count = [&](uint32_t wave) { g.atomic(wave, kFlag, true); };
    g.store(0, kData), g.wait(0, 0);
    if (is_first) count(0), count(2);
    if (!is_first) count(2), count(0); // before wave 2 does anything else
    EXPECT_EQ(g.load(2, kData), !is_first);
  }
}

TEST(GlobalRace, AtomicsOnSeveralPagesLearnFromWhoeverMayHaveComeBetween) {
  Grid g("gfx90a");
  const auto count = [&](uint32_t wave, uint32_t size) {
    g.access(wave, AccessKind::atomic, kFlag + 1020, true, size);
  };
  g.store(0, kData), g.wait(0, 0);
  count(2, 8), count(0, 4);
  EXPECT_FALSE(g.load(2, kData));
  g.store(4, kData + 64), g.wait(4, 0);
  count(6, 4), count(4, 8);
  EXPECT_FALSE(g.load(6, kData + 64));
}

TEST(GlobalRace, AWaitForAllButTheLastAccessesCoversThoseBefore) {
  Grid g("gfx90a");
  g.store(0, kData), g.store(0, kData + 64);
  g.wait(0, 1);
  g.atomic(0, kFlag, false);
  g.atomic(2, kFlag, true);
  EXPECT_FALSE(g.load(2, kData));
  EXPECT_TRUE(g.load(2, kData + 64));
}

TEST(GlobalRace, FromGfx10OnStoresAreCountedApart) {
  for (const bool waits : {false, true}) {
    Grid g("gfx1030");
    g.store(0, kData);
    g.wait(0, 0, waits ? 0 : ObservedWait::any);
    g.atomic(0, kFlag, false);
    g.atomic(2, kFlag, true);
    EXPECT_EQ(g.load(2, kData), !waits);
  }
}

/// A cell of a queue is given back: it was read, and what was made of it is still being stored.
TEST(GlobalRace, LoadsThatWereWaitedForArePassedOnWhileStoresAreUnderWay) {
  for (const char *gpu : {"gfx1030", "gfx1201"})
    for (const bool waits : {false, true}) {
      Grid g(gpu);
      g.poll(2, kFlag);
      EXPECT_FALSE(g.store(0, kData + 64));
      EXPECT_FALSE(g.load(0, kData));
      if (waits) g.wait(0, 0);
      EXPECT_FALSE(g.store(0, kFlag));
      g.poll(2, kFlag), g.invalidate(2);
      EXPECT_EQ(g.store(2, kData), !waits);
      EXPECT_TRUE(g.load(2, kData + 64));
    }
}

TEST(GlobalRace, LoadsArePassedOnByAtomicsToo) {
  Grid g("gfx1100");
  EXPECT_FALSE(g.store(0, kData + 64));
  EXPECT_FALSE(g.load(0, kData));
  g.wait(0, 0);
  g.atomic(0, kFlag, false), g.atomic(2, kFlag, true);
  EXPECT_FALSE(g.store(2, kData));
  EXPECT_TRUE(g.load(2, kData + 64));
}

TEST(GlobalRace, OnGfx942LoadsNeedNoWriteBackOfStores) {
  Grid g("gfx942");
  g.poll(2, kFlag);
  EXPECT_FALSE(g.store(0, kData + 64));
  EXPECT_FALSE(g.load(0, kData));
  g.wait(0, 0);
  EXPECT_FALSE(g.store(0, kFlag));
  g.poll(2, kFlag), g.invalidate(2);
  EXPECT_FALSE(g.store(2, kData));
  EXPECT_TRUE(g.load(2, kData + 64));
}

TEST(GlobalRace, AStoreAtTheSamePlaceNeedNotBeWaitedForToPassOnWhatIsDone) {
  Grid g("gfx1030");
  g.poll(2, kFlag);
  EXPECT_FALSE(g.store(0, kFlag)); // in the turn before
  EXPECT_FALSE(g.load(0, kData));
  g.wait(0, 0); // for loads
  EXPECT_FALSE(g.store(0, kFlag));
  EXPECT_FALSE(g.store(0, kData + 64));
  EXPECT_FALSE(g.store(0, kFlag));
  g.poll(2, kFlag);
  g.invalidate(2);
  EXPECT_FALSE(g.store(2, kData));
  EXPECT_TRUE(g.load(2, kData + 64));
}

TEST(GlobalRace, Gfx942HasToWriteBack) {
  for (const bool writes_back : {false, true}) {
    Grid g("gfx942");
    g.store(0, kData);
    if (writes_back) g.fence(0, FenceKind::write_back);
    g.wait(0, 0);
    g.atomic(0, kFlag, false);
    g.atomic(2, kFlag, true);
    EXPECT_EQ(g.load(2, kData), !writes_back);
  }
  Grid g("gfx942");
  g.store(0, kData);
  g.fence(0, FenceKind::write_back); // begun, not waited for
  g.atomic(0, kFlag, false);
  g.atomic(2, kFlag, true);
  EXPECT_TRUE(g.load(2, kData));
}

TEST(GlobalRace, AfterPollingTheCacheMustBeInvalidatedBeforeItIsRead) {
  Grid g("gfx1030");
  g.store(0, kData), g.store(0, kData + 4), g.store(0, kData + 8);
  g.wait(0, ObservedWait::any, 0);
  g.store(0, kFlag); // nobody knows yet what this is for
  g.poll(2, kFlag);
  g.wait(2, 0);
  EXPECT_TRUE(g.load(2, kData));
  g.invalidate(2, false); // the workgroup's own cache only
  EXPECT_TRUE(g.load(2, kData));
  EXPECT_FALSE(g.store(2, kData + 8)); // stores do not stay in it
  g.invalidate(2);
  EXPECT_FALSE(g.load(2, kData + 4));
}

TEST(GlobalRace, WithinAWorkgroupNeitherIsNeeded) {
  Grid g("gfx90a");
  g.store(0, kData);
  g.store(0, kFlag);
  g.poll(1, kFlag);
  EXPECT_FALSE(g.load(1, kData));
}

TEST(GlobalRace, WhatOneHasLearnedIsPassedOnWithHisOwn) {
  Grid g("gfx90a");
  g.store(0, kData), g.wait(0, 0), g.store(0, kFlag);
  g.poll(2, kFlag), g.wait(2, 0), g.invalidate(2);
  g.barrier(1); // wave 3 learns it from wave 2
  g.wait(3, 0), g.store(3, kFlag + 4);
  g.poll(4, kFlag + 4), g.wait(4, 0), g.invalidate(4);
  EXPECT_FALSE(g.load(4, kData));
  EXPECT_TRUE(g.load(6, kData));
}

TEST(GlobalRace, WhatAWaveHasLearnedInBetweenIsLearnedFromIt) {
  Grid g("gfx90a");
  g.atomic(2, kFlag, true), g.wait(2, 0); // it knows nothing yet
  g.store(0, kData), g.wait(0, 0), g.atomic(0, kFlag + 4, true);
  g.atomic(2, kFlag + 4, true), g.wait(2, 0);
  g.atomic(2, kFlag + 8, true), g.wait(2, 0);
  g.atomic(4, kFlag, true), g.wait(4, 0);
  EXPECT_TRUE(g.load(4, kData));
  g.atomic(6, kFlag, true), g.wait(6, 0), g.atomic(6, kFlag + 8, true), g.wait(6, 0);
  EXPECT_FALSE(g.load(6, kData));
}

TEST(GlobalRace, WhoKnowsTheLastOnesAtAPlaceLearnsFromThoseBefore) {
  Grid g("gfx90a", 12);
  g.store(0, kData), g.wait(0, 0), g.atomic(0, kFlag, false);
  for (uint32_t wave = 2; wave < 20; wave += 2) {
    g.atomic(wave, kFlag, false), g.wait(wave, 0);
    g.atomic(wave, kFlag + 2 * wave, false); // each at a place of its own
  }
  for (uint32_t wave = 2; wave < 20; wave += 2) g.atomic(20, kFlag + 2 * wave, true), g.wait(20, 0);
  EXPECT_TRUE(g.load(20, kData));
  for (uint32_t wave = 2; wave < 20; wave += 2) g.atomic(22, kFlag + 2 * wave, true), g.wait(22, 0);
  g.atomic(22, kFlag, true), g.wait(22, 0);
  EXPECT_FALSE(g.load(22, kData));
}

TEST(GlobalRace, WhoMeetsAtManyPlacesLearnsAllThatWasPassedOnThere) {
  // Waves store, each to a place of its own, and meet at random at some others. What each of them
  // knows is followed here in the simplest way.
  constexpr uint32_t waves = 40, meetings = 60;
  for (const char *gpu : {"gfx90a", "gfx1030"}) {
    Grid g(gpu, waves);
    using Stores = std::array<uint32_t, waves>; // how many of each wave
    std::array<Stores, waves> known{};
    std::array<Stores, meetings> left{};
    const auto add = [](Stores &to, const Stores &from) {
      for (uint32_t i = 0; i < waves; ++i) to[i] = std::max(to[i], from[i]);
    };
    const auto place = [](uint32_t wave, uint32_t store) {
      return kData + 0x100000 + (store * waves + wave) * 4;
    };
    std::mt19937 random(7);
    uint32_t races = 0, ordered = 0;
    for (int i = 0; i < 20000; ++i) {
      const uint32_t w = random() % waves, other = random() % waves, at = random() % meetings;
      switch (random() % 4) {
      case 0:
        EXPECT_FALSE(g.store(2 * w, place(w, known[w][w]++)));
        g.wait(2 * w, 0, 0);
        break;
      case 1:
      case 2:
        g.atomic(2 * w, kFlag + 4 * at, true), g.wait(2 * w, 0, 0);
        add(known[w], left[at]), add(left[at], known[w]);
        break;
      default:
        if (other == w || !known[other][other]) break;
        const uint32_t store = known[other][other] - 1 - random() % known[other][other] % 4;
        const bool is_known = known[w][other] > store;
        ASSERT_EQ(g.load(2 * w, place(other, store)), !is_known) << gpu << " step " << i;
        ++(is_known ? ordered : races);
      }
    }
    EXPECT_GT(races, 500u);
    EXPECT_GT(ordered, 500u);
  }
}

TEST(GlobalRace, ACounterWithoutResultOrdersForWhoPollsIt) {
  Grid g("gfx90a", 40);
  for (uint32_t group = 0; group < 40; ++group) { // more than are kept one by one
    const uint32_t wave = 2 * group;
    EXPECT_FALSE(g.store(wave, kData + 4 * group));
    g.wait(wave, 0);
    EXPECT_FALSE(g.atomic(wave, kFlag, false));
  }
  g.poll(1, kFlag), g.wait(1, 0), g.invalidate(1);
  for (uint32_t group = 0; group < 40; ++group) EXPECT_FALSE(g.load(1, kData + 4 * group)) << group;
}

TEST(GlobalRace, ALoopOfCompareAndSwapMayBeginWithAPlainLoad) {
  Grid g("gfx90a");
  EXPECT_FALSE(g.load(0, kData));
  EXPECT_FALSE(g.load(2, kData));
  EXPECT_FALSE(g.atomic(0, kData, true));
  EXPECT_FALSE(g.atomic(2, kData, true));
  EXPECT_FALSE(g.load(4, kData));
  EXPECT_FALSE(g.load(0, kData + 4)); // but not one of other atomics
  EXPECT_TRUE(g.atomic(2, kData + 4, false));
  EXPECT_TRUE(g.load(4, kData + 4));
}

TEST(GlobalRace, AtomicsOfOthersAreMetBehindOnesOwn) {
  for (const AccessKind kind : {AccessKind::store, AccessKind::load}) {
    Grid g("gfx90a", 8);
    for (const uint32_t wave : {0, 6, 2}) EXPECT_FALSE(g.atomic(wave, kData, false));
    EXPECT_TRUE(g.access(2, kind, kData)); // the last one was its own
  }
  // Nor does it help to know of the last ones.
  Grid g("gfx90a", 8);
  EXPECT_FALSE(g.atomic(0, kData, false));
  for (const uint32_t wave : {2, 4}) {
    EXPECT_FALSE(g.atomic(wave, kData, false));
    g.wait(wave, 0), g.atomic(wave, kFlag, false);
  }
  g.poll(6, kFlag), g.wait(6, 0), g.invalidate(6);
  EXPECT_TRUE(g.store(6, kData));
}

TEST(GlobalRace, WhoPollsWithAtomicsMayComeBehindTheStore) {
  Grid g("gfx90a");
  EXPECT_FALSE(g.store(0, kData));
  g.wait(0, 0), g.store(0, kFlag);
  EXPECT_FALSE(g.atomic(2, kFlag, true));
  EXPECT_FALSE(g.load(2, kData));
  // But a store that comes behind nothing tells nothing: a counter that is cleared too late.
  EXPECT_FALSE(g.store(4, kFlag + 8));
  EXPECT_TRUE(g.atomic(2, kFlag + 8, true));
  // Nor does one behind stores that are still under way.
  EXPECT_FALSE(g.store(6, kData + 8));
  EXPECT_FALSE(g.store(6, kFlag + 16));
  EXPECT_TRUE(g.atomic(2, kFlag + 16, true));
}

TEST(GlobalRace, BytesOfADwordAreFollowedOneByOne) {
  Grid g("gfx90a", 8);
  EXPECT_FALSE(g.storeByte(0, kData));
  EXPECT_FALSE(g.storeByte(2, kData + 1)); // another one, which leaves the first as it was
  EXPECT_FALSE(g.loadByte(4, kData + 2));
  EXPECT_TRUE(g.loadByte(4, kData));
  EXPECT_TRUE(g.storeByte(6, kData));
  EXPECT_FALSE(g.loadByte(6, kData)); // it is its own by now
  EXPECT_FALSE(g.loadByte(0, kData + 4));
  EXPECT_FALSE(g.loadByte(0, kData + 5));
  EXPECT_TRUE(g.storeByte(2, kData + 4));
}

TEST(GlobalRace, FlagsMayBeBytesOfTheSameDword) {
  Grid g("gfx90a", 8);
  EXPECT_FALSE(g.store(0, kData));
  g.wait(0, 0), g.storeByte(0, kFlag);
  g.storeByte(2, kFlag + 1);
  g.poll(4, kFlag), g.wait(4, 0), g.invalidate(4);
  EXPECT_FALSE(g.load(4, kData));
}

TEST(GlobalRace, WorkgroupsOfManyThreadsAreFollowedAtOnce) {
  constexpr uint32_t kGroups = 8;
  Grid g("gfx90a", kGroups);
  std::vector<std::thread> threads;
  std::atomic<uint32_t> turn{0};
  // A chain: each waits for the one before, as look-back does.
  for (uint32_t group = 0; group < kGroups; ++group)
    threads.emplace_back([&, group] {
      const uint32_t wave = 2 * group;
      for (int i = 0; i < 200; ++i) EXPECT_FALSE(g.store(wave, 0x100000 + group * 4096 + i * 4));
      while (turn != group) std::this_thread::yield();
      if (group) g.poll(wave, kFlag + 4 * (group - 1)), g.wait(wave, 0), g.invalidate(wave);
      for (uint32_t before = 0; before < group; ++before)
        EXPECT_FALSE(g.load(wave, kData + 4 * before));
      EXPECT_FALSE(g.store(wave, kData + 4 * group));
      g.wait(wave, 0);
      EXPECT_FALSE(g.store(wave, kFlag + 4 * group));
      ++turn;
    });
  for (auto &t : threads) t.join();
}

TEST(GlobalRace, StoresOfEqualValuesDoNotRaceByteByByte) {
  Grid g("gfx90a", 8);
  EXPECT_FALSE(g.storeValues(0, kData, {1, 2, 3, 4}));
  EXPECT_FALSE(g.storeValues(2, kData + 8, {3, 4, 5, 6})); // partly the same place
  EXPECT_FALSE(g.storeValues(4, kData + 12, {4}));
  EXPECT_TRUE(g.storeValues(6, kData + 8, {3, 5}));
  EXPECT_FALSE(g.storeValues(0, kData + 64, {0x44332211}));
  EXPECT_FALSE(g.storeValues(2, kData + 65, {0x22}, 1)); // a byte of it
  EXPECT_FALSE(g.storeValues(4, kData + 66, {0x554433, 0}, 3));
  EXPECT_TRUE(g.storeValues(6, kData + 67, {0x45}, 1));
  EXPECT_TRUE(g.load(8, kData)) << "whoever reads it races all the same";
}

TEST(GlobalRace, AnUnalignedStoreIsComparedByteByByte) {
  Grid g("gfx90a", 8);
  EXPECT_FALSE(g.storeValues(0, kData + 2, {0x44332211, 0x88776655}));
  EXPECT_FALSE(g.storeValues(2, kData, {0x2211abcd}));
  EXPECT_FALSE(g.storeValues(4, kData + 4, {0x66554433}));
  EXPECT_TRUE(g.storeValues(6, kData + 8, {0x00009977}));
}

/// In whatever order they come, one store of another value is seen.
TEST(GlobalRace, AValueThatWasStoredOverIsNotForgotten) {
  for (const bool comes_last : {false, true}) {
    Grid g("gfx90a", 8);
    bool found = false;
    const auto same = [&] { found |= g.storeValues(2, kData, {6}); };
    if (!comes_last) same();
    found |= g.storeValues(0, kData, {5});
    found |= g.storeValues(0, kData, {6}); // the same wave
    if (comes_last) same();
    EXPECT_TRUE(found);
  }
}

TEST(GlobalRace, OneOfSeveralStoresOfTheSameValueMayBeUnknown) {
  for (const bool comes_last : {false, true}) {
    Grid g("gfx90a", 8);
    bool found = false;
    if (!comes_last) found |= g.storeValues(4, kData, {1});
    found |= g.storeValues(0, kData, {1});
    if (comes_last) found |= g.storeValues(4, kData, {1});
    EXPECT_FALSE(found);
    g.barrier(0);
    EXPECT_TRUE(g.storeValues(1, kData, {2})) << "wave 4 has nothing to do with that";
  }
}

TEST(GlobalRace, WhoComesBehindABarrierMayStoreSomethingElse) {
  Grid g("gfx90a", 2);
  EXPECT_FALSE(g.storeValues(0, kData, {0}));
  g.barrier(0);
  EXPECT_FALSE(g.storeValues(0, kData, {1}));
  EXPECT_FALSE(g.storeValues(1, kData, {1}));
  g.barrier(0);
  EXPECT_FALSE(g.storeValues(1, kData, {2}));
}

TimesPtr shared(std::vector<Time> times) {
  return std::make_shared<const std::vector<Time>>(std::move(times));
}

TEST(Clocks, WhatIsGatheredLaterIsWhatJoiningEachTimeGives) {
  // Workgroups of four waves, across blocks, in no order, some again; more than are kept apart.
  GatheredClocks gathered;
  ClockJoins joins;
  Clocks::Ptr joined;
  const std::array<Time, 2> times_of_far = {7, 8};
  const Clocks::Ptr far = Clocks::raised(nullptr, 1000, times_of_far);
  for (uint32_t i = 0; i < 100; ++i) {
    const uint32_t first = i * 37 % 40 * 14;
    const std::array<Time, 4> times = {i + 1, 100 - i, i % 7, 3};
    const Clocks::Ptr &known = i % 3 == 0 ? far : nullptr;
    gathered.add(i, known, first, shared({times.begin(), times.end()}), joins);
    joined = Clocks::join(joined, Clocks::raised(known, first, times));
    if (i % 41 != 40 && i != 99) continue;
    const Clocks::Ptr all = gathered.all(joins);
    for (uint32_t n = 0; n < 1100; ++n) ASSERT_EQ(Clocks::of(all, n), Clocks::of(joined, n)) << n;
    EXPECT_EQ(gathered.all(joins), all) << "nothing new";
  }
}

TEST(Clocks, AWaveThatComesAgainKnowsWhatItKnewAndWhatItHasLearned) {
  const TimesPtr one = shared({1}), two = shared({2});
  const Clocks::Ptr little = Clocks::raised(nullptr, 500, *one);
  const Clocks::Ptr more = Clocks::raised(little, 600, *two);
  const Clocks::Ptr others = Clocks::raised(nullptr, 700, *one);
  GatheredClocks gathered;
  ClockJoins joins;
  gathered.add(4, little, 4, one, joins), gathered.add(4, more, 4, two, joins);
  gathered.add(5, others, 4, one, joins); // of the same workgroup
  gathered.add(4, more, 4, two, joins);
  for (const auto &[number, time] : {std::pair{4u, 2u}, {500, 1}, {600, 2}, {700, 1}})
    EXPECT_EQ(Clocks::of(gathered.all(joins), number), time) << number;
}

TEST(Clocks, PlacesWhereTheSameWavesMeetShareWhatIsKnownThere) {
  std::array<GatheredClocks, 3> places;
  ClockJoins joins;
  const TimesPtr early = shared({1, 1}), late = shared({2, 1});
  for (uint32_t wave = 0; wave < 40; ++wave) {
    for (GatheredClocks &place : places)
      place.add(wave, nullptr, wave * 2, &place == &places[2] && wave == 30 ? late : early, joins);
    if (wave % 7 == 0 && wave < 30) {
      EXPECT_EQ(places[0].all(joins), places[1].all(joins));
      EXPECT_EQ(places[0].all(joins), places[2].all(joins));
    }
  }
  EXPECT_EQ(places[0].all(joins), places[1].all(joins));
  EXPECT_EQ(Clocks::of(places[1].all(joins), 60), 1u);
  EXPECT_EQ(Clocks::of(places[2].all(joins), 60), 2u);
  EXPECT_EQ(Clocks::of(places[2].all(joins), 78), 1u);
}

TEST(Clocks, JoiningKeepsWhatIsLaterAndSharesWhatIsEqual) {
  const std::vector<Time> low = {1, 2, 3}, high = {9};
  const Clocks::Ptr a = Clocks::raised(nullptr, 254, low); // across blocks
  EXPECT_EQ(Clocks::of(a, 254), 1u);
  EXPECT_EQ(Clocks::of(a, 256), 3u);
  EXPECT_EQ(Clocks::of(a, 257), 0u);
  EXPECT_EQ(Clocks::raised(a, 255, {&low[0], 1}), a); // nothing new
  const Clocks::Ptr b = Clocks::raised(nullptr, 255, high);
  const Clocks::Ptr c = Clocks::join(a, b);
  EXPECT_EQ(Clocks::of(c, 254), 1u);
  EXPECT_EQ(Clocks::of(c, 255), 9u);
  EXPECT_EQ(Clocks::of(c, 256), 3u);
  EXPECT_EQ(Clocks::join(c, a), c);
  EXPECT_EQ(Clocks::join(b, c), c);
  EXPECT_EQ(Clocks::join(nullptr, c), c);
}

} // namespace
} // namespace fade::checks
