// A segmented ring: RingWriter in the place of the waves, a thread in the place of the copy engine.
#include "stream/ring_drain.h"
#include "stream/segment_reader.h"

#include <fade/decode.h>
#include <fade/encode.h>
#include <fade/ring_writer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace {

using fade::CopyEngine;
using fade::Record;
using fade::RecordCursor;
using fade::RecordEncoder;
using fade::RingDrain;
using fade::SegmentedRing;
using fade::SegmentReader;

/// Copies to the mirror with ordinary loads and stores: a byte that somebody writes or reads at
/// that time is a data race, and the sanitizer finds it. Counts are read as a GPU's are.
void copyNow(unsigned slot, void *to, uint64_t from, std::size_t size) {
  if (slot != 0) {
    std::memcpy(to, reinterpret_cast<const void *>(from), size);
    return;
  }
  for (std::size_t i = 0; i < size / 8; ++i) {
    const auto *word = reinterpret_cast<const uint64_t *>(from) + i;
    static_cast<uint64_t *>(to)[i] = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  }
}

/// Copies by and by, in whatever order, after random delays.
class ThreadEngine final : public CopyEngine {
public:
  explicit ThreadEngine(uint64_t seed) : random_(seed), threads_{} {
    for (auto &thread : threads_) thread = std::thread([this] { run(); });
  }
  ~ThreadEngine() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (auto &thread : threads_) thread.join();
  }
  bool start(unsigned slot, void *to, uint64_t from, std::size_t size) noexcept override {
    EXPECT_TRUE(isDone(slot)) << "a slot is for one copy at a time";
    done_[slot].store(false, std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back({slot, to, from, size});
    }
    wake_.notify_one();
    return true;
  }
  bool isDone(unsigned slot) noexcept override {
    return done_[slot].load(std::memory_order_acquire);
  }

private:
  struct Job {
    unsigned slot;
    void *to;
    uint64_t from;
    std::size_t size;
  };
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const Job job = jobs_.front();
      jobs_.pop_front();
      const uint64_t delay = random_() % 8;
      lock.unlock();
      if (delay < 3) std::this_thread::sleep_for(std::chrono::microseconds(delay * 40));
      copyNow(job.slot, job.to, job.from, job.size);
      done_[job.slot].store(true, std::memory_order_release);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  std::mt19937_64 random_;
  bool stop_ = false;
  std::array<std::atomic<bool>, kSlots> done_{true, true, true, true};
  std::array<std::thread, 2> threads_;
};

/// Copies when it is told to.
class SteppedEngine final : public CopyEngine {
public:
  bool start(unsigned slot, void *to, uint64_t from, std::size_t size) noexcept override {
    if (refuses) return false;
    sizes.push_back(size);
    pending_.push_back(slot);
    to_[slot] = to, from_[slot] = from, size_[slot] = size;
    busy_[slot] = true;
    return true;
  }
  bool isDone(unsigned slot) noexcept override { return !busy_[slot]; }
  void copyAll() {
    for (const unsigned slot : pending_) {
      copyNow(slot, to_[slot], from_[slot], size_[slot]);
      busy_[slot] = false;
    }
    pending_.clear();
  }

  bool refuses = false;
  std::vector<std::size_t> sizes; ///< of all copies

private:
  std::vector<unsigned> pending_;
  std::array<void *, kSlots> to_{};
  std::array<uint64_t, kSlots> from_{};
  std::array<std::size_t, kSlots> size_{};
  std::array<bool, kSlots> busy_{};
};

/// Ring, mirror and both readers.
class Mirrored {
public:
  Mirrored(CopyEngine &engine, uint64_t capacity)
      : data_((capacity + FADE_RING_SLACK) / 8, kGarbage), mirror_(data_.size(), kGarbage),
        reader(engine, layout(capacity)),
        drain(reinterpret_cast<std::byte *>(mirror_.data()), capacity, &tail_) {
    control.version = FADE_MESSAGE_VERSION;
    control.flags = FADE_CONTROL_SEGMENTED;
    control.data = reinterpret_cast<uint64_t>(data_.data());
    control.capacity_mask = capacity - 1;
    control.tail = reinterpret_cast<uint64_t>(&tail_);
    control.limit = capacity;
    control.written = reinterpret_cast<uint64_t>(written_.data());
    control.segment_shift = SegmentedRing::segmentShift(capacity);
    drain.limitToSegments(control.segment_shift);
  }

  /// Does a step, calls f for each record that has become visible, frees it.
  template <typename F> uint64_t step(F &&f) {
    reader.step();
    drain.setVisible(reader.visible());
    uint64_t taken = 0;
    while (true) {
      const auto piece = drain.next(1 << 16, [](const fade_wave_begin &) {});
      EXPECT_FALSE(drain.isCorrupt());
      if (piece.size == 0) return taken;
      RecordCursor cursor({piece.bytes, piece.size});
      Record record;
      while (cursor.next(record) == RecordCursor::Status::record) f(record);
      EXPECT_EQ(cursor.offset(), piece.size);
      // What has been read is no use to anybody: if somebody still needs it, a record is wrong.
      std::memset(piece.bytes, 0xee, piece.size);
      taken += piece.size;
      drain.free(piece.size);
      reader.setFreed(drain.freed());
    }
  }
  void nextDispatch() {
    reader.restart();
    drain.restart();
    written_.fill(0);
    control.head = 0;
    control.limit = control.capacity_mask + 1;
  }
  /// Up to here waves may write without waiting.
  uint64_t room() const { return tail_ + control.capacity_mask + 1; }
  uint64_t writtenTo(std::size_t segment) const { return written_[segment]; }

private:
  // As after another kernel that used the memory.
  static constexpr uint64_t kGarbage = FADE_HEADER(7, 4, FADE_RECORD_BLOCK, 0);

  SegmentedRing layout(uint64_t capacity) {
    SegmentedRing ring;
    ring.data = reinterpret_cast<uint64_t>(data_.data());
    ring.written = reinterpret_cast<uint64_t>(written_.data());
    ring.head = reinterpret_cast<uint64_t>(&control.head);
    ring.mirror = reinterpret_cast<std::byte *>(mirror_.data());
    ring.staging = staging_.data();
    ring.capacity = capacity;
    ring.segment_shift = SegmentedRing::segmentShift(capacity);
    return ring;
  }

  std::vector<uint64_t> data_, mirror_;
  std::array<uint64_t, FADE_RING_SEGMENTS> written_{};
  std::array<uint64_t, SegmentedRing::kStagingWords> staging_{};
  alignas(128) uint64_t tail_ = 0;

public:
  fade_control control{};
  SegmentReader reader;
  RingDrain drain;
};

/// Record `number` of a wave: any of the encodings, all of it determined by the two numbers.
std::vector<std::byte> recordOf(uint32_t wave, uint32_t number) {
  std::mt19937_64 random(uint64_t{wave} << 32 | number);
  RecordEncoder encoder;
  if (random() % 3 == 0) {
    encoder.block(number, wave, random() | 1, random());
  } else {
    std::vector<uint64_t> addresses(64);
    const uint64_t wild = random() % 4;
    for (uint64_t i = 0; i < 64; ++i)
      addresses[i] = wild == 0 ? random() : 0x1000 + 4 * i + (wild == 1 ? random() % 4096 : 0);
    encoder.access(number, wave, random() | 1, addresses);
  }
  return encoder.take();
}

bool isWhole(const Record &record) {
  const auto expected = recordOf(record.wave(), record.site());
  return std::equal(expected.begin(), expected.end(), record.bytes().begin(), record.bytes().end());
}

std::vector<std::byte> block(uint32_t site) {
  RecordEncoder encoder;
  encoder.block(site, 0, 1, 1);
  return encoder.take();
}

struct Outcome {
  uint64_t records = 0, dropped = 0;
  std::map<uint32_t, uint32_t> last; ///< by wave: number of its last record + 1
};

/// Many waves write `each` records while the ring is read; every record is checked.
Outcome runWaves(Mirrored &ring, uint32_t waves, uint32_t each) {
  std::atomic<uint32_t> running{waves};
  std::vector<std::thread> threads;
  for (uint32_t wave = 0; wave < waves; ++wave)
    threads.emplace_back([&, wave] {
      fade::RingWriter writer(ring.control);
      for (uint32_t i = 0; i < each; ++i) writer.write(recordOf(wave, i));
      --running;
    });
  Outcome outcome;
  const auto check = [&](const Record &record) {
    ++outcome.records;
    EXPECT_TRUE(isWhole(record)) << "wave " << record.wave() << ", record " << record.site();
    uint32_t &last = outcome.last[record.wave()];
    EXPECT_GE(record.site(), last) << "records of a wave stay in order";
    last = record.site() + 1;
  };
  while (running != 0) {
    if (ring.step(check) == 0) std::this_thread::yield();
    // Has failed; the waves are not to wait for ever.
    if (ring.drain.isCorrupt()) ring.drain.letWritersPass(ring.control.head);
  }
  for (auto &thread : threads) thread.join();
  ring.reader.finish(ring.control.head);
  while (!ring.reader.isComplete() && !ring.drain.isCorrupt())
    if (ring.step(check) == 0) std::this_thread::yield();
  ring.step(check);
  EXPECT_EQ(ring.drain.scanned(), ring.control.head);
  EXPECT_EQ(ring.reader.visible(), ring.control.head);
  EXPECT_FALSE(ring.reader.failed());
  outcome.dropped = ring.control.dropped;
  return outcome;
}

TEST(SegmentedRing, SmallestRingLosesAndTearsNothingWithManyWriters) {
  ThreadEngine engine(1);
  Mirrored ring(engine, FADE_RING_MIN_CAPACITY);
  constexpr uint32_t waves = 6, each = 3000;
  const Outcome outcome = runWaves(ring, waves, each);
  EXPECT_EQ(outcome.records, uint64_t{waves} * each);
  for (const auto &[wave, last] : outcome.last) EXPECT_EQ(last, each);
}

TEST(SegmentedRing, LargerRingsLoseAndTearNothing) {
  for (const uint64_t capacity : {uint64_t{1} << 13, uint64_t{1} << 16, uint64_t{1} << 20}) {
    ThreadEngine engine(capacity);
    Mirrored ring(engine, capacity);
    EXPECT_EQ(runWaves(ring, 4, 4000).records, 16000u) << capacity;
  }
}

TEST(SegmentedRing, LossyModeDropsAndCountsTheRest) {
  ThreadEngine engine(2);
  Mirrored ring(engine, FADE_RING_MIN_CAPACITY);
  ring.control.flags |= FADE_CONTROL_LOSSY;
  const Outcome outcome = runWaves(ring, 4, 5000);
  EXPECT_EQ(outcome.records + outcome.dropped, 20000u);
  EXPECT_GT(outcome.records, 0u);
}

TEST(SegmentedRing, RingIsUsedAgainForAnotherDispatch) {
  ThreadEngine engine(3);
  Mirrored ring(engine, FADE_RING_MIN_CAPACITY);
  for (int dispatch = 0; dispatch < 20; ++dispatch) {
    EXPECT_EQ(runWaves(ring, 2, 60).records, 120u);
    while (!ring.reader.isIdle()) std::this_thread::yield();
    ring.nextDispatch();
  }
}

TEST(SegmentedRing, SegmentsAreAtLeastFourAtMostSixteenAndNotTooSmall) {
  for (uint64_t capacity = FADE_RING_MIN_CAPACITY; capacity <= FADE_RING_MAX_CAPACITY;
       capacity *= 2) {
    const uint32_t shift = SegmentedRing::segmentShift(capacity);
    EXPECT_GE(uint64_t{1} << shift, FADE_SEGMENT_MIN);
    EXPECT_GE(capacity >> shift, 4u);
    EXPECT_LE(capacity >> shift, FADE_RING_SEGMENTS);
  }
}

TEST(SegmentedRing, WriterCountsTheBytesOfARecordInTheSegmentsThatItTouches) {
  SteppedEngine engine;
  Mirrored ring(engine, FADE_RING_MIN_CAPACITY);
  fade::RingWriter writer(ring.control);
  ring.control.head = FADE_SEGMENT_MIN - 8;
  writer.write(block(1));
  EXPECT_EQ(ring.writtenTo(0), 8u);
  EXPECT_EQ(ring.writtenTo(1), 24u);
  ring.control.head = FADE_RING_MIN_CAPACITY - 16; // into the slack: that is segment 0 again
  ring.control.limit = 2 * FADE_RING_MIN_CAPACITY;
  writer.write(block(2));
  EXPECT_EQ(ring.writtenTo(3), 16u);
  EXPECT_EQ(ring.writtenTo(0), 8u + 16u);
}

/// So many rounds that whatever can be found has been found.
uint64_t settle(Mirrored &ring, SteppedEngine &engine) {
  uint64_t seen = 0;
  for (int i = 0; i < 12; ++i) {
    ring.step([&](const Record &) { ++seen; });
    engine.copyAll();
  }
  return seen;
}

TEST(SegmentedRing, FewRecordsAreSeenOnceNobodyIsWriting) {
  SteppedEngine engine;
  Mirrored ring(engine, 1 << 16);
  fade::RingWriter writer(ring.control);
  for (uint32_t i = 0; i < 3; ++i) writer.write(block(i));
  EXPECT_EQ(settle(ring, engine), 3u);
  for (uint32_t i = 0; i < 5; ++i) writer.write(block(i));
  EXPECT_EQ(settle(ring, engine), 5u) << "and from the middle of a segment on";
}

TEST(SegmentedRing, AnUnwrittenRecordHoldsBackItsSegmentAndWhatFollowsButNotWhatIsBefore) {
  SteppedEngine engine;
  Mirrored ring(engine, FADE_RING_MIN_CAPACITY);
  fade::RingWriter writer(ring.control);
  constexpr uint32_t per_segment = FADE_SEGMENT_MIN / 32;
  for (uint32_t i = 0; i < per_segment; ++i) writer.write(block(i));
  ring.control.head += 32; // reserved by a wave that has not written yet
  for (uint32_t i = 0; i < 2 * per_segment; ++i) writer.write(block(i));
  EXPECT_EQ(settle(ring, engine), per_segment);
}

TEST(SegmentedRing, BytesOfTheNextLapDoNotCountForThoseOfAWaveThatIsSlow) {
  SteppedEngine engine;
  Mirrored ring(engine, FADE_RING_MIN_CAPACITY);
  fade::RingWriter writer(ring.control);
  constexpr uint32_t half = FADE_SEGMENT_MIN / 32 / 2;
  for (uint32_t i = 0; i < half; ++i) writer.write(block(i));
  EXPECT_EQ(settle(ring, engine), half); // half a segment has been read
  ring.control.head += 32;               // reserved by a wave that has not written yet
  while (ring.control.head + 32 <= ring.room()) writer.write(block(1));
  EXPECT_EQ(settle(ring, engine), 0u);
  EXPECT_FALSE(ring.drain.isCorrupt());
}

TEST(SegmentedRing, ARecordThatEndsInTheNextSegmentComesWithThatOne) {
  SteppedEngine engine;
  Mirrored ring(engine, FADE_RING_MIN_CAPACITY);
  fade::RingWriter writer(ring.control);
  RecordEncoder odd; // 40 bytes
  odd.waveEnd({.header = {}, .mask = 1, .clock = 0, .wave = 0, .reserved = 0, .time = 0});
  ASSERT_EQ(odd.bytes().size(), 40u);
  writer.write(odd.bytes());
  for (uint32_t i = 0; i < 31; ++i) writer.write(block(i)); // the last one ends at 1032
  ring.control.head += 32;                                  // a wave that writes later
  EXPECT_EQ(settle(ring, engine), 31u);
  EXPECT_EQ(ring.reader.visible(), FADE_SEGMENT_MIN);
}

TEST(SegmentedRing, MirrorThatIsNotFreedIsNotWrittenOver) {
  SteppedEngine engine;
  Mirrored ring(engine, FADE_RING_MIN_CAPACITY);
  ring.control.limit = uint64_t{1} << 40; // waves that do not wait
  fade::RingWriter writer(ring.control);
  for (uint32_t i = 0; i < 2 * FADE_RING_MIN_CAPACITY / 32; ++i) writer.write(block(i));
  for (int i = 0; i < 12; ++i) {
    ring.reader.step();
    engine.copyAll();
  }
  EXPECT_EQ(ring.reader.visible(), FADE_RING_MIN_CAPACITY);
}

TEST(SegmentedRing, TheMoreHasBeenWrittenTheLargerTheCopy) {
  SteppedEngine engine;
  Mirrored ring(engine, 1 << 20);
  fade::RingWriter writer(ring.control);
  const auto largest = [&](uint32_t records) {
    for (uint32_t i = 0; i < records; ++i) writer.write(block(i));
    engine.sizes.clear();
    EXPECT_EQ(settle(ring, engine), records);
    return *std::ranges::max_element(engine.sizes);
  };
  EXPECT_EQ(largest(100), 3200u);
  EXPECT_EQ(largest(20000), (1u << 20) / 4);
}

TEST(SegmentedRing, DataIsCopiedWhileTheNextQuestionIsOnItsWay) {
  SteppedEngine engine;
  Mirrored ring(engine, FADE_RING_MIN_CAPACITY);
  fade::RingWriter writer(ring.control);
  for (uint32_t i = 0; i < 64; ++i) writer.write(block(i));
  ring.reader.step();
  engine.copyAll();
  engine.sizes.clear();
  ring.reader.step();
  ASSERT_EQ(engine.sizes.size(), 3u);
  EXPECT_EQ(engine.sizes[0], 4 * sizeof(uint64_t)) << "what was written";
  EXPECT_EQ(engine.sizes[1], FADE_SEGMENT_MIN);
  EXPECT_EQ(engine.sizes[2], FADE_SEGMENT_MIN);
}

TEST(SegmentedRing, AfterAnAbortOnlyWholeSegmentsAreReadAndTheRestIsKnownToBeMissing) {
  SteppedEngine engine;
  Mirrored ring(engine, FADE_RING_MIN_CAPACITY);
  fade::RingWriter writer(ring.control);
  for (uint32_t i = 0; i < 40; ++i) writer.write(block(i));
  ring.control.head += 32; // died before it wrote
  for (uint32_t i = 0; i < 5; ++i) writer.write(block(i));
  ring.reader.finish(ring.control.head);
  EXPECT_FALSE(ring.reader.isComplete());
  EXPECT_EQ(settle(ring, engine), 32u);
  EXPECT_TRUE(ring.reader.isComplete());
  EXPECT_LT(ring.reader.visible(), ring.control.head);
  EXPECT_FALSE(ring.drain.isCorrupt());
}

TEST(SegmentedRing, AnAnswerFromBeforeTheEndIsNotTakenForTheLast) {
  SteppedEngine engine;
  Mirrored ring(engine, FADE_RING_MIN_CAPACITY);
  fade::RingWriter writer(ring.control);
  ring.reader.step();
  engine.copyAll(); // nothing was written then
  for (uint32_t i = 0; i < 5; ++i) writer.write(block(i));
  ring.reader.finish(ring.control.head);
  EXPECT_EQ(settle(ring, engine), 5u);
  EXPECT_TRUE(ring.reader.isComplete());
}

TEST(SegmentedRing, ACopyThatCannotBeStartedIsAFailureAndNothingMoreIsAsked) {
  SteppedEngine engine;
  Mirrored ring(engine, FADE_RING_MIN_CAPACITY);
  ring.reader.step();
  engine.refuses = true;
  engine.copyAll();
  ring.reader.step();
  EXPECT_TRUE(ring.reader.failed());
  EXPECT_TRUE(ring.reader.isIdle());
  engine.refuses = false;
  const auto before = engine.sizes.size();
  EXPECT_FALSE(ring.reader.step());
  EXPECT_EQ(engine.sizes.size(), before);
}

TEST(RingDrain, LimitedToWhatIsVisibleItHandsOutWholeRecordsUpToThere) {
  std::vector<uint64_t> memory((FADE_RING_MIN_CAPACITY + FADE_RING_SLACK) / 8);
  uint64_t tail = 0;
  fade_control control{};
  control.data = reinterpret_cast<uint64_t>(memory.data());
  control.capacity_mask = FADE_RING_MIN_CAPACITY - 1;
  control.tail = reinterpret_cast<uint64_t>(&tail);
  control.limit = FADE_RING_MIN_CAPACITY;
  fade::RingWriter writer(control);
  for (uint32_t i = 0; i < 4; ++i) writer.write(block(i));
  RingDrain drain(reinterpret_cast<std::byte *>(memory.data()), FADE_RING_MIN_CAPACITY, &tail);
  const auto next = [&] { return drain.next(1 << 16, [](const fade_wave_begin &) {}).size; };
  drain.limitToSegments(SegmentedRing::segmentShift(FADE_RING_MIN_CAPACITY));
  EXPECT_EQ(next(), 0u);
  drain.setVisible(72);
  EXPECT_EQ(next(), 64u);
  drain.setVisible(128);
  EXPECT_EQ(next(), 64u);
  EXPECT_FALSE(drain.isCorrupt());
  drain.setVisible(160); // there is nothing: of a segmented ring, that cannot be
  EXPECT_EQ(next(), 0u);
  EXPECT_TRUE(drain.isCorrupt());
}

} // namespace
