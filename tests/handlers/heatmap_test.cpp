#include "extent.h"
#include "handler_host.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <unistd.h>

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

TEST_F(HeatmapTest, LanesInManyPagesAreCountedAsIfOneByOne) {
  struct Case {
    uint64_t base;
    int64_t stride;
    uint64_t mask;
  };
  const uint64_t all = ~uint64_t{0};
  const std::vector<Case> cases = {{0x10000, 128, all},
                                   {0x10ffc, 4, all},
                                   {0x40123, -300, all},
                                   {0x50000, 4096, 0xffff'0000},
                                   {0x60fff, 5000, all >> 7},
                                   {0x70000, -4096, 0xf0f0},
                                   {0x90000, 777, 0x8000'0000'0000'0001}};
  std::map<uint64_t, uint64_t> expected;
  stream.wave();
  for (const Case &one : cases) {
    stream.affine(load, one.base, one.stride, one.mask);
    for (uint64_t lane = 0; lane < 64; ++lane)
      if (one.mask >> lane & 1)
        ++expected[(one.base + static_cast<uint64_t>(one.stride) * lane) & ~uint64_t{4095}];
  }
  std::map<uint64_t, uint64_t> reads;
  for (const auto &[address, counts] : run()) reads[address] = counts.reads;
  EXPECT_EQ(reads, expected);
}

TEST_F(HeatmapTest, LinearFlatAccessesToLdsAreNotMemory) {
  stream.wave();
  stream.affine(flat, (uint64_t{Stream::kSharedBase} << 32) + 64, 4);
  stream.affine(flat, (uint64_t{Stream::kPrivateBase} << 32) + 64, 4);
  stream.affine(flat, 0x7f00'0000'1000, 4);
  const auto pages = run();
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_EQ(pages.at(0x7f00'0000'1000).reads, 64u);
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

std::shared_ptr<const Allocations> allocationsAt(std::vector<fade_allocation> list) {
  return std::make_shared<Allocations>(std::move(list));
}

TEST_F(HeatmapTest, AllocationsAreNamedBySizeAgentAndOrderAndCountedExactly) {
  stream.wave();
  stream.affine(load, 0x10000, 4);           // 64 in the first
  stream.affine(store, 0x12000 - 16 * 4, 4); // 16 in the first, 48 in the second
  stream.affine(atomic, 0x900000, 0);        // 64 in none
  HandlerHost host(std::vector<HandlerChoice>{{"Heatmap", ""}});
  host.dispatch("k", table.build("k"), stream, {},
                allocationsAt({{0x10000, 0x2000, 7, 1, 0, 0},
                               {0x12000, 0x180000, 3, 0, FADE_ALLOCATION_ON_HOST, 0}}));
  const auto heatmaps = host.finish("heatmap");
  ASSERT_EQ(heatmaps.size(), 1u);
  const json &list = heatmaps[0]["allocations"];
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["name"], "#7, 8 KiB of agent 1");
  EXPECT_EQ(list[0]["reads"], 64);
  EXPECT_EQ(list[0]["writes"], 16);
  EXPECT_EQ(list[0]["pages_touched"], 2);
  EXPECT_EQ(list[1]["name"], "#3, 1.5 MiB of agent 0 (host)");
  EXPECT_EQ(list[1]["host"], true);
  EXPECT_EQ(list[1]["writes"], 48);
  EXPECT_EQ(list[2]["number"], 0);
  EXPECT_EQ(list[2]["atomics"], 64);
}

TEST_F(HeatmapTest, VariablesAreNamedByTheirSymbol) {
  stream.wave();
  stream.affine(load, 0x10000, 4);
  auto all = std::make_shared<Allocations>(
      std::vector<fade_allocation>{{0x10000, 0x100, 5, 1, 0, 0}, {0x10100, 0x100, 6, 1, 0, 0}});
  all->list[0].name = all->addName("physics::table");
  HandlerHost host(std::vector<HandlerChoice>{{"Heatmap", ""}});
  host.dispatch("k", table.build("k"), stream, {}, all);
  const auto heatmaps = host.finish("heatmap");
  ASSERT_EQ(heatmaps.size(), 1u);
  const json &list = heatmaps[0]["allocations"];
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["name"], "physics::table, 256 B of agent 1");
  EXPECT_EQ(list[0]["variable"], "physics::table");
  EXPECT_EQ(list[0]["reads"], 64);
}

/// Records of every encoding to few and to many pages, checked against a count lane by lane.
TEST_F(HeatmapTest, WhateverTheEncodingTheCountsAreThoseOfTheLanesOneByOne) {
  std::mt19937_64 random(3);
  const std::vector<fade_allocation> allocations = {{0x10000, 0x2800, 1, 1, 0, 0},
                                                    {0x12800, 0x400, 2, 1, 0, 0},
                                                    {0x1000000, 0x4000000, 3, 1, 0, 0}};
  std::map<uint64_t, std::array<uint64_t, 3>> by_page;
  std::map<uint32_t, std::array<uint64_t, 3>> by_allocation;
  const auto note = [&](uint64_t address, std::size_t kind) {
    ++by_page[address & ~uint64_t{4095}][kind];
    uint32_t number = 0;
    for (const auto &a : allocations)
      if (address - a.address < a.size) number = a.number;
    ++by_allocation[number][kind];
  };
  const std::array sites = {load, store, atomic, flat};
  for (int i = 0; i < extent::steps(4000, 500); ++i) {
    if (i % 8 == 0) stream.wave(static_cast<uint32_t>(i));
    const std::size_t which = random() % sites.size();
    const uint64_t mask = i % 3 == 0 ? ~uint64_t{0} : (random() | random()) | 1;
    const uint64_t base = i % 2 == 0 ? 0x10000 : 0x1000000 + random() % 0x3000000;
    const auto form = random() % 5;
    const auto step = static_cast<int64_t>(random() % 9000) - 4500;
    std::vector<uint64_t> addresses;
    for (uint64_t lane = 0; lane < 64; ++lane) {
      uint64_t address = base + 0x80000;
      if (form == 0) address = base + random() % 0x3000;            // near each other
      if (form == 1) address = base + random() % 0x2000000;         // far apart
      if (form == 2) address = random() % 0x7f0000000000;           // anywhere
      if (form == 3) address += static_cast<uint64_t>(step) * lane; // a line
      if (form == 4) address += lane % 16 * 4 + lane / 16 * 3000;   // rows
      addresses.push_back(address);
    }
    stream.access(sites[which], mask, addresses);
    for (uint64_t lane = 0; lane < 64; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      const uint64_t address = addresses[lane];
      const uint64_t upper = address >> 32;
      const bool is_elsewhere = upper == Stream::kSharedBase || upper == Stream::kPrivateBase;
      if (sites[which] != flat || !is_elsewhere) note(address, which % 3);
    }
  }
  HandlerHost host(std::vector<HandlerChoice>{{"Heatmap", ""}});
  host.dispatch("k", table.build("k"), stream, {}, allocationsAt(allocations));
  const auto heatmaps = host.finish("heatmap");
  ASSERT_EQ(heatmaps.size(), 1u);
  const auto pages = pagesOf(heatmaps[0]);
  ASSERT_EQ(pages.size(), by_page.size());
  for (const auto &[address, counts] : pages) {
    const std::array found = {counts.reads, counts.writes, counts.atomics};
    ASSERT_EQ(found, by_page[address]) << address;
  }
  ASSERT_EQ(heatmaps[0]["allocations"].size(), by_allocation.size());
  for (const json &one : heatmaps[0]["allocations"]) {
    const std::array<uint64_t, 3> found = {one["reads"], one["writes"], one["atomics"]};
    EXPECT_EQ(found, by_allocation[one["number"]]) << one["number"];
  }
}

TEST_F(HeatmapTest, AllocationsInOnePageAreToldApart) {
  stream.wave();
  stream.affine(load, 0x10000 + 0x800 - 32 * 4, 4); // 32 lanes on each side
  HandlerHost host(std::vector<HandlerChoice>{{"Heatmap", "page=1M"}});
  host.dispatch("k", table.build("k"), stream, {},
                allocationsAt({{0x10000, 0x800, 1, 1, 0, 0}, {0x10800, 0x800, 2, 1, 0, 0}}));
  const auto heatmaps = host.finish("heatmap");
  ASSERT_EQ(heatmaps.size(), 1u);
  ASSERT_EQ(heatmaps[0]["allocations"].size(), 2u);
  EXPECT_EQ(heatmaps[0]["allocations"][0]["reads"], 32);
  EXPECT_EQ(heatmaps[0]["allocations"][1]["reads"], 32);
  ASSERT_EQ(heatmaps[0]["pages"].size(), 1u);
  EXPECT_EQ(heatmaps[0]["pages"][0]["reads"], 64);
}

TEST_F(HeatmapTest, TotalsArePerKernelAndForTheRun) {
  stream.wave();
  stream.affine(load, 0x10000, 4);
  HandlerHost host(std::vector<HandlerChoice>{{"Heatmap", ""}});
  const auto known = allocationsAt({{0x10000, 0x1000, 1, 1, 0, 0}});
  host.dispatch("a", table.build("k"), stream, {}, known);
  host.dispatch("b", table.build("k"), stream, {}, known);
  host.dispatch("a", table.build("k"), stream, {}, known);
  std::map<std::string, uint64_t> reads;
  for (const json &total : host.finish("heatmap_total"))
    reads[total["kernel"].is_null() ? "all" : total["kernel"].get<std::string>()] =
        total["allocations"][0]["reads"];
  EXPECT_EQ(reads, (std::map<std::string, uint64_t>{{"a", 128}, {"b", 64}, {"all", 192}}));
}

TEST_F(HeatmapTest, AddressesComeWithTheirTime) {
  stream.wave();
  for (uint64_t i = 0; i < 1000; ++i) stream.affine(load, 0x10000 + 256 * (i / 100), 4);
  // Rows of 64 bytes would be too many: 4 KiB has 64 of them, 8 KiB half as many rows of 128.
  for (const unsigned workers : {1u, 4u}) {
    HostOptions options;
    options.workers = workers;
    options.batch = 512;
    HandlerHost host({{"Heatmap", "page=64,steps=16"}}, options);
    host.dispatch("k", table.build("k"), stream, {},
                  allocationsAt({{0x10000, 0x2000, 1, 1, 0, 0}}));
    const auto heatmaps = host.finish("heatmap");
    ASSERT_EQ(heatmaps.size(), 1u);
    const json &times = heatmaps[0]["times"];
    // 16 steps of 2048 bytes for 72 + 1000 * 32.
    EXPECT_EQ(times["stream_bytes"], 72 + 32000);
    EXPECT_EQ(times["step_bytes"], 2048);
    uint64_t sum = 0;
    std::map<uint64_t, std::set<uint64_t>> steps; // of a row
    for (const json &cell : times["cells"]) {
      EXPECT_EQ(cell["bytes"], 128);
      sum += cell["reads"].get<uint64_t>();
      steps[cell["address"].get<uint64_t>()].insert(cell["step"].get<uint64_t>());
    }
    EXPECT_EQ(sum, 64000u);
    EXPECT_EQ(*steps[0x10000].begin(), 0u); // the first hundred: bytes 72 to 3271
    EXPECT_EQ(*steps[0x10000].rbegin(), 1u);
    EXPECT_EQ(*steps[0x10000 + 256 * 9].begin(), (72 + 900 * 32) / 2048u);
    EXPECT_EQ(*steps[0x10000 + 256 * 9].rbegin(), 15u);
  }
}

TEST_F(HeatmapTest, ThePictureIsOneFileOfSvg) {
  stream.wave();
  for (uint64_t i = 0; i < 64; ++i) stream.affine(load, 0x10000 + 256 * i, 4);
  for (uint64_t i = 0; i < 64; ++i) stream.affine(store, 0x40000 + 256 * i, 4);
  const std::string file = ::testing::TempDir() + "heatmap-" + std::to_string(getpid()) + ".svg";
  HandlerHost host(std::vector<HandlerChoice>{{"Heatmap", "svg=" + file}});
  EXPECT_TRUE(host.complaints().empty());
  const auto known = allocationsAt({{0x10000, 0x4000, 1, 1, 0, 0}, {0x40000, 0x4000, 2, 1, 0, 0}});
  host.dispatch("first<int>(\xff&)", table.build("k"), stream, {}, known);
  host.dispatch("second(int)", table.build("k"), stream, {}, known);
  host.finish();
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::remove(file.c_str());
  const std::string svg = text.str();
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"")) << svg.substr(0, 80);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("#1, 16 KiB of agent 1"), std::string::npos);
  EXPECT_NE(svg.find("#2, 16 KiB of agent 1"), std::string::npos);
  EXPECT_NE(svg.find("first&lt;int&gt;(?&amp;)"), std::string::npos);
  EXPECT_NE(svg.find("class=\"r l5\""), std::string::npos); // reads in the strongest color
  EXPECT_NE(svg.find("class=\"w l5\""), std::string::npos);
  EXPECT_EQ(svg.find("href"), std::string::npos); // needs nothing else
}

// An application that allocates and frees for long gets there.
TEST_F(HeatmapTest, ThePictureKnowsAllocationsWhateverTheirNumber) {
  stream.wave();
  stream.affine(load, 0x10000, 4);
  const std::string file = ::testing::TempDir() + "heatmap-" + std::to_string(getpid()) + ".svg";
  HandlerHost host(std::vector<HandlerChoice>{{"Heatmap", "svg=" + file}});
  host.dispatch("k()", table.build("k"), stream, {},
                allocationsAt({{0x10000, 0x4000, 0xfffffff0, 1, 0, 0}}));
  host.finish();
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::remove(file.c_str());
  EXPECT_NE(text.str().find("#4294967280, 16 KiB of agent 1"), std::string::npos);
}

TEST_F(HeatmapTest, ACopyWithAWrongLengthDoesNotKeepTheAnalyzerForEver) {
  const uint32_t copy = table.add({FADE_SITE_LOAD});
  stream.wave();
  stream.access(copy, 3, {0x10000, 0x20000}, ~uint64_t{0});
  HandlerHost host(std::vector<HandlerChoice>{{"Heatmap", ""}});
  host.dispatch("k()", table.build("k"), stream);
  const std::string report = host.finish(); // megabytes: a parser would take long
  const auto list = report.find("\"pages\":[", report.find("\"type\":\"heatmap\""));
  ASSERT_NE(list, std::string::npos);
  EXPECT_EQ(std::count(report.begin() + static_cast<std::ptrdiff_t>(list),
                       report.begin() + static_cast<std::ptrdiff_t>(report.find(']', list)), '{'),
            65536);
}

TEST_F(HeatmapTest, APictureNeedsAFileName) {
  HandlerHost host(std::vector<HandlerChoice>{{"Heatmap", "svg"}});
  ASSERT_EQ(host.complaints().size(), 1u);
  EXPECT_EQ(host.complaints()[0], "handler Heatmap: svg needs a file: svg=heatmap.svg");
}

TEST_F(HeatmapTest, BarsJoinPagesOfLargeAllocations) {
  stream.wave();
  for (uint64_t i = 0; i < 256; ++i) stream.affine(load, 0x100000 + 4096 * i, 4);
  HostOptions options;
  options.format = Format::text;
  HandlerHost host({{"Heatmap", "rows=8"}}, options);
  host.dispatch("k(int)", table.build("k"), stream, {},
                allocationsAt({{0x100000, 256 * 4096, 1, 1, 0, 0}}));
  const std::string text = host.finish();
  EXPECT_NE(text.find("256 of 256"), std::string::npos) << text;
  std::size_t bars = 0;
  for (std::size_t at = 0; (at = text.find("2048 r", at)) != std::string::npos; ++at) ++bars;
  EXPECT_EQ(bars, 8u) << text; // 32 pages each
  EXPECT_NE(text.find("+896 KiB"), std::string::npos) << text;
}

TEST_F(HeatmapTest, AWrongOptionIsNamedWithTheRightOne) {
  HandlerHost host(std::vector<HandlerChoice>{{"Heatmap", "pge=4K"}});
  ASSERT_EQ(host.complaints().size(), 1u);
  EXPECT_EQ(host.complaints()[0], "handler Heatmap: unknown option 'pge' (did you mean 'page'?)");
}

} // namespace
} // namespace fade::testing
