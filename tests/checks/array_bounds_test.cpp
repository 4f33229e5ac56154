// Which array a place in the source means, and which accesses cannot be of the array they mean.
#include "check/array_bounds.h"
#include "fade/observer.h"

#include <gtest/gtest.h>

namespace fade::cli {
namespace {

std::string nameAt(const std::string &text, const std::string &mark, AccessKind kind) {
  checks::Place place{};
  place.kind = static_cast<uint32_t>(kind);
  return arrayName(text, static_cast<uint32_t>(text.find(mark) + 1), place);
}

TEST(ArrayName, IsTheOneThatIsLoaded) {
  EXPECT_EQ(nameAt("  x = tile[y][x] + 1;", "tile", AccessKind::load), "tile");
  EXPECT_EQ(nameAt("  return tile[i];", "tile", AccessKind::load), "tile");
  EXPECT_EQ(nameAt("  a[i] += b[j];", "+=", AccessKind::load), "a");
  EXPECT_EQ(nameAt("  x = a[b[i]];", "b[", AccessKind::load), "b");
}

TEST(ArrayName, IsTheOneThatIsStored) {
  EXPECT_EQ(nameAt("  tile[y][x[2]] = in[i];", "=", AccessKind::store), "tile");
  EXPECT_EQ(nameAt("  a[i]++;", "++", AccessKind::store), "a");
  EXPECT_EQ(nameAt("  ++a[i];", "++", AccessKind::store), "a");
  EXPECT_EQ(nameAt("  atomicAdd(&bins[k & 15], 1);", "atomic", AccessKind::atomic), "bins");
}

TEST(ArrayName, IsNotGuessed) {
  EXPECT_EQ(nameAt("  x = s.tile[i];", "tile", AccessKind::load), "");
  EXPECT_EQ(nameAt("  x = s->tile[i];", "tile", AccessKind::load), "");
  EXPECT_EQ(nameAt("  x = ns::tile[i];", "tile", AccessKind::load), "");
  EXPECT_EQ(nameAt("  x = LAST(tile);", "LAST", AccessKind::load), "");
  EXPECT_EQ(nameAt("  a[i] = b[i];", "=", AccessKind::load), "");
  EXPECT_EQ(nameAt("  (c ? a : b)[i] = 1;", "=", AccessKind::store), "");
  EXPECT_EQ(nameAt("  atomicAdd(p, a[i]);", "atomic", AccessKind::atomic), "");
}

ArrayUse use(uint64_t id, uint64_t size, uint64_t begin, uint64_t end) {
  ArrayUse u;
  u.array.id = id, u.array.size = size, u.array.element = 4, u.array.in_lds = true;
  u.begin = begin, u.end = end;
  return u;
}

TEST(OutOfArrays, AnArrayHoldsAllThatIsSaidToBeIts) {
  EXPECT_TRUE(outOfArrays({use(1, 256, 0, 256), use(1, 256, 4, 256)}, 512).empty());
  const auto found = outOfArrays({use(1, 256, 0, 256), use(1, 256, 4, 260)}, 512);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].use, 1u);
  EXPECT_TRUE(found[0].is_high);
  EXPECT_EQ(found[0].distance, 0);
}

TEST(OutOfArrays, TwoArraysDoNotShareBytes) {
  const auto found = outOfArrays({use(1, 256, 0, 256), use(2, 256, 224, 512)}, 512);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].use, 1u);
  EXPECT_FALSE(found[0].is_high);
  EXPECT_EQ(found[0].distance, -32);
  EXPECT_TRUE(outOfArrays({use(1, 256, 16, 256), use(2, 256, 256, 300)}, 512).empty());
}

TEST(OutOfArrays, ThereMustBeRoomForTheOthers) {
  // Alone, the first could begin at byte 4; the second would then end beyond LDS.
  EXPECT_EQ(outOfArrays({use(1, 256, 4, 260), use(2, 256, 300, 400)}, 512).size(), 1u);
  EXPECT_TRUE(outOfArrays({use(1, 256, 4, 260), use(2, 256, 300, 400)}, 516).empty());
}

TEST(OutOfArrays, VariablesOfTheProgramHaveTheirPlaces) {
  ArrayUse u = use(1, 64, 100, 164);
  u.array.in_lds = false, u.array.address = 100;
  EXPECT_TRUE(outOfArrays({u}, 0).empty());
  u.end = 168;
  ASSERT_EQ(outOfArrays({u}, 0).size(), 1u);
  EXPECT_EQ(outOfArrays({u}, 0)[0].distance, 0);
}

} // namespace
} // namespace fade::cli
