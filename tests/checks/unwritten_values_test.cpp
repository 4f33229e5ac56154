// Values that nobody wrote, from the load to where something is done with them.
#include "checks/unwritten_values.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace fade::checks {
namespace {

/// What an instruction's result comes from: each byte from the one that is `down` above it, if it
/// is in `mask`; of a sum, from those below it, too.
struct Taken : ObservedTrial {
  Taken(uint16_t to, unsigned mask, unsigned down, bool sums)
      : to(to), mask(mask), down(down), sums(sums) {}
  uint32_t depends(const ObservedBytes *inputs, uint32_t count, ObservedBytes *results,
                   uint32_t) const override {
    results[0] = {true, to, {}};
    for (uint32_t i = 0; i < count; ++i)
      for (unsigned b = down; b < 4; ++b)
        for (unsigned at = b - down; at < (sums ? 4 : b - down + 1); ++at)
          if (mask >> at & 1) results[0].lanes[at] |= inputs[i].lanes[b];
    return 1;
  }
  uint16_t to;
  unsigned mask, down;
  bool sums;
};

class Bodies {
public:
  static constexpr uint64_t kTwoLanes = 0b11;

  Bodies() {
    values.begin();
    for (uint64_t i = 0; i < 64; ++i) address_[i] = 0x1000 + 16 * i;
  }
  /// v[4:7], of which v7 was written by nobody.
  void loadFour() {
    UnwrittenBytes bytes(16);
    for (unsigned k = 12; k < 16; ++k) bytes.lanes[k] = kTwoLanes;
    values.load(wave, access(AccessKind::load, 16, 4), bytes, finding());
  }
  /// One byte in v4, next to others that were written.
  void loadPiece() {
    UnwrittenBytes bytes(1);
    bytes.lanes[0] = kTwoLanes;
    values.load(wave, access(AccessKind::load, 1, 4), bytes, finding());
  }
  /// Four bytes in v4, of which byte 3 was written by nobody.
  void loadPixel() {
    UnwrittenBytes bytes(4);
    bytes.lanes[3] = kTwoLanes;
    Finding f = finding();
    f.limit = 1;
    values.load(wave, access(AccessKind::load, 4, 4), bytes, f);
  }
  /// v4, of which nothing was written.
  void loadWhole() {
    EXPECT_TRUE(values.loadWhole(wave, access(AccessKind::load, 4, 4), kTwoLanes, finding()));
  }
  void run(const char *name, std::initializer_list<ObservedRange> writes,
           std::initializer_list<ObservedRange> reads, uint64_t lanes = ~uint64_t{0}) {
    runAs(Taken(writes.begin()->first, 0xf, 0, true), name, writes, reads, lanes);
  }
  /// With a trial that says where its result comes from.
  void runAs(const Taken &taken, const char *name, std::initializer_list<ObservedRange> writes,
             std::initializer_list<ObservedRange> reads, uint64_t lanes = ~uint64_t{0}) {
    ObservedInstruction in;
    in.trial = &taken;
    in.name = name, in.lanes = lanes;
    in.reads = reads.begin(), in.reads_count = static_cast<uint32_t>(reads.size());
    in.writes = writes.begin(), in.writes_count = static_cast<uint32_t>(writes.size());
    if (wave.also_wants) values.registers(wave, in, 0x200, reporter);
  }
  ObservedAccess access(AccessKind kind, uint32_t size, uint16_t data) {
    ObservedAccess a;
    a.pc = 0x100, a.kind = kind, a.size = size, a.data = data;
    a.data_bytes = static_cast<uint8_t>(size);
    a.lanes = kTwoLanes, a.address = address_;
    return a;
  }
  void moveBy(uint64_t bytes) {
    for (uint64_t &a : address_) a += bytes;
  }
  /// As if the wave ended.
  uint64_t reported() {
    values.end(wave, reporter);
    return reporter.reported();
  }

  ObservedDispatch dispatch;
  ObservedGroup group{&dispatch, {}, {64, 1, 1}, 1, nullptr, nullptr};
  ObservedWave wave{&group, 0, 64, ~uint64_t{0}};
  Reporter reporter{dispatch};
  UnwrittenValues values;

private:
  Finding finding() {
    Finding f = reporter.begin(Check::init, Problem::uninitialized);
    f.place.pc = 0x100;
    return f;
  }
  uint64_t address_[64];
};

constexpr ObservedRange vgpr(uint16_t first, uint16_t count = 1) { return {true, first, count}; }

TEST(UnwrittenValues, ComputingWithOneIsReportedOnce) {
  Bodies b;
  b.loadFour();
  b.run("v_mul_f32", {vgpr(0)}, {vgpr(4), vgpr(5)});
  EXPECT_EQ(b.reported(), 0u) << "those were written";
  b.run("v_fmac_f32", {vgpr(0)}, {vgpr(6), vgpr(7)});
  EXPECT_EQ(b.reported(), 1u);
  b.run("v_fmac_f32", {vgpr(0)}, {vgpr(6), vgpr(7)});
  EXPECT_EQ(b.reported(), 1u);
  EXPECT_EQ(b.wave.also_wants, 0u) << "nothing is left to follow";
}

TEST(UnwrittenValues, OtherLanesAndOverwrittenRegistersAreFine) {
  Bodies b;
  b.loadFour();
  b.run("v_add_f32", {vgpr(0)}, {vgpr(7), vgpr(7)}, 0b100);
  b.run("v_add_f32", {vgpr(7)}, {vgpr(4), vgpr(5)});
  b.run("v_add_f32", {vgpr(0)}, {vgpr(7), vgpr(7)});
  EXPECT_EQ(b.reported(), 0u);
}

TEST(UnwrittenValues, AMoveTakesItAlong) {
  Bodies b;
  b.loadFour();
  b.run("v_mov_b32", {vgpr(9)}, {vgpr(7)});
  b.run("v_mov_b32", {vgpr(7)}, {vgpr(4)});
  EXPECT_EQ(b.reported(), 0u);
  b.run("v_cmp_lt_i32", {{false, 106, 2}}, {vgpr(9), vgpr(4)});
  EXPECT_EQ(b.reported(), 1u);
}

TEST(UnwrittenValues, PrivateMemoryKeepsIt) {
  Bodies b;
  b.loadFour();
  b.values.scratch(b.wave, b.access(AccessKind::store, 16, 4));
  b.run("v_mov_b32", {vgpr(7)}, {vgpr(4)});
  EXPECT_EQ(b.wave.also_wants, 0u);
  b.values.scratch(b.wave, b.access(AccessKind::load, 16, 20));
  b.run("v_add_u32", {vgpr(0)}, {vgpr(20), vgpr(22)});
  EXPECT_EQ(b.reported(), 0u);
  b.run("v_add_u32", {vgpr(0)}, {vgpr(20), vgpr(23)});
  EXPECT_EQ(b.reported(), 1u);
}

TEST(UnwrittenValues, CopyingAStructureIsFineAndLeavesTheCopyUnwritten) {
  Bodies b;
  b.loadFour();
  const ObservedAccess store = b.access(AccessKind::store, 16, 4);
  b.values.store(b.wave, store, b.reporter);
  EXPECT_EQ(b.values.stored(store, 11), 0u);
  EXPECT_EQ(b.values.stored(store, 12), Bodies::kTwoLanes);
  EXPECT_EQ(b.values.stored(store, 15), Bodies::kTwoLanes);
  EXPECT_EQ(b.reported(), 0u);
}

TEST(UnwrittenValues, APieceMustBeStoredAtTheSamePlaceOfAStructure) {
  Bodies b;
  b.loadPiece();
  b.moveBy(48);
  b.values.store(b.wave, b.access(AccessKind::store, 1, 4), b.reporter);
  EXPECT_EQ(b.reported(), 0u);
  b.moveBy(1);
  b.values.store(b.wave, b.access(AccessKind::store, 1, 4), b.reporter);
  EXPECT_EQ(b.reported(), 1u);
}

TEST(UnwrittenValues, BytesMayBePutTogetherButNotCountedWith) {
  Bodies b;
  b.loadPiece();
  b.run("v_lshl_or_b32", {vgpr(0)}, {vgpr(4), vgpr(5)});
  EXPECT_EQ(b.reported(), 0u);
  b.run("v_add_u32", {vgpr(0)}, {vgpr(4), vgpr(5)});
  EXPECT_EQ(b.reported(), 1u);
}

TEST(UnwrittenValues, WhatIsMaskedOutIsNotFollowed) {
  Bodies b;
  b.loadPixel();
  b.runAs({0, 0b0111, 0, false}, "v_and_b32", {vgpr(0)}, {vgpr(4), vgpr(5)});
  b.run("v_add_u32", {vgpr(1)}, {vgpr(0), vgpr(5)});
  EXPECT_EQ(b.reported(), 0u);
  b.runAs({0, 0b0001, 3, false}, "v_lshrrev_b32", {vgpr(0)}, {vgpr(5), vgpr(4)});
  EXPECT_EQ(b.reported(), 0u);
  b.run("v_add_u32", {vgpr(1)}, {vgpr(0), vgpr(5)});
  EXPECT_EQ(b.reported(), 1u);
}

TEST(UnwrittenValues, LowerBytesOfASumAreCleanUpperOnesAreNot) {
  Bodies b;
  b.loadPixel();
  b.run("v_add_u32", {vgpr(0)}, {vgpr(4), vgpr(5)});
  b.values.store(b.wave, b.access(AccessKind::store, 2, 0), b.reporter);
  EXPECT_EQ(b.reported(), 0u);
  b.values.store(b.wave, b.access(AccessKind::store, 4, 0), b.reporter);
  EXPECT_EQ(b.reported(), 1u) << "it is a result, not a copy";
}

TEST(UnwrittenValues, AResultThatIsNotSelectedIsNoUse) {
  const auto selected = [](unsigned bytes, bool is_whole) {
    Bodies b;
    if (is_whole)
      b.loadWhole();
    else
      b.loadFour();
    const uint16_t at = is_whole ? 4 : 7;
    b.run("v_add_f32", {vgpr(9)}, {vgpr(8), vgpr(at)});
    b.run("v_mul_f32", {vgpr(9)}, {vgpr(9), vgpr(8)});
    b.runAs({8, bytes, 0, false}, "v_cndmask_b32", {vgpr(8)}, {vgpr(8), vgpr(9)});
    b.run("v_mov_b32", {vgpr(at)}, {vgpr(5)});
    return b.reported();
  };
  EXPECT_EQ(selected(0, true), 0u);
  EXPECT_EQ(selected(0, false), 0u);
  EXPECT_EQ(selected(0xf, true), 1u);
  EXPECT_EQ(selected(0xf, false), 1u);
}

TEST(UnwrittenValues, AResultIsReportedWhereItWasComputed) {
  Bodies b;
  b.loadWhole();
  b.run("v_add_f32", {vgpr(0)}, {vgpr(4), vgpr(5)});
  b.values.store(b.wave, b.access(AccessKind::store, 4, 0), b.reporter);
  EXPECT_EQ(b.reporter.reported(), 1u) << "stored";
  b.loadWhole();
  b.run("v_add_f32", {vgpr(0)}, {vgpr(4), vgpr(5)});
  b.run("v_cmp_gt_f32", {{false, 106, 2}}, {vgpr(0), vgpr(5)});
  EXPECT_EQ(b.reporter.reported(), 2u) << "compared";
  b.loadWhole();
  b.run("v_add_f32", {vgpr(0)}, {vgpr(4), vgpr(5)});
  b.run("v_mov_b32", {vgpr(0)}, {vgpr(5)});
  EXPECT_EQ(b.reporter.reported(), 3u) << "overwritten";
}

TEST(UnwrittenValues, AComparisonThatDependsOnOneByteIsReported) {
  Bodies b;
  b.loadPixel();
  b.runAs({106, 0, 0, false}, "v_cmp_gt_i32", {vgpr(106)}, {vgpr(4), vgpr(5)});
  EXPECT_EQ(b.reported(), 0u) << "its result is the same for all values";
  b.runAs({106, 1, 3, false}, "v_cmp_gt_i32", {vgpr(106)}, {vgpr(4), vgpr(5)});
  EXPECT_EQ(b.reported(), 1u);
}

TEST(UnwrittenValues, BytesKeepTheirPlaceThroughPrivateMemory) {
  Bodies b;
  b.loadPixel();
  b.values.scratch(b.wave, b.access(AccessKind::store, 4, 4));
  b.run("v_mov_b32", {vgpr(4)}, {vgpr(5)});
  b.values.scratch(b.wave, b.access(AccessKind::load, 2, 20));
  b.run("v_add_u32", {vgpr(0)}, {vgpr(20), vgpr(5)});
  EXPECT_EQ(b.reported(), 0u);
  b.moveBy(2);
  b.values.scratch(b.wave, b.access(AccessKind::load, 2, 20));
  b.run("v_cvt_f32_u32", {vgpr(0)}, {vgpr(20)});
  EXPECT_EQ(b.reported(), 1u);
}

TEST(UnwrittenValues, AnUpperHalfIsStoredFromItsOwnBytes) {
  Bodies b;
  b.loadPixel();
  ObservedAccess upper = b.access(AccessKind::store, 2, 4);
  EXPECT_EQ(b.values.stored(upper, 1), 0u);
  upper.data_byte = 2;
  EXPECT_EQ(b.values.stored(upper, 0), 0u);
  EXPECT_EQ(b.values.stored(upper, 1), Bodies::kTwoLanes);
}

TEST(UnwrittenValues, AFieldIsSetWhereItLies) {
  Bodies b;
  b.loadWhole();
  b.runAs({0, 0xf, 0, false}, "v_and_b32", {vgpr(0)}, {vgpr(4), vgpr(5)});
  b.runAs({0, 0xf, 0, false}, "v_or_b32", {vgpr(0)}, {vgpr(0), vgpr(5)});
  const ObservedAccess store = b.access(AccessKind::store, 4, 0);
  b.values.store(b.wave, store, b.reporter);
  EXPECT_EQ(b.values.stored(store, 0), 0u) << "it is written now";
  EXPECT_EQ(b.reported(), 0u);
}

TEST(UnwrittenValues, WhatIsDoneElseWithALoadOfNothingIsReported) {
  const auto reported = [](auto &&use) {
    Bodies b;
    b.loadWhole();
    use(b);
    return b.reported();
  };
  const auto store = [](Bodies &b, uint16_t data, uint64_t by) {
    b.moveBy(by);
    b.values.store(b.wave, b.access(AccessKind::store, 4, data), b.reporter);
  };
  const auto mask = [](Bodies &b) {
    b.runAs({0, 0xf, 0, false}, "v_and_b32", {vgpr(0)}, {vgpr(4), vgpr(5)});
  };
  const auto select = [](Bodies &b, unsigned bytes) {
    b.runAs({0, bytes, 0, false}, "v_cndmask_b32", {vgpr(0)}, {vgpr(4), vgpr(5)});
    b.run("v_add_u32", {vgpr(1)}, {vgpr(0), vgpr(5)});
  };
  EXPECT_EQ(reported([&](Bodies &b) { select(b, 0); }), 0u) << "the other one was selected";
  EXPECT_EQ(reported([&](Bodies &b) { select(b, 0xf); }), 1u);
  EXPECT_EQ(reported([&](Bodies &b) { store(b, 4, 64); }), 1u) << "copied";
  EXPECT_EQ(reported([&](Bodies &b) { store(b, 4, 0); }), 0u) << "as it was";
  EXPECT_EQ(reported([&](Bodies &b) { mask(b), store(b, 0, 64); }), 1u) << "read, and stored";
  EXPECT_EQ(reported([&](Bodies &b) {
              mask(b);
              b.run("v_add_u32", {vgpr(1)}, {vgpr(0), vgpr(5)});
              b.run("v_add_u32", {vgpr(1)}, {vgpr(4), vgpr(5)});
            }),
            1u)
      << "computed with, twice";
  EXPECT_EQ(reported([&](Bodies &b) {
              b.run("v_or_b32", {vgpr(0)}, {vgpr(4), vgpr(5)});
            }),
            1u)
      << "a mark in what was never cleared";
  EXPECT_EQ(reported([&](Bodies &b) { b.run("v_lshrrev_b32", {vgpr(0)}, {vgpr(4)}); }), 1u);
}

} // namespace
} // namespace fade::checks
