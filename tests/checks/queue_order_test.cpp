// Which packets come after which, whatever the timing.
#include "checks/queue_order.h"

#include <gtest/gtest.h>

namespace fade::checks {
namespace {

constexpr uint64_t kA = 1, kB = 2, kC = 3; // queues

/// Packets run in the order of the calls.
class Queues {
public:
  QueueOrder order;
  /// Whether packet `index` of queue `of` is known to be done before a dispatch begins.
  bool isAfter(uint64_t queue, uint64_t index, uint64_t of, uint64_t other) {
    return order.begins(queue, index).done(of) > other;
  }
  void ends(uint64_t queue, uint64_t index, uint64_t signal = 0,
            const std::vector<uint64_t> &waited = {}) {
    order.packetEnds({queue, index, signal, waited.data(), static_cast<uint32_t>(waited.size())});
  }
};

TEST(QueueOrder, APacketComesAfterThoseBeforeItInItsQueueAndNoOthers) {
  Queues q;
  q.order.submitted(kA, 1), q.order.submitted(kB, 0);
  q.ends(kA, 0);
  EXPECT_TRUE(q.isAfter(kA, 1, kA, 0));
  EXPECT_FALSE(q.isAfter(kB, 0, kA, 0));
}

TEST(QueueOrder, ABarrierComesAfterWhatItsSignalsSay) {
  Queues q;
  q.order.submitted(kA, 1), q.order.submitted(kB, 2), q.order.submitted(kC, 0);
  q.ends(kA, 0), q.ends(kA, 1, 77);
  q.ends(kB, 0, 0, {0, 77});
  EXPECT_TRUE(q.isAfter(kB, 1, kA, 1));
  EXPECT_FALSE(q.isAfter(kC, 0, kA, 0));
}

TEST(QueueOrder, WhatTheHostWaitedForComesBeforeWhatItSubmitsThen) {
  Queues q;
  q.order.submitted(kA, 0), q.order.submitted(kB, 0);
  q.ends(kA, 0, 77);
  q.order.hostSaw(77);
  q.order.submitted(kB, 1);
  EXPECT_FALSE(q.isAfter(kB, 0, kA, 0)) << "it was submitted before";
  q.ends(kB, 0);
  EXPECT_TRUE(q.isAfter(kB, 1, kA, 0));
}

TEST(QueueOrder, ACopyPassesOnWhatItWaitedFor) {
  Queues q;
  q.order.submitted(kA, 0), q.order.submitted(kB, 1);
  q.order.copies(std::vector<uint64_t>{77}, 88);
  q.order.copies(std::vector<uint64_t>{88}, 99);
  q.ends(kA, 0, 77);
  q.ends(kB, 0, 0, {99});
  EXPECT_TRUE(q.isAfter(kB, 1, kA, 0));
  q.order.copies({}, 99); // the signal is used again
  q.order.submitted(kC, 1);
  q.ends(kC, 0, 0, {99});
  EXPECT_FALSE(q.isAfter(kC, 1, kA, 0));
}

TEST(QueueOrder, ASignalThatTheHostSetsSaysWhatTheHostKnows) {
  Queues q;
  q.order.submitted(kA, 0), q.order.submitted(kB, 1);
  q.ends(kA, 0, 77);
  q.order.hostSaw(77);
  q.order.hostSet(55);
  q.ends(kB, 0, 0, {55});
  EXPECT_TRUE(q.isAfter(kB, 1, kA, 0));
}

TEST(QueueOrder, ASignalThatIsGoneIsForgottenButNotWhatACopyHasWaitedFor) {
  Queues q;
  q.order.submitted(kA, 0), q.order.submitted(kB, 2), q.order.submitted(kC, 1);
  q.ends(kA, 0, 77);
  q.order.copies(std::vector<uint64_t>{77}, 88);
  q.order.forgetSignal(77);
  q.ends(kB, 0, 0, {88});
  EXPECT_TRUE(q.isAfter(kB, 1, kA, 0)) << "the copy came after it";
  q.ends(kC, 0, 0, {77}); // another one, at the same address
  EXPECT_FALSE(q.isAfter(kC, 1, kA, 0));
}

TEST(QueueOrder, AQueueAtTheAddressOfOneThatIsGoneBeginsAnew) {
  Queues q;
  q.order.submitted(kA, 5), q.order.submitted(kB, 0);
  for (uint64_t i = 0; i < 5; ++i) q.ends(kA, i, 77);
  q.order.hostSaw(77);
  q.order.forgetQueue(kA);
  q.order.submitted(kB, 1), q.order.submitted(kA, 0);
  EXPECT_FALSE(q.isAfter(kB, 1, kA, 0));
}

TEST(QueueOrder, MoreSignalsThanAreRememberedMakeNobodyAccused) {
  Queues q;
  q.order.submitted(kA, QueueOrder::kMostSignals + 1), q.order.submitted(kB, 0);
  for (uint64_t i = 0; i <= QueueOrder::kMostSignals; ++i) q.ends(kA, i, 1000 + i);
  EXPECT_TRUE(q.isAfter(kB, 0, kA, 0)) << "nobody remembers how";
}

} // namespace
} // namespace fade::checks
