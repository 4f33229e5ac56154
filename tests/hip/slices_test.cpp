// Files made from slices of host events say the same as those made from all of them at once.
#include "analysis/host_events/thread_times.h"
#include "host_trace/call_log.h"
#include "host_trace/database.h"
#include "host_trace/event_slices.h"
#include "host_trace/perfetto_timeline.h"
#include "host_trace/rocpd_file.h"
#include "host_trace/rpd_file.h"
#include "host_trace/trace_formats.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace fade::host_trace {
namespace {

using namespace events;

constexpr uint32_t kSlicedPid = 77;
constexpr int kLaunches = 3'000;

constexpr uint16_t numberOf(std::string_view name) {
  return std::ranges::find_if(hip::kFunctions, [&](const auto &f) { return f.name == name; })
      ->number;
}

/// Writes a file of events, as threads do: each has a block of its own.
class EventsFile {
public:
  explicit EventsFile(std::string path) : path_(std::move(path)), bytes_(kHeaderBytes) {}

  template <typename Event>
  uint64_t add(uint32_t tid, Event event, std::string_view text = {}, std::size_t rest = 0) {
    const std::size_t size = (sizeof event + std::max(rest, text.size()) + 7) / 8 * 8;
    Place &place = threads_[tid];
    if (place.used + size > kBlockBytes) {
      place = {bytes_.size(), sizeof(BlockHeader)};
      bytes_.resize(bytes_.size() + kBlockBytes);
      ThreadEvent thread{};
      thread.header.kind = EventKind::thread;
      thread.tid = tid;
      thread.pid = kSlicedPid;
      thread.time_ns = last_;
      add(tid, thread);
    }
    event.header.words = static_cast<uint16_t>(size / 8);
    const std::size_t at = place.block + place.used;
    std::memcpy(bytes_.data() + at, &event, sizeof event);
    if (!text.empty()) std::memcpy(bytes_.data() + at + sizeof event, text.data(), text.size());
    place.used += size;
    const BlockHeader header{kBlockMagic, static_cast<uint32_t>(place.used)};
    std::memcpy(bytes_.data() + place.block, &header, sizeof header);
    return at;
  }

  uint64_t call(uint32_t tid, std::string_view name, uint64_t start, uint64_t end,
                uint64_t parent = 0, uint64_t result = 0) {
    last_ = start;
    CallEvent event{};
    event.header.kind = EventKind::call;
    event.function = numberOf(name);
    event.flags = end != 0 ? kCallReturned : 0;
    event.parent = parent;
    event.start_ns = start;
    event.end_ns = end;
    event.result = result;
    return add(tid, event, {}, 8 * hip::kFunctions[event.function].words);
  }
  void copy(uint32_t tid, uint64_t start, uint64_t end) {
    CallEvent event{};
    event.header.kind = EventKind::call;
    event.function = numberOf("hipMemcpy");
    event.flags = kCallReturned;
    event.start_ns = start;
    event.end_ns = end;
    const uint64_t words[] = {0x1000, 0x2000, 64, 1}; // dst, src, sizeBytes, kind
    add(tid, event, {reinterpret_cast<const char *>(words), sizeof words},
        8 * hip::kFunctions[event.function].words);
  }
  void finding(uint32_t tid, uint64_t time, std::string_view text) {
    FindingEvent event{};
    event.header.kind = EventKind::finding;
    event.kind = FindingKind::property;
    event.time_ns = time;
    event.size = static_cast<uint16_t>(text.size());
    add(tid, event, text);
  }
  void request(uint32_t tid, uint64_t time, const std::string &file, const std::string &who) {
    LibraryEvent event{};
    event.header.kind = EventKind::library;
    event.flags = kLibraryRequested;
    event.time_ns = time;
    add(tid, event, file + '\0' + who + '\0');
  }
  void process(uint32_t tid, uint64_t time) {
    ProcessEvent event{};
    event.header.kind = EventKind::process;
    event.pid = kSlicedPid;
    event.time_ns = time;
    using namespace std::string_view_literals;
    add(tid, event, "/bin/app\0/none/libamdhip64.so.5\0"sv);
  }
  void usage(uint32_t tid, uint64_t time, uint64_t cpu) {
    UsageEvent event{};
    event.header.kind = EventKind::usage;
    event.time_ns = time;
    event.cpu_ns = cpu;
    add(tid, event);
  }
  uint64_t operation(uint32_t tid, uint64_t call, uint64_t submitted) {
    last_ = submitted;
    OperationEvent event{};
    event.header.kind = EventKind::operation;
    event.kind = OperationKind::kernel;
    event.call = call;
    event.submitted_ns = submitted;
    event.name = 5;
    event.workgroup[0] = 64;
    return add(tid, event);
  }
  void ended(uint32_t tid, uint64_t operation, uint64_t start, uint64_t end, uint16_t flags = 0) {
    last_ = end;
    OperationEndEvent event{};
    event.header.kind = EventKind::operation_end;
    event.flags = flags;
    event.operation = operation;
    event.start_ns = start;
    event.end_ns = end;
    add(tid, event);
  }
  void marker(uint32_t tid, MarkerKind kind, uint64_t time, std::string_view text,
              uint64_t range = 0) {
    last_ = time;
    MarkerEvent event{};
    event.header.kind = EventKind::marker;
    event.kind = kind;
    event.size = static_cast<uint16_t>(text.size());
    event.time_ns = time;
    event.range = range;
    add(tid, event, text);
  }
  void text(uint32_t tid, uint64_t id, std::string_view what) {
    TextEvent event{};
    event.header.kind = EventKind::text;
    event.id = id;
    event.size = static_cast<uint32_t>(what.size());
    add(tid, event, what);
  }

  void write() {
    FileHeader header{kMagic, kVersion, kBlockBytes, (bytes_.size() - kHeaderBytes) / kBlockBytes,
                      0,      1000,     2000};
    std::memcpy(bytes_.data(), &header, sizeof header);
    std::ofstream(path_, std::ios::binary)
        .write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
  }

private:
  struct Place {
    std::size_t block = 0, used = kBlockBytes;
  };
  const std::string path_;
  std::vector<char> bytes_;
  std::map<uint32_t, Place> threads_;
  uint64_t last_ = 1;
};

class Slices : public testing::Test {
protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("fade-slices-test." + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
    events_ = folder_ + "/events";
    make();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Launches of one thread; kernels end 400 launches later, as another thread tells.
  /// `now_and_then` is called with what is there by then.
  void make(const std::function<void()> &now_and_then = [] {}) const {
    EventsFile file(events_);
    file.process(1, 1'000);
    file.text(1, 5, "scale(float*)");
    file.marker(1, MarkerKind::push, 2'000, "epoch");
    file.marker(1, MarkerKind::start, 2'100, "free", 9);
    std::vector<uint64_t> operations;
    uint64_t time = 10'000;
    const auto end = [&](std::size_t i) { // kernels run side by side
      file.ended(2, operations[i], time - 950, time - 100,
                 i == 7 ? kOperationRefused : kOperationTimes);
    };
    for (int i = 0; i < kLaunches; ++i, time += 1'000) {
      if (i % 100 == 0) file.marker(1, MarkerKind::push, time - 350, "step " + std::to_string(i));
      const uint64_t outer =
          i % 10 == 0 ? file.call(1, "hipDeviceSynchronize", time - 300, time + 600) : 0;
      const uint64_t call = file.call(1, "hipLaunchKernel", time, time + 500, outer);
      operations.push_back(file.operation(1, call, time + 200));
      if (i % 100 == 99) file.marker(1, MarkerKind::pop, time + 620, "");
      if (i >= 400 && i != 450) end(static_cast<std::size_t>(i) - 400); // the 50th never ends
      if (i % 500 == 250) addFacts(file, time + 700, i);
      if (i % 50 == 25) file.write(), now_and_then();
    }
    file.marker(1, MarkerKind::stop, time, "", 9);
    for (int i = kLaunches - 400; i < kLaunches; ++i) end(static_cast<std::size_t>(i)), time += 10;
    file.call(1, "hipDeviceSynchronize", time, 0);
    file.write();
  }

  /// A launch without effect, one that is captured, copies by the host, errors that are asked about
  /// or not, and what was noticed. 700 ns.
  static void addFacts(EventsFile &file, uint64_t time, int i) {
    constexpr uint64_t invalid = 1, no_memory = 2;
    file.call(1, "hipLaunchKernel", time, time + 5);
    file.call(1, "hipStreamBeginCapture", time + 10, time + 15);
    file.call(1, "hipLaunchKernel", time + 20, time + 25);
    file.copy(1, time + 26, time + 28);
    file.call(1, "hipStreamEndCapture", time + 30, time + 35);
    file.copy(1, time + 36, time + 38); // by the host
    file.call(1, "hipMalloc", time + 40, time + 45, 0, no_memory);
    file.call(1, "hipGetLastError", time + 50, time + 55);
    file.call(1, "hipFree", time + 60, time + 65, 0, invalid);
    file.finding(1, time + 70, i < 1'000 ? "first" : "later");
    file.request(1, time + 80, "libx.so", "app");
    file.usage(1, time + 90, i < 1'000 ? 1 : 6'000'000'000);
  }

  EventSource sliced() const { return EventSource(events_, 0, 1'000); }
  HostEvents whole() const {
    auto events = HostEvents::read(events_);
    EXPECT_TRUE(events);
    return *std::move(events);
  }

  /// All rows of a query on both files, in order.
  static std::vector<std::string> rows(const std::string &path, const std::string &query) {
    auto database = Database::open(path, Database::Access::read);
    EXPECT_TRUE(database);
    std::vector<std::string> all;
    Statement statement(**database, query);
    while (statement.step()) all.push_back(statement.text(0));
    EXPECT_TRUE((*database)->status()) << (*database)->status().error().message();
    std::ranges::sort(all);
    return all;
  }

  /// Of JSON lines that are whole: their first line says how many there are.
  static std::size_t operationsIn(std::istream &file) {
    std::size_t found = 0, said = 0;
    for (std::string line; std::getline(file, line);) {
      const auto json = nlohmann::json::parse(line);
      if (json["type"] == "trace") said = json["operations"];
      found += json["type"] == "operation" && json["end_ns"] != nullptr;
    }
    EXPECT_TRUE(said == found || said == found + 1) << said << ' ' << found; // one never ends
    return found;
  }

  std::string folder_, events_;
};

TEST_F(Slices, CallsComeWithWhatMadeThemAndWhatTheyCaused) {
  std::size_t slices = 0, calls = 0, operations = 0, ranges = 0, largest = 0;
  uint64_t reached = 0;
  ASSERT_TRUE(sliced().forEach([&](const HostEvents &slice, uint64_t until) {
    ++slices;
    calls += slice.calls.size();
    operations += slice.operations.size();
    largest = std::max(largest, slice.calls.size());
    ranges += rangesOf(slice).size();
    for (const Call &call : slice.calls)
      EXPECT_EQ(slice.callAt(call.parent).has_value(), call.parent != 0);
    for (const Operation &operation : slice.operations) {
      EXPECT_TRUE(slice.callAt(operation.event.call));
      if (operation.has_times) EXPECT_GE(operation.start_ns, reached);
    }
    reached = until;
  }));
  const HostEvents all = whole();
  EXPECT_GT(slices, 5u);
  EXPECT_LT(largest, 1'500u);
  EXPECT_EQ(calls, all.calls.size());
  EXPECT_EQ(operations, all.operations.size());
  EXPECT_EQ(operations, static_cast<std::size_t>(kLaunches) - 1);
  EXPECT_EQ(ranges, rangesOf(all).size());
  EXPECT_EQ(ranges, 32u);
  EXPECT_EQ(reached, UINT64_MAX);
}

TEST_F(Slices, AFileThatGrowsIsReadUntilItsEnd) {
  // They take turns.
  std::mutex mutex;
  std::condition_variable turn;
  enum class Whose { reader, recorder, nobody } whose = Whose::reader;
  const auto handOver = [&](Whose from, Whose to) {
    std::unique_lock lock(mutex);
    whose = to;
    turn.notify_all();
    if (to != Whose::nobody)
      turn.wait(lock, [&] { return whose == from || whose == Whose::nobody; });
    return whose != Whose::nobody;
  };
  std::thread recording([&] {
    {
      std::unique_lock lock(mutex);
      turn.wait(lock, [&] { return whose == Whose::recorder; });
    }
    make([&] { handOver(Whose::recorder, Whose::reader); });
    handOver(Whose::recorder, Whose::nobody);
  });
  std::size_t pauses = 0, slices = 0, calls = 0, operations = 0, with_call = 0, ranges = 0,
              ends = 0;
  const auto wait = [&] {
    ++pauses;
    return handOver(Whose::reader, Whose::recorder) ? EventSource::Next::read
                                                    : EventSource::Next::end;
  };
  std::size_t processes = 0;
  const EventSource source(
      events_, wait, [&](const HostEvents &facts) { processes = facts.processes.size(); }, 500);
  ASSERT_TRUE(source.forEach([&](const HostEvents &slice, uint64_t) {
    ++slices;
    calls += slice.calls.size();
    operations += slice.operations.size();
    ranges += rangesOf(slice).size();
    for (const Operation &operation : slice.operations) {
      with_call += slice.callAt(operation.event.call) ? 1u : 0u;
      ends += operation.has_ended ? 1u : 0u;
    }
  }));
  recording.join();
  const HostEvents all = whole();
  EXPECT_GT(pauses, 50u);
  EXPECT_GT(slices, 5u);
  EXPECT_LT(slices, pauses / 2);
  EXPECT_EQ(calls, all.calls.size());
  EXPECT_EQ(operations, all.operations.size());
  EXPECT_EQ(with_call, operations);
  EXPECT_EQ(ends, operations - 1);
  EXPECT_EQ(ranges, rangesOf(all).size());
  EXPECT_EQ(processes, 1u);
}

TEST_F(Slices, RpdFilesAreTheSame) {
  for (const RpdVersion version : {RpdVersion::v3, RpdVersion::v2}) {
    const std::string one = folder_ + "/one.rpd", two = folder_ + "/two.rpd";
    for (const std::string &path : {one, two}) std::filesystem::remove(path);
    int64_t session = -1, other = -1;
    ASSERT_TRUE(writeRpd(whole(), one, version, session));
    ASSERT_TRUE(writeRpd(sliced(), two, version, other));
    for (const char *query :
         {"SELECT pid || ' ' || tid || ' ' || start || ' ' || end || ' ' || apiName || ' ' || args "
          "FROM api",
          "SELECT A.start || ' ' || O.start || ' ' || O.end || ' ' || S.string FROM rocpd_api_ops "
          "L JOIN rocpd_api A ON A.id = L.api_id JOIN "
          "rocpd_op O ON O.id = L.op_id JOIN rocpd_string S ON S.id = O.description_id",
          "SELECT A.start || ' ' || S.string FROM rocpd_kernelapi K JOIN rocpd_api A ON A.id = "
          "K.api_ptr_id JOIN rocpd_string S ON S.id = kernelName_id"}) {
      const auto expected = rows(one, query);
      EXPECT_GT(expected.size(), kLaunches - 10u) << query;
      EXPECT_EQ(rows(two, query), expected);
    }
  }
}

TEST_F(Slices, FindingsAreTheSame) {
  const auto linesOf = [](const EventSource &source) {
    EventSource::Facts facts;
    EXPECT_TRUE(source.forEach([](const HostEvents &, uint64_t) {}, &facts));
    std::vector<std::string> lines;
    for (const FoundFact &fact : facts.found)
      lines.push_back(fact.kind + " " + fact.text + " " + std::to_string(fact.count) + " " +
                      std::to_string(fact.pid));
    for (const LoggedRequest &request : facts.requests)
      lines.push_back(request.file + " " + request.who + " " + std::to_string(request.time_ns));
    return lines;
  };
  const HostEvents events = whole();
  const auto expected = linesOf(EventSource(events));
  EXPECT_EQ(linesOf(sliced()), expected);
  for (const char *line : {"no_effect hipLaunchKernel 7 77", "no_memory hipMalloc of 0 bytes 6 77",
                           "property first 2 77", "property later 4 77",
                           "unseen_error hipFree: hipErrorInvalidValue 6 77"})
    EXPECT_TRUE(std::ranges::find(expected, line) != expected.end()) << line;
  EXPECT_EQ(std::ranges::count_if(expected, [](auto &line) { return line.starts_with("libx.so"); }),
            6);
}

TEST_F(Slices, AFlushMakesWhatWasRecordedReadable) {
  for (const std::string form : {"rpd", "perfetto", "json"}) {
    const std::string path = folder_ + "/flushed." + form;
    std::mutex mutex;
    std::condition_variable turn;
    bool is_readers = true, is_over = false;
    std::thread recording([&] {
      const auto pass = [&] {
        std::unique_lock lock(mutex);
        is_readers = true;
        turn.notify_all();
        turn.wait(lock, [&] { return !is_readers; });
      };
      {
        std::unique_lock lock(mutex);
        turn.wait(lock, [&] { return !is_readers; });
      }
      make(pass);
      const std::lock_guard lock(mutex);
      is_readers = is_over = true;
      turn.notify_all();
    });
    std::size_t turns = 0;
    const auto wait = [&] {
      std::unique_lock lock(mutex);
      is_readers = false;
      turn.notify_all();
      turn.wait(lock, [&] { return is_readers; });
      if (is_over) return EventSource::Next::end;
      return ++turns % 20 == 0 ? EventSource::Next::flush : EventSource::Next::read;
    };
    std::vector<std::size_t> kernels;
    const auto count = [&]() -> std::size_t {
      if (form == "rpd") return rows(path, "SELECT id FROM rocpd_op").size();
      std::ifstream file(path);
      if (form == "json") return operationsIn(file);
      const auto json = nlohmann::json::parse(file);
      return static_cast<std::size_t>(std::ranges::count_if(
          json["traceEvents"], [](auto &event) { return event.value("cat", "") == "kernel"; }));
    };
    const EventSource source(
        events_, wait, [](const HostEvents &) {}, 1'000'000); // no slice but for flushes
    ASSERT_TRUE(FormWriter(path, form, false).write(source.whenFlushed([&] {
      kernels.push_back(count());
    })));
    recording.join();
    ASSERT_EQ(kernels.size(), 3u) << form;
    kernels.push_back(count());
    for (std::size_t i = 1; i < kernels.size(); ++i) EXPECT_GT(kernels[i], kernels[i - 1]) << form;
    EXPECT_EQ(kernels[0], 1000u - 400u - 24u - 2u) << form; // all that have ended by then
    EXPECT_EQ(kernels.back(), kLaunches - 2u) << form;
  }
}

TEST_F(Slices, RocpdDatabasesAreTheSame) {
  const std::string one = folder_ + "/one.db", two = folder_ + "/two.db";
  ASSERT_TRUE(writeRocpd(whole(), one, "node"));
  ASSERT_TRUE(writeRocpd(sliced(), two, "node"));
  for (const char *query :
       {"SELECT R.start || ' ' || R.end || ' ' || S.string || ' ' || coalesce(P.start, 0) FROM "
        "rocpd_region R JOIN rocpd_string S ON S.id = R.name_id JOIN rocpd_event E ON "
        "E.id = R.event_id LEFT JOIN rocpd_event F ON F.stack_id = E.parent_stack_id AND "
        "F.stack_id <> 0 LEFT JOIN rocpd_region P ON P.event_id = F.id",
        "SELECT K.start || ' ' || K.end || ' ' || R.start || ' ' || T.tid FROM "
        "rocpd_kernel_dispatch K JOIN rocpd_event E ON E.id = K.event_id JOIN rocpd_event F ON "
        "F.stack_id = "
        "E.stack_id JOIN rocpd_region R ON R.event_id = F.id JOIN rocpd_info_thread T ON T.id = "
        "K.tid"}) {
    const auto expected = rows(one, query);
    EXPECT_GT(expected.size(), kLaunches - 10u) << query;
    EXPECT_EQ(rows(two, query), expected);
  }
  EXPECT_EQ(
      rows(two, "SELECT pid || ' ' || start || ' ' || end || ' ' || fini FROM rocpd_info_process"),
      rows(one, "SELECT pid || ' ' || start || ' ' || end || ' ' || fini FROM rocpd_info_process"));
}

/// JSON lines with what their numbers stand for in place of these.
std::vector<std::string> linesOf(const std::string &path) {
  std::ifstream file(path);
  std::map<uint64_t, std::string> calls;
  std::vector<std::string> all;
  uint64_t operations = 0;
  for (std::string line; std::getline(file, line);) {
    nlohmann::json json = nlohmann::json::parse(line);
    for (const char *key : {"parent", "call"})
      if (json["type"] != "process" && json.contains(key)) json[key] = calls.at(json[key]);
    const uint64_t id = json.value("id", uint64_t{0});
    json.erase("id");
    if (json["type"] == "call") {
      EXPECT_EQ(id, calls.size() + 1);
      calls[id] = json.dump();
    }
    if (json["type"] == "operation") EXPECT_EQ(id, ++operations);
    all.push_back(json.dump());
  }
  EXPECT_EQ(all.empty() ? "" : nlohmann::json::parse(all.front())["type"], "trace");
  std::ranges::sort(all);
  return all;
}

TEST_F(Slices, JsonLinesAreTheSame) {
  const std::string one = folder_ + "/one.jsonl", two = folder_ + "/two.jsonl";
  const HostEvents events = whole();
  ASSERT_TRUE(writeLog(EventSource(events), one, LogScope::everything));
  ASSERT_TRUE(writeLog(sliced(), two, LogScope::everything));
  const auto expected = linesOf(one);
  EXPECT_GT(expected.size(), 2u * kLaunches);
  const auto found = linesOf(two);
  std::vector<std::string> differences;
  std::ranges::set_symmetric_difference(found, expected, std::back_inserter(differences));
  EXPECT_EQ(differences, std::vector<std::string>());
  EXPECT_EQ(
      std::ranges::count_if(expected, [](auto &line) { return line.find("by_host") != line.npos; }),
      6);
  // Who reads them sees the same, too.
  const auto first = TraceLog::read(one), second = TraceLog::read(two);
  ASSERT_TRUE(first && second);
  ASSERT_EQ(second->calls.size(), first->calls.size());
  EXPECT_TRUE(std::ranges::is_sorted(second->calls, {}, &LoggedCall::start_ns));
  const auto causes = [](const TraceLog &log) {
    std::multiset<std::pair<uint64_t, uint64_t>> all;
    for (const LoggedOperation &operation : log.operations)
      all.emplace(operation.start_ns, log.calls[operation.call.value()].start_ns);
    for (const LoggedCall &call : log.calls)
      if (call.parent) all.emplace(call.start_ns, log.calls[*call.parent].start_ns);
    return all;
  };
  EXPECT_EQ(causes(*second), causes(*first));
}

TEST_F(Slices, JsonLinesForAPipeAreWrittenOnce) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string text;
  std::thread reader([&] {
    std::ifstream file(pipe);
    text.assign(std::istreambuf_iterator<char>(file), {});
  });
  EXPECT_TRUE(writeLog(sliced(), pipe, LogScope::everything));
  reader.join();
  const auto head = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(head["operations"], kLaunches - 1);
}

TEST_F(Slices, TimelinesAreTheSame) {
  const std::string one = folder_ + "/one.json", two = folder_ + "/two.json";
  ASSERT_TRUE(writeTimeline(whole(), one));
  ASSERT_TRUE(writeTimeline(sliced(), two));
  const auto lines = [](const std::string &path) {
    std::ifstream file(path);
    std::multiset<std::string> all;
    const nlohmann::json json = nlohmann::json::parse(file);
    for (nlohmann::json event : json["traceEvents"]) {
      // Numbers of calls may differ, and which of two tracks it is.
      if (event.contains("args")) event["args"].erase("id"), event["args"].erase("call");
      event.erase("tid");
      all.insert(event.dump());
    }
    return all;
  };
  const auto expected = lines(one);
  EXPECT_GT(expected.size(), 4u * kLaunches);
  const auto found = lines(two);
  EXPECT_EQ(found.size(), expected.size());
  std::vector<std::string> differences;
  std::ranges::set_symmetric_difference(found, expected, std::back_inserter(differences));
  EXPECT_LE(differences.size(), 40u) << differences.front(); // names of tracks
  for (const std::string &line : differences)
    EXPECT_NE(line.find("thread_name"), line.npos) << line;
}

} // namespace
} // namespace fade::host_trace
