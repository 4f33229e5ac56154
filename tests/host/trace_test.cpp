#include "handler_host.h"
#include "stream/analyze_trace.h"
#include "stream/trace_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <unistd.h>

namespace fade::testing {
namespace {

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class TraceTest : public ::testing::Test {
protected:
  std::string path = ::testing::TempDir() + "trace-" +
                     ::testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
                     std::to_string(getpid());
  SiteTableBuilder table;
  uint32_t load = table.add({FADE_SITE_LOAD});
  uint32_t lds = table.add({FADE_SITE_LOAD, FADE_SPACE_LDS});
  const std::vector<HandlerChoice> handlers = {
      {"Heatmap", ""}, {"MemoryAnalysis", ""}, {"MessageLogger", ""}, {"BlockCounts", ""}};

  ~TraceTest() override { removeOld(); }

  /// A recording is never written over another. A device is no recording.
  void removeOld() const {
    if (std::filesystem::is_regular_file(path)) std::filesystem::remove(path);
  }

  // Records a run of two dispatches and returns what was reported while it ran.
  std::string record() {
    HostOptions options;
    options.record = path;
    removeOld();
    options.batch = 500;
    HandlerHost host(handlers, options);
    for (int d = 0; d < 2; ++d) {
      Stream stream;
      for (uint32_t i = 0; i < 50; ++i) {
        stream.wave(i);
        stream.affine(load, 0x10000 + 256 * i, d == 0 ? 4 : 128);
        stream.affine(lds, 0, 256);
        stream.waveEnd(i);
      }
      host.dispatch("kernel(int)", table.build("kernel"), stream, {{d + 1u, 2}, {3, 4}});
    }
    return host.finish();
  }
  std::string replay(unsigned workers, std::string &problem) {
    std::string error;
    const auto reader = TraceReader::open(path, error);
    EXPECT_TRUE(reader) << error;
    if (!reader) return "";
    Output output(Format::json);
    std::vector<std::string> complaints;
    AnalysisOptions options;
    options.workers = workers;
    Analysis analysis(options, loadHandlers(handlers, FADE_HANDLER_DIR, output, complaints), output,
                      nullptr);
    problem = reader->replay(analysis);
    EXPECT_TRUE(analysis.close(std::chrono::seconds(60)));
    return output.collected();
  }
};

// The lines of a report, apart by who wrote them: workers log the records of a dispatch while the
// reporter ends another, so the order is fixed only within the log of a dispatch and among the
// rest.
std::map<std::string, std::vector<std::string>> linesByWriter(const std::string &report) {
  std::map<std::string, std::vector<std::string>> writers;
  std::istringstream in(report);
  for (std::string line; std::getline(in, line);) {
    const auto object = nlohmann::json::parse(line);
    const std::string type = object["type"];
    const bool logged = type == "access" || type.starts_with("wave_");
    writers[logged ? "log of " + object["dispatch_id"].dump() : "reporter"].push_back(line);
  }
  return writers;
}

TEST_F(TraceTest, AReplayReportsLineForLineWhatTheRunReported) {
  const auto live = linesByWriter(record());
  EXPECT_EQ(live.size(), 3u);
  std::string problem;
  EXPECT_EQ(linesByWriter(replay(1, problem)), live);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(linesByWriter(replay(3, problem)), live);
}

TEST_F(TraceTest, NamesOfVariablesAreRecorded) {
  removeOld();
  auto all =
      std::make_shared<Allocations>(std::vector<fade_allocation>{{0x10000, 0x100, 1, 1, 0, 0}});
  all->list[0].name = all->addName("table");
  {
    HostOptions options;
    options.record = path;
    HandlerHost host(handlers, options);
    Stream stream;
    stream.wave();
    stream.affine(load, 0x10000, 4);
    host.dispatch("k", table.build("k"), stream, {}, all);
    host.finish();
  }
  std::string problem;
  const auto heatmaps = objectsOf(replay(1, problem), "heatmap");
  ASSERT_EQ(heatmaps.size(), 1u);
  EXPECT_EQ(heatmaps[0]["allocations"][0]["variable"], "table");
}

TEST_F(TraceTest, ATraceThatWasCutOffIsReadUpToThere) {
  record();
  const std::string whole = readFile(path);
  std::string problem;
  for (std::size_t size = sizeof(trace::FileHeader); size < whole.size(); size += 997) {
    writeFile(path, whole.substr(0, size));
    replay(1, problem);
    EXPECT_NE(problem.find("cut off"), std::string::npos) << size << ": " << problem;
  }
}

TEST_F(TraceTest, DamagedTracesAreNamedAndNeverCrash) {
  record();
  const std::string whole = readFile(path);
  std::mt19937 random(7);
  ::testing::internal::CaptureStderr(); // damaged records are complained about
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    for (int j = 0; j < 3; ++j)
      bytes[sizeof(trace::FileHeader) + random() % (bytes.size() - sizeof(trace::FileHeader))] ^=
          static_cast<char>(1 << random() % 8);
    writeFile(path, bytes);
    std::string problem;
    replay(2, problem);
  }
  ::testing::internal::GetCapturedStderr();
}

TEST_F(TraceTest, WhatIsNoTraceIsRefusedByName) {
  for (const std::string &bytes : {std::string(), std::string("short"), std::string(4096, 'x')}) {
    writeFile(path, bytes);
    std::string error;
    EXPECT_FALSE(TraceReader::open(path, error));
    EXPECT_NE(error.find(path), std::string::npos) << error;
  }
  std::string error;
  EXPECT_FALSE(TraceReader::open("/no/such/trace", error));
  EXPECT_NE(error.find("No such file"), std::string::npos);
}

TEST_F(TraceTest, RecordingToAFullDiskEndsTheRecordingOnly) {
  path = "/dev/full";
  ::testing::internal::CaptureStderr();
  const std::string report = record();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("No space left on device"),
            std::string::npos);
  EXPECT_EQ(objectsOf(report, "dispatch").size(), 2u);
}

} // namespace
} // namespace fade::testing
