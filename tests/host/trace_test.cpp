#include "extent.h"
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

/// A trace in pieces that can be changed, left out and put in.
struct Chunk {
  trace::Kind kind;
  std::string payload;

  template <typename T> T read(std::size_t offset) const {
    T value;
    std::memcpy(&value, payload.data() + offset, sizeof value);
    return value;
  }
  template <typename T> void write(std::size_t offset, T value) {
    std::memcpy(payload.data() + offset, &value, sizeof value);
  }
};
std::vector<Chunk> chunksOf(const std::string &trace) {
  std::vector<Chunk> chunks;
  for (std::size_t at = sizeof(trace::FileHeader); at < trace.size();) {
    trace::ChunkHeader header;
    std::memcpy(&header, trace.data() + at, sizeof header);
    chunks.push_back({trace::Kind{header.kind}, trace.substr(at + sizeof header, header.size)});
    at += sizeof header + (header.size + 7) / 8 * 8;
  }
  return chunks;
}
std::string traceOf(const std::vector<Chunk> &chunks) {
  trace::Writer out;
  trace::FileHeader file;
  file.message_version = FADE_MESSAGE_VERSION;
  out.put(file);
  for (const Chunk &chunk : chunks) {
    out.put(trace::ChunkHeader{static_cast<uint32_t>(chunk.kind), 0, chunk.payload.size()});
    std::string padded = chunk.payload;
    padded.resize((padded.size() + 7) / 8 * 8);
    out.putBytes(padded.data(), padded.size());
  }
  return out.bytes();
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
    const auto reader = TraceReader::open(path);
    if (!reader) {
      ADD_FAILURE() << reader.error().message();
      return "";
    }
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
  /// The chunks of a recording.
  std::vector<Chunk> recorded() {
    record();
    return chunksOf(readFile(path));
  }
  /// What is wrong with a recording of these chunks.
  std::string problemOf(const std::vector<Chunk> &chunks) {
    writeFile(path, traceOf(chunks));
    std::string problem;
    replay(2, problem);
    return problem;
  }
  void expectRefused(const std::vector<Chunk> &chunks, const std::string &why) {
    const std::string problem = problemOf(chunks);
    EXPECT_TRUE(problem.starts_with(path + ": at offset ") && problem.ends_with(": " + why))
        << problem << "; expected: " << why;
  }
};

auto find(std::vector<Chunk> &chunks, trace::Kind kind) {
  const auto at = std::ranges::find(chunks, kind, &Chunk::kind);
  EXPECT_NE(at, chunks.end());
  return at;
}

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

// Handlers keep what they were told of a kernel by its id; a table of more sites for the same id
// would let records refer to sites that they have no room for.
TEST_F(TraceTest, AKernelThatGetsAnotherSiteTableIsRefused) {
  auto chunks = recorded();
  SiteTableBuilder larger;
  for (int i = 0; i < 1000; ++i) larger.add({});
  const auto built = larger.build("kernel");
  std::vector<std::byte> bytes(built->table.bytes().begin(), built->table.bytes().end());
  const uint64_t module = 77;
  std::memcpy(bytes.data() + offsetof(fade_sites, module_id), &module, sizeof module);
  trace::Writer sites;
  sites.put(module);
  sites.put(uint32_t{0});
  sites.putString("other.hsaco");
  sites.putBytes(bytes.data(), bytes.size());
  Chunk kernel = *find(chunks, trace::Kind::kernel);
  kernel.write(kernel.payload.size() - sizeof module, module);
  // Before the second dispatch, which then has a record of a site far away.
  const auto second = std::ranges::find_if(chunks, [](const Chunk &chunk) {
    return chunk.kind == trace::Kind::begin && chunk.read<uint64_t>(0) == 2;
  });
  ASSERT_NE(second, chunks.end());
  chunks.insert(second, {{trace::Kind::sites, sites.bytes()}, kernel});
  for (Chunk &chunk : chunks) {
    if (chunk.kind != trace::Kind::records || chunk.read<uint64_t>(0) != 2) continue;
    // Each wave announces itself with the id of the module, then loads.
    constexpr std::size_t head = 16;
    chunk.write(head + offsetof(fade_wave_begin, module), module);
    chunk.payload.resize(head + sizeof(fade_wave_begin));
    Stream stream;
    stream.wave();
    stream.affine(900, 0x10000, 4);
    const auto *from = reinterpret_cast<const char *>(stream.bytes().data());
    chunk.payload.append(from + sizeof(fade_wave_begin),
                         stream.bytes().size() - sizeof(fade_wave_begin));
  }
  expectRefused(chunks, "a kernel that is there twice");
}

TEST_F(TraceTest, WhatContradictsItselfIsRefusedAndSaysWhy) {
  const auto whole = recorded();
  using trace::DispatchFields;
  using trace::Kind;

  auto chunks = whole;
  auto at = find(chunks, Kind::begin);
  at->write(offsetof(DispatchFields, flags), uint32_t{0});
  expectRefused(chunks, "the beginning of a dispatch that is not instrumented");

  chunks = whole;
  std::erase_if(chunks, [](const Chunk &chunk) { return chunk.kind == Kind::begin; });
  expectRefused(chunks, "records of a dispatch that has not begun");
  std::erase_if(chunks, [](const Chunk &chunk) { return chunk.kind == Kind::records; });
  expectRefused(chunks, "the end of an instrumented dispatch that has not begun");

  chunks = whole;
  at = find(chunks, Kind::begin);
  chunks.insert(at, *at);
  expectRefused(chunks, "a dispatch that begins twice");

  chunks = whole;
  at = find(chunks, Kind::end);
  at->write(offsetof(DispatchFields, flags), uint32_t{0});
  expectRefused(chunks, "the end of a dispatch other than the one that began");
  at->write(offsetof(DispatchFields, flags), uint32_t{FADE_DISPATCH_INSTRUMENTED});
  at->write(offsetof(DispatchFields, kernel), uint32_t{5});
  expectRefused(chunks, "the end of a dispatch other than the one that began");

  chunks = whole;
  find(chunks, Kind::end)->write(offsetof(DispatchFields, end_ns), uint64_t{1});
  expectRefused(chunks, "a dispatch with impossible times");

  chunks = whole;
  at = find(chunks, Kind::kernel);
  at->write(at->payload.size() - 8, uint64_t{0});
  expectRefused(chunks, "an instrumented dispatch of a kernel without a site table");
  at->write(at->payload.size() - 8, uint64_t{1});
  expectRefused(chunks, "a kernel whose site table is missing");

  chunks = whole;
  at = find(chunks, Kind::kernel);
  Chunk renamed = *at;
  renamed.payload[8] = 'K';
  renamed.write(renamed.payload.size() - 8, uint64_t{0});
  chunks.insert(at, renamed);
  expectRefused(chunks, "a kernel whose id belongs to another one");

  chunks = whole;
  at = find(chunks, Kind::sites);
  chunks.insert(at, *at);
  expectRefused(chunks, "a site table that is there twice");

  const auto allocations = [](std::vector<fade_allocation> list) {
    trace::Writer out;
    out.put(uint64_t{list.size()});
    out.putBytes(list.data(), list.size() * sizeof(fade_allocation));
    return Chunk{Kind::allocations, out.bytes()};
  };
  expectRefused({allocations({{0x2000, 16, 1, 0, 0, 0}, {0x1000, 16, 2, 0, 0, 0}})},
                "allocations that are not in order");
  expectRefused({allocations({{0x2000, UINT64_MAX - 0x1000, 1, 0, 0, 0}})},
                "an allocation beyond the end of memory");
  expectRefused({allocations({{0x2000, 16, 1, 0, 0, 9}})},
                "an allocation whose name does not exist");
}

// An application may run a kernel with and without its twin, in any order (--dispatches).
TEST_F(TraceTest, DispatchesOfAKernelWithAndWithoutItsTwinMayAlternate) {
  removeOld();
  HostOptions options;
  options.record = path;
  std::string live;
  {
    HandlerHost host(handlers, options);
    const auto sites = table.build("kernel");
    for (const auto &choice : {sites, std::shared_ptr<const ModuleSites>(), sites}) {
      Stream stream;
      if (choice) {
        stream.wave();
        stream.affine(load, 0x10000, 4);
      }
      host.dispatch("kernel(int)", choice, stream);
    }
    live = host.finish();
  }
  ASSERT_EQ(objectsOf(live, "memory").size(), 2u);
  std::string problem;
  EXPECT_EQ(linesByWriter(replay(1, problem)), linesByWriter(live));
  EXPECT_EQ(problem, "");
}

TEST_F(TraceTest, DamagedTracesAreNamedAndNeverCrash) {
  record();
  const std::string whole = readFile(path);
  std::mt19937 random(7);
  int refused = 0, ignored = 0;
  for (int i = 0; i < extent::steps(300, 60); ++i) {
    std::string bytes = whole;
    for (int j = 0; j < 3; ++j)
      bytes[sizeof(trace::FileHeader) + random() % (bytes.size() - sizeof(trace::FileHeader))] ^=
          static_cast<char>(1 << random() % 8);
    writeFile(path, bytes);
    std::string problem;
    ::testing::internal::CaptureStderr();
    replay(2, problem);
    std::istringstream said(::testing::internal::GetCapturedStderr());
    // What is wrong with the file names the file and the place; what is wrong with the records of a
    // dispatch names its kernel, which may itself be damaged.
    if (!problem.empty()) {
      ++refused;
      EXPECT_TRUE(problem.starts_with(path + ": ") && problem.find(" at offset ") != problem.npos)
          << problem;
    }
    for (std::string line; std::getline(said, line); ++ignored)
      EXPECT_TRUE(line.starts_with("fade: the records of ") && line.ends_with("ignored")) << line;
  }
  EXPECT_GT(refused, extent::steps(10, 2));
  EXPECT_GT(ignored, extent::steps(10, 2));
}

TEST_F(TraceTest, WhatIsNoTraceIsRefusedByName) {
  for (const std::string &bytes : {std::string(), std::string("short"), std::string(4096, 'x')}) {
    writeFile(path, bytes);
    const auto reader = TraceReader::open(path);
    ASSERT_FALSE(reader);
    EXPECT_NE(reader.error().message().find(path), std::string::npos) << reader.error().message();
  }
  const auto reader = TraceReader::open("/no/such/trace");
  ASSERT_FALSE(reader);
  EXPECT_NE(reader.error().message().find("No such file"), std::string::npos);
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
