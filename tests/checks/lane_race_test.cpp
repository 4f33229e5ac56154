// Lanes of one wave that store to the same place at once.
#include "checks/lane_race.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace fade::checks {
namespace {

class Lanes {
public:
  Lanes() {
    dispatch_.workgroup[0] = dispatch_.grid[0] = 64;
    group_.dispatch = &dispatch_;
    group_.size[0] = 64, group_.size[1] = group_.size[2] = 1;
    wave_.group = &group_;
  }
  void load(const std::vector<uint64_t> &at, uint32_t size = 4) {
    races_.load(access(AccessKind::load, at, {}, size));
  }
  /// Whether it is reported. `old`: what is in memory.
  bool store(const std::vector<uint64_t> &at, const std::vector<uint32_t> &values,
             uint32_t size = 4, uint32_t old = 0) {
    const uint64_t before = reporter_.reported();
    races_.store(
        wave_, access(AccessKind::store, at, values, size), overlap_, updates_,
        [&](uint64_t, void *to, uint32_t n) {
          std::memcpy(to, &old, std::min<std::size_t>(n, sizeof old));
          return true;
        },
        reporter_);
    return reporter_.reported() != before;
  }

private:
  ObservedAccess access(AccessKind kind, const std::vector<uint64_t> &at,
                        const std::vector<uint32_t> &values, uint32_t size) {
    addresses_.assign(64, 0), stored_.assign(64, 0);
    std::copy(at.begin(), at.end(), addresses_.begin());
    std::copy(values.begin(), values.end(), stored_.begin());
    ObservedAccess a;
    a.kind = kind, a.size = size, a.pc = 0x100 + static_cast<unsigned>(kind);
    a.lanes = (uint64_t{1} << at.size()) - 1;
    a.address = addresses_.data(), a.stored = stored_.data();
    return a;
  }
  std::vector<uint64_t> addresses_;
  std::vector<uint32_t> stored_;
  ObservedDispatch dispatch_;
  ObservedGroup group_;
  ObservedWave wave_;
  LaneOverlap overlap_;
  LaneRaces races_;
  UpdatedValues updates_;
  Reporter reporter_{dispatch_};
};

TEST(LaneRace, DifferentValuesAtOnePlaceAreAnError) {
  Lanes l;
  EXPECT_FALSE(l.store({0, 4, 8}, {1, 2, 3}));
  EXPECT_FALSE(l.store({8, 4, 0}, {1, 2, 3}));
  EXPECT_FALSE(l.store({8, 4, 8}, {7, 2, 7})) << "the same value";
  EXPECT_TRUE(l.store({8, 4, 8}, {7, 2, 6}));
}

TEST(LaneRace, BytesOfADwordAreDifferentPlaces) {
  Lanes l;
  EXPECT_FALSE(l.store({1, 0, 3}, {1, 2, 3}, 1));
  EXPECT_TRUE(l.store({1, 0, 1}, {1, 2, 3}, 1));
  EXPECT_TRUE(l.store({2, 0}, {0x22220005, 0x00040000}, 4)) << "two bytes in common";
  EXPECT_FALSE(l.store({2, 0}, {0x22220004, 0x00040000}, 4));
}

TEST(LaneRace, AnUpdateIsLostWhereLanesHaveReadWhatTheyStoreTo) {
  Lanes l;
  EXPECT_FALSE(l.store({8, 8}, {1, 1})) << "nobody has read it";
  l.load({8, 8});
  EXPECT_FALSE(l.store({8, 8}, {5, 5}, 4, 5)) << "nothing changes";
  EXPECT_TRUE(l.store({8, 8}, {1, 1}));
  l.load({8, 12});
  l.load({0, 0}), l.load({0, 0}), l.load({0, 0}), l.load({0, 0});
  EXPECT_FALSE(l.store({8, 8}, {1, 1})) << "too long ago";
}

} // namespace
} // namespace fade::checks
