// Copies that are recorded: when the application hears of their ends.
#include "fake_hsa.h"
#include "hip/recorder.h"
#include "hsa/copy_hooks.h"
#include "hsa/runtime.h"
#include "hsa/timed_copy.h"
#include "hsa/unseen.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <thread>
#include <unistd.h>

namespace fade {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class RecordedCopy : public testing::Test {
protected:
  RecordedCopy() {
    settings.log_location = folder_ / "report";
    fs::create_directories(folder_);
    Runtime::start(settings);
    static auto *all = new std::vector<const Runtime *>; // LeakSanitizer finds them there
    all->push_back(Runtime::active());
    EXPECT_TRUE(hip::openRecorder((folder_ / "events").string()));
    hip::setRecording(true);
    hsaApi().core.hsa_signal_create_fn(1, 0, nullptr, &theirs);
  }
  ~RecordedCopy() override {
    hip::setRecording(false);
    Runtime::finishAndRelease();
    fs::remove_all(folder_);
  }

  TimedCopy *begin() {
    CopyPlaces places;
    places.agent = hsa.gpu.handle;
    places.bytes = 4096;
    return TimedCopy::begin(CopyServices::of(*Runtime::active()), places, theirs);
  }
  int64_t value() const { return hsaApi().core.hsa_signal_load_scacquire_fn(theirs); }

  FakeHsa hsa{91};
  Settings settings;
  hsa_signal_t theirs{};

private:
  const fs::path folder_ =
      fs::path(testing::TempDir()) / ("fade-copies-" + std::to_string(getpid()));
};

TEST_F(RecordedCopy, ItsEndIsToldOnceByTheRuntimesEventThread) {
  TimedCopy *copy = begin();
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(value(), 1);
  hsa.complete(copy->signal()); // the engine, and the event thread after it
  EXPECT_EQ(value(), 0);
}

TEST_F(RecordedCopy, ItsEndIsToldThoughTheRuntimesEventThreadIsBusyAndOnlyOnce) {
  TimedCopy *copy = begin();
  ASSERT_NE(copy, nullptr);
  const hsa_signal_t ours = copy->signal();
  static std::atomic<int> times_read;
  times_read = 0;
  hsaApi().amd.hsa_amd_profiling_get_async_copy_time_fn =
      [](hsa_signal_t, hsa_amd_profiling_async_copy_time_t *) {
        ++times_read;
        return HSA_STATUS_SUCCESS;
      };
  EXPECT_TRUE(hsa.isPolled(ours));
  EXPECT_EQ(value(), 1) << "it has not ended";
  hsaApi().core.hsa_signal_store_relaxed_fn(ours, 0); // the engine alone
  for (int i = 0; i < 10'000 && value() == 1; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(value(), 0);
  EXPECT_EQ(times_read, 1) << "the application may end now: its end has to be recorded";
  hsa.complete(ours); // the event thread comes at last
  EXPECT_EQ(value(), 0);
  EXPECT_EQ(times_read, 1);
}

TEST_F(RecordedCopy, NothingHappensToTheSignalOfOneThatIsRefused) {
  TimedCopy *copy = begin();
  ASSERT_NE(copy, nullptr);
  const hsa_signal_t ours = copy->signal();
  copy->started(false);
  EXPECT_TRUE(hsa.isPolled(ours)) << "by the thread that tells ends";
  EXPECT_EQ(value(), 1);
  hsa.complete(ours);
  EXPECT_EQ(value(), 1);
}

// ---- several copies in one call

class RecordedBatch : public RecordedCopy {
protected:
  RecordedBatch() {
    unseen().clear();
    hookCopies(hsa.tables(), false);
    for (std::size_t i = 0; i < 3; ++i) {
      CopyOperation &one = operations[i];
      one.version = CopyOperation::kVersion;
      one.completion = theirs;
      one.from = from.data() + i * 16;
      one.to = to.data() + i * 16;
      one.from_agent = hsa.host.handle;
      one.to_agent = hsa.gpu.handle;
      one.size = 16;
      for (std::size_t k = 0; k < 16; ++k) from[i * 16 + k] = static_cast<char>('a' + i);
    }
    hsaApi().core.hsa_signal_store_relaxed_fn(theirs, 3);
  }
  hsa_status_t copy() {
    return hsa.late<decltype(hsa_amd_memory_async_batch_copy)>("hsa_amd_memory_async_batch_copy")(
        operations.data(), 3, 0, nullptr);
  }
  std::array<CopyOperation, 3> operations{};
  std::array<char, 48> from{}, to{};
};

TEST_F(RecordedBatch, ItIsCopiedAndItsEndsAreToldTogether) {
  ASSERT_EQ(copy(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(from, to);
  ASSERT_EQ(hsa.batch.size(), 3u);
  const hsa_signal_t ours = hsa.batch[0].completion;
  for (const CopyOperation &one : hsa.batch) EXPECT_EQ(one.completion.handle, ours.handle);
  EXPECT_NE(ours.handle, theirs.handle);
  EXPECT_EQ(hsaApi().core.hsa_signal_load_scacquire_fn(ours), 3) << "one for each copy";
  EXPECT_EQ(value(), 3);
  hsa.complete(ours);
  EXPECT_EQ(value(), 0);
  EXPECT_EQ(operations[0].completion.handle, theirs.handle) << "the application's own stay";
  EXPECT_TRUE(unseen().lines(true).empty());
}

TEST_F(RecordedBatch, MemoryThatTheDriverMovesIsCounted) {
  EXPECT_EQ(hsa.prefetch(4096), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa.prefetch(0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(unseen().lines(true).size(), 1u);
  EXPECT_TRUE(unseen().lines(true)[0].starts_with("2 prefetches of managed memory"));
}

TEST_F(RecordedBatch, OneThatIsNotKnownIsTheApplicationsOwnAndCounted) {
  operations[0].version = 2;
  ASSERT_EQ(copy(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa.batch[0].completion.handle, theirs.handle);
  ASSERT_EQ(unseen().lines(true).size(), 1u);
  EXPECT_TRUE(unseen().lines(true)[0].starts_with("1 batch of copies has a form"));
}

TEST_F(RecordedBatch, OneThatIsRefusedDoesNothingToTheApplicationsSignal) {
  hsa.copies_until_failure = 0;
  EXPECT_EQ(copy(), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(value(), 3);
}

TEST_F(RecordedBatch, OneThatWaitsIsKeptFromTheEngineUntilItMayStart) {
  hookCopies(hsa.tables(), true);
  hsa_signal_t kernel{};
  hsaApi().core.hsa_signal_create_fn(1, 0, nullptr, &kernel);
  const auto start = [&] {
    return hsa.late<decltype(hsa_amd_memory_async_batch_copy)>("hsa_amd_memory_async_batch_copy")(
        operations.data(), 3, 1, &kernel);
  };
  ASSERT_EQ(start(), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(hsa.batch.empty()) << "records of the kernel may need the engine";
  hsa.complete(kernel);
  ASSERT_EQ(hsa.batch.size(), 3u);
  EXPECT_EQ(from, to);
  hsa.complete(hsa.batch[0].completion);
  EXPECT_EQ(value(), 0);
  // Lists may be gone later: the engine has to wait for what these wait for.
  hsa.batch.clear();
  hsaApi().core.hsa_signal_store_relaxed_fn(kernel, 1);
  hsaApi().core.hsa_signal_store_relaxed_fn(theirs, 3);
  for (CopyOperation &one : operations)
    one.to_agent = hsa.host.handle, one.from_agent = hsa.gpu.handle;
  operations[1].entries = 1;
  std::array<uint64_t, 1> sizes = {16};
  std::array<hsa_agent_t, 1> agents = {hsa.host.handle};
  operations[1].size = reinterpret_cast<uint64_t>(sizes.data());
  operations[1].to_agent.handle = reinterpret_cast<uint64_t>(agents.data());
  hsa.copies_until_failure = 0; // the fake does not know lists
  EXPECT_NE(start(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa.batch.size(), 3u) << "at once";
}

TEST(CopyOperation, ListsAreAddedUp) {
  std::array<uint64_t, 3> sizes = {1, 20, 300};
  std::array<hsa_agent_t, 3> agents = {{{7}, {8}, {9}}};
  CopyOperation one{};
  one.entries = 3;
  one.size = reinterpret_cast<uint64_t>(sizes.data());
  one.to_agent.handle = reinterpret_cast<uint64_t>(agents.data());
  EXPECT_EQ(one.bytes(), 321u);
  EXPECT_EQ(one.firstTarget().handle, 7u);
  one.type = CopyOperation::kBroadcast;
  one.size = 10;
  EXPECT_EQ(one.bytes(), 30u);
}

} // namespace
} // namespace fade
