// Which memory pointers lead to.
#include "hsa/reachable.h"

#include <cstring>
#include <gtest/gtest.h>

namespace fade {
namespace {

/// Regions of one page each, at these addresses.
std::vector<VisibleRegion> regionsAt(const std::vector<uint64_t> &addresses) {
  std::vector<VisibleRegion> regions;
  for (const uint64_t address : addresses) {
    VisibleRegion visible;
    visible.region.address = address;
    visible.region.size = capture::kPageSize;
    regions.push_back(visible);
  }
  return regions;
}

std::vector<uint8_t> bytesOf(const std::vector<uint64_t> &words) {
  std::vector<uint8_t> bytes(words.size() * 8);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

TEST(Reachable, IsWhatAPointerAnywhereIntoARegionLeadsTo) {
  const auto regions = regionsAt({0x10000, 0x20000, 0x30000, 0x40000});
  Reachable reachable(regions);
  reachable.scan(bytesOf({0x20000, 7, 0x30fff}));
  EXPECT_EQ(reachable.next(), 1u);
  EXPECT_EQ(reachable.next(), 2u);
  EXPECT_FALSE(reachable.next());
  EXPECT_FALSE(reachable.has(0));
  EXPECT_TRUE(reachable.has(2));
}

TEST(Reachable, IsFollowedThroughWhatIsFoundAndEachIsGivenOutOnce) {
  const auto regions = regionsAt({0x10000, 0x20000, 0x30000});
  Reachable reachable(regions);
  reachable.addAddress(0x10008);
  ASSERT_EQ(reachable.next(), 0u);
  reachable.scan(bytesOf({0x30010, 0x10000})); // what is in the first; a circle
  ASSERT_EQ(reachable.next(), 2u);
  reachable.scan(bytesOf({0x10000, 0x30000}));
  EXPECT_FALSE(reachable.next());
  EXPECT_FALSE(reachable.has(1));
}

TEST(Reachable, IsNotWhatLiesBesideRegions) {
  const auto regions = regionsAt({0x10000, 0x20000});
  Reachable reachable(regions);
  reachable.scan(bytesOf({0x11000, 0xffff, 0x21000, 0, ~uint64_t{0}, 0x15000}));
  EXPECT_FALSE(reachable.next());
  reachable.scan(std::vector<uint8_t>(7, 0xff)); // less than a word
  EXPECT_FALSE(reachable.next());
}

TEST(Reachable, IsNothingIfThereIsNoMemory) {
  const std::vector<VisibleRegion> none;
  Reachable reachable(none);
  reachable.scan(bytesOf({0, 1, 0x10000}));
  reachable.addAddress(0);
  EXPECT_FALSE(reachable.next());
}

} // namespace
} // namespace fade
