// What FADE writes, behind caches as a card has them: records must arrive while the kernel runs,
// sums when it has ended, and no record may write back all of the L2 on the way.
#include "cases.h"

#include <fade/decode.h>

#include <gtest/gtest.h>

namespace {

using namespace fade::test;
using fade::sim::Caching;

// Of each site, added up or recorded.
std::map<uint32_t, uint64_t> executions(const Recorded &recorded) {
  std::map<uint32_t, uint64_t> out;
  for (const auto &access : recorded.accesses) ++out[access.site];
  fade::RecordCursor cursor(recorded.summaries);
  fade::Record record;
  while (cursor.next(record) == fade::RecordCursor::Status::record)
    if (record.isSummary() || record.isSums())
      out[record.site()] += record.isSums() ? record.sums().count : record.count();
  return out;
}

class CardCaches : public testing::TestWithParam<const char *> {
protected:
  std::string object(const std::string &what) const {
    return KERNELS_DIR "/" + what + "_" + GetParam() + "_O2";
  }
  bool writesBackL2() const { return std::string(GetParam()).starts_with("gfx9"); }

  Recorded run(const std::string &file, const std::string &kernel, bool has_caches,
               const Stream &stream = {}) {
    Session session(GetParam(), file, 2, has_caches);
    const Case &c = findCase(kernel);
    Data data(session.device());
    const Arguments arguments = c.arguments(data);
    Recorded out = session.runTwin(c.launch, arguments, stream);
    contents = data.contents();
    return out;
  }
  std::vector<std::byte> contents;
};

TEST_P(CardCaches, RecordsInHostMemoryArriveAndWriteBackNothing) {
  Stream small; // waves wait for room, too
  small.capacity = FADE_RING_MIN_CAPACITY;
  small.reader_delay_us = 100;
  const Recorded plain = run(object("run_basic") + ".hsaco", "spmv", false);
  const auto expected = contents;
  const Recorded recorded = run(object("run_basic") + ".hsaco", "spmv", true, small);
  EXPECT_TRUE(recorded.touched == plain.touched);
  EXPECT_GT(recorded.bytes.size(), 4 * small.capacity) << "the ring went round several times";
  EXPECT_EQ(recorded.waves.size(), plain.waves.size());
  EXPECT_EQ(recorded.stats.l2_write_backs, 0u);
  EXPECT_EQ(contents, expected);
}

// Where host memory is cached (MI300A, gfx950), stores say that they go through.
TEST_P(CardCaches, RecordsGoThroughAnL2ThatKeepsHostMemory) {
  if (GetParam() != std::string("gfx942")) GTEST_SKIP() << "only there stores have a scope";
  Stream kept;
  kept.capacity = FADE_RING_MIN_CAPACITY;
  kept.host_caching = Caching::noncoherent;
  const Recorded plain = run(object("run_basic") + ".hsaco", "spmv", false);
  const Recorded recorded = run(object("run_basic") + ".hsaco", "spmv", true, kept);
  EXPECT_TRUE(recorded.touched == plain.touched);
  EXPECT_EQ(recorded.stats.l2_write_backs, 0u);
}

TEST_P(CardCaches, RecordsInDeviceMemoryAreWrittenBack) {
  Stream segmented;
  segmented.capacity = FADE_RING_MIN_CAPACITY;
  segmented.flags = FADE_CONTROL_SEGMENTED;
  const Recorded plain = run(object("run_basic") + ".hsaco", "spmv", false);
  const Recorded recorded = run(object("run_basic") + ".hsaco", "spmv", true, segmented);
  EXPECT_TRUE(recorded.touched == plain.touched);
  EXPECT_EQ(recorded.stats.l2_write_backs > 0, writesBackL2());
}

TEST_P(CardCaches, SumsAndCountsAreThereWhenTheKernelHasEnded) {
  for (const char *kernel : {"spmv", "matmul"}) {
    const std::string sums = object("summary_basic") + "_default.hsaco";
    const Recorded plain = run(sums, kernel, false), cached = run(sums, kernel, true);
    EXPECT_FALSE(executions(plain).empty());
    EXPECT_EQ(executions(cached), executions(plain)) << kernel;
    EXPECT_EQ(cached.blocks.size(), plain.blocks.size()) << kernel;
    EXPECT_EQ(cached.stats.l2_write_backs, 0u);

    const std::string counts = object("counts_basic") + "_default.hsaco";
    const auto one = run(counts, kernel, false).counters,
               other = run(counts, kernel, true).counters;
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(one[i].entries, other[i].entries) << kernel << " " << i;
      EXPECT_EQ(one[i].more_lanes, other[i].more_lanes) << kernel << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CardCaches,
                         testing::Values("gfx90a", "gfx942", "gfx1030", "gfx1100"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
