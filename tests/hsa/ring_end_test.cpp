// What waits around the end of a ring never gets to be more than the runtime has room for.
#include "fake_hsa.h"
#include "hsa/ring_end.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

namespace fade {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kSize = 1024;

TEST(RingEnd, NoBatchAroundItIsLargerThanTheRuntimesBuffer) {
  std::mt19937 random(7);
  uint64_t read = 0, filled = 0, reserved = 0, largest = 0, around = 0;
  for (int i = 0; i < 200000; ++i) {
    if (reserved == filled) reserved += 1 + random() % 8;
    // A thread fills its places if it may; one that rings has all taken out that are filled.
    if (reserved <= read + kSize && mayFill(filled, reserved - filled, read, kSize))
      filled = reserved;
    if (random() % 500 == 0 || filled != reserved) {
      const bool is_around = read / kSize != (filled - 1) / kSize && filled > read;
      largest = std::max(largest, filled - read);
      if (is_around) around = std::max(around, filled - read);
      read = filled;
    }
  }
  EXPECT_LE(around, kMostAroundRingEnd);
  EXPECT_GT(around, kMostAroundRingEnd / 2) << "it was never tried";
  EXPECT_GT(largest, 2 * kMostAroundRingEnd) << "elsewhere nothing is held back";
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
  std::this_thread::sleep_for(10ms);
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
