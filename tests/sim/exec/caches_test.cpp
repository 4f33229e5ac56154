// Memory as on a card: who does not write back, or does not invalidate, finds old data.
#include "../support/test_device.h"

#include "fade/gpu.h"

#include <gtest/gtest.h>

namespace fade::sim {
namespace {

class CachesTest : public testing::TestWithParam<const char *> {
protected:
  void run(const std::string &kernel, const Arguments &arguments, uint32_t groups = 1) {
    const auto result = device.run(object, kernel, {64 * groups, 1, 1}, {64, 1, 1}, arguments);
    ASSERT_EQ(result.status, DispatchResult::Status::ok) << result.message;
    stats = result.stats;
  }
  uint32_t read(const TestDevice::Buffer<uint32_t> &data, const char *kernel = "get") {
    auto out = device.allocate_host<uint32_t>(64);
    run(kernel, Arguments().add(data.va).add(out.va).add(0u));
    return out[0];
  }
  bool has_dies() { return device.caches()->dies() > 1; }
  bool has_write_back() { return device.arch().gfx9 || device.arch().gfx12; }

  TestDevice device{GetParam(), 2, true};
  CodeObject &object =
      device.load(read_file(std::string(FADE_KERNELS "/caches-") + GetParam() + ".hsaco"));
  Caches &caches = *device.caches();
  DispatchStats stats;
};

TEST_P(CachesTest, WhatAKernelWroteReachesMemoryWithAReleaseAtSystemScope) {
  auto data = device.allocate<uint32_t>(64);
  run("put", Arguments().add(data.va).add(5u));
  EXPECT_EQ(data[0], 0u) << "it lies in L2";
  EXPECT_EQ(read(data), 5u) << "where the next kernel finds it";
  caches.release(Reach::workgroup);
  EXPECT_EQ(data[0], 0u);
  caches.release(Reach::device);
  EXPECT_EQ(data[0], has_dies() ? 5u : 0u) << "the dies of a GPU meet in memory";
  caches.release(Reach::system);
  EXPECT_EQ(data[0], 5u);
  EXPECT_EQ(data[63], 5u);
}

TEST_P(CachesTest, FineGrainedHostMemoryIsWrittenAtOnce) {
  auto data = device.allocate_host<uint32_t>(64);
  run("put", Arguments().add(data.va).add(5u));
  EXPECT_EQ(data[0], 5u);
}

TEST_P(CachesTest, AKernelThatReleasesAtSystemScopeWritesBackWhereThereIsAnInstructionForIt) {
  auto data = device.allocate<uint32_t>(64);
  run("put_and_release", Arguments().add(data.va).add(5u));
  EXPECT_EQ(data[0], has_write_back() ? 5u : 0u);
  EXPECT_EQ(stats.l2_write_backs, has_write_back() ? stats.waves : 0u);
  run("put", Arguments().add(data.va).add(6u));
  EXPECT_EQ(stats.l2_write_backs, 0u);
}

TEST_P(CachesTest, OnlyBytesThatWereWrittenAreWrittenBack) {
  auto data = device.allocate<uint32_t>(128);
  run("put", Arguments().add(data.va + 4 * 7).add(5u)); // not at the border of a line
  data[6] = 1, data[71] = 2;
  caches.release(Reach::system);
  EXPECT_EQ(data[6], 1u);
  EXPECT_EQ(data[7], 5u);
  EXPECT_EQ(data[70], 5u);
  EXPECT_EQ(data[71], 2u);
}

TEST_P(CachesTest, NonCoherentMemoryIsOldUntilAnAcquireAtSystemScope) {
  auto data = device.allocate<uint32_t>(64, Caching::noncoherent);
  EXPECT_EQ(read(data), 0u);
  data[0] = 9; // the host, or a copy engine
  EXPECT_EQ(read(data), 0u);
  caches.acquire(Reach::device);
  EXPECT_EQ(read(data), has_dies() ? 9u : 0u);
  caches.acquire(Reach::system);
  EXPECT_EQ(read(data), 9u);
}

TEST_P(CachesTest, OwnMemoryOfAnInstinctIsNeverOldInL2) {
  auto data = device.allocate<uint32_t>(64, Caching::own);
  EXPECT_EQ(read(data), 0u);
  data[0] = 9;
  EXPECT_EQ(read(data), 9u);
}

TEST_P(CachesTest, TheScalarCacheKeepsLinesUntilItIsInvalidated) {
  auto data = device.allocate_host<uint32_t>(64), out = device.allocate_host<uint32_t>(64);
  EXPECT_EQ(read(data, "get_by_scalar_unit"), 0u);
  data[0] = 1;
  EXPECT_EQ(read(data, "get_by_scalar_unit"), 0u);
  run("get_by_scalar_unit", Arguments().add(data.va).add(out.va).add(1u));
  EXPECT_EQ(out[0], 1u) << "s_dcache_inv";
  data[0] = 2;
  caches.acquire(Reach::device);
  EXPECT_EQ(read(data, "get_by_scalar_unit"), 2u) << "a packet's acquire";
}

TEST_P(CachesTest, WorkgroupsSeeEachOthersStoresAfterReleaseAndAcquire) {
  struct Way {
    uint32_t releases, acquires;
  };
  for (const Way way : {Way{0, 0}, Way{0, 1}, Way{1, 0}, Way{1, 1}}) {
    auto data = device.allocate<uint32_t>(64), flags = device.allocate<uint32_t>(4);
    auto out = device.allocate_host<uint32_t>(128);
    run("hand_over",
        Arguments().add(data.va).add(flags.va).add(out.va).add(way.releases).add(way.acquires), 2);
    EXPECT_EQ(out[64], 0u);
    // On one die, L2 is where both meet, and only the L1 may be old.
    const bool arrives = way.acquires && (way.releases || !has_dies());
    EXPECT_EQ(out[0], arrives ? 7u : 0u) << way.releases << way.acquires;
  }
}

TEST_P(CachesTest, AtomicsOfAllDiesAddUp) {
  auto sum = device.allocate<uint32_t>(1);
  constexpr uint32_t groups = 40;
  run("add", Arguments().add(sum.va), groups);
  EXPECT_NE(sum[0], groups * 64 * 63 / 2 + 64 * groups * (groups - 1) / 2) << "it lies in L2";
  caches.release(Reach::system);
  EXPECT_EQ(sum[0], groups * 64 * 63 / 2 + 64 * groups * (groups - 1) / 2);
}

TEST_P(CachesTest, MemoryThatIsUnmappedIsWrittenBackBefore) {
  auto data = device.allocate<uint32_t>(64);
  run("put", Arguments().add(data.va).add(5u));
  device.memory().on_unmap([&](std::byte *host, uint64_t size) { caches.forget(host, size); });
  device.memory().unmap(data.va, 64 * sizeof(uint32_t));
  EXPECT_EQ(data[0], 5u);
}

// The limit: without it, a long run would keep all that was ever written.
TEST_P(CachesTest, AnL2WritesBackItsOldestLinesWhenItIsFull) {
  const uint64_t bytes = device.caches()->dies() * device.arch().gpu->card.l2.kib * 1024ull;
  const auto words = static_cast<uint32_t>(2 * bytes / sizeof(uint32_t));
  auto data = device.allocate<uint32_t>(words + 64);
  run("fill", Arguments().add(data.va).add(words / 64).add(5u), 64);
  uint64_t written = 0;
  for (uint32_t i = 0; i < words; i += 64) written += data[i] == 5;
  EXPECT_GT(written, words / 64 / 4);
  EXPECT_LT(written, words / 64);
  caches.release(Reach::system);
  for (uint32_t i = 0; i < words; i += 64) ASSERT_EQ(data[i], 5u) << i;
}

INSTANTIATE_TEST_SUITE_P(Gpus, CachesTest,
                         testing::Values("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace fade::sim
