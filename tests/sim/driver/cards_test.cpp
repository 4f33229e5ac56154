#include "kfd/cards.h"
#include "kfd/runtime_check.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>
#include <utility>

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
  for (const Arch &a : archs()) {
    const auto has_its_name = [&](const Card &c) { return c.gfx == a.id; };
    EXPECT_TRUE(std::ranges::any_of(all_cards(), has_its_name)) << "cards.cpp lacks " << a.name;
  }
}

// libdrm's amdgpu.ids of 2026, under the names that fade/gpu.h gives them.
TEST(CardsTest, PciIdsAreThoseOfTheProducts) {
  const std::pair<Gfx, std::pair<uint32_t, uint32_t>> ids[] = {
      {Gfx::gfx908, {0x738c, 0x01}},  // Instinct MI100
      {Gfx::gfx90a, {0x740f, 0x02}},  // Instinct MI210
      {Gfx::gfx942, {0x74a1, 0x00}},  // Instinct MI300X
      {Gfx::gfx950, {0x75a3, 0x00}},  // Instinct MI355X
      {Gfx::gfx1030, {0x73bf, 0xc1}}, // Radeon RX 6800 XT
      {Gfx::gfx1100, {0x744c, 0xc8}}, // Radeon RX 7900 XTX
      {Gfx::gfx1150, {0x150e, 0xc1}}, // Radeon 890M
      {Gfx::gfx1151, {0x1586, 0xc1}}, // Radeon 8060S
      {Gfx::gfx1152, {0x1114, 0xc2}}, // Radeon 860M
      {Gfx::gfx1153, {0x1902, 0xc0}}, // Radeon 840M
      {Gfx::gfx1200, {0x7590, 0xc0}}, // Radeon RX 9060 XT
      {Gfx::gfx1201, {0x7550, 0xc0}}, // Radeon RX 9070 XT
  };
  for (const Card &c : all_cards()) {
    SCOPED_TRACE(arch(c.gfx).name);
    const auto *at =
        std::ranges::find(ids, c.gfx, &std::pair<Gfx, std::pair<uint32_t, uint32_t>>::first);
    ASSERT_NE(at, std::end(ids)) << "add its ids here";
    EXPECT_EQ(c.device_id, at->second.first);
    EXPECT_EQ(c.revision, at->second.second);
  }
}

// A library that has these names in it.
struct LibraryOf {
  std::string path = testing::TempDir() + "cards_test." + std::to_string(getpid()) + ".so";
  explicit LibraryOf(const char *names) { std::ofstream(path) << names; }
  ~LibraryOf() { std::remove(path.c_str()); }
};

TEST(CardsTest, WhatHipDoesNotKnowIsNamed) {
  std::string error;
  const auto cards = cards_from("gfx950,gfx1201,gfx950", error);
  // HIP 6.4 has gfx950 in a list of generic targets, not in its table of devices.
  const LibraryOf old("gfx90a:sramecc+ gfx950 gfx1201");
  EXPECT_EQ(unknown_to_hip(old.path, cards),
            "FADE_GPU: gfx950 is not known to the HIP of this process (" + old.path +
                "): it finds no such device");
}

TEST(CardsTest, WhatHipKnowsIsNotNamed) {
  std::string error;
  const auto cards = cards_from("gfx950,gfx1201", error);
  EXPECT_EQ(unknown_to_hip(LibraryOf("gfx90a:sramecc+ gfx950:sramecc+ gfx1201").path, cards), "");
  EXPECT_EQ(unknown_to_hip(LibraryOf("no names").path, cards), "");
}

} // namespace
} // namespace fade::sim::kfd
