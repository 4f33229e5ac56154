// The cache model against plain ones that are slow and short enough to be believed, against
// published examples, and as an analyzer, with numbers worked out by hand.
#include "cache_run.h"
#include "handler_host.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <list>
#include <random>

namespace fade::testing {
namespace {

using namespace fade::handlers;
using nlohmann::json;

// --- Plain models -------------------------------------------------------------------------------

/// Lines in the order of their last use, the last one first.
class PlainLru {
public:
  explicit PlainLru(std::size_t lines) : lines_(lines) {}
  bool touch(uint64_t line) {
    const auto at = std::find(order_.begin(), order_.end(), line);
    const bool is_hit = at != order_.end();
    if (is_hit) order_.erase(at);
    order_.push_front(line);
    if (order_.size() > lines_) order_.pop_back();
    return is_hit;
  }
  /// Other lines used since; -1 if it was never used.
  static int64_t distance(const std::vector<uint64_t> &before, uint64_t line) {
    std::vector<uint64_t> others;
    for (auto at = before.rbegin(); at != before.rend(); ++at) {
      if (*at == line) return static_cast<int64_t>(others.size());
      if (std::find(others.begin(), others.end(), *at) == others.end()) others.push_back(*at);
    }
    return -1;
  }

private:
  std::size_t lines_;
  std::list<uint64_t> order_;
};

std::size_t faults(const std::vector<uint64_t> &trace, std::size_t frames) {
  LruCache cache(frames);
  return static_cast<std::size_t>(
      std::count_if(trace.begin(), trace.end(), [&](uint64_t page) { return !cache.touch(page); }));
}

TEST(CacheModel, PublishedReferenceStringsHaveTheirPublishedFaults) {
  // Silberschatz, Galvin, Gagne, Operating System Concepts, page replacement: LRU, three frames.
  EXPECT_EQ(faults({7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1}, 3), 12u);
  // Belady's string; LRU shows no anomaly.
  const std::vector<uint64_t> belady = {1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5};
  EXPECT_EQ(faults(belady, 3), 10u);
  EXPECT_EQ(faults(belady, 4), 8u);
}

TEST(CacheModel, StackDistancesAreThoseOfThePublishedExample) {
  // Mattson and others, 1970: the distance of a reference is its depth in the LRU stack.
  ReuseDistance reuse;
  std::vector<uint64_t> found;
  for (const char line : std::string("abccbaabb"))
    found.push_back(reuse.use(static_cast<uint64_t>(line)));
  constexpr uint64_t first = ReuseDistance::kFirst;
  EXPECT_EQ(found, (std::vector<uint64_t>{first, first, first, 0, 1, 2, 0, 1, 0}));
}

TEST(CacheModel, LruAndDistancesAreThoseOfThePlainModel) {
  std::mt19937_64 random(1);
  for (const std::size_t lines : {1u, 3u, 16u}) {
    LruCache cache(lines);
    PlainLru plain(lines);
    ReuseDistance reuse;
    std::vector<uint64_t> before;
    for (int i = 0; i < 6000; ++i) {
      const uint64_t line = random() % 3 == 0 ? random() % 64 : random() % 8;
      const uint64_t distance = reuse.use(line);
      if (i < 1500) {
        const int64_t expected = PlainLru::distance(before, line);
        ASSERT_EQ(static_cast<int64_t>(distance), expected) << "use " << i;
      }
      const bool is_hit = plain.touch(line);
      ASSERT_EQ(cache.touch(line), is_hit) << "use " << i;
      // What LRU keeps are the lines with the shortest distances.
      ASSERT_EQ(distance < lines, is_hit) << "use " << i;
      before.push_back(line);
    }
  }
}

/// Two levels for one unit, written down as the rules say.
struct PlainLevels {
  explicit PlainLevels(const CacheSizes &of)
      : sizes(of), l1(of.l1_lines),
        l2(std::max(of.l2_lines / SharedCache::kWays, 1u), PlainLru(SharedCache::kWays)) {}
  void load(uint64_t line) {
    ++traffic.requests;
    if (l1.touch(line)) {
      ++traffic.l1_hits;
      return;
    }
    const uint64_t shared = line * sizes.l1_line / sizes.l2_line;
    if (l2[shared % l2.size()].touch(shared))
      ++traffic.l2_hits;
    else
      traffic.fetched += sizes.l2_line;
  }
  CacheSizes sizes;
  PlainLru l1;
  std::vector<PlainLru> l2;
  Traffic traffic;
};

TEST(CacheModel, LevelsAreThoseOfThePlainModel) {
  CacheSizes sizes;
  sizes.units = 1, sizes.l1_lines = 8, sizes.l2_lines = 64;
  std::mt19937_64 random(2);
  CacheRun run(sizes, 32);
  PlainLevels plain(sizes);
  run.wave(0, 0);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t line = random() % 2 == 0 ? random() % 400 : random() % 12;
    const CacheRequest request{line, 1, 0};
    run.access(0, CacheUse::load, {&request, 1});
    plain.load(line);
  }
  run.finish();
  const Traffic &traffic = run.traffic().at(0);
  EXPECT_GT(traffic.l1_hits, 1000u);
  EXPECT_GT(traffic.l2_hits, 1000u);
  EXPECT_EQ(traffic.l1_hits, plain.traffic.l1_hits);
  EXPECT_EQ(traffic.l2_hits, plain.traffic.l2_hits);
  EXPECT_EQ(traffic.fetched, plain.traffic.fetched);
  EXPECT_EQ(traffic.misses() * sizes.l2_line, traffic.fetched);
}

/// Processor time of many dispatches that want one line each, ns.
int64_t timeOfSmallDispatches(uint32_t l2_lines) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
  };
  CacheSizes sizes;
  sizes.l2_lines = l2_lines;
  const int64_t begin = now();
  for (uint64_t line = 0; line < 200; ++line) {
    CacheRun run(sizes, 32);
    const CacheRequest request{line, 1, 0};
    run.access(0, CacheUse::load, {&request, 1});
    run.finish();
  }
  return now() - begin;
}

// Programs have tens of thousands of them: to clear all of L2 for each took most of their time.
TEST(CacheModel, ASmallDispatchCostsWhatItUsesOfALargeCache) {
  int64_t small = INT64_MAX, large = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    small = std::min(small, timeOfSmallDispatches(1024));
    large = std::min(large, timeOfSmallDispatches(262144));
  }
  EXPECT_LT(large, 30 * small);
}

TEST(CacheModel, WavesOfAUnitTakeTurnsAndUnitsHaveTheirOwnL1) {
  CacheSizes sizes;
  sizes.units = 2, sizes.l1_lines = 2, sizes.l2_lines = 64;
  CacheRun run(sizes, 32);
  // Workgroups 0 and 2 share a unit: two waves with two lines each do not fit into its L1.
  for (const uint32_t wave : {0u, 1u, 2u}) run.wave(wave, wave);
  for (int round = 0; round < 4; ++round)
    for (const uint32_t wave : {0u, 1u, 2u})
      for (const uint64_t line : {0u, 2u}) {
        const CacheRequest request{100 * wave + line, 1, wave};
        run.access(wave, CacheUse::load, {&request, 1});
      }
  run.finish();
  EXPECT_EQ(run.traffic().at(1).l1_hits, 6u); // alone: all but the first two
  EXPECT_EQ(run.traffic().at(0).l1_hits, 0u);
  EXPECT_EQ(run.traffic().at(2).l1_hits, 0u);
  EXPECT_EQ(run.traffic().at(0).l2_hits, 6u);
}

TEST(CacheModel, StoresGoToMemoryInSectorsOnceTheirLineLeaves) {
  CacheSizes sizes;
  sizes.units = 1;
  CacheRun run(sizes, 32);
  run.wave(0, 0);
  const CacheRequest one{10, 1, 0}, same{10, 2, 0}, whole{20, ~0u, 1};
  run.access(0, CacheUse::store, {&one, 1});
  run.access(0, CacheUse::store, {&same, 1});
  run.access(0, CacheUse::store, {&whole, 1});
  run.access(0, CacheUse::load, {&whole, 1}); // is there: nothing is fetched
  run.finish();
  EXPECT_EQ(run.traffic().at(0).written, 32u);
  EXPECT_EQ(run.traffic().at(0).unwanted, 24u);
  EXPECT_EQ(run.traffic().at(0).l2_hits, 1u);
  EXPECT_EQ(run.traffic().at(1).written, 128u);
  EXPECT_EQ(run.traffic().at(1).unwanted, 0u);
  EXPECT_EQ(run.traffic().at(1).fetched, 0u);
}

// --- The analyzer -------------------------------------------------------------------------------

class CacheModelTest : public ::testing::Test {
protected:
  SiteTableBuilder table;
  Stream stream;

  uint32_t site(uint32_t kind, uint32_t size, uint32_t line) {
    SiteTableBuilder::Site site;
    site.kind = kind;
    site.size = size;
    site.line = line;
    return table.add(site);
  }
  json run(const std::string &target = "gfx90a") {
    HostOptions options;
    options.target = target;
    HandlerHost host({{"CacheModel", ""}}, options);
    host.dispatch("kernel()", table.build("kernel"), stream);
    const auto all = host.finish("cache");
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? json::object() : all[0];
  }
};

TEST_F(CacheModelTest, ARowForEachLaneIsFetchedOnceAndUsedWhole) {
  // Lane i reads its own 128 bytes, 4 at a time: 64 lines of memory, all of whose bytes are used.
  const auto load = site(FADE_SITE_LOAD, 4, 5);
  stream.wave();
  for (uint64_t k = 0; k < 32; ++k) stream.affine(load, 0x10000 + 4 * k, 128);
  const json all = run()["all"];
  EXPECT_EQ(all["requests"], 64u * 32);
  EXPECT_EQ(all["fetched"], 64u * 128);
  EXPECT_EQ(all["unused"], 0u);
  // gfx90a: lines of 64 bytes in L1, so each is missed there twice, and the second half is in L2.
  EXPECT_EQ(all["l1_hits"], 64u * 30);
  EXPECT_EQ(all["l2_hits"], 64u);
  EXPECT_EQ(all["misses"], 64u);
}

TEST_F(CacheModelTest, OneMemberOfAStructFetchesWhatNobodyWants) {
  const auto load = site(FADE_SITE_LOAD, 4, 5);
  stream.wave();
  stream.affine(load, 0x10000, 32); // 4 of 32 bytes
  const json report = run();
  EXPECT_EQ(report["allocations"][0]["extent"], 64u * 32);
  const json all = report["all"];
  EXPECT_EQ(all["fetched"], 64u * 32);
  EXPECT_EQ(all["unused"], 64u * 28);
  EXPECT_EQ(all["first_uses"], 16u); // lines of 128 bytes; each is wanted as two of 64
}

TEST_F(CacheModelTest, SumsByRowsAndByColumnsAreThoseOfTheTextbook) {
  // Bryant and O'Hallaron, Computer Systems, locality: with lines of B bytes and a matrix that does
  // not fit, reading 4-byte elements in order misses 4/B of the time, by columns always.
  const auto by_rows = site(FADE_SITE_LOAD, 4, 1), by_columns = site(FADE_SITE_LOAD, 4, 2);
  constexpr uint64_t kRows = 2048, kColumns = 32;
  stream.wave();
  for (uint64_t i = 0; i < kRows * kColumns; ++i) stream.affine(by_rows, 0x1000000 + 4 * i, 0, 1);
  stream.wave(1);
  for (uint64_t column = 0; column < kColumns; ++column)
    for (uint64_t row = 0; row < kRows; ++row)
      stream.affine(by_columns, 0x4000000 + 4 * (row * kColumns + column), 0, 1);
  const json result = run();
  for (const json &access : result["accesses"]) {
    const double hits = access["l1_hits"].get<double>() / access["requests"].get<double>();
    if (access["line"] == 1)
      EXPECT_DOUBLE_EQ(hits, 1 - 4.0 / 64);
    else
      EXPECT_EQ(hits, 0);
  }
}

TEST_F(CacheModelTest, StreamOrderDoesNotMatter) {
  const auto load = site(FADE_SITE_LOAD, 4, 5);
  stream.wave(0);
  stream.affine(load, 0x10000, 4);
  stream.affine(load, 0x10000, 4);
  stream.wave(1);
  stream.affine(load, 0x10000, 4);
  const json one = run();
  Stream other;
  other.wave(1);
  other.affine(load, 0x10000, 4);
  other.wave(0);
  other.affine(load, 0x10000, 4);
  other.affine(load, 0x10000, 4);
  stream = other;
  EXPECT_EQ(run(), one);
}

} // namespace
} // namespace fade::testing
