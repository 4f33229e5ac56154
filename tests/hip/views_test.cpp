// What is made from host events: nesting of times, RPD files.
#include "analysis/host_events/thread_times.h"
#include "host_trace/database.h"
#include "host_trace/rpd_file.h"
#include "host_trace/summary.h"
#include "host_trace/trace_formats.h"
#include "host_trace/writer.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace fade::host_trace {
namespace {

// Each time the whole file is written: a long run must not spend its time on that.
TEST(Flush, WritingTheFileAgainAndAgainTakesATenthOfAProcessorAtMost) {
  using std::chrono::seconds, std::chrono::milliseconds;
  EXPECT_EQ(pauseAfter(milliseconds(1), seconds(5)), seconds(5));
  for (const auto writing : {milliseconds(556), milliseconds(700), milliseconds(60'000)})
    EXPECT_LE(10 * writing, writing + pauseAfter(writing, seconds(5)));
}

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
  return {kind, {1, 1}, time, range, text, time, {}, {}, {}};
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

TEST_F(Rpd, ANewFileIsThereAsAWholeOrNotAtAll) {
  FormWriter writer(path_, "rpd", true);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit few = before;
  few.rlim_cur = 8192; // less than the tables need
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &few), 0);
  const Status failed = writer.write(twoRanges());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().file, path_);
  EXPECT_FALSE(std::filesystem::exists(path_)) << "who looks meanwhile must not find half a file";
  // The session of a writer stays one, also if somebody removes the file.
  for (const bool removes : {false, false, true}) {
    if (removes) std::filesystem::remove(path_);
    ASSERT_TRUE(writer.write(twoRanges()));
    EXPECT_EQ(open()->integer("SELECT count(*) FROM api"), 2);
    EXPECT_EQ(open()->text("SELECT value FROM rocpd_metadata WHERE tag = 'session_count'"), "1");
  }
}

TEST_F(Rpd, ALinkStaysALink) {
  const std::string link = path_ + ".link";
  std::filesystem::create_symlink(path_, link);
  for (const char *form : {"rpd", "json"}) {
    std::filesystem::remove(path_);
    for (int time = 0; time < 2; ++time)
      EXPECT_TRUE(FormWriter(link, form, false).write(twoRanges()));
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_TRUE(std::filesystem::is_regular_file(path_));
  }
  std::filesystem::remove(link);
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

/// "id integer, pid integer": columns with their types, in order. Tools insert and select by place.
std::string columns(Database &database, const std::string &table) {
  Statement statement(database, "SELECT name, lower(type), [notnull] FROM pragma_table_info('" +
                                    table + "')");
  std::string names;
  while (statement.step()) {
    names += (names.empty() ? "" : ", ") + statement.text(0);
    if (!statement.text(1).empty()) names += " " + statement.text(1);
    EXPECT_TRUE(statement.integer(2) == 1 || statement.text(1).empty() ||
                !table.starts_with("rocpd_"))
        << table << "." << statement.text(0);
  }
  return names;
}

using Schema = std::vector<std::pair<std::string, std::string>>;

void expectSchema(Database &database, const Schema &tables, const Schema &views) {
  std::string names, expected;
  for (const auto &[table, text] : tables) {
    EXPECT_EQ(columns(database, "rocpd_" + table), text) << table;
    expected += table + " ";
  }
  Statement found(database, "SELECT substr(name, 7) FROM sqlite_master WHERE type = 'table' AND "
                            "name LIKE 'rocpd_%' ORDER BY name");
  while (found.step()) names += found.text(0) + " ";
  EXPECT_EQ(names, expected);
  for (const auto &[view, text] : views) {
    Statement statement(database, "SELECT name FROM pragma_table_info('" + view + "')");
    std::string all;
    while (statement.step()) all += (all.empty() ? "" : " ") + statement.text(0);
    EXPECT_EQ(all, text) << view;
  }
}

const std::string kOperationView = "id gpuId queueId sequenceId start end duration stream ";
const std::string kCopied = "size width height kind dst src dstDevice srcDevice sync pinned";

/// Those that are the same in both versions.
Schema commonViews() {
  return {{"busy", "gpuId GpuTime WallTime Busy"},
          {"copy", "id pid tid start end apiName stream " + kCopied},
          {"copyop", kOperationView + kCopied + " apiName"},
          {"kernel", kOperationView + "gridX gridY gridZ workgroupX workgroupY workgroupZ "
                                      "groupSegmentSize privateSegmentSize kernelName"},
          {"op", "id gpuId queueId sequenceId start end description opType"},
          {"stackframe", "id string depth string:1"},
          {"top", "Name TotalCalls TotalDuration_us Ave_us Percentage"}};
}

std::string copyColumns(const std::string &key) {
  return "api_ptr_id " + key +
         ", stream varchar(18), size integer, width integer, height integer, kind integer, dst "
         "varchar(18), src varchar(18), dstDevice integer, srcDevice integer, sync bool, pinned "
         "bool";
}

std::string kernelColumns(const std::string &key) {
  return "api_ptr_id " + key +
         ", stream varchar(18), gridX integer, gridY integer, gridZ integer, workgroupX integer, "
         "workgroupY integer, workgroupZ integer, groupSegmentSize integer, privateSegmentSize "
         "integer, ";
}

const std::string kMonitor = "id integer, deviceType varchar(16), deviceId integer, monitorType "
                             "varchar(16), start integer, end integer, value varchar(255)";
const std::string kText = "id integer, string varchar(4096)";
const std::string kMetadata = "id integer, tag varchar(4096), value varchar(4096)";

TEST_F(Rpd, NothingIsAddedToAFileWhoseNumberOfSessionsMakesNoSense) {
  for (const char *count : {"9223372036854775807", "-3", "4611686018427387904"}) {
    std::filesystem::remove(path_);
    ASSERT_TRUE(writeRpd(twoRanges(), path_, RpdVersion::v3));
    {
      auto database = Database::open(path_, Database::Access::write);
      ASSERT_TRUE(database);
      (*database)->execute(std::string("UPDATE rocpd_metadata SET value = '") + count +
                           "' WHERE tag = 'session_count'");
    }
    const Status added = writeRpd(twoRanges(), path_, RpdVersion::v3);
    ASSERT_FALSE(added) << count;
    EXPECT_NE(added.error().message().find("its number of sessions is invalid"), std::string::npos);
    EXPECT_EQ(open()->text("SELECT value FROM rocpd_metadata WHERE tag = 'session_count'"), count);
  }
}

TEST_F(Rpd, EveryTableAndViewOfVersion3) {
  ASSERT_TRUE(writeRpd({}, path_, RpdVersion::v3));
  const auto database = open();
  Schema views = commonViews();
  views.emplace_back("api", "id pid tid start end domain category apiName args");
  views.emplace_back("napi", "id node pid tid start end domain category apiName args");
  views.emplace_back("nop", "id node gpuId queueId sequenceId start end description opType");
  expectSchema(*database,
               {{"api", "id integer, pid integer, tid integer, start integer, end integer, "
                        "apiName_id bigint, category_id bigint, domain_id bigint, args_id bigint"},
                {"api_ops", "id integer, api_id bigint, op_id bigint"},
                {"copyapi", copyColumns("bigint")},
                {"counter", "id integer, value real, op_id bigint, name_id bigint"},
                {"kernelapi", kernelColumns("bigint") + "kernelName_id bigint"},
                {"metadata", kMetadata},
                {"monitor", kMonitor},
                {"op", "id integer, gpuId integer, queueId integer, sequenceId integer, start "
                       "integer, end integer, description_id bigint, opType_id bigint"},
                {"stackframe", "id integer, api_ptr_id bigint, depth integer, name_id bigint"},
                {"string", kText},
                {"ustring", kText}},
               views);
  EXPECT_EQ(database->text("SELECT group_concat(tag || '=' || value) FROM (SELECT * FROM "
                           "rocpd_metadata WHERE tag NOT LIKE 'references%' ORDER BY tag)"),
            "gpu_stride=1000,pid_stride=10000000,schema_version=3,session_count=1");
  EXPECT_EQ(database->integer("SELECT count(*) FROM rocpd_metadata WHERE tag = "
                              "'references::rocpd_string.id'"),
            2);
  EXPECT_EQ(database->text("SELECT group_concat(tbl_name) FROM (SELECT tbl_name FROM "
                           "sqlite_master WHERE type = 'index' AND sql NOT NULL ORDER BY 1)"),
            "rocpd_string,rocpd_ustring");
  EXPECT_EQ(database->integer("SELECT id FROM rocpd_ustring WHERE string = ''"), 1);
}

TEST_F(Rpd, EveryTableAndViewOfVersion2) {
  ASSERT_TRUE(writeRpd({}, path_, RpdVersion::v2));
  const auto database = open();
  Schema views = commonViews();
  views.emplace_back("api", "id pid tid start end apiName args");
  views.emplace_back("napi", "");
  expectSchema(
      *database,
      {{"api", "id integer, pid integer, tid integer, start integer, end integer, apiName_id "
               "integer, args_id integer"},
       {"api_ops", "id integer, api_id integer, op_id integer"},
       {"barrierop", "op_ptr_id integer, signalCount integer, aquireFence varchar(8), releaseFence "
                     "varchar(8)"},
       {"copyapi", copyColumns("integer")},
       {"kernelapi", kernelColumns("integer") +
                         "kernelArgAddress varchar(18), aquireFence varchar(8), releaseFence "
                         "varchar(8), codeObject_id integer, kernelName_id integer"},
       {"kernelcodeobject", "id integer, vgpr integer, sgpr integer, fbar integer"},
       {"metadata", kMetadata},
       {"monitor", kMonitor},
       {"op", "id integer, gpuId integer, queueId integer, sequenceId integer, completionSignal "
              "varchar(18), start integer, end integer, description_id integer, opType_id integer"},
       {"op_inputSignals", "id integer, from_op_id integer, to_op_id integer"},
       {"stackframe", "id integer, api_ptr_id integer, depth integer, name_id integer"},
       {"string", kText}},
      views);
  EXPECT_EQ(database->text("SELECT group_concat(tag || '=' || value) FROM (SELECT * FROM "
                           "rocpd_metadata WHERE tag NOT LIKE 'references%' ORDER BY tag)"),
            "schema_version=2,session_count=1");
}

TEST_F(Rpd, TextsAreUtf8AndFreeRangesShareFewThreads) {
  using events::MarkerKind;
  HostEvents events;
  events.markers = {marker(MarkerKind::mark, 5, std::string_view("a\xff\0b\xc3\xa4", 6))};
  for (uint64_t i = 0; i < 100; ++i) {
    events.markers.push_back(marker(MarkerKind::start, 10 * i + 10, "x", i));
    events.markers.push_back(marker(MarkerKind::stop, 10 * i + 15, "", i));
  }
  ASSERT_TRUE(writeRpd(events, path_, RpdVersion::v3));
  const auto database = open();
  EXPECT_EQ(database->text("SELECT args FROM api ORDER BY start"), "a\xef\xbf\xbd\xef\xbf\xbd"
                                                                   "b\xc3\xa4");
  EXPECT_EQ(database->integer("SELECT count(DISTINCT tid) FROM api WHERE args = 'x'"), 1);
  EXPECT_EQ(database->integer("SELECT count(*) FROM api WHERE args = 'x'"), 100);
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

LoggedCall logged(std::string_view function, std::string_view error, bool has_operations = false) {
  LoggedCall call;
  call.function = function;
  call.error = error;
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

TEST(Summary, WhereOperationsKnowNoCallNothingIsSaidOfLaunches) {
  for (const uint32_t pid : {7u, 0u}) { // RPD files have no process of an operation
    TraceLog log;
    log.calls = {logged("hipLaunchKernel", "hipSuccess"), logged("hipMemcpy", "hipSuccess")};
    for (LoggedCall &call : log.calls) call.pid = 7;
    LoggedOperation operation;
    operation.pid = pid;
    log.operations = {operation, operation};
    std::string text = summarize(log, {});
    EXPECT_EQ(text.find("nothing reached a queue"), std::string::npos) << text;
    EXPECT_EQ(text.find("by the host itself"), std::string::npos) << text;
    EXPECT_NE(text.find("2 kernels or copies cannot be attributed to a call"), std::string::npos)
        << text;
    // A single one without a call is that of the first call, in which FADE is loaded.
    log.calls.push_back(logged("hipLaunchKernel", "hipSuccess", true));
    log.calls.back().pid = 7;
    text = summarize(log, {});
    EXPECT_NE(text.find("nothing reached a queue\n       1  hipLaunchKernel"), std::string::npos)
        << text;
    EXPECT_EQ(text.find("cannot be attributed to a call"), std::string::npos) << text;
  }
}

} // namespace
} // namespace fade::host_trace
