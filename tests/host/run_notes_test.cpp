// Sentences about a run.
#include "stream/run_notes.h"

#include <gtest/gtest.h>

namespace fade {
namespace {

fade_dispatch gridOf(std::array<uint32_t, 3> grid, std::array<uint32_t, 3> workgroup) {
  fade_dispatch d{};
  std::ranges::copy(grid, d.grid);
  std::ranges::copy(workgroup, d.workgroup);
  return d;
}

TEST(RunNotes, WorkgroupsAreCountedAsTheDeviceChoosesThem) {
  const fade_dispatch d = gridOf({1000, 30, 7}, {64, 8, 1}); // 16 x 4 x 7
  for (const uint32_t sample : {1u, 2u, 3u, 5u, 8u, 16u, 100u})
    for (const uint32_t first : {0u, 2u})
      for (const uint32_t last : {3u, 5u, UINT32_MAX}) {
        WorkgroupFilter filter;
        filter.sample = sample;
        filter.first = {first, 0, first};
        filter.last = {UINT32_MAX, last, last};
        uint64_t recorded = 0;
        for (uint32_t x = 0; x < 16; ++x)
          for (uint32_t y = 0; y < 4; ++y)
            for (uint32_t z = 0; z < 7; ++z)
              if (x >= first && y <= last && z >= first && z <= last && (x + y + z) % sample == 0)
                ++recorded;
        const WorkgroupCounts counts = countWorkgroups(d, filter);
        EXPECT_EQ(counts.all, 448u);
        EXPECT_EQ(counts.recorded, recorded) << sample << " " << first << " " << last;
      }
}

TEST(RunNotes, WorkgroupsBeyondTheGridAreNone) {
  WorkgroupFilter filter;
  filter.first = {100, 0, 0};
  EXPECT_EQ(countWorkgroups(gridOf({64, 1, 1}, {64, 1, 1}), filter).recorded, 0u);
}

TEST(RunNotes, DispatchesThatCannotBeAreCountedInNoTime) {
  WorkgroupFilter filter;
  filter.sample = UINT32_MAX - 1;
  (void)countWorkgroups(gridOf({UINT32_MAX, UINT32_MAX, UINT32_MAX}, {1, 1, 1}), filter);
  (void)countWorkgroups(gridOf({UINT32_MAX, UINT32_MAX, UINT32_MAX}, {0, 0, 0}), filter);
}

TEST(RunNotes, WhatWasSampledIsSaid) {
  WorkgroupFilter filter;
  EXPECT_TRUE(samplingNotes(filter, {24, 24}).empty());
  filter.sample = 4;
  ASSERT_EQ(samplingNotes(filter, {24, 6}).size(), 1u);
  EXPECT_EQ(samplingNotes(filter, {24, 6})[0],
            "Accesses and blocks cover 6 of 24 workgroups (one in 4); their counts are not "
            "scaled");
  filter.first = {1, 0, 0};
  EXPECT_NE(samplingNotes(filter, {24, 5})[0].find("(--workgroups, one in 4)"), std::string::npos);
  filter.sample = 1;
  EXPECT_NE(samplingNotes(filter, {24, 5})[0].find("(--workgroups)"), std::string::npos);
  filter.sample_executions = 8;
  ASSERT_EQ(samplingNotes(filter, {24, 5}).size(), 2u);
  EXPECT_NE(samplingNotes(filter, {24, 5})[1].find("one execution in 8"), std::string::npos);
}

Wishes wishesOf(const std::string &pattern) {
  return {true,
          pattern,
          "",
          [pattern](const std::string &name) {
            return pattern.empty() || name.find(pattern) != std::string::npos;
          },
          nullptr,
          nullptr};
}

TEST(RunNotes, AFilterOfLibrariesThatChoosesNothingIsNamed) {
  Wishes wishes = wishesOf("");
  wishes.library_filter = "!/app";
  EXPECT_EQ(hintFor(wishes, {{"a()"}, 0, false}),
            "--library-filter '!/app' chooses none of the kernels that ran: a()");
  EXPECT_EQ(hintFor(wishes, {{"a()"}, 1, false}), std::nullopt);
}

TEST(RunNotes, AnExpressionThatMatchesNothingIsNamedWithSomeOfTheKernels) {
  EXPECT_EQ(hintFor(wishesOf("x"), {{"a()", "b()"}, 0, false}),
            "--kernels 'x' matches none of the kernels that ran: a(), b()");
  EXPECT_EQ(hintFor(wishesOf("x"), {{"a()", "b()", "c()", "d()", "e()"}, 0, false}),
            "--kernels 'x' matches none of the kernels that ran: a(), b(), c() and 2 more");
  EXPECT_EQ(hintFor(wishesOf("b"), {{"a()", "b()"}, 1, false}), std::nullopt);
}

TEST(RunNotes, KernelsWithoutTwinsAreNamedOnlyIfThereIsNoOther) {
  const auto hint = hintFor(wishesOf(""), {{"a()", "b()"}, 0, true});
  ASSERT_TRUE(hint);
  EXPECT_NE(hint->find("fadeprobe cc"), std::string::npos);
  EXPECT_EQ(hintFor(wishesOf(""), {{"a()", "b()"}, 1, true}), std::nullopt);
  EXPECT_EQ(hintFor({}, {{"a()"}, 0, false}), std::nullopt);
}

TEST(RunNotes, NoKernelAtAllIsWorthALineOnlyIfInstrumentationWasAskedFor) {
  EXPECT_TRUE(hintFor(wishesOf(""), {}));
  EXPECT_EQ(hintFor({}, {}), std::nullopt);
}

TEST(Hint, KernelsWithoutAnyQueueAreNotTakenForAnApplicationThatRanNone) {
  Wishes wishes; // durations only
  wishes.lacks_queues = [] { return true; };
  const auto hint = hintFor(wishes, {});
  ASSERT_TRUE(hint);
  EXPECT_TRUE(hint->starts_with("FADE saw no queue, although kernels were loaded")) << *hint;
  wishes.instrumented = true;
  EXPECT_EQ(hintFor(wishes, {}), hint);
  wishes.lacks_queues = [] { return false; };
  EXPECT_EQ(hintFor(wishes, {}), "the application ran no kernels: there is nothing to analyze");
}

} // namespace
} // namespace fade
