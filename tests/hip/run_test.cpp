// Summaries of processes, and what is made of many.
#include "host_trace/run_clocks.h"
#include "host_trace/run_summary.h"
#include "host_trace/run_text.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <sstream>

namespace {

using namespace fade;
using namespace fade::host_trace;

RunTotals someTotals(unsigned seed) {
  std::mt19937 random(seed);
  RunTotals totals;
  totals.calls = random() % 1000;
  totals.lost = random() % 3;
  constexpr std::array names = {"scale", "add", "copy", "turn"};
  for (int i = 0; i < 200; ++i) {
    totals.kernels[names[random() % names.size()]].add(random() % 100'000'000);
    totals.functions[names[random() % names.size()]].add(random());
    totals.copies[names[random() % names.size()]].add(random() % 5, random());
  }
  return totals;
}

TEST(RunSummary, TotalsAreTheSameInWhateverOrderTheyAreMerged) {
  const std::array parts = {someTotals(1), someTotals(2), someTotals(3), someTotals(4)};
  RunTotals forward, backward, left, right;
  for (const RunTotals &part : parts) forward.merge(part);
  for (std::size_t i = parts.size(); i-- > 0;) backward.merge(parts[i]);
  left.merge(parts[0]), left.merge(parts[1]);
  right.merge(parts[2]), right.merge(parts[3]);
  right.merge(left);
  EXPECT_EQ(forward, backward);
  EXPECT_EQ(forward, right);
  EXPECT_EQ(forward.kernels["scale"].count + forward.kernels["add"].count +
                forward.kernels["copy"].count + forward.kernels["turn"].count,
            800u);
}

TEST(RunSummary, QuantilesAreWithinABucket) {
  Distribution all;
  for (uint64_t i = 1; i <= 10'000; ++i) all.add(i * 1000);
  EXPECT_NEAR(static_cast<double>(all.quantile(0.5)), 5e6, 5e6 * 0.13);
  EXPECT_NEAR(static_cast<double>(all.quantile(0.99)), 9.9e6, 9.9e6 * 0.13);
  EXPECT_EQ(all.quantile(1), 10'000'000u);
  EXPECT_EQ(Distribution().quantile(0.5), 0u);
}

TEST(RunSummary, FilesOfSeveralProcessesCanBePutOneBehindTheOther) {
  std::string text;
  std::vector<ProcessSummary> written;
  for (unsigned rank = 0; rank < 3; ++rank) {
    ProcessSummary &summary = written.emplace_back();
    summary.process.host = "node \"1\"";
    summary.process.rank = rank;
    summary.process.pid = 100 + rank;
    summary.process.clocks.realtime_ns = -5;
    summary.end_clocks = ClockReading{7, 8, 9, true, 10, -11, 12};
    summary.start_ns = 5;
    summary.end_ns = 50;
    summary.totals = someTotals(rank);
    const std::string path = testing::TempDir() + "/summary.jsonl";
    ASSERT_TRUE(writeSummary(summary, path));
    std::ifstream file(path);
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  std::istringstream file(text);
  const auto read = readSummaries(file, "all");
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*read)[i].totals, written[i].totals);
    EXPECT_EQ((*read)[i].process.host, "node \"1\"");
    EXPECT_EQ((*read)[i].process.rank, i);
    EXPECT_EQ((*read)[i].process.clocks.realtime_ns, -5);
    EXPECT_EQ((*read)[i].end_clocks->files_ahead_ns, -11);
    EXPECT_EQ((*read)[i].span(), 45u);
  }
}

TEST(RunSummary, WhatIsNoSummaryIsRefusedWithItsPlace) {
  for (const char *bad :
       {"x", "[]", R"({"type":"kernel","name":"a"})", R"({"type":"summary","version":2})",
        R"({"type":"summary","version":1,"host":7})",
        "{\"type\":\"summary\",\"version\":1}\n{\"type\":\"kernel\",\"histogram\":[[1]]}",
        "{\"type\":\"summary\",\"version\":1}\n{\"type\":\"kernel\",\"name\":\"a\",\"histogram\":["
        "3]}"}) {
    std::istringstream file(bad);
    const auto read = readSummaries(file, "bad.jsonl");
    ASSERT_FALSE(read) << bad;
    EXPECT_NE(read.error().message().find("bad.jsonl"), std::string::npos);
  }
}

TEST(RunRanks, ListsNameRanksAndRanges) {
  EXPECT_TRUE(namesRank("", std::nullopt));
  EXPECT_TRUE(namesRank("0,7,16-31", "7"));
  EXPECT_TRUE(namesRank("0,7,16-31", "31"));
  EXPECT_FALSE(namesRank("0,7,16-31", "8"));
  EXPECT_FALSE(namesRank("0,7,16-31", std::nullopt));
  EXPECT_FALSE(mistakeInRanks("0,7,16-31"));
  for (const char *bad : {"", ",", "0,", "a", "3-1", "1-", "-1", "0 ,1"})
    EXPECT_TRUE(mistakeInRanks(bad)) << bad;
}

/// A run of hosts, each with a process that began when its clocks were these.
Run runOf(const std::vector<ClockReading> &hosts) {
  Run run;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    RunMember &member = run.members.emplace_back();
    member.summary.process.host = "node" + std::to_string(i);
    member.summary.process.boot_id = std::to_string(i);
    member.summary.process.rank = i;
    member.summary.process.clocks = hosts[i];
  }
  return run;
}

constexpr int64_t kSecond = 1'000'000'000;

TEST(RunClocks, SynchronizedHostsAreComparedByTheirClocks) {
  const CommonClock clock = commonClock(runOf({{100 * kSecond, 5000 * kSecond, 50, true, 1000},
                                               {7 * kSecond, 5001 * kSecond, 60, true, 3000}}));
  EXPECT_EQ(clock.offsets_ns, (std::vector<int64_t>{0, (5001 - 7 - 4900) * kSecond}));
  EXPECT_EQ(clock.error_ns, 1000 + 50 + 3000 + 60);
  EXPECT_TRUE(clock.warnings.empty());
}

TEST(RunClocks, HostsThatAreNotSynchronizedHaveNoKnownError) {
  const CommonClock clock = commonClock(
      runOf({{0, 5000 * kSecond, 50, true, 1000}, {0, 5000 * kSecond, 50, false, 1000}}));
  EXPECT_FALSE(clock.error_ns);
  EXPECT_NE(clock.text.find("not synchronized"), std::string::npos);
}

TEST(RunClocks, TheFileServerDecidesWhereHostsContradictIt) {
  const CommonClock clock =
      commonClock(runOf({{0, 5000 * kSecond, 50, true, 1000, 0, 10'000'000},
                         {0, 5060 * kSecond, 50, true, 1000, -60 * kSecond, 12'000'000}}));
  EXPECT_EQ(clock.offsets_ns, (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(clock.error_ns, 22'000'000);
  ASSERT_EQ(clock.warnings.size(), 1u);
}

TEST(RunClocks, AClockThatWasSetDuringTheRunIsNamed) {
  host_trace::Run run = runOf({{0, 5000 * kSecond, 50, true, 1000}});
  run.members[0].summary.end_clocks = ClockReading{kSecond, 5003 * kSecond, 50, true, 1000, 0, 0};
  const CommonClock clock = commonClock(run);
  EXPECT_EQ(clock.error_ns, 0); // one host
  ASSERT_EQ(clock.warnings.size(), 1u);
  EXPECT_EQ(clock.warnings[0], "the clock of node0 was changed by 2000.0 ms during the run");
}

TEST(RunText, StaysQuickAndShortWithAThousandRanks) {
  host_trace::Run run;
  run.path = "run";
  for (unsigned rank = 0; rank < 1000; ++rank) {
    RunMember &member = run.members.emplace_back();
    ProcessSummary &summary = member.summary;
    summary.process.rank = rank;
    summary.process.host = "node" + std::to_string(rank / 8);
    summary.process.boot_id = summary.process.host;
    summary.has_exited = true;
    summary.start_ns = 1;
    summary.end_ns = 1'000'001 + (rank == 700 ? 500'000 : rank);
    summary.busy_ns = 400'000 + (rank == 700 ? 500'000 : rank);
    for (int kernel = 0; kernel < 50; ++kernel)
      summary.totals.kernels["kernel" + std::to_string(kernel)].add(
          8000 + (rank == 700 && kernel == 7 ? 500'000 : 0));
  }
  const std::string text = describeRun(run, 5);
  EXPECT_NE(text.find("1000 processes on 125 hosts, ranks 0-999\n"), std::string::npos);
  EXPECT_NE(text.find("more GPU time; kernel7 500.0 us more\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nstraggler: rank 700, 900.0 us GPU busy"), std::string::npos) << text;
  EXPECT_LT(std::ranges::count(text, '\n'), 40);
}

} // namespace
