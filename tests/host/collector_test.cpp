// The ring, the collector and the analysis with threads in the place of waves.
#include "fade/encode.h"
#include "fade/ring_writer.h"
#include "fake_gpu.h"
#include "handler_host.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

namespace fade {
namespace {

using testing::copyOf;
using testing::FakeDispatch;
using testing::FakeRing;
using testing::SiteTableBuilder;

constexpr uint64_t kAll = ~uint64_t{0};

/// A ring that a copy engine brings here: each copy is done when it has been asked for a few times.
class SegmentedFakeRing final : public Ring, private CopyEngine {
public:
  explicit SegmentedFakeRing(uint64_t capacity)
      : memory_(capacity + FADE_RING_SLACK, std::byte{0x55}), mirror_(memory_),
        reader_(*this, layout(capacity)) {
    device.flags = FADE_CONTROL_SEGMENTED;
    device.capacity_mask = capacity - 1;
    device.data = reinterpret_cast<uint64_t>(memory_.data());
    device.written = reinterpret_cast<uint64_t>(written_.data());
    device.segment_shift = SegmentedRing::segmentShift(capacity);
    device.tail = reinterpret_cast<uint64_t>(&tail_);
    device.limit = capacity;
    drain = RingDrain(mirror_.data(), capacity, &tail_);
    drain.limitToSegments(device.segment_shift);
    segments = &reader_;
  }
  bool fetchControl() noexcept override {
    fetched_ = copyOf(device);
    return true;
  }
  bool recycle() noexcept override {
    recycled.store(true);
    return true;
  }
  const fade_control &control() const noexcept override { return fetched_; }
  std::span<const fade_counter> counters() const noexcept override { return {}; }
  uint64_t tail() const { return __atomic_load_n(&tail_, __ATOMIC_ACQUIRE); }

  fade_control device{};
  std::atomic<bool> recycled{false};
  std::atomic<int> copies{0};
  std::atomic<bool> is_stuck{false}; ///< copies do not end
  std::atomic<bool> refuses{false};  ///< copies cannot be started
  int looks_at_data = 3;             ///< until a copy of records is done

private:
  struct Copy {
    void *to;
    uint64_t from;
    std::size_t size;
    int looks;
  };
  SegmentedRing layout(uint64_t capacity) {
    SegmentedRing ring;
    ring.data = reinterpret_cast<uint64_t>(memory_.data());
    ring.written = reinterpret_cast<uint64_t>(written_.data());
    ring.head = reinterpret_cast<uint64_t>(&device.head);
    ring.mirror = mirror_.data();
    ring.staging = staging_.data();
    ring.capacity = capacity;
    ring.segment_shift = SegmentedRing::segmentShift(capacity);
    return ring;
  }
  bool start(unsigned slot, void *to, uint64_t from, std::size_t size) noexcept override {
    if (refuses) return false;
    copies_[slot] = {to, from, size, slot == 0 ? 3 : looks_at_data};
    ++copies;
    return true;
  }
  bool isDone(unsigned slot) noexcept override {
    Copy &copy = copies_[slot];
    if (copy.looks == 0) return true;
    if (is_stuck || --copy.looks != 0) return false;
    if (slot != 0) {
      std::memcpy(copy.to, reinterpret_cast<const void *>(copy.from), copy.size);
    } else { // counts that waves add to meanwhile
      for (std::size_t i = 0; i < copy.size / 8; ++i)
        static_cast<uint64_t *>(copy.to)[i] =
            __atomic_load_n(reinterpret_cast<const uint64_t *>(copy.from) + i, __ATOMIC_ACQUIRE);
    }
    return true;
  }

  alignas(64) uint64_t tail_ = 0;
  std::vector<std::byte> memory_, mirror_;
  std::array<uint64_t, FADE_RING_SEGMENTS> written_{};
  std::array<uint64_t, SegmentedRing::kStagingWords> staging_{};
  std::array<Copy, kSlots> copies_{};
  fade_control fetched_{};
  SegmentReader reader_;
};

class CollectorTest : public ::testing::Test {
protected:
  void SetUp() override {
    load = table.add({});
    info = std::make_shared<KernelInfo>(KernelIdentity{0, "kernel()", "kernel", "gfx90a"},
                                        table.build("kernel"));
  }
  void start(unsigned workers, const std::vector<HandlerChoice> &handlers,
             Collector::Patience patience = {}) {
    std::vector<std::string> complaints;
    auto loaded = loadHandlers(handlers, FADE_HANDLER_DIR, output, complaints);
    ASSERT_TRUE(complaints.empty()) << complaints[0];
    AnalysisOptions options;
    options.workers = workers;
    analysis = std::make_unique<Analysis>(options, std::move(loaded), output, nullptr);
    collector = std::make_unique<Collector>(*analysis, patience);
  }
  std::shared_ptr<std::atomic<bool>>
  add(Ring *ring, std::shared_ptr<std::atomic<bool>> told = nullptr, uint64_t queue = 0) {
    auto ended = std::make_shared<std::atomic<bool>>(false);
    auto live = std::make_unique<FakeDispatch>(ended);
    live->told = std::move(told);
    live->record = std::make_unique<DispatchRecord>();
    live->record->setKernel(info);
    live->record->setVariant(std::make_shared<std::string>("instrumented"));
    live->record->view.id = ++dispatches;
    live->record->view.queue = queue;
    live->record->view.flags = ring ? FADE_DISPATCH_INSTRUMENTED : 0;
    live->ring = ring;
    collector->add(std::move(live));
    return ended;
  }
  // What a wave does: announces itself and loads `count` times.
  void wave(auto &ring, int count) {
    RingWriter writer(ring.device);
    fade_wave_begin begin{};
    begin.mask = kAll;
    begin.wave = writer.nextWave();
    begin.module = SiteTableBuilder::kModule;
    RecordEncoder announcement;
    announcement.waveBegin(begin);
    writer.write(announcement.bytes());
    std::vector<uint64_t> line(64), scattered(64);
    for (uint64_t i = 0; i < 64; ++i) {
      line[i] = 0x10000 + 4 * i;
      scattered[i] = 0x20000 + 8 * (i * i % 61);
    }
    for (int i = 0; i < count; ++i) {
      RecordEncoder access; // of different sizes, so that records run over the end of the ring
      access.access(load, begin.wave, kAll, i % 3 == 0 ? scattered : line);
      writer.write(access.bytes());
    }
  }
  std::string finish(std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    collector->stop(patience);
    EXPECT_TRUE(analysis->close(std::chrono::seconds(60)));
    return output.collected();
  }

  /// Several waves write much more than the ring holds.
  template <typename AnyRing> void expectNothingLost(AnyRing &ring) {
    start(2, {{"MemoryAnalysis", ""}});
    const auto ended = add(&ring);
    constexpr int waves = 4, accesses = 3000;
    std::vector<std::thread> threads;
    for (int i = 0; i < waves; ++i) threads.emplace_back([&] { wave(ring, accesses); });
    for (auto &thread : threads) thread.join();
    ended->store(true);
    const std::string report = finish();
    const auto memory = testing::objectsOf(report, "memory");
    ASSERT_EQ(memory.size(), 1u);
    EXPECT_EQ(memory[0]["global"][0]["executions"], waves * accesses);
    const auto summary = testing::objectsOf(report, "summary");
    ASSERT_EQ(summary.size(), 1u);
    EXPECT_EQ(summary[0]["records"], waves * (accesses + 1));
    EXPECT_EQ(summary[0]["incomplete"], 0);
    EXPECT_TRUE(ring.recycled);
  }

  /// What has been written is freed although the dispatch has not ended: all of it, or all whole
  /// segments.
  template <typename AnyRing> void expectRead(AnyRing &ring) {
    const uint64_t segment = uint64_t{1} << ring.device.segment_shift;
    const uint64_t whole = ring.device.head & ~(segment - 1);
    EXPECT_GT(whole, 0u);
    for (int i = 0; i < 60000 && ring.tail() != whole; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(ring.tail(), whole);
  }

  template <typename AnyRing> void expectReadWhileRunning(AnyRing &ring) {
    start(1, {});
    const auto ended = add(&ring);
    wave(ring, 1000);
    expectRead(ring);
    ended->store(true);
    finish();
  }

  SiteTableBuilder table;
  uint32_t load = 0;
  std::shared_ptr<const KernelInfo> info;
  Output output{Format::json};
  std::unique_ptr<Analysis> analysis;
  std::unique_ptr<Collector> collector;
  uint64_t dispatches = 0;
};

TEST_F(CollectorTest, NothingIsLostThroughARingMuchSmallerThanTheStream) {
  FakeRing ring(FADE_RING_MIN_CAPACITY);
  expectNothingLost(ring);
  EXPECT_TRUE(ring.isZero());
}

TEST_F(CollectorTest, RecordsAreReadWhileTheKernelRuns) {
  FakeRing ring(1 << 16);
  expectReadWhileRunning(ring);
}

TEST_F(CollectorTest, DispatchesWithoutRingsAreTimedInAnyOrderOfTheirEnds) {
  start(1, {});
  const auto first = add(nullptr), second = add(nullptr);
  second->store(true);
  first->store(true);
  const auto all = testing::objectsOf(finish(), "dispatch");
  ASSERT_EQ(all.size(), 2u);
  for (const auto &dispatch : all) {
    EXPECT_EQ(dispatch["start_ns"], 10);
    EXPECT_EQ(dispatch["end_ns"], 20);
  }
}

// A server may make queues and destroy them as long as it runs.
TEST_F(CollectorTest, QueuesWithoutDispatchesAreForgotten) {
  start(1, {});
  std::vector<std::shared_ptr<std::atomic<bool>>> ended;
  for (uint64_t queue = 1; queue <= 100; ++queue) ended.push_back(add(nullptr, nullptr, queue));
  while (collector->timedQueues() != 100) std::this_thread::yield();
  for (std::size_t i = 1; i < ended.size(); ++i) ended[i]->store(true);
  collector->settle(std::chrono::milliseconds(0));
  while (collector->inFlight() != 1) std::this_thread::yield();
  ended[0]->store(true);
  EXPECT_EQ(testing::objectsOf(finish(), "dispatch").size(), 100u);
  EXPECT_EQ(collector->timedQueues(), 0u);
}

TEST_F(CollectorTest, WhoWaitsUntilAllIsSettledIsNotForgottenWhenSomethingEndsMeanwhile) {
  start(1, {});
  constexpr uint64_t times = 50;
  for (uint64_t i = 0; i < times; ++i) {
    const auto ended = add(nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(1)); // the collector has seen it
    ended->store(true);
    collector->settle(std::chrono::hours(1));
    EXPECT_EQ(collector->inFlight(), 0u);
  }
  EXPECT_EQ(testing::objectsOf(finish(), "dispatch").size(), times);
}

TEST_F(CollectorTest, ApplicationsAreToldOfEndsThoughTheFirstOfAQueueHasNotBeenHeardOf) {
  start(1, {});
  std::vector<std::shared_ptr<std::atomic<bool>>> ended, told;
  for (int i = 0; i < 3; ++i) {
    told.push_back(std::make_shared<std::atomic<bool>>(false));
    ended.push_back(add(nullptr, told.back()));
  }
  for (const auto &each : told)
    while (!each->load()) std::this_thread::yield();
  for (const auto &each : ended) each->store(true);
  EXPECT_EQ(testing::objectsOf(finish(), "dispatch").size(), 3u);
}

TEST_F(CollectorTest, ADispatchThatNeverEndsIsReportedAsFarAsItCame) {
  start(1, {{"MemoryAnalysis", ""}});
  FakeRing ring(1 << 16);
  const auto ended = add(&ring);
  wave(ring, 10);
  expectRead(ring);
  const std::string report = finish(std::chrono::milliseconds(300));
  const auto dispatches_seen = testing::objectsOf(report, "dispatch");
  ASSERT_EQ(dispatches_seen.size(), 1u);
  EXPECT_EQ(dispatches_seen[0]["complete"], false);
  const auto memory = testing::objectsOf(report, "memory");
  ASSERT_EQ(memory.size(), 1u);
  ASSERT_EQ(memory[0]["global"].size(), 1u);
  EXPECT_EQ(memory[0]["global"][0]["executions"], 10);
}

TEST_F(CollectorTest, ADispatchThatWritesForEverDoesNotHoldUpTheEnd) {
  start(1, {});
  FakeRing ring(FADE_RING_MIN_CAPACITY);
  add(&ring);
  std::atomic<bool> enough{false};
  std::thread writer([&] {
    while (!enough) {
      // As a wave does, but it looks up from waiting for room.
      if (__atomic_load_n(&ring.device.head, __ATOMIC_RELAXED) - ring.tail() < 2048) wave(ring, 1);
    }
  });
  const auto before = std::chrono::steady_clock::now();
  // It waits for an end that does not come for as long as the second says, and not the first.
  collector->stop(std::chrono::hours(24), std::chrono::milliseconds(200));
  const auto waited = std::chrono::steady_clock::now() - before;
  EXPECT_TRUE(analysis->close(std::chrono::seconds(60)));
  enough = true;
  writer.join();
  EXPECT_GE(waited, std::chrono::milliseconds(200));
  const auto all = testing::objectsOf(output.collected(), "dispatch");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["complete"], false);
  EXPECT_GT(all[0]["records"], 0);
}

TEST_F(CollectorTest, ReservedRecordsThatWereNeverWrittenDoNotHoldUpTheEnd) {
  ::testing::internal::CaptureStderr();
  start(1, {});
  FakeRing ring(1 << 16);
  const auto ended = add(&ring);
  wave(ring, 5);
  ring.device.head += 32; // a wave that died between reserving and writing
  ended->store(true);
  const auto all = testing::objectsOf(finish(), "dispatch");
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("32 bytes of records"),
            std::string::npos);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["complete"], false);
  EXPECT_EQ(all[0]["records"], 6);
}

TEST_F(CollectorTest, ADamagedStreamIsSaidOnceAndTheRestIsReported) {
  ::testing::internal::CaptureStderr(); // from here on: the records are read as they are written
  start(1, {});
  FakeRing ring(1 << 16);
  const auto ended = add(&ring);
  wave(ring, 5);
  RingWriter writer(ring.device);
  RecordEncoder bad;
  std::vector<uint64_t> addresses(64, 0x1000);
  bad.access(load + 1000, 0, kAll, addresses); // a site that does not exist
  writer.write(bad.bytes());
  wave(ring, 5);
  ended->store(true);
  const auto all = testing::objectsOf(finish(), "dispatch");
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("a site that does not exist"), std::string::npos) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["records"], 6); // what came before the damage
  EXPECT_TRUE(ring.isZero());
}

TEST_F(CollectorTest, ManyDispatchesWithFewRingsAllEnd) {
  start(2, {{"Heatmap", ""}});
  std::vector<std::unique_ptr<FakeRing>> rings;
  std::vector<std::shared_ptr<std::atomic<bool>>> ends;
  for (int i = 0; i < 200; ++i) {
    rings.push_back(std::make_unique<FakeRing>(FADE_RING_MIN_CAPACITY));
    ends.push_back(add(rings.back().get()));
    wave(*rings.back(), 20);
    ends.back()->store(true);
  }
  const std::string report = finish();
  EXPECT_EQ(testing::objectsOf(report, "dispatch").size(), 200u);
  const auto heatmaps = testing::objectsOf(report, "heatmap");
  ASSERT_EQ(heatmaps.size(), 200u);
  for (const auto &heatmap : heatmaps) {
    uint64_t reads = 0;
    for (const auto &page : heatmap["pages"]) reads += page["reads"].get<uint64_t>();
    EXPECT_EQ(reads, 20u * 64);
  }
}

// ---- rings in device memory

TEST_F(CollectorTest, NothingIsLostThroughASegmentedRingMuchSmallerThanTheStream) {
  SegmentedFakeRing ring(FADE_RING_MIN_CAPACITY);
  expectNothingLost(ring);
}

TEST_F(CollectorTest, RecordsInDeviceMemoryAreReadWhileTheKernelRuns) {
  SegmentedFakeRing ring(1 << 16);
  expectReadWhileRunning(ring);
}

TEST_F(CollectorTest, RecordsInDeviceMemoryThatAreOnTheirWayAreWaitedFor) {
  start(1, {});
  SegmentedFakeRing ring(1 << 16);
  ring.looks_at_data = 100; // many more than the engine needs for answers
  const auto ended = add(&ring);
  wave(ring, 10);
  collector->settle(std::chrono::minutes(5));
  EXPECT_EQ(ring.segments->visible(), ring.device.head);
  ended->store(true);
  (void)finish();
}

// Whatever the engine is being asked when somebody wants to know.
TEST_F(CollectorTest, WhatIsWrittenInDeviceMemoryIsThereWheneverItIsSettled) {
  start(1, {});
  SegmentedFakeRing ring(1 << 16);
  const auto ended = add(&ring);
  for (int i = 0; i < 300; ++i) {
    wave(ring, 1);
    collector->settle(std::chrono::minutes(5));
    ASSERT_EQ(ring.segments->visible(), ring.device.head) << "the " << i << "th time";
  }
  ended->store(true);
  (void)finish();
}

TEST_F(CollectorTest, RecordsInDeviceMemoryThatWereNeverWrittenDoNotHoldUpTheEnd) {
  ::testing::internal::CaptureStderr();
  start(1, {});
  SegmentedFakeRing ring(FADE_RING_MIN_CAPACITY);
  const auto ended = add(&ring);
  wave(ring, 12);
  ring.device.head += 32; // a wave that died between reserving and writing
  ended->store(true);
  const auto all = testing::objectsOf(finish(), "dispatch");
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("reserved and never written"),
            std::string::npos);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["complete"], false);
}

TEST_F(CollectorTest, WavesThatWaitForACopyThatDoesNotEndAreLetGoAndItIsSaidOnce) {
  ::testing::internal::CaptureStderr();
  start(1, {}, {std::chrono::milliseconds(300)});
  SegmentedFakeRing first(FADE_RING_MIN_CAPACITY), second(FADE_RING_MIN_CAPACITY);
  for (SegmentedFakeRing *ring : {&first, &second}) {
    ring->is_stuck = true;
    const auto ended = add(ring);
    wave(*ring, 1000); // more than the ring holds: without help this waits for ever
    ended->store(true);
    ring->is_stuck = false;
  }
  const auto all = testing::objectsOf(finish(), "dispatch");
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("FADE_TRANSPORT=host"), std::string::npos) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  ASSERT_EQ(all.size(), 2u);
  for (const auto &dispatch : all) EXPECT_EQ(dispatch["complete"], false);
  EXPECT_TRUE(first.recycled && second.recycled);
  for (const auto *ring : {&first, &second}) // or waves would think that they are too far ahead
    EXPECT_LT(ring->tail() + FADE_RING_MIN_CAPACITY, ring->device.head + (uint64_t{1} << 31));
}

TEST_F(CollectorTest, WavesOfADamagedRingAreLetGoHoweverMuchTheyWrite) {
  ::testing::internal::CaptureStderr();
  start(1, {});
  FakeRing ring(FADE_RING_MIN_CAPACITY);
  const auto ended = add(&ring);
  RingWriter writer(ring.device);
  RecordEncoder bad;
  bad.block(0, 0, 1, 1);
  auto bytes = bad.take();
  bytes[4] = std::byte{1}; // a record of 8 bytes
  writer.write(bytes);
  for (int i = 0; i < 4; ++i) { // each time as if waves had written that much
    wave(ring, 1000);
    __atomic_fetch_add(&ring.device.head, uint64_t{900} << 20, __ATOMIC_RELAXED);
  }
  ended->store(true);
  const auto all = testing::objectsOf(finish(), "dispatch");
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("is damaged at byte 0"),
            std::string::npos);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_LT(ring.tail() + FADE_RING_MIN_CAPACITY, ring.device.head + (uint64_t{1} << 31));
}

TEST_F(CollectorTest, AKernelThatComputesForLongIsNotTakenForACopyThatDoesNotEnd) {
  // Time passes only while the kernel computes, however long this machine takes for its records.
  static std::atomic<int> clock_ms;
  clock_ms = 1;
  const auto now = [] { return Collector::Time(std::chrono::milliseconds(clock_ms)); };
  start(1, {{"MemoryAnalysis", ""}}, {std::chrono::milliseconds(200), now});
  SegmentedFakeRing ring(FADE_RING_MIN_CAPACITY);
  const auto ended = add(&ring);
  wave(ring, 3000);
  for (int i = 0; i < 60; ++i) {
    clock_ms += 10;
    for (const int seen = ring.copies; ring.copies < seen + 3;) std::this_thread::yield();
  }
  wave(ring, 3000);
  ended->store(true);
  const auto all = testing::objectsOf(finish(), "dispatch");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["complete"], true);
  EXPECT_EQ(all[0]["records"], 6002);
}

TEST_F(CollectorTest, WhenCopiesCannotBeStartedTheKernelGoesOnWithoutItsRecords) {
  ::testing::internal::CaptureStderr();
  start(1, {});
  SegmentedFakeRing ring(FADE_RING_MIN_CAPACITY);
  ring.refuses = true;
  const auto ended = add(&ring);
  wave(ring, 1000);
  ended->store(true);
  const auto all = testing::objectsOf(finish(), "dispatch");
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cannot be copied from device memory"), std::string::npos) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["complete"], false);
}

TEST_F(CollectorTest, RingsOfKernelsThatHardlyRunYetAreSeldomAskedForRecords) {
  start(1, {});
  std::vector<std::unique_ptr<SegmentedFakeRing>> rings;
  std::vector<std::shared_ptr<std::atomic<bool>>> ends;
  for (int i = 0; i < 40; ++i) {
    rings.push_back(std::make_unique<SegmentedFakeRing>(FADE_RING_MIN_CAPACITY));
    ends.push_back(add(rings.back().get()));
  }
  // Long enough that the first questions, which all rings are asked, do not matter.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (rings.front()->copies < 200 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GT(rings.front()->copies, 4 * rings.back()->copies);
  for (const auto &ring : rings) wave(*ring, 20); // and yet all of them are read
  for (const auto &end : ends) end->store(true);
  EXPECT_EQ(testing::objectsOf(finish(), "summary")[0]["records"], 40 * 21);
}

TEST_F(CollectorTest, ADispatchInDeviceMemoryThatNeverEndsIsReportedAsFarAsItCame) {
  start(1, {{"MemoryAnalysis", ""}});
  SegmentedFakeRing ring(1 << 16);
  add(&ring);
  wave(ring, 10);
  const std::string report = finish(std::chrono::milliseconds(300));
  const auto memory = testing::objectsOf(report, "memory");
  ASSERT_EQ(memory.size(), 1u);
  ASSERT_EQ(memory[0]["global"].size(), 1u);
  EXPECT_EQ(memory[0]["global"][0]["executions"], 10);
  EXPECT_EQ(testing::objectsOf(report, "dispatch")[0]["complete"], false);
}

} // namespace
} // namespace fade
