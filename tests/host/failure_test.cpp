// What holds when there is no memory, when no thread can be started, and when a handler does not
// come back.
#include "base/progress_line.h"
#include "base/quiet_thread.h"
#include "fade/encode.h"
#include "fade/ring_writer.h"
#include "failing_allocator.h"
#include "fake_gpu.h"
#include "handler_host.h"
#include "stream/trace_reader.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <filesystem>
#include <semaphore>
#include <unistd.h>

// What a handler that does not come back has in its hands is never freed, nor what one has that was
// left out. After a crash the collector stays, too; its lock-free queues hide pointers in numbers.
extern "C" const char *__lsan_default_suppressions() {
  return "leak:expectPassedBy\nleak:Counter::Counter\nleak:boost::lockfree";
}

namespace {
thread_local bool has_crashed = false; ///< a handler, in this thread
std::atomic<int> allocations_after_crashes{0};
} // namespace

bool fade::testing::isAllocationOfFade() {
  if (has_crashed) ++allocations_after_crashes;
  return fade::isOwnThread();
}

namespace fade {
namespace {

using testing::failAllocations;
using testing::failNoAllocations;
using testing::failures;
using testing::FakeDispatch;
using testing::FakeRing;
using testing::SiteTableBuilder;
using namespace std::chrono_literals;

constexpr uint64_t kAll = ~uint64_t{0};

/// A handler that counts what it is told of, and may be told not to come back.
struct Counter {
  explicit Counter(const char *name) {
    api.size = sizeof api;
    api.abi = FADE_HANDLER_ABI;
    api.message_version = FADE_MESSAGE_VERSION;
    api.needs = FADE_NEEDS_ACCESSES | FADE_NEEDS_TIMES | FADE_NEEDS_WAVES;
    api.name = name;
    api.create = [](const fade_host *, const char *, char *, fade_u64) -> void * {
      return std::exchange(next, nullptr);
    };
    api.shard = [](void *self, const fade_dispatch *) -> void * {
      return new Counter *(static_cast<Counter *>(self));
    };
    api.records = [](void *shard, const fade_batch *batch) {
      auto &counter = **static_cast<Counter **>(shard);
      if (counter.crashes_in == "records") crash();
      counter.records += batch->record_count;
    };
    api.dispatch_end = [](void *self, const fade_dispatch *dispatch, void *const *, fade_u32) {
      auto &counter = *static_cast<Counter *>(self);
      ++counter.ends;
      if (counter.crashes_in == "dispatch_end") crash();
      if (dispatch->id == counter.stuck_at) counter.released.acquire();
    };
    api.shard_free = [](void *shard) { delete static_cast<Counter **>(shard); };
    api.report = [](void *self) {
      auto &counter = *static_cast<Counter *>(self);
      if (counter.crashes_in == "report") crash();
      ++counter.reports;
    };
    api.destroy = [](void *) {};
  }
  static void crash() {
    has_crashed = true;
    std::abort();
  }
  std::unique_ptr<LoadedHandler> load(Output &output) {
    next = this;
    return std::make_unique<LoadedHandler>(&api, HandlerChoice{api.name, ""}, output);
  }

  fade_handler_api api{};
  std::atomic<uint64_t> records{0}, ends{0}, reports{0};
  uint64_t stuck_at = 0;
  std::string_view crashes_in;
  std::binary_semaphore released{0};

private:
  static inline Counter *next = nullptr;
};

/// A run of a few dispatches from their first record to the report.
class SmallRun {
public:
  explicit SmallRun(const std::string &record, Collector::Patience patience,
                    std::string_view crashes_in = "") {
    before.crashes_in = crashes_in;
    if (!record.empty()) trace = TraceWriter::open(record);
    Handlers handlers;
    if (!before.crashes_in.empty()) handlers.push_back(before.load(output));
    handlers.push_back(counter.load(output));
    AnalysisOptions options;
    options.workers = 2;
    analysis = std::make_unique<Analysis>(options, std::move(handlers), output, trace.get());
    collector = std::make_unique<Collector>(*analysis, patience);
    load = table.add({});
    info = std::make_shared<KernelInfo>(KernelIdentity{0, "kernel()", "kernel", "gfx90a"},
                                        table.build("kernel"));
  }
  std::shared_ptr<std::atomic<bool>> add(Ring *ring, const std::shared_ptr<int> &alive = nullptr) {
    struct Counted final : LiveDispatch {
      FakeDispatch inner;
      std::shared_ptr<int> alive;
      Counted(std::shared_ptr<std::atomic<bool>> ended, std::shared_ptr<int> count)
          : inner(std::move(ended)), alive(std::move(count)) {}
      bool hasEnded() noexcept override { return inner.hasEnded(); }
      void readTimes(fade_dispatch &view) noexcept override { inner.readTimes(view); }
    };
    auto ended = std::make_shared<std::atomic<bool>>(false);
    auto live = std::make_unique<Counted>(ended, alive);
    live->record = std::make_unique<DispatchRecord>();
    live->record->setKernel(info);
    live->record->setVariant(std::make_shared<std::string>("instrumented"));
    live->record->view.id = ++dispatches;
    live->record->view.flags = ring ? FADE_DISPATCH_INSTRUMENTED : 0;
    live->ring = ring;
    collector->add(std::move(live));
    return ended;
  }
  /// A wave that loads so many times. It waits while the ring is full, as on a GPU.
  void wave(FakeRing &ring, int count) const {
    RingWriter writer(ring.device);
    fade_wave_begin begin{};
    begin.mask = kAll;
    begin.wave = writer.nextWave();
    begin.module = SiteTableBuilder::kModule;
    RecordEncoder announcement;
    announcement.waveBegin(begin);
    writer.write(announcement.bytes());
    std::vector<uint64_t> addresses(64);
    for (uint64_t i = 0; i < 64; ++i) addresses[i] = 0x10000 + 4 * i;
    for (int i = 0; i < count; ++i) {
      RecordEncoder access;
      access.access(load, begin.wave, kAll, addresses);
      writer.write(access.bytes());
    }
  }

  Output output{Format::json};
  Counter counter{"Counter"}, before{"Before"}; ///< the latter only if it crashes
  std::unique_ptr<TraceWriter> trace;
  std::unique_ptr<Analysis> analysis;
  std::unique_ptr<Collector> collector;
  SiteTableBuilder table;
  uint32_t load = 0;
  std::shared_ptr<const KernelInfo> info;
  uint64_t dispatches = 0;
};

std::string traceName() {
  return ::testing::TempDir() + "failure-trace-" + std::to_string(getpid());
}

TEST(OutOfMemory, OneAllocationThatFailsCostsNothingThatIsNotSaid) {
  constexpr int waves = 3, accesses = 1500;
  const std::string record = traceName();
  long seen = 0;
  constexpr long every = FADE_LONG_TESTS ? 64 : 16; // of the first ones, then fewer and fewer
  for (long at = 1;; at += 1 + at / every) {
    std::filesystem::remove(record);
    ::testing::internal::CaptureStderr();
    auto alive = std::make_shared<int>(0);
    std::vector<std::unique_ptr<FakeRing>> rings;
    bool closed = false;
    std::string report;
    {
      SmallRun run(record, {});
      failAllocations(at, at);
      for (int i = 0; i < waves; ++i) {
        rings.push_back(std::make_unique<FakeRing>(FADE_RING_MIN_CAPACITY));
        const auto ended = run.add(rings.back().get(), alive);
        run.wave(*rings.back(), accesses); // would wait for ever if records were not freed
        ended->store(true);
      }
      run.collector->stop(60s);
      closed = run.analysis->close(60s);
      failNoAllocations();
      report = run.output.collected();
    }
    const std::string said = ::testing::internal::GetCapturedStderr();
    const bool failed = failures != 0;
    seen += failures;
    SCOPED_TRACE("allocation " + std::to_string(at) + "; said: " + said);
    EXPECT_TRUE(closed);
    EXPECT_EQ(alive.use_count(), 1) << "a dispatch was lost";
    for (const auto &ring : rings) EXPECT_TRUE(ring->recycled && ring->isZero());
    const auto summary = testing::objectsOf(report, "summary");
    const bool is_whole = summary.size() == 1 && summary[0]["dispatches"] == waves &&
                          summary[0]["records"] == waves * (accesses + 1) &&
                          summary[0]["incomplete"] == 0 &&
                          testing::objectsOf(report, "dispatch").size() == waves;
    EXPECT_TRUE(is_whole || !said.empty()) << report;
    // Whatever is missing in the recording: what is there can be read.
    const auto reader = TraceReader::open(record);
    ASSERT_TRUE(reader) << reader.error().message();
    Output output(Format::json);
    Analysis again({}, {}, output, nullptr);
    EXPECT_EQ(reader->replay(again), "");
    EXPECT_TRUE(again.close(60s));
    if (!failed || ::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(seen, 20);
  std::filesystem::remove(record);
}

TEST(OutOfMemory, KernelsDoNotWaitForEverForMemory) {
  for (const long first : {1, 2, 4}) {
    FakeRing ring(FADE_RING_MIN_CAPACITY);
    SmallRun run("", {200ms});
    ::testing::internal::CaptureStderr();
    failAllocations(first, LONG_MAX);
    const auto ended = run.add(&ring);
    run.wave(ring, 3000); // much more than the ring holds
    ended->store(true);
    failNoAllocations();
    run.collector->stop(60s);
    EXPECT_TRUE(run.analysis->close(60s));
    ::testing::internal::GetCapturedStderr();
    EXPECT_GT(failures, 0);
    EXPECT_TRUE(ring.recycled);
  }
}

// ---- threads

std::atomic<int> threads{0};
std::atomic<unsigned> failing_threads{0}; ///< bit n: the n-th start fails, from 0

class NoThreads : public ::testing::Test {
protected:
  NoThreads() {
    threads = 0;
    thread_fault = [] { return (failing_threads >> threads++ & 1) != 0 ? EAGAIN : 0; };
  }
  ~NoThreads() override { thread_fault = nullptr; }

  Output output{Format::json};
};

TEST_F(NoThreads, TheAnalysisWorksWithThoseItGets) {
  failing_threads = 0b100; // the third of four workers
  ::testing::internal::CaptureStderr();
  AnalysisOptions options;
  options.workers = 4;
  {
    Analysis analysis(options, {}, output, nullptr);
    auto record = std::make_unique<DispatchRecord>();
    record->setKernel(std::make_shared<KernelInfo>(KernelIdentity{0, "k", "k", "gfx90a"}, nullptr));
    record->setVariant(std::make_shared<std::string>("original"));
    EXPECT_TRUE(analysis.end(record));
    EXPECT_TRUE(analysis.close(60s));
  }
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("2 instead of 4 threads"),
            std::string::npos);
  EXPECT_EQ(testing::objectsOf(output.collected(), "dispatch").size(), 1u);
}

TEST_F(NoThreads, WithoutWorkersOrReporterThereIsNoAnalysisAndNothingIsLeftBehind) {
  for (const unsigned which : {0b01u, 0b10u}) {
    threads = 0;
    failing_threads = which;
    EXPECT_THROW(Analysis({}, {}, output, nullptr), std::system_error);
  }
}

TEST_F(NoThreads, WithoutItsThreadThereIsNoCollectorAndNoProgressLine) {
  failing_threads = 0;
  Analysis analysis({}, {}, output, nullptr);
  failing_threads = ~0u;
  EXPECT_THROW(Collector{analysis}, std::system_error);
  ProgressLine line([](double) { return std::string(); });
}

// ---- handlers that do not come back

// It may hold the allocator's locks, and would wait for itself.
TEST(Crash, TheThreadItHappensInAllocatesNothingAfterwardsAndAnotherOneGoesOn) {
  handleCrashes();
  for (const char *call : {"records", "dispatch_end", "report"}) {
    SCOPED_TRACE(call);
    allocations_after_crashes = 0;
    ::testing::internal::CaptureStderr();
    // Nothing that the thread had in its hands is freed.
    auto &run = *new SmallRun("", {}, call);
    static auto *runs = new std::vector<SmallRun *>;
    runs->push_back(&run);
    failAllocations(LONG_MAX, LONG_MAX); // none, but they are looked at
    constexpr int waves = 3, accesses = 1500;
    std::vector<std::unique_ptr<FakeRing>> rings;
    for (int i = 0; i < waves; ++i) {
      rings.push_back(std::make_unique<FakeRing>(FADE_RING_MIN_CAPACITY));
      const auto ended = run.add(rings.back().get());
      run.wave(*rings.back(), accesses);
      ended->store(true);
    }
    run.collector->stop(60s);
    EXPECT_TRUE(run.analysis->close(60s));
    failNoAllocations();
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(said, "fade: handler Before: it crashed (SIGABRT) in " + std::string(call) +
                        "; it is disabled from now on\n");
    EXPECT_EQ(allocations_after_crashes, 0);
    EXPECT_EQ(run.before.reports, 0u);
    EXPECT_EQ(run.counter.records, waves * (accesses + 1u));
    EXPECT_EQ(run.counter.ends, static_cast<uint64_t>(waves));
    EXPECT_EQ(run.counter.reports, 1u);
    for (const auto &ring : rings) EXPECT_TRUE(ring->recycled && ring->isZero());
  }
}

void expectPassedBy(unsigned count) {
  ::testing::internal::CaptureStderr();
  // A thread stays in it: all of this lives as long as the process.
  static std::vector<std::unique_ptr<Output>> outputs;
  static std::vector<std::unique_ptr<Counter>> counters;
  static std::vector<std::unique_ptr<Analysis>> analyses;
  Output &output = *outputs.emplace_back(std::make_unique<Output>(Format::json));
  Counter &stuck = *counters.emplace_back(std::make_unique<Counter>("Stuck"));
  Counter &other = *counters.emplace_back(std::make_unique<Counter>("Other"));
  stuck.stuck_at = 2;
  Handlers handlers;
  handlers.push_back(stuck.load(output));
  handlers.push_back(other.load(output));
  AnalysisOptions options;
  options.call_patience = 300ms;
  Analysis &analysis = *analyses.emplace_back(
      std::make_unique<Analysis>(options, std::move(handlers), output, nullptr));
  const auto info =
      std::make_shared<KernelInfo>(KernelIdentity{0, "kernel()", "kernel", "gfx90a"}, nullptr);
  {
    Collector collector(analysis);
    for (uint64_t id = 1; id <= count; ++id) {
      auto live = std::make_unique<FakeDispatch>(std::make_shared<std::atomic<bool>>(true));
      live->record = std::make_unique<DispatchRecord>();
      live->record->setKernel(info);
      live->record->setVariant(std::make_shared<std::string>("original"));
      live->record->view.id = id;
      collector.add(std::move(live));
    }
    collector.stop(200ms);
  }
  EXPECT_TRUE(analysis.close(100s));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "fade: handler Stuck does not return from dispatch_end; the report continues "
                  "without it\n");
  EXPECT_EQ(stuck.ends, 2u);
  EXPECT_EQ(stuck.reports, 0u);
  EXPECT_EQ(other.ends, count);
  EXPECT_EQ(other.reports, 1u);
  EXPECT_EQ(testing::objectsOf(output.collected(), "dispatch").size(), count);
  EXPECT_EQ(testing::objectsOf(output.collected(), "summary").size(), 1u);
  stuck.released.release(); // comes back after all, and finds that nobody waits
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(stuck.ends, 2u);
}

TEST(StuckHandler, IsLeftOutWhenItDoesNotComeBackFromTheEndOfADispatch) { expectPassedBy(3); }

TEST(StuckHandler, IsLeftOutThoughMoreDispatchesWaitThanTheReporterHasRoomFor) {
  expectPassedBy(3000);
}

} // namespace
} // namespace fade
