// Counts of a part of the workgroups, scaled to all of them.
#include "analysis/sampled.h"

#include <gtest/gtest.h>

namespace fade::report {
namespace {

/// Two dispatches of 100 workgroups, of which the first was recorded in 10.
RunLog sampledRun() {
  RunLog log;
  log.is_sampled = true;
  const uint32_t kernel = log.kernelIndex("k", "", "");
  for (const uint64_t recorded : {10, 0}) {
    Dispatch d;
    d.kernel = kernel;
    d.workgroups = 100;
    d.workgroups_recorded = recorded;
    log.dispatches.push_back(d);
  }
  Access access;
  access.executions = 30, access.lanes = 600, access.conflicts = 5;
  access.cache = {true, 100, 20, 30, 6400, 64, 3200, 32};
  log.accesses.push_back(access);
  log.counts[kernel].instructions[64] = {"v_add_f32", "a.hip", 3, 1, 7, 70, 70, 0, {}, {}};
  log.counted_lines[{"a.hip", 3}] = {7, 70, 448, 7};
  log.notes = {"Sampled: 10 of 200 workgroups were recorded, in 1 of 2 dispatches; --exact records "
               "all"};
  return log;
}

TEST(Sampled, CountsAreThoseOfAllWorkgroupsOfAllDispatches) {
  RunLog log = sampledRun();
  scaleSampled(log);
  const Access &access = log.accesses[0];
  EXPECT_EQ(access.executions, 600u);
  EXPECT_EQ(access.lanes, 12000u);
  EXPECT_EQ(access.conflicts, 100u);
  EXPECT_EQ(access.cache.requests, 2000u);
  EXPECT_EQ(access.cache.l2_hits, 600u);
  EXPECT_EQ(access.cache.fetched, 128000u);
  EXPECT_EQ(log.counts[0].instructions[64].executions, 140u);
  EXPECT_EQ((log.counted_lines[{"a.hip", 3}].instructions), 140u);
  EXPECT_NEAR(log.kernels[0].sample_error, std::sqrt(0.95 / 10), 1e-9);
  ASSERT_EQ(log.notes.size(), 1u);
  EXPECT_NE(
      log.notes[0].find("--exact records all; numbers are scaled to all, sums to within 31 % "),
      std::string::npos);
}

TEST(Sampled, MemoryIsNotReadMoreOftenThanOnceIfAllOfItFitsInL2) {
  RunLog log = sampledRun();
  log.kernels[0].l2_bytes = 1 << 20;
  log.kernels[0].footprints = {{8000, 6400, 0}, {32000, 0, 3200}};
  scaleSampled(log);
  const CacheTraffic &cache = log.accesses[0].cache;
  EXPECT_EQ(cache.fetched, 16000u) << "8000 bytes in each of two dispatches, not 128000";
  EXPECT_EQ(cache.written, 64000u);
  EXPECT_EQ(cache.requests, 2000u);
  EXPECT_EQ(cache.l2_hits, 2000u - 400 - 125) << "of 1000 lines from memory 125 are left";
  // What does not fit may be read again and again.
  RunLog large = sampledRun();
  large.kernels[0].l2_bytes = 16000;
  large.kernels[0].footprints = {{8000, 6400, 0}, {32000, 0, 3200}};
  scaleSampled(large);
  EXPECT_EQ(large.accesses[0].cache.fetched, 128000u);
}

TEST(Sampled, BytesOfALineThatOtherWorkgroupsUseAreNotUseless) {
  for (const auto &[unused, of_all] : {std::pair(3200u, 0u), std::pair(6000u, 8000u)}) {
    RunLog log = sampledRun();
    log.kernels[0].l2_bytes = 1 << 20;
    log.kernels[0].footprints = {{8000, 6400, 0}, {32000, 0, 3200}};
    log.accesses[0].cache.unused = unused;
    scaleSampled(log);
    EXPECT_EQ(log.accesses[0].cache.fetched, 16000u);
    EXPECT_EQ(log.accesses[0].cache.unused, of_all) << "20 times as many bytes are used";
  }
}

TEST(Sampled, WhatIsTouchedMustFitInL2NotAllThatWasAllocated) {
  RunLog log = sampledRun();
  log.kernels[0].l2_bytes = 1 << 20;
  log.kernels[0].footprints = {{8000, 6400, 0}, {64 << 20, 0, 3200}};
  scaleSampled(log);
  EXPECT_EQ(log.accesses[0].cache.fetched, 16000u);
  EXPECT_EQ(log.accesses[0].cache.written, 64000u);
  log = sampledRun();
  log.kernels[0].l2_bytes = 8000 + 31999; // 32000 bytes are written in a dispatch
  log.kernels[0].footprints = {{8000, 6400, 0}, {64 << 20, 0, 3200}};
  scaleSampled(log);
  EXPECT_EQ(log.accesses[0].cache.fetched, 128000u);
}

TEST(Sampled, WorkgroupsThatReadEdgesOfEachOtherDoNotReadMoreThanThereIs) {
  RunLog log = sampledRun();
  log.kernels[0].l2_bytes = 1 << 20;
  log.kernels[0].footprints = {{64 << 20, 6400, 0, 8000}, {64 << 20, 0, 3200, 30000}};
  scaleSampled(log);
  EXPECT_EQ(log.accesses[0].cache.fetched, 17600u) << "8800 bytes, a tenth more, in two dispatches";
  EXPECT_EQ(log.accesses[0].cache.written, 64000u);
}

TEST(Sampled, WhatWasRecordedAsAWholeStaysAsItIs) {
  RunLog log = sampledRun();
  for (Dispatch &d : log.dispatches) d.workgroups_recorded = d.workgroups;
  scaleSampled(log);
  EXPECT_EQ(log.accesses[0].executions, 30u);
  EXPECT_EQ(log.accesses[0].cache.l2_hits, 30u);
  EXPECT_EQ(log.kernels[0].sample_error, 0);
}

} // namespace
} // namespace fade::report
