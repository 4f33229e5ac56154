#include "device/stats_log.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fade::sim {
namespace {

DispatchStats some_stats() {
  DispatchStats s;
  s.classes[static_cast<size_t>(ExecClass::valu)] = {10, 640};
  s.classes[static_cast<size_t>(ExecClass::vmem_load)] = {2, 100};
  s.waves = 4;
  s.global_bytes_read = 400;
  s.global_bytes_written = 8;
  s.lds_bytes_read = 16;
  s.lds_bytes_written = 32;
  s.barriers = 1;
  s.seconds = 0.25;
  s.workers = 2;
  return s;
}
Dispatch some_dispatch() {
  Dispatch d;
  d.grid = {256, 2, 1};
  d.workgroup = {64, 1, 1};
  return d;
}

class TempFile {
public:
  TempFile() { close(mkstemp(path_)); }
  ~TempFile() { unlink(path_); }
  const char *path() const { return path_; }
  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> all;
    std::ifstream in(path_);
    for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }

private:
  char path_[32] = "/tmp/fade-stats.XXXXXX";
};

TEST(StatsLogTest, LineHasExactlyTheDocumentedFields) {
  auto object = nlohmann::json::parse(StatsLog::line("k", some_dispatch(), some_stats()));
  std::set<std::string> fields;
  for (auto &item : object.items()) fields.insert(item.key());
  EXPECT_EQ(fields,
            (std::set<std::string>{"kernel", "grid", "workgroup", "waves", "wave_instructions",
                                   "lane_instructions", "classes", "global_bytes_read",
                                   "global_bytes_written", "lds_bytes_read", "lds_bytes_written",
                                   "barriers", "l2_write_backs", "seconds", "workers"}));
  std::set<std::string> classes;
  for (auto &item : object["classes"].items()) classes.insert(item.key());
  EXPECT_EQ(classes,
            (std::set<std::string>{"valu", "salu", "vmem_load", "vmem_store", "vmem_atomic", "smem",
                                   "lds", "branch", "mfma", "other"}));
}

TEST(StatsLogTest, NumbersArriveUnchanged) {
  auto object = nlohmann::json::parse(StatsLog::line("k", some_dispatch(), some_stats()));
  EXPECT_EQ(object["grid"], nlohmann::json({256, 2, 1}));
  EXPECT_EQ(object["workgroup"], nlohmann::json({64, 1, 1}));
  EXPECT_EQ(object["wave_instructions"], 12);
  EXPECT_EQ(object["lane_instructions"], 740);
  EXPECT_EQ(object["classes"]["valu"]["lane_instructions"], 640);
  EXPECT_EQ(object["classes"]["vmem_load"]["wave_instructions"], 2);
  EXPECT_EQ(object["global_bytes_read"], 400);
  EXPECT_EQ(object["seconds"], 0.25);
}

TEST(StatsLogTest, KernelNameIsEscaped) {
  std::string name = "k\"\\\n\x01\xff";
  std::string line = StatsLog::line(name, {}, {});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(nlohmann::json::parse(line)["kernel"].get<std::string>().substr(0, 4), "k\"\\\n");
}

TEST(StatsLogTest, ThreadsAndProcessesDoNotMixLines) {
  TempFile file;
  StatsLog log(file.path());
  auto write_many = [&log](const char *name) {
    for (int i = 0; i < 200; ++i) log.write(name, some_dispatch(), some_stats());
  };
  pid_t child = fork();
  if (child == 0) {
    write_many("child");
    _exit(0);
  }
  std::thread other(write_many, "a");
  write_many("b");
  other.join();
  waitpid(child, nullptr, 0);
  auto lines = file.lines();
  std::map<std::string, int> count;
  for (auto &line : lines) ++count[line["kernel"]];
  EXPECT_EQ(count, (std::map<std::string, int>{{"a", 200}, {"b", 200}, {"child", 200}}));
}

TEST(StatsLogTest, AppendsToWhatIsThere) {
  TempFile file;
  StatsLog(file.path()).write("one", {}, {});
  StatsLog(file.path()).write("two", {}, {});
  EXPECT_EQ(file.lines().size(), 2u);
}

TEST(StatsLogTest, FileThatCannotBeWrittenIsReportedOnceAndIgnored) {
  testing::internal::CaptureStderr();
  StatsLog log("/nonexistent/folder/stats");
  log.write("k", {}, {});
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("/nonexistent/folder/stats"), text.npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

} // namespace
} // namespace fade::sim
