// Copies that are recorded: when the application hears of their ends.
#include "fake_hsa.h"
#include "hip/recorder.h"
#include "hsa/runtime.h"
#include "hsa/timed_copy.h"

#include <gtest/gtest.h>

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
    return TimedCopy::begin(*Runtime::active(), places, theirs);
  }
  int64_t value() const { return hsaApi().core.hsa_signal_load_scacquire_fn(theirs); }

  FakeHsa hsa;
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
  std::this_thread::sleep_for(10ms);
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
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(value(), 1);
  hsa.complete(ours);
  EXPECT_EQ(value(), 1);
}

} // namespace
} // namespace fade
