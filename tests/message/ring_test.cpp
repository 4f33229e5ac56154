// The ring protocol, with RingWriter in the place of the waves.
#include <fade/decode.h>
#include <fade/encode.h>
#include <fade/ring_writer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

namespace {

using fade::Record;
using fade::RecordCursor;
using fade::RecordEncoder;

class Ring {
public:
  explicit Ring(uint64_t capacity) : data_((capacity + FADE_RING_SLACK) / 8) {
    control.version = FADE_MESSAGE_VERSION;
    control.data = reinterpret_cast<uint64_t>(data_.data());
    control.capacity_mask = capacity - 1;
    control.tail = reinterpret_cast<uint64_t>(&tail_);
    control.limit = capacity;
  }

  // Drains what is published, calls f for each record, frees the space.
  template <typename F> uint64_t drain(F &&f) {
    const uint64_t capacity = control.capacity_mask + 1;
    const uint64_t at = tail_ & control.capacity_mask;
    auto *bytes = reinterpret_cast<std::byte *>(data_.data()) + at;
    // Up to the end of the ring; the last record may run on into the slack.
    const auto published = fade::publishedBytes(bytes, capacity - at + FADE_RING_SLACK);
    EXPECT_FALSE(published.malformed);
    RecordCursor cursor({bytes, published.bytes});
    Record record;
    uint64_t taken = 0;
    while (at + taken < capacity && cursor.next(record) == RecordCursor::Status::record) {
      f(record);
      taken = cursor.offset();
    }
    std::memset(bytes, 0, taken);
    __atomic_store_n(&tail_, tail_ + taken, __ATOMIC_RELEASE);
    return taken;
  }
  uint64_t tail() const { return tail_; }

  fade_control control{};

private:
  std::vector<uint64_t> data_;
  alignas(128) uint64_t tail_ = 0;
};

std::vector<std::byte> accessRecord(uint32_t site, uint32_t wave, std::mt19937_64 &random) {
  std::vector<uint64_t> addresses(64);
  const uint64_t wild = random() % 4;
  for (uint64_t i = 0; i < 64; ++i)
    addresses[i] = wild == 0 ? random() : 0x1000 + 4 * i + (wild == 1 ? random() % 4096 : 0);
  RecordEncoder encoder;
  encoder.access(site, wave, random() | 1, addresses);
  return encoder.take();
}

TEST(Ring, SmallestRingLosesNothingWithManyWritersAndASlowReader) {
  Ring ring(FADE_RING_MIN_CAPACITY);
  constexpr uint32_t writers = 6, each = 3000;
  std::atomic<uint32_t> done{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < writers; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      fade::RingWriter writer(ring.control);
      const uint32_t wave = writer.nextWave();
      for (uint32_t i = 0; i < each; ++i) EXPECT_TRUE(writer.write(accessRecord(i, wave, random)));
      ++done;
    });
  std::map<uint32_t, uint32_t> next; // per wave: the record expected next
  uint64_t records = 0;
  while (records < writers * each) {
    ring.drain([&](const Record &r) {
      EXPECT_EQ(r.site(), next[r.wave()]++);
      ++records;
    });
    if (records % 7 == 0) std::this_thread::yield();
  }
  for (auto &t : threads) t.join();
  EXPECT_EQ(done, writers);
  EXPECT_EQ(ring.tail(), ring.control.head);
  EXPECT_EQ(next.size(), writers);
}

TEST(Ring, RecordThatRunsOverTheEndStaysInOnePiece) {
  Ring ring(FADE_RING_MIN_CAPACITY);
  fade::RingWriter writer(ring.control);
  std::mt19937_64 random(5);
  bool crossed = false;
  for (uint32_t i = 0; i < 100; ++i) {
    const auto record = accessRecord(i, 0, random);
    const uint64_t at = ring.control.head & ring.control.capacity_mask;
    crossed |= at + record.size() > FADE_RING_MIN_CAPACITY;
    ASSERT_TRUE(writer.write(record));
    uint32_t seen = 0;
    ring.drain([&](const Record &r) {
      ++seen;
      EXPECT_TRUE(std::equal(record.begin(), record.end(), r.bytes().begin(), r.bytes().end()));
    });
    EXPECT_EQ(seen, 1u);
  }
  EXPECT_TRUE(crossed);
}

TEST(Ring, LossyModeDropsOnceTheLargestRecordWouldNotFitAndCountsIt) {
  Ring ring(FADE_RING_MIN_CAPACITY);
  ring.control.flags = FADE_CONTROL_LOSSY;
  fade::RingWriter writer(ring.control);
  RecordEncoder encoder;
  encoder.block(1, 0, 1, 1);
  uint32_t written = 0;
  for (int i = 0; i < 200; ++i) written += writer.write(encoder.bytes());
  EXPECT_EQ(written, (FADE_RING_MIN_CAPACITY - FADE_RECORD_MAX) / 32 + 1);
  EXPECT_EQ(ring.control.dropped, 200 - written);
  uint32_t seen = 0;
  ring.drain([&](const Record &) { ++seen; });
  EXPECT_EQ(seen, written);
  EXPECT_TRUE(writer.write(encoder.bytes())) << "there is room again";
}

TEST(Ring, UnpublishedRecordHoldsBackTheOnesBehindIt) {
  Ring ring(FADE_RING_MIN_CAPACITY);
  fade::RingWriter writer(ring.control);
  ring.control.head = 64; // reserved by a wave that has not written yet
  RecordEncoder encoder;
  encoder.block(1, 0, 1, 1);
  ASSERT_TRUE(writer.write(encoder.bytes()));
  uint32_t seen = 0;
  ring.drain([&](const Record &) { ++seen; });
  EXPECT_EQ(seen, 0u);
}

TEST(Ring, HeaderThatNoWriterWritesIsReportedAsCorrupt) {
  std::vector<uint64_t> memory(64);
  memory[0] = 1; // a size of zero
  auto *bytes = reinterpret_cast<const std::byte *>(memory.data());
  EXPECT_TRUE(fade::publishedBytes(bytes, 512).malformed);
  memory[0] = FADE_HEADER(1, 0xffff, FADE_RECORD_BLOCK, 0);
  EXPECT_TRUE(fade::publishedBytes(bytes, 512).malformed);
}

} // namespace
