// Calls through wrappers, into a file, and back.
#include "analysis/host_events/api_text.h"
#include "analysis/host_events/event_reader.h"
#include "base/event_file.h"
#include "hip/call_wrapper.h"
#include "hip/recorder.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace fade::hip {
namespace {

using host_trace::Call;
using host_trace::HostEvents;

std::function<void()> on_kill; ///< what happens in the next call of kill()

/// One file for all tests of this process: there is one recorder in a process.
const std::string &recording() {
  static const std::string &path = *new auto([] { // exit handlers need it
    std::string name =
        std::filesystem::temp_directory_path() / ("fade-recorder-test." + std::to_string(getpid()));
    std::filesystem::remove(name);
    const Status opened = openRecorder(name);
    EXPECT_TRUE(opened);
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove(recording(), ignored);
    });
    return name;
  }());
  return path;
}

constexpr const FunctionInfo &infoOf(std::string_view name) {
  return *std::ranges::find_if(kFunctions, [&](const auto &f) { return f.name == name; });
}

class Recorder : public testing::Test {
protected:
  void SetUp() override {
    before_ = read().calls.size();
    setRecording(true);
  }
  void TearDown() override { setRecording(false); }

  static HostEvents read() {
    auto events = HostEvents::read(recording());
    EXPECT_TRUE(events) << events.error().message();
    EXPECT_EQ(events->damaged, 0u);
    return *std::move(events);
  }
  /// Those of this test.
  std::vector<Call> calls() {
    events_ = read();
    return {events_->calls.begin() + static_cast<std::ptrdiff_t>(before_), events_->calls.end()};
  }
  static std::string json(const Call &call) {
    JsonWriter writer;
    writer.object([&] {
      writeArguments(writer, call, 7);
      writeResult(writer, call, 7);
    });
    std::string text = writer.take();
    text.pop_back();
    return text;
  }

  std::optional<HostEvents> events_;

private:
  std::size_t before_ = 0;
};

using Malloc = Wrapper<infoOf("hipMalloc").number, uint32_t(void **, uint64_t)>;

TEST_F(Recorder, ArgumentsOutputsAndResultsAreThere) {
  Malloc::next = [](void **to, uint64_t size) -> uint32_t {
    if (size > 100) return 2;
    *to = reinterpret_cast<void *>(0x1234);
    return 0;
  };
  void *memory = nullptr;
  EXPECT_EQ(Malloc::call(&memory, 64), 0u);
  EXPECT_EQ(memory, reinterpret_cast<void *>(0x1234));
  EXPECT_EQ(Malloc::call(&memory, 101), 2u);
  EXPECT_EQ(Malloc::call(nullptr, 200), 2u);
  const auto all = calls();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(json(all[0]), R"({"args":{"ptr":"0x1234","size":64},"result":"hipSuccess"})");
  EXPECT_EQ(json(all[1]), R"({"args":{"ptr":null,"size":101},"result":"hipErrorOutOfMemory"})");
  EXPECT_EQ(json(all[2]), R"({"args":{"ptr":null,"size":200},"result":"hipErrorOutOfMemory"})");
  EXPECT_EQ(all[0].thread.pid, static_cast<uint32_t>(getpid()));
  EXPECT_LE(all[0].start_ns, all[0].end_ns);
  EXPECT_LE(all[0].end_ns, all[1].start_ns);
}

std::size_t mapsOf(const std::string &path) {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.ends_with(path) ? 1 : 0;
  return count;
}

TEST_F(Recorder, BlocksThatAreFullDuringACallAreUnmappedUnlessTheyHoldIt) {
  using Free = Wrapper<infoOf("hipFree").number, uint32_t(void *)>;
  static std::size_t before, most;
  static constexpr int inner = 20'000; // of at least 64 bytes: ten blocks
  before = mapsOf(recording());
  most = 0;
  Free::next = [](void *) -> uint32_t { return 0; };
  Malloc::next = [](void **, uint64_t size) -> uint32_t {
    if (size == 0) return 0;
    void *memory = nullptr;
    (void)Malloc::call(&memory, size - 1); // a call in a call in a call
    for (int i = 0; i < inner; ++i) Free::call(nullptr);
    most = std::max(most, mapsOf(recording()));
    return 7;
  };
  void *memory = nullptr;
  EXPECT_EQ(Malloc::call(&memory, 2), 7u);
  EXPECT_LE(most, before + 3); // of the two calls, and the last one
  const auto all = calls();
  ASSERT_EQ(all.size(), 3u + 2 * inner);
  for (const Call &call : all) {
    EXPECT_TRUE(call.hasReturned());
    EXPECT_LE(call.start_ns, call.end_ns);
  }
  EXPECT_EQ(all[0].result & 0xffffffff, 7u);
  EXPECT_EQ(all[1].result & 0xffffffff, 7u);
}

TEST_F(Recorder, CallsSayFromWhichPlaceTheyWereMade) {
  Malloc::next = [](void **, uint64_t) -> uint32_t { return 0; };
  void *memory = nullptr;
  for (int i = 0; i < 3; ++i) Malloc::call(&memory, 64);
  Malloc::call(&memory, 65);
  const auto all = calls();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].caller, all[2].caller);
  EXPECT_NE(all[0].caller, all[3].caller);
  for (const Call &call : all)
    EXPECT_EQ(std::ranges::count_if(events_->callers,
                                    [&](const host_trace::Caller &place) {
                                      return place.function == call.function &&
                                             place.address == call.caller;
                                    }),
              1);
}

TEST_F(Recorder, TextsStructuresAndFloatsAreThere) {
  using Elapsed = Wrapper<infoOf("hipEventElapsedTime").number, uint32_t(float *, void *, void *)>;
  using ErrorName = Wrapper<infoOf("hipGetErrorName").number, const char *(uint32_t)>;
  using Channel = Wrapper<infoOf("hipCreateChannelDesc").number,
                          Words4<5>(int32_t, int32_t, int32_t, int32_t, uint32_t)>;
  Elapsed::next = [](float *ms, void *, void *) -> uint32_t { return *ms = 1.5f, 0; };
  ErrorName::next = [](uint32_t) { return "hipErrorSomething"; };
  Channel::next = [](int32_t x, int32_t y, int32_t, int32_t, uint32_t) {
    return Words4<5>{{static_cast<uint32_t>(x), static_cast<uint32_t>(y), 3, 4, 5}};
  };
  float ms = 0;
  Elapsed::call(&ms, nullptr, nullptr);
  EXPECT_STREQ(ErrorName::call(701), "hipErrorSomething");
  EXPECT_EQ(Channel::call(-8, 9, 0, 0, 2).words[4], 5u);
  const auto all = calls();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(json(all[0]), R"({"args":{"ms":1.5,"start":null,"stop":null},"result":"hipSuccess"})");
  EXPECT_EQ(json(all[1]), R"({"args":{"hip_error":"hipErrorLaunchOutOfResources"},)"
                          R"("result":"hipErrorSomething"})");
  EXPECT_EQ(json(all[2]), R"({"args":{"x":-8,"y":9,"z":0,"w":0,"f":"hipChannelFormatKindFloat"},)"
                          R"("result":{"x":-8,"y":9,"z":3,"w":4,"f":5}})");
}

TEST_F(Recorder, CallsWithinCallsHaveAParentAlsoWhenBlocksAreFull) {
  using Inner = Wrapper<infoOf("hipGetDevice").number, uint32_t(int32_t *)>;
  Inner::next = [](int32_t *device) -> uint32_t { return *device = 0, 0; };
  Malloc::next = [](void **, uint64_t) -> uint32_t {
    int32_t device = 0;
    for (int i = 0; i < 10'000; ++i) Inner::call(&device); // several blocks
    return 0;
  };
  void *memory = nullptr;
  Malloc::call(&memory, 1);
  int32_t device = 0;
  Inner::call(&device);
  const auto all = calls();
  ASSERT_EQ(all.size(), 10'002u);
  EXPECT_EQ(all[0].function->name, std::string_view("hipMalloc"));
  EXPECT_TRUE(all[0].hasReturned());
  EXPECT_EQ(all[0].parent, 0u);
  for (std::size_t i = 1; i <= 10'000; ++i) ASSERT_EQ(all[i].parent, all[0].position) << i;
  EXPECT_EQ(all.back().parent, 0u);
  EXPECT_GE(all[0].end_ns, all[10'000].end_ns);
}

TEST_F(Recorder, AnExceptionLeavesACallThatHasNotReturned) {
  Malloc::next = [](void **, uint64_t) -> uint32_t { throw 5; };
  EXPECT_THROW(Malloc::call(nullptr, 1), int);
  EXPECT_EQ(currentCall(), 0u);
  const auto all = calls();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_FALSE(all[0].hasReturned());
}

TEST_F(Recorder, NothingIsRecordedWhileItIsOff) {
  Malloc::next = [](void **, uint64_t) -> uint32_t { return 7; };
  setRecording(false);
  EXPECT_EQ(Malloc::call(nullptr, 1), 7u);
  setRecording(true);
  EXPECT_EQ(calls().size(), 0u);
  EXPECT_FALSE(events_->switches.empty());
  EXPECT_TRUE(events_->switches.back().is_on);
}

TEST_F(Recorder, ThreadsRecordAllOfTheirCallsInOrder) {
  Malloc::next = [](void **, uint64_t) -> uint32_t { return 0; };
  constexpr uint64_t count = 5'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (uint64_t n = 0; n < count; ++n) Malloc::call(nullptr, n);
    });
  for (std::thread &thread : threads) thread.join();
  std::map<uint32_t, uint64_t> next;
  for (const Call &call : calls())
    ASSERT_EQ(argument(call, "size"), next[call.thread.tid]++) << call.thread.tid;
  EXPECT_EQ(next.size(), 4u);
  for (const auto &[tid, n] : next) EXPECT_EQ(n, count) << tid;
}

TEST_F(Recorder, ThreadsThatEndLeaveTheirBlocksToOthers) {
  Malloc::next = [](void **, uint64_t) -> uint32_t { return 0; };
  const auto size = std::filesystem::file_size(recording());
  for (int i = 0; i < 500; ++i) std::thread([] { Malloc::call(nullptr, 3); }).join();
  EXPECT_LE(std::filesystem::file_size(recording()), size + 2 * events::kBlockBytes);
  std::set<uint32_t> tids;
  for (const Call &call : calls()) tids.insert(call.thread.tid);
  EXPECT_GT(tids.size(), 100u); // numbers may come again
  EXPECT_EQ(calls().size(), 500u);
}

TEST_F(Recorder, AForkedChildWritesIntoTheSameFileAndNotOverItsParent) {
  Malloc::next = [](void **, uint64_t) -> uint32_t { return 0; };
  Malloc::call(nullptr, 1);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 100; ++i) Malloc::call(nullptr, 2);
    _exit(0);
  }
  Malloc::call(nullptr, 3);
  waitpid(child, nullptr, 0);
  Malloc::call(nullptr, 4);
  std::map<uint32_t, std::vector<uint64_t>> sizes;
  for (const Call &call : calls()) sizes[call.thread.pid].push_back(*argument(call, "size"));
  EXPECT_EQ(sizes[static_cast<uint32_t>(getpid())], (std::vector<uint64_t>{1, 3, 4}));
  EXPECT_EQ(sizes[static_cast<uint32_t>(child)], std::vector<uint64_t>(100, 2));
}

TEST_F(Recorder, StartsAndStopsAreCountedAlsoByManyThreads) {
  setCounted(false);
  startOrStop(false); // one too many
  EXPECT_FALSE(isRecording());
  startOrStop(true);
  startOrStop(true);
  startOrStop(false);
  EXPECT_TRUE(isRecording());
  startOrStop(false);
  EXPECT_FALSE(isRecording());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int n = 0; n < 2'000; ++n) {
        switchBy(1);
        switchBy(-1);
      }
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_FALSE(isRecording());
  switchBy(1);
  EXPECT_TRUE(isRecording());
  switchBy(-1);
}

__attribute__((noinline)) uint32_t callFromHere() {
  const volatile uint32_t result = Malloc::call(nullptr, 9); // no jump: the frame stays
  return result;
}

TEST_F(Recorder, EveryStackIsStoredOnceAndIsAsDeepAsAsked) {
  Malloc::next = [](void **, uint64_t) -> uint32_t { return 0; };
  stack_depth = 8;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int n = 0; n < 200; ++n) callFromHere();
    });
  for (std::thread &thread : threads) thread.join();
  stack_depth = 0;
  const auto all = calls();
  ASSERT_EQ(all.size(), 800u);
  std::set<uint64_t> stacks;
  for (const Call &call : all) stacks.insert(call.stack);
  ASSERT_EQ(stacks.size(), 1u);
  const auto frames = events_->stacks.at(*stacks.begin());
  EXPECT_GE(frames.size(), 1u);
  EXPECT_LE(frames.size(), 8u);
}

TEST_F(Recorder, APlaceThatCallsIsThereOnce) {
  Malloc::next = [](void **, uint64_t) -> uint32_t { return 0; };
  const auto count = [&] {
    return std::ranges::count_if(read().callers, [](const host_trace::Caller &caller) {
      return std::string_view(caller.function->name) == "hipMalloc";
    });
  };
  callFromHere();
  const auto before = count();
  for (int i = 0; i < 100; ++i) callFromHere();
  EXPECT_EQ(count(), before);
  EXPECT_GE(before, 1);
}

TEST_F(Recorder, OfATextOneCopyIsKept) {
  const uint64_t id = recordText("a kernel");
  EXPECT_NE(id, 0u);
  EXPECT_EQ(recordText("a kernel"), id);
  EXPECT_NE(recordText("another"), id);
  EXPECT_EQ(read().textOf(static_cast<uint32_t>(getpid()), id), "a kernel");
}

// Two processes that begin at the same time look for a place in the same file. Between the moments
// in which one finds a place free and takes it, the other one has done so.
TEST(Switches, AProcessThatLosesAPlaceDoesNotSwitchItsOwnerOff) {
  const std::string path = ::testing::TempDir() + "switches-" + std::to_string(getpid());
  EventFile one, other;
  ASSERT_TRUE(one.open(path));
  ASSERT_TRUE(other.open(path));
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  ASSERT_EQ(waitpid(ended, nullptr, 0), ended);
  const EventFile::Switch before = one.takeSwitch(static_cast<uint32_t>(ended), false);
  ASSERT_TRUE(before.is_on);
  EventFile::Switch first;
  on_kill = [&] { first = one.takeSwitch(static_cast<uint32_t>(getpid()), true); };
  const EventFile::Switch second = other.takeSwitch(1, true); // which runs, whoever it is
  unlink(path.c_str());
  EXPECT_EQ(first.is_on, before.is_on) << "the place of a process that has ended";
  ASSERT_TRUE(first.is_on && second.is_on);
  EXPECT_FALSE(first.was_there || second.was_there);
  EXPECT_EQ(*first.is_on, 1u);
  EXPECT_EQ(*second.is_on, 1u);
}

} // namespace
} // namespace fade::hip

// EventFile asks so whether the owner of a place still runs.
extern "C" int kill(pid_t pid, int signal) noexcept {
  const auto result = static_cast<int>(syscall(SYS_kill, pid, signal));
  const int error = errno;
  if (const auto act = std::exchange(fade::hip::on_kill, nullptr)) act();
  errno = error;
  return result;
}
