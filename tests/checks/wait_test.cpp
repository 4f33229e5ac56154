// When a load has been waited for, by the rules of each counter.
#include "checks/wait_check.h"

#include <gtest/gtest.h>

namespace fade::checks {
namespace {

class Wave {
public:
  explicit Wave(const char *gpu) {
    dispatch_.gpu = gpu;
    group_.dispatch = &dispatch_;
    wave_.group = &group_;
    check_.begin(gpu);
  }
  /// Whether it is reported.
  bool run(WaitCounter counter, std::vector<ObservedRange> writes,
           std::vector<ObservedRange> reads = {}) {
    ObservedInstruction in;
    in.pc = 0x100;
    in.counter = counter;
    in.writes = writes.data(), in.writes_count = static_cast<uint32_t>(writes.size());
    in.reads = reads.data(), in.reads_count = static_cast<uint32_t>(reads.size());
    const uint64_t before = reporter_.reported();
    check_.registers(wave_, in, reporter_);
    return reporter_.reported() != before;
  }
  /// Accesses of 4 bytes to LDS, `first` and behind it, by all lanes; whether they are reported.
  bool lds(AccessKind kind, uint64_t first) {
    uint64_t addresses[64];
    for (unsigned i = 0; i < 64; ++i) addresses[i] = first + 4 * i;
    ObservedAccess access;
    access.space = AccessSpace::lds;
    access.kind = kind;
    access.lanes = ~uint64_t{0};
    access.address = addresses;
    access.size = 4;
    const uint64_t before = reporter_.reported();
    if (!check_.loadsToLds(access)) check_.usesLds(wave_, access, reporter_);
    return reporter_.reported() != before;
  }
  bool use(ObservedRange range) { return run(WaitCounter::none, {}, {range}); }
  void vmcnt(uint32_t n) { wait(&ObservedWait::vector, n); }
  void lgkmcnt(uint32_t n) { wait(&ObservedWait::scalar, n); }
  void vscnt(uint32_t n) { wait(&ObservedWait::stores, n); }
  void dscnt(uint32_t n) { wait(&ObservedWait::lds, n); }

private:
  void wait(uint32_t ObservedWait::*which, uint32_t n) {
    ObservedWait w;
    w.*which = n;
    check_.wait(w);
  }
  ObservedDispatch dispatch_;
  ObservedGroup group_;
  ObservedWave wave_;
  Reporter reporter_{dispatch_};
  WaitCheck check_;
};

constexpr ObservedRange v(uint16_t first, uint16_t count = 1) { return {true, first, count}; }
constexpr ObservedRange s(uint16_t first, uint16_t count = 1) { return {false, first, count}; }

TEST(Wait, VectorLoadsAreDoneInOrder) {
  Wave w("gfx90a");
  EXPECT_FALSE(w.run(WaitCounter::vector, {v(0, 4)}));
  EXPECT_FALSE(w.run(WaitCounter::vector, {v(4)}));
  EXPECT_TRUE(w.use(v(2)));
  EXPECT_FALSE(w.use(v(5)));
  EXPECT_FALSE(w.use(s(2))); // another file
  w.vmcnt(1);
  EXPECT_FALSE(w.use(v(2)));
  EXPECT_TRUE(w.use(v(3, 2)));
  w.lgkmcnt(0); // another counter
  EXPECT_TRUE(w.use(v(4)));
  w.vmcnt(0);
  EXPECT_FALSE(w.use(v(4)));
}

// gfx12: LDS and scalar loads have counters of their own, so that those of LDS return in order.
TEST(Wait, LdsIsCountedApartFromScalarLoadsOnGfx12) {
  Wave w("gfx1201");
  w.run(WaitCounter::lds, {v(1)}), w.run(WaitCounter::scalar, {s(4)});
  w.run(WaitCounter::lds, {v(2)});
  w.lgkmcnt(0); // s_wait_kmcnt
  EXPECT_FALSE(w.use(s(4)));
  EXPECT_TRUE(w.use(v(1)));
  w.dscnt(1);
  EXPECT_FALSE(w.use(v(1)));
  EXPECT_TRUE(w.use(v(2)));
  w.dscnt(0);
  EXPECT_FALSE(w.use(v(2)));
  w.run(WaitCounter::flat, {v(3)}); // both of memory and of LDS
  w.vmcnt(0);
  EXPECT_TRUE(w.use(v(3)));
  w.dscnt(0);
  EXPECT_FALSE(w.use(v(3)));
}

TEST(Wait, StoresCountWithLoadsOnlyBeforeGfx10) {
  Wave w("gfx1030");
  w.run(WaitCounter::vector, {v(1)});
  w.run(WaitCounter::stores, {});
  w.vscnt(0);
  EXPECT_TRUE(w.use(v(1)));
  w.vmcnt(0);
  EXPECT_FALSE(w.use(v(1)));
}

TEST(Wait, ScalarLoadsReturnInAnyOrderAndLdsInTurn) {
  Wave w("gfx90a");
  w.run(WaitCounter::scalar, {s(4, 2)}), w.run(WaitCounter::scalar, {s(8)});
  w.lgkmcnt(1);
  EXPECT_TRUE(w.use(s(4)));
  w.lgkmcnt(0);
  EXPECT_FALSE(w.use(s(4, 5)));
  w.run(WaitCounter::lds, {v(1)}), w.run(WaitCounter::lds, {v(2)});
  w.lgkmcnt(1);
  EXPECT_FALSE(w.use(v(1)));
  EXPECT_TRUE(w.use(v(2)));
  w.lgkmcnt(0);
  w.run(WaitCounter::lds, {v(1)}), w.run(WaitCounter::scalar, {s(2)});
  w.lgkmcnt(1); // which of the two it was is not known
  EXPECT_TRUE(w.use(v(1)));
}

TEST(Wait, FlatLoadsNeedBothCountersAndAreInOrderFromGfx10On) {
  for (const char *gpu : {"gfx90a", "gfx1030"}) {
    Wave w(gpu);
    w.run(WaitCounter::flat, {v(1)});
    w.vmcnt(0);
    EXPECT_TRUE(w.use(v(1))) << gpu;
    w.lgkmcnt(0);
    EXPECT_FALSE(w.use(v(1))) << gpu;
    w.run(WaitCounter::flat, {v(1)}), w.run(WaitCounter::flat, {v(2)});
    w.vmcnt(1), w.lgkmcnt(1);
    EXPECT_EQ(w.use(v(1)), std::string(gpu) == "gfx90a") << gpu;
    EXPECT_TRUE(w.use(v(2))) << gpu;
  }
}

TEST(Wait, ARegisterMayBeLoadedTwiceButNotOverwritten) {
  Wave w("gfx90a");
  w.run(WaitCounter::vector, {v(1)});
  EXPECT_FALSE(w.run(WaitCounter::vector, {v(1)}, {v(1)})); // the other half of it
  EXPECT_TRUE(w.run(WaitCounter::none, {v(1)}));
  EXPECT_TRUE(w.run(WaitCounter::lds, {v(1)})); // another counter
}

TEST(Wait, LdsThatIsLoadedFromMemory) {
  Wave w("gfx950");
  const auto load = [&](uint64_t to) {
    EXPECT_FALSE(w.run(WaitCounter::vector, {}));
    EXPECT_FALSE(w.lds(AccessKind::store, to)); // its own
  };
  const auto read = [&](uint64_t at) {
    EXPECT_FALSE(w.run(WaitCounter::lds, {v(1)}));
    const bool found = w.lds(AccessKind::load, at);
    w.lgkmcnt(0);
    return found;
  };
  load(0), load(256);
  EXPECT_TRUE(read(0));
  EXPECT_TRUE(read(4));
  EXPECT_TRUE(read(500));
  EXPECT_FALSE(read(512));
  w.vmcnt(1); // the first is done
  EXPECT_FALSE(read(0));
  EXPECT_TRUE(read(4));
  EXPECT_FALSE(w.run(WaitCounter::lds, {}, {v(2)}));
  EXPECT_TRUE(w.lds(AccessKind::store, 256)); // written, too
  w.vmcnt(0);
  EXPECT_FALSE(read(256));
  EXPECT_FALSE(w.run(WaitCounter::lds, {}, {v(2)}));
  EXPECT_FALSE(w.lds(AccessKind::store, 0)); // a store to LDS is no load to it
  EXPECT_FALSE(read(0));
}

TEST(Wait, CountersEndSomewhere) {
  Wave w("gfx90a");
  for (uint16_t i = 0; i < 70; ++i) w.run(WaitCounter::vector, {v(i)});
  EXPECT_FALSE(w.use(v(0)));
  EXPECT_TRUE(w.use(v(10)));
}

} // namespace
} // namespace fade::checks
