// What waits in a queue never gets to be more than the runtime has room for.
#include "fake_hsa.h"
#include "hsa/ring_end.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

namespace fade {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kSize = 16384;

TEST(RingEnd, NoBatchAroundItIsLargerThanTheRuntimesBuffer) {
  std::mt19937 random(7);
  uint64_t read = 0, filled = 0, reserved = 0, largest = 0, around = 0;
  for (int i = 0; i < 1000000; ++i) {
    if (reserved == filled) reserved += 1 + random() % 8;
    // A thread fills its places if it may; one that rings has all taken out that are filled.
    if (reserved <= read + kSize && mayFill(filled, reserved - filled, read, kSize))
      filled = reserved;
    if (random() % 2000 == 0 || filled != reserved) {
      const bool is_around = read / kSize != (filled - 1) / kSize && filled > read;
      largest = std::max(largest, filled - read);
      if (is_around) around = std::max(around, filled - read);
      read = filled;
    }
  }
  EXPECT_LE(around, kMostAroundRingEnd);
  EXPECT_GT(around, kMostAroundRingEnd / 2) << "it was never tried";
  EXPECT_GT(largest, mostWaiting(kSize) / 2) << "elsewhere more may wait";
  EXPECT_LE(largest, mostWaiting(kSize));
}

TEST(RingEnd, AShortQueueIsNeverFull) {
  EXPECT_TRUE(mayFill(107, 1, 100, 64));
  EXPECT_FALSE(mayFill(108, 1, 100, 64)) << "the ninth";
  EXPECT_TRUE(mayFill(108, 1, 101, 64));
  EXPECT_TRUE(mayFill(100, 64, 100, 64)) << "who wants all of it waits for the others only";
}

/// A queue whose doorbell takes out what `filled` says.
class WaitToFill : public testing::Test {
protected:
  WaitToFill() {
    queue.size = kSize;
    read = filled = rings = 0;
    hsaApi().core.hsa_queue_load_read_index_scacquire_fn = [](const hsa_queue_t *) {
      return read.load();
    };
    hsaApi().core.hsa_signal_store_screlease_fn = [](hsa_signal_t, hsa_signal_value_t) {
      ++rings;
      read = filled.load();
    };
  }

  FakeHsa hsa;
  hsa_queue_t queue{};
  static inline std::atomic<uint64_t> read, filled;
  static inline std::atomic<int> rings;
};

TEST_F(WaitToFill, NobodyIsHeldBackBeforeTheEnd) {
  waitToFill(&queue, 0, 1, 1h);
  waitToFill(&queue, mostWaiting(kSize) - 1, 1, 1h);
  read = kSize - 2;
  waitToFill(&queue, kSize - 1, 1, 1h);
  EXPECT_EQ(rings, 0);
}

TEST_F(WaitToFill, TheDoorbellIsRungForThoseWhoWantToRingLater) {
  filled = kSize;
  waitToFill(&queue, kSize, 1, 1h);
  EXPECT_EQ(rings, 1);
}

TEST_F(WaitToFill, WhoIsHeldBackGoesOnWhenTheOthersHaveFilledTheirPlaces) {
  filled = kSize - 300;
  std::atomic<bool> passed{false};
  std::thread application([&] {
    waitToFill(&queue, kSize, 1, 1h);
    passed = true;
  });
  while (rings < 3 && !passed) std::this_thread::yield(); // it has looked, in vain
  EXPECT_FALSE(passed);
  filled = kSize - 255;
  application.join();
}

TEST_F(WaitToFill, APlaceThatNobodyFillsIsNotWaitedForForEver) {
  waitToFill(&queue, kSize, 1, 5ms);
  EXPECT_GT(rings, 0);
}

} // namespace
} // namespace fade
