// What is made from host events: nesting of times, RPD files.
#include "trace/database.h"
#include "trace/rpd_file.h"
#include "trace/summary.h"
#include "trace/thread_times.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace fade::host_trace {
namespace {

using Times = std::vector<std::pair<uint64_t, uint64_t>>;

Times nested(const Times &times) {
  std::vector<Interval> intervals;
  for (const auto &[start, end] : times)
    intervals.push_back({{1, 1}, start, end, intervals.size()});
  makeNested(intervals);
  Times result;
  for (const Interval &interval : intervals)
    result.emplace_back(interval.start_ns, interval.end_ns);
  return result;
}

TEST(ThreadTimes, WhatNestsStaysAsItIs) {
  const Times times = {{10, 100}, {20, 50}, {30, 40}, {60, 90}, {200, 300}};
  EXPECT_EQ(nested(times), times);
}

TEST(ThreadTimes, EqualTimesAreMovedApart) {
  // The second begins and ends with the first; the third begins when they end; the last has no
  // length.
  EXPECT_EQ(nested({{10, 20}, {10, 20}, {20, 20}}), (Times{{10, 21}, {11, 20}, {22, 23}}));
}

TEST(ThreadTimes, WhatReachesOutOfAnotherEndsWithIt) {
  EXPECT_EQ(nested({{10, 50}, {30, 80}}), (Times{{10, 51}, {30, 50}}));
}

TEST(ThreadTimes, ThreadsDoNotDisturbEachOther) {
  std::vector<Interval> intervals = {{{1, 1}, 10, 20, 0}, {{1, 2}, 10, 20, 1}, {{2, 1}, 10, 20, 2}};
  makeNested(intervals);
  for (const Interval &interval : intervals) {
    EXPECT_EQ(interval.start_ns, 10u);
    EXPECT_EQ(interval.end_ns, 20u);
  }
}

Marker marker(events::MarkerKind kind, uint64_t time, std::string_view text = "",
              uint64_t range = 0) {
  return {kind, {1, 1}, time, range, text, time};
}

TEST(ThreadTimes, PushesAndPopsStartsAndStopsBecomeRanges) {
  using events::MarkerKind;
  HostEvents events;
  events.switches.push_back({1, true, 5});
  events.markers = {marker(MarkerKind::pop, 8), // its push was before the recording
                    marker(MarkerKind::push, 10, "outer"),
                    marker(MarkerKind::start, 12, "free", 7),
                    marker(MarkerKind::push, 20, "inner"),
                    marker(MarkerKind::mark, 25, "here"),
                    marker(MarkerKind::pop, 30),
                    marker(MarkerKind::stop, 35, "", 7),
                    marker(MarkerKind::push, 40, "open")};
  std::vector<std::tuple<std::string, uint64_t, uint64_t, bool>> found;
  for (const Range &range : rangesOf(events))
    found.emplace_back(range.text, range.start_ns, range.end_ns, range.is_nested);
  EXPECT_EQ(found, (decltype(found){{"", 5, 8, true},
                                    {"outer", 10, 40, true}, // open at the end
                                    {"free", 12, 35, false},
                                    {"inner", 20, 30, true},
                                    {"here", 25, 25, true},
                                    {"open", 40, 40, true}}));
}

class Rpd : public testing::Test {
protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("fade-rpd-test." + std::to_string(getpid()));
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::unique_ptr<Database> open() {
    auto database = Database::open(path_, Database::Access::read);
    EXPECT_TRUE(database);
    return *std::move(database);
  }

  std::string path_;
};

/// Two ranges in a process.
HostEvents twoRanges() {
  using events::MarkerKind;
  HostEvents events;
  events.markers = {marker(MarkerKind::push, 10, "a, seq = 1, op_id = 2"),
                    marker(MarkerKind::pop, 20), marker(MarkerKind::mark, 30, "it's")};
  return events;
}

TEST_F(Rpd, SessionsAreAddedWithNumbersOfTheirOwn) {
  for (int session = 0; session < 3; ++session)
    ASSERT_TRUE(writeRpd(twoRanges(), path_, RpdVersion::v3));
  const auto database = open();
  EXPECT_EQ(database->text("SELECT value FROM rocpd_metadata WHERE tag = 'session_count'"), "3");
  EXPECT_EQ(database->integer("SELECT count(*) FROM api WHERE apiName = 'UserMarker'"), 6);
  EXPECT_EQ(database->integer("SELECT max(id) >> 32 FROM rocpd_api"), 2);
  EXPECT_EQ(database->integer("SELECT count(*) FROM rocpd_string WHERE string = ''"), 1);
  EXPECT_EQ(database->text("PRAGMA foreign_key_check"), "");
  EXPECT_EQ(database->text("SELECT args FROM api ORDER BY start DESC LIMIT 1"), "it's");
}

TEST_F(Rpd, AFileKeepsItsVersion) {
  ASSERT_TRUE(writeRpd(twoRanges(), path_, RpdVersion::v2));
  ASSERT_TRUE(writeRpd(twoRanges(), path_, RpdVersion::v3)); // as for a file that is made anew
  const auto database = open();
  EXPECT_EQ(database->integer("SELECT count(*) FROM api"), 4);
  EXPECT_EQ(database->integer("SELECT count(*) FROM sqlite_master WHERE name = 'rocpd_ustring'"),
            0);
  EXPECT_EQ(database->text("PRAGMA integrity_check"), "ok");
}

/// The names of columns, in order.
std::string columns(Database &database, const std::string &table) {
  Statement statement(database, "SELECT name FROM pragma_table_info('" + table + "')");
  std::string names;
  while (statement.step()) names += (names.empty() ? "" : " ") + statement.text(0);
  return names;
}

TEST_F(Rpd, TablesAndViewsHaveTheColumnsThatToolsReadByPlace) {
  ASSERT_TRUE(writeRpd({}, path_, RpdVersion::v3));
  const auto database = open();
  EXPECT_EQ(columns(*database, "rocpd_api"),
            "id pid tid start end apiName_id category_id domain_id args_id");
  EXPECT_EQ(columns(*database, "rocpd_op"),
            "id gpuId queueId sequenceId start end description_id opType_id");
  EXPECT_EQ(columns(*database, "rocpd_kernelapi"),
            "api_ptr_id stream gridX gridY gridZ workgroupX workgroupY workgroupZ groupSegmentSize "
            "privateSegmentSize kernelName_id");
  EXPECT_EQ(columns(*database, "rocpd_copyapi"),
            "api_ptr_id stream size width height kind dst src dstDevice srcDevice sync pinned");
  EXPECT_EQ(columns(*database, "api"), "id pid tid start end domain category apiName args");
  EXPECT_EQ(columns(*database, "op"), "id gpuId queueId sequenceId start end description opType");
  EXPECT_EQ(columns(*database, "top"), "Name TotalCalls TotalDuration_us Ave_us Percentage");
  EXPECT_EQ(columns(*database, "busy"), "gpuId GpuTime WallTime Busy");
  EXPECT_EQ(columns(*database, "napi"), "id node pid tid start end domain category apiName args");
  EXPECT_EQ(database->integer("SELECT count(*) FROM rocpd_metadata WHERE tag = "
                              "'references::rocpd_string.id'"),
            2);
}

TEST_F(Rpd, TheOlderVersionHasItsOwnTables) {
  ASSERT_TRUE(writeRpd({}, path_, RpdVersion::v2));
  const auto database = open();
  EXPECT_EQ(columns(*database, "rocpd_api"), "id pid tid start end apiName_id args_id");
  EXPECT_EQ(columns(*database, "rocpd_op"),
            "id gpuId queueId sequenceId completionSignal start end description_id opType_id");
  EXPECT_EQ(columns(*database, "rocpd_op_inputSignals"), "id from_op_id to_op_id");
  EXPECT_EQ(columns(*database, "rocpd_kernelapi"),
            "api_ptr_id stream gridX gridY gridZ workgroupX workgroupY workgroupZ groupSegmentSize "
            "privateSegmentSize kernelArgAddress aquireFence releaseFence codeObject_id "
            "kernelName_id");
  EXPECT_EQ(columns(*database, "napi"), "");
}

TEST_F(Rpd, OtherFilesAreLeftAlone) {
  std::ofstream(path_) << "this is no database, and long enough to be looked at as one";
  const auto status = writeRpd(twoRanges(), path_, RpdVersion::v3);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("not a database"), std::string::npos);
  std::filesystem::remove(path_);
  {
    auto other = Database::open(path_, Database::Access::write);
    (*other)->execute("CREATE TABLE mine (x)");
  }
  EXPECT_NE(writeRpd(twoRanges(), path_, RpdVersion::v3).error().message().find("no RPD file"),
            std::string::npos);
  EXPECT_FALSE(writeRpd(twoRanges(), "/no/such/place", RpdVersion::v3));
}

LoggedCall logged(std::string function, std::string error, bool has_operations = false) {
  LoggedCall call;
  call.function = std::move(function);
  call.error = std::move(error);
  call.start_ns = 100;
  call.end_ns = 200;
  call.has_operations = has_operations;
  return call;
}

TEST(Summary, SaysWhatHadNoEffectAndWhatFailed) {
  TraceLog log;
  log.calls = {
      logged("hipLaunchKernel", "hipSuccess", true), logged("hipLaunchKernel", "hipSuccess"),
      logged("hipStreamBeginCapture", "hipSuccess"), logged("hipLaunchKernel", "hipSuccess"),
      logged("hipStreamEndCapture", "hipSuccess"),   logged("hipMalloc", "hipErrorOutOfMemory"),
      logged("hipEventQuery", "hipErrorNotReady"),   logged("hipMemcpy", "hipSuccess")};
  log.calls.push_back(logged("hipDeviceSynchronize", ""));
  log.calls.back().has_returned = false;
  log.calls.back().tid = 42;
  const std::string text = summarize(log, {});
  EXPECT_NE(text.find("nothing reached a queue\n       1  hipLaunchKernel\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("errors\n       1  hipMalloc: hipErrorOutOfMemory\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("NotReady"), std::string::npos) << text;
  EXPECT_NE(text.find("hipDeviceSynchronize in thread 42"), std::string::npos) << text;
  EXPECT_NE(text.find("1 copies were done by the host itself"), std::string::npos) << text;
}

} // namespace
} // namespace fade::host_trace
