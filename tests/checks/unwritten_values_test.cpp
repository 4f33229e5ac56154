// Values that nobody wrote, from the load to where something is done with them.
#include "checks/unwritten_values.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace fade::checks {
namespace {

class Bodies {
public:
  static constexpr uint64_t kTwoLanes = 0b11;

  Bodies() {
    values.begin();
    for (uint64_t i = 0; i < 64; ++i) address_[i] = 0x1000 + 16 * i;
  }
  /// v[4:7], of which v7 was written by nobody.
  void loadFour() {
    UnwrittenDwords dwords(16);
    dwords.lanes[3] = kTwoLanes;
    values.load(wave, access(AccessKind::load, 16, 4), dwords, finding());
  }
  /// One byte in v4, next to others that were written.
  void loadPiece() {
    UnwrittenDwords dwords(1);
    dwords.lanes[0] = kTwoLanes;
    values.load(wave, access(AccessKind::load, 1, 4), dwords, finding());
  }
  void run(const char *name, std::initializer_list<ObservedRange> writes,
           std::initializer_list<ObservedRange> reads, uint64_t lanes = ~uint64_t{0}) {
    ObservedInstruction in;
    in.name = name, in.lanes = lanes;
    in.reads = reads.begin(), in.reads_count = static_cast<uint32_t>(reads.size());
    in.writes = writes.begin(), in.writes_count = static_cast<uint32_t>(writes.size());
    if (wave.also_wants) values.registers(wave, in, 0x200, reporter);
  }
  ObservedAccess access(AccessKind kind, uint32_t size, uint16_t data) {
    ObservedAccess a;
    a.pc = 0x100, a.kind = kind, a.size = size, a.data = data;
    a.lanes = kTwoLanes, a.address = address_;
    return a;
  }
  void moveBy(uint64_t bytes) {
    for (uint64_t &a : address_) a += bytes;
  }
  uint64_t reported() const { return reporter.reported(); }

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
  EXPECT_EQ(b.values.stored(store, 2), 0u);
  EXPECT_EQ(b.values.stored(store, 3), Bodies::kTwoLanes);
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

} // namespace
} // namespace fade::checks
