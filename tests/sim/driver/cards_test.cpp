#include "kfd/cards.h"

#include <gtest/gtest.h>

namespace fade::sim::kfd {
namespace {

TEST(CardsTest, ListGivesOneCardPerName) {
  std::string error;
  auto cards = cards_from("gfx90a,gfx1030,gfx90a", error);
  ASSERT_EQ(cards.size(), 3u) << error;
  EXPECT_EQ(cards[0].gfx, Gfx::gfx90a);
  EXPECT_EQ(cards[1].gfx, Gfx::gfx1030);
  EXPECT_EQ(cards[2].gfx, Gfx::gfx90a);
}

TEST(CardsTest, UnknownNameIsNamedTogetherWithTheKnownOnes) {
  std::string error;
  EXPECT_TRUE(cards_from("gfx90a,gfx803", error).empty());
  for (const char *word : {"'gfx803'", "gfx90a", "gfx942", "gfx1030", "gfx1100"})
    EXPECT_NE(error.find(word), error.npos) << error;
  EXPECT_EQ(error.find('\n'), error.npos);
}

TEST(CardsTest, EmptyNamesAreRefused) {
  for (const char *list : {"", ",", "gfx90a,", ",gfx90a"}) {
    std::string error;
    EXPECT_TRUE(cards_from(list, error).empty()) << list;
    EXPECT_FALSE(error.empty());
  }
}

TEST(CardsTest, EveryArchitectureHasACard) {
  for (const Arch &a : archs()) EXPECT_EQ(card(a.id).gfx, a.id);
}

} // namespace
} // namespace fade::sim::kfd
