#include "handler_host.h"

#include <gtest/gtest.h>

namespace fade::testing {
namespace {

using nlohmann::json;

struct Counts {
  uint64_t reads = 0, writes = 0, atomics = 0;
};
std::map<uint64_t, Counts> pagesOf(const json &heatmap) {
  std::map<uint64_t, Counts> pages;
  for (const json &page : heatmap["pages"])
    pages[page["address"].get<uint64_t>()] = {page["reads"], page["writes"], page["atomics"]};
  return pages;
}

class HeatmapTest : public ::testing::Test {
protected:
  SiteTableBuilder table;
  uint32_t load = table.add({FADE_SITE_LOAD});
  uint32_t store = table.add({FADE_SITE_STORE});
  uint32_t atomic = table.add({FADE_SITE_ATOMIC});
  uint32_t flat = table.add({FADE_SITE_LOAD, FADE_SPACE_FLAT});
  uint32_t lds = table.add({FADE_SITE_LOAD, FADE_SPACE_LDS});
  uint32_t fill = table.add({FADE_SITE_FILL, FADE_SPACE_GLOBAL, 0});
  Stream stream;

  std::map<uint64_t, Counts> run(const std::string &options = "", HostOptions host_options = {}) {
    HandlerHost host({{"Heatmap", options}}, host_options);
    EXPECT_TRUE(host.complaints().empty());
    host.dispatch("kernel(int)", table.build("kernel"), stream);
    const auto heatmaps = host.finish("heatmap");
    EXPECT_EQ(heatmaps.size(), 1u);
    if (heatmaps.empty()) return {};
    EXPECT_EQ(heatmaps[0]["kernel"], "kernel(int)");
    EXPECT_EQ(heatmaps[0]["dispatch_id"], 1);
    return pagesOf(heatmaps[0]);
  }
};

TEST_F(HeatmapTest, EveryActiveLaneCountsOnceInThePageOfItsAddress) {
  stream.wave();
  stream.affine(load, 0x10000, 4);             // 64 lanes in one page
  stream.affine(store, 0x11000 - 32 * 4, 4);   // 32 lanes in each of two pages
  stream.affine(atomic, 0x20000, 4096, 0b101); // two lanes, 8 KiB apart
  const auto pages = run();
  ASSERT_EQ(pages.size(), 4u);
  EXPECT_EQ(pages.at(0x10000).reads, 64u);
  EXPECT_EQ(pages.at(0x10000).writes, 32u);
  EXPECT_EQ(pages.at(0x11000).writes, 32u);
  EXPECT_EQ(pages.at(0x20000).atomics, 1u);
  EXPECT_EQ(pages.at(0x22000).atomics, 1u);
}

TEST_F(HeatmapTest, PageSizeIsAnOption) {
  stream.wave();
  stream.affine(load, 0x10000, 4096);
  const auto pages = run("page=1M");
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_EQ(pages.at(0).reads, 64u);
}

TEST_F(HeatmapTest, LdsIsNotMemoryAlsoThroughFlatPointers) {
  stream.wave();
  stream.affine(lds, 0x100, 4);
  std::vector<uint64_t> addresses(64, uint64_t{Stream::kSharedBase} << 32 | 0x40);
  addresses[7] = 0x7f00'0000'1000;
  addresses[9] = uint64_t{Stream::kPrivateBase} << 32 | 0x40;
  stream.access(flat, ~uint64_t{0}, addresses);
  const auto pages = run();
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_EQ(pages.at(0x7f00'0000'1000).reads, 1u);
}

TEST_F(HeatmapTest, AFillCountsInEveryPageItReaches) {
  stream.wave();
  std::vector<uint64_t> addresses(64, 0x10800);
  stream.access(fill, 1, addresses, 8192);
  const auto pages = run();
  ASSERT_EQ(pages.size(), 3u);
  for (const auto &[address, counts] : pages) EXPECT_EQ(counts.writes, 1u);
}

TEST_F(HeatmapTest, SeveralWorkersCountTheSame) {
  for (uint32_t i = 0; i < 20000; ++i) {
    stream.wave(i);
    stream.affine(load, 0x10000 + 256 * i, 4);
  }
  HostOptions options;
  options.workers = 4;
  options.batch = 1024;
  const auto pages = run("", options);
  EXPECT_EQ(pages.size(), 20000u * 256 / 4096);
  for (const auto &[address, counts] : pages) EXPECT_EQ(counts.reads, 1024u) << address;
}

TEST_F(HeatmapTest, AWrongOptionIsNamedWithTheRightOne) {
  HandlerHost host(std::vector<HandlerChoice>{{"Heatmap", "pge=4K"}});
  ASSERT_EQ(host.complaints().size(), 1u);
  EXPECT_EQ(host.complaints()[0],
            "handler Heatmap: there is no option 'pge' (did you mean 'page'?)");
}

} // namespace
} // namespace fade::testing
