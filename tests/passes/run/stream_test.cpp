// Filters, full rings, and several dispatches at once.
#include "cases.h"

#include <fade/clone.h>
#include <fade/decode.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>

namespace {

using namespace fade::test;

using Target = std::pair<std::string, std::string>; // architecture, optimisation

class StreamOf : public testing::TestWithParam<Target> {
protected:
  static std::string object() {
    return KERNELS_DIR "/stream_" + GetParam().first + "_" + GetParam().second + ".hsaco";
  }
  Session session{GetParam().first, object()};

  Recorded run(const std::string &kernel, const Stream &stream = {}) {
    const Case &c = findCase(kernel);
    Data data(session.device());
    return session.runTwin(c.launch, c.arguments(data), stream);
  }
  // The same dispatch twice: with a plain ring and with another.
  std::pair<Recorded, Recorded> runBoth(const std::string &kernel, const Stream &stream) {
    const Case &c = findCase(kernel);
    Data data(session.device());
    const Arguments arguments = c.arguments(data);
    Recorded all = session.runTwin(c.launch, arguments);
    data.reset();
    return {std::move(all), session.runTwin(c.launch, arguments, stream)};
  }
};

std::map<uint32_t, std::size_t> perSite(const Recorded &recorded) {
  std::map<uint32_t, std::size_t> out;
  for (const auto &access : recorded.accesses) ++out[access.site];
  for (const auto &block : recorded.blocks) ++out[block.site];
  return out;
}

TEST_P(StreamOf, CountsSayWhatBlockRecordsSay) {
  for (const char *kernel : {"exits", "matmul", "recursion", "virtuals", "spmv"}) {
    const Recorded recorded = run(kernel);
    std::map<uint32_t, std::pair<uint64_t, uint64_t>> blocks; // entries and lanes
    for (const auto &block : recorded.blocks) {
      ++blocks[block.site].first;
      blocks[block.site].second += unsigned(std::popcount(block.mask));
    }
    EXPECT_FALSE(blocks.empty());
    for (uint32_t site = 0; site < recorded.counters.size(); ++site) {
      const fade_counter &c = recorded.counters[site];
      EXPECT_EQ(c.entries, blocks[site].first) << kernel << " site " << site;
      EXPECT_EQ(c.entries + c.more_lanes, blocks[site].second) << kernel << " site " << site;
    }
  }
}

TEST_P(StreamOf, EveryWaveBeginsAndEndsOnce) {
  for (const char *kernel : {"exits", "volumes", "nothing"}) {
    const Recorded recorded = run(kernel);
    ASSERT_EQ(recorded.waves.size(), recorded.stats.waves) << kernel;
    ASSERT_EQ(recorded.ends.size(), recorded.waves.size()) << kernel;
    for (const fade_wave_end &end : recorded.ends)
      EXPECT_GE(end.clock, recorded.waves.at(end.wave).clock);
  }
}

TEST_P(StreamOf, WorkgroupsOutsideOfTheRangeAreSilent) {
  const Recorded all = run("volumes");
  Stream some;
  some.sample_workgroups = 1;
  some.first = {1, 0, 1};
  some.last = {2, 0, 1};
  const Recorded recorded = run("volumes", some);
  auto inside = [&](const std::array<uint32_t, 3> &g) {
    return g[0] >= 1 && g[1] == 0 && g[2] == 1;
  };
  std::size_t expected = 0;
  for (const auto &wave : all.waves)
    expected += inside({wave.workgroup_x, wave.workgroup_y, wave.workgroup_z});
  EXPECT_EQ(recorded.waves.size(), expected);
  EXPECT_LT(recorded.waves.size(), all.waves.size());
  EXPECT_FALSE(recorded.touched.empty());
  std::set<std::array<uint32_t, 3>> groups;
  for (const auto &[place, bytes] : recorded.touched) groups.insert(place.workgroup);
  EXPECT_EQ(groups, (std::set<std::array<uint32_t, 3>>{{1, 0, 1}, {2, 0, 1}}));
  uint64_t entries[2] = {};
  for (const auto &c : all.counters) entries[0] += c.entries;
  for (const auto &c : recorded.counters) entries[1] += c.entries;
  EXPECT_LT(entries[1], entries[0]);
  EXPECT_EQ(entries[1], recorded.blocks.size());
}

TEST_P(StreamOf, OneInThreeWorkgroups) {
  Stream some;
  some.sample_workgroups = 3;
  const Recorded recorded = run("volumes", some);
  ASSERT_FALSE(recorded.waves.empty());
  for (const auto &wave : recorded.waves)
    EXPECT_EQ((wave.workgroup_x + wave.workgroup_y + wave.workgroup_z) % 3, 0u);
}

// Counting by records and not by blocks: each site has one counter, which both would use.
TEST_P(StreamOf, OneInFourExecutionsOfEachSite) {
  const Case &c = findCase("spmv");
  Session accesses(GetParam().first, KERNELS_DIR "/run_basic_" + GetParam().first + "_" +
                                         GetParam().second + ".hsaco");
  auto count = [&](const Stream &stream) {
    Data data(accesses.device());
    return perSite(accesses.runTwin(c.launch, c.arguments(data), stream));
  };
  Stream some;
  some.flags = FADE_CONTROL_SAMPLE_EXECUTIONS;
  some.sample_executions = 4;
  const auto all = count({}), sampled = count(some);
  ASSERT_FALSE(all.empty());
  for (const auto &[site, executions] : all)
    EXPECT_EQ(sampled.contains(site) ? sampled.at(site) : 0, (executions + 3) / 4) << site;
}

TEST_P(StreamOf, SmallestRingWithSlowReaderLosesNothing) {
  Stream small;
  small.capacity = FADE_RING_MIN_CAPACITY;
  small.reader_delay_us = 200;
  const Case &c = findCase("spmv");
  Data data(session.device());
  const Arguments arguments = c.arguments(data);
  const Recorded all = session.runTwin(c.launch, arguments);
  const auto contents = data.contents();
  data.reset();
  const Recorded recorded = session.runTwin(c.launch, arguments, small);
  EXPECT_GT(recorded.bytes.size(), 4 * small.capacity); // the ring went round several times
  EXPECT_EQ(recorded.dropped, 0u);
  EXPECT_EQ(recorded.touched, all.touched);
  EXPECT_EQ(perSite(recorded), perSite(all));
  EXPECT_EQ(data.contents(), contents);
}

// Records whose odd number of deltas is followed by something else than zero, and all that have it.
std::pair<std::size_t, std::size_t> badPadding(const Recorded &recorded) {
  std::pair<std::size_t, std::size_t> result;
  fade::RecordCursor cursor(recorded.bytes);
  fade::Record record;
  while (cursor.next(record) == fade::RecordCursor::Status::record) {
    fade_header header;
    std::memcpy(&header, record.bytes().data(), sizeof header);
    const bool has_addresses =
        header.kind == FADE_RECORD_ACCESS || header.kind == FADE_RECORD_RANGE;
    if (!has_addresses || header.encoding != FADE_ENCODING_DELTA32) continue;
    if (std::popcount(record.mask()) % 2 != 0) continue;
    const auto end = record.bytes().last(4);
    result.first += std::ranges::any_of(end, [](std::byte b) { return b != std::byte{0}; });
    ++result.second;
  }
  return result;
}

TEST_P(StreamOf, SegmentedRingHoldsTheSameRecords) {
  for (const char *kernel : {"spmv", "volumes"}) {
    Stream segmented;
    segmented.flags = FADE_CONTROL_SEGMENTED;
    const auto [all, recorded] = runBoth(kernel, segmented);
    EXPECT_TRUE(recorded.touched == all.touched);
    EXPECT_EQ(perSite(recorded), perSite(all));
    EXPECT_EQ(recorded.blocks.size(), all.blocks.size());
    EXPECT_EQ(recorded.ends.size(), all.ends.size());
    EXPECT_EQ(recorded.bytes.size(), all.bytes.size());
    EXPECT_EQ(badPadding(recorded).first, 0u) << kernel;
    if (kernel == std::string("spmv")) EXPECT_GT(badPadding(recorded).second, 0u);
  }
}

TEST_P(StreamOf, SmallestSegmentedRingWithSlowReaderLosesNothing) {
  Stream small;
  small.capacity = FADE_RING_MIN_CAPACITY;
  small.flags = FADE_CONTROL_SEGMENTED;
  small.reader_delay_us = 200;
  const auto [all, recorded] = runBoth("spmv", small);
  EXPECT_GT(recorded.bytes.size(), 4 * small.capacity);
  EXPECT_TRUE(recorded.touched == all.touched);
  EXPECT_EQ(perSite(recorded), perSite(all));
}

TEST_P(StreamOf, LossyModeCountsWhatItDrops) {
  Stream lossy;
  lossy.capacity = FADE_RING_MIN_CAPACITY;
  lossy.flags = FADE_CONTROL_LOSSY;
  lossy.reads_after_a_drop = true;
  const Recorded all = run("spmv"), recorded = run("spmv", lossy);
  EXPECT_GT(recorded.dropped, 0u);
  EXPECT_EQ(recorded.accesses.size() + recorded.blocks.size() + recorded.dropped,
            all.accesses.size() + all.blocks.size());
  EXPECT_EQ(recorded.waves.size(), all.waves.size()); // announcements are never dropped
  EXPECT_EQ(recorded.ends.size(), all.ends.size());
}

TEST_P(StreamOf, TwinWithoutControlBlockIsTheOriginal) {
  const Case &c = findCase("matmul");
  Data data(session.device());
  Arguments arguments = c.arguments(data);
  session.runOriginal(c.launch, arguments);
  const auto contents = data.contents();
  data.reset();
  Launch twin = c.launch;
  twin.kernel = FADE_CLONE_PREFIX + twin.kernel;
  session.runOriginal(twin, arguments.add<uint64_t>(0));
  EXPECT_EQ(data.contents(), contents);
}

// Each dispatch has a ring of its own; nothing of one is in another's.
TEST_P(StreamOf, QueuesAndDevicesAtOnceKeepApart) {
  Session other(GetParam().first == "gfx90a" ? "gfx1030" : "gfx90a",
                KERNELS_DIR "/stream_" +
                    std::string(GetParam().first == "gfx90a" ? "gfx1030_" : "gfx90a_") +
                    GetParam().second + ".hsaco");
  struct Job {
    Session *session;
    const Case *c;
    Data data;
    Arguments arguments;
    Recorded alone, together;
  };
  std::vector<std::unique_ptr<Job>> jobs;
  for (Session *s : {&session, &other})
    for (const char *kernel : {"vadd", "strided", "volumes"}) {
      auto job = std::make_unique<Job>(Job{s, &findCase(kernel), Data(s->device()), {}, {}, {}});
      job->arguments = job->c->arguments(job->data);
      job->alone = s->runTwin(job->c->launch, job->arguments);
      job->data.reset();
      jobs.push_back(std::move(job));
    }
  std::vector<std::thread> threads;
  for (auto &job : jobs)
    threads.emplace_back([&job] {
      Stream small;
      small.capacity = FADE_RING_MIN_CAPACITY;
      job->together = job->session->runTwin(job->c->launch, job->arguments, small);
    });
  for (auto &thread : threads) thread.join();
  for (const auto &job : jobs) {
    EXPECT_EQ(job->together.touched, job->alone.touched) << job->c->name;
    EXPECT_EQ(job->together.waves.size(), job->alone.waves.size());
    EXPECT_EQ(perSite(job->together), perSite(job->alone));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, StreamOf,
                         testing::Values(Target{"gfx90a", "O0"}, Target{"gfx90a", "O2"},
                                         Target{"gfx1030", "O0"}, Target{"gfx1030", "O2"}),
                         [](const auto &info) {
                           return info.param.first + "_" + info.param.second;
                         });

} // namespace
