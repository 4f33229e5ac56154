// Queues that are not made with hsa_queue_create: by descriptors, and counted ones.
#include "fake_hsa.h"
#include "hsa/queue_hooks.h"
#include "hsa/queue_registry.h"
#include "hsa/runtime.h"
#include "hsa/unseen.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <unistd.h>

namespace fade {
namespace {

namespace fs = std::filesystem;

class DescribedQueue : public testing::Test {
protected:
  DescribedQueue() {
    unseen().clear();
    settings.log_location = folder_ / "report";
    fs::create_directories(folder_);
  }
  ~DescribedQueue() override {
    Runtime::finishAndRelease();
    fs::remove_all(folder_);
  }
  void start() {
    Runtime::start(settings);
    static auto *all = new std::vector<const Runtime *>; // LeakSanitizer finds them there
    all->push_back(Runtime::active());
    hookQueues(hsa.tables());
  }
  hsa_status_t create(QueueDescriptor *descriptors, uint32_t count) {
    return hsa.late<decltype(hsa_amd_queue_create)>("hsa_amd_queue_create")(hsa.gpu.handle,
                                                                            descriptors, count);
  }
  hsa_status_t create(QueueDescriptor &descriptor) { return create(&descriptor, 1); }
  static QueueDescriptor descriptor(uint32_t packets = 64) {
    QueueDescriptor d{};
    d.version = QueueDescriptor::kVersion;
    d.ring_bytes = packets * 64;
    d.priority = HSA_AMD_QUEUE_PRIORITY_NORMAL;
    d.compute.private_size = UINT32_MAX;
    return d;
  }
  static uint64_t unseenQueues() { return unseen().count(Unseen::Kind::queue); }

  FakeHsa hsa{91};
  Settings settings;

private:
  const fs::path folder_ =
      fs::path(testing::TempDir()) / ("fade-described-" + std::to_string(getpid()));
};

TEST_F(DescribedQueue, ItsDispatchesAreSeen) {
  start();
  auto d = descriptor(128);
  ASSERT_EQ(create(d), HSA_STATUS_SUCCESS);
  ASSERT_NE(d.queue, nullptr);
  EXPECT_EQ(d.queue->size, 128u);
  EXPECT_TRUE(hsa.isWatched(d.queue));
  EXPECT_TRUE(queues().has(d.queue));
  EXPECT_TRUE(hsa.described.empty()) << "the runtime's own cannot be watched";
  EXPECT_TRUE(hsa.priorities.empty() && hsa.masks.empty());
  hsa_kernel_dispatch_packet_t packet{};
  packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE;
  const auto passed_on = hsa.ring(d.queue, {packet});
  ASSERT_FALSE(passed_on.empty());
  EXPECT_NE(passed_on[0].completion_signal.handle, 0u) << "it is timed";
  hsa.complete(passed_on[0].completion_signal);
  EXPECT_EQ(hsa.core().hsa_queue_destroy_fn(d.queue), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(hsa.isDestroyed(d.queue));
  EXPECT_FALSE(queues().has(d.queue));
}

TEST_F(DescribedQueue, ItGetsItsPriorityAndItsMask) {
  start();
  const std::array<uint32_t, 2> mask = {0xff, 0xf0};
  auto d = descriptor();
  d.priority = HSA_AMD_QUEUE_PRIORITY_HIGH;
  d.compute.cu_mask = mask.data();
  d.compute.cu_mask_bits = 64;
  ASSERT_EQ(create(d), HSA_STATUS_SUCCESS) << "a mask that was reduced is no error";
  EXPECT_TRUE(hsa.isWatched(d.queue));
  ASSERT_EQ(hsa.priorities.size(), 1u);
  EXPECT_EQ(hsa.priorities[0], std::pair(d.queue, int{HSA_AMD_QUEUE_PRIORITY_HIGH}));
  ASSERT_EQ(hsa.masks.size(), 1u);
  EXPECT_EQ(hsa.masks[0].first, d.queue);
  EXPECT_EQ(hsa.masks[0].second, std::vector<uint32_t>(mask.begin(), mask.end()));
}

TEST_F(DescribedQueue, WhatCannotHaveItsMaskIsLeftToTheRuntime) {
  start();
  const std::array<uint32_t, 4> mask = {1, 1, 1, 1};
  auto d = descriptor();
  d.compute.cu_mask = mask.data();
  d.compute.cu_mask_bits = 128; // too many for the fake
  ASSERT_EQ(create(d), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa.described.size(), 1u);
  EXPECT_EQ(hsa.described[0].compute.cu_mask, mask.data());
  EXPECT_FALSE(hsa.isWatched(d.queue));
  EXPECT_EQ(unseenQueues(), 1u);
}

TEST_F(DescribedQueue, OfSeveralThoseThatSucceedStayAndTheFirstErrorIsReturned) {
  start();
  std::array<QueueDescriptor, 4> all = {descriptor(), descriptor(3), descriptor(), descriptor()};
  all[1].queue = reinterpret_cast<hsa_queue_t *>(1);
  all[2].reserved[0] = 1;
  EXPECT_EQ(create(all.data(), 4), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(all[0].queue && hsa.isWatched(all[0].queue));
  EXPECT_EQ(all[1].queue, nullptr) << "no power of two";
  EXPECT_EQ(all[2].queue, nullptr) << "what is reserved is not 0";
  EXPECT_TRUE(all[3].queue && hsa.isWatched(all[3].queue));
  EXPECT_EQ(hsa.described.size(), 2u) << "the runtime says what is wrong with these";
  EXPECT_EQ(unseenQueues(), 0u);
}

TEST_F(DescribedQueue, RingsInTheMemoryOfTheGpuAreMadeInTheHosts) {
  start();
  auto d = descriptor();
  d.flags = QueueDescriptor::kRingOnDevice | QueueDescriptor::kQueueOnDevice;
  ASSERT_EQ(create(d), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(hsa.isWatched(d.queue));
}

TEST_F(DescribedQueue, WhatIsNotKnownIsPassedOnAndCounted) {
  start();
  auto flags = descriptor(), version = descriptor(), copies = descriptor(), class_ = descriptor();
  flags.flags = 0x80;
  version.version = 2;
  copies.engine = QueueDescriptor::kSdma;
  copies.compute.cu_mask = reinterpret_cast<const uint32_t *>(3); // the number of an engine there
  class_.traffic_class = 1;
  for (QueueDescriptor *d : {&flags, &version, &copies, &class_}) {
    ASSERT_EQ(create(*d), HSA_STATUS_SUCCESS);
    ASSERT_NE(d->queue, nullptr);
    EXPECT_FALSE(hsa.isWatched(d->queue));
    EXPECT_EQ(hsa.described.back().compute.cu_mask, d->compute.cu_mask);
  }
  EXPECT_EQ(unseenQueues(), 3u);
  EXPECT_EQ(unseen().count(Unseen::Kind::sdma_queue), 1u);
  const auto lines = unseen().lines(true);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0],
            "3 queues were created in a way that FADE cannot observe: kernels on them are "
            "missing");
  EXPECT_EQ(unseen().lines(false).size(), 1u) << "nobody asked for copies";
}

TEST_F(DescribedQueue, AQueueOfTheRuntimesThatCanBeWatchedIs) {
  hsa.can_watch_own_queues = true;
  start();
  auto d = descriptor();
  d.traffic_class = 1;
  ASSERT_EQ(create(d), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa.described.size(), 1u);
  EXPECT_TRUE(hsa.isWatched(d.queue));
  EXPECT_EQ(unseenQueues(), 0u);
}

TEST_F(DescribedQueue, NothingAndNobodyIsPassedOn) {
  start();
  EXPECT_EQ(create(nullptr, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  auto d = descriptor();
  EXPECT_EQ(create(&d, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Runtime::finish();
  ASSERT_EQ(create(d), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa.described.size(), 1u) << "after the report they are the application's own";
}

TEST_F(DescribedQueue, ItsErrorsReachTheApplication) {
  start();
  static hsa_status_t error;
  static void *data;
  auto d = descriptor();
  d.callback = [](hsa_status_t status, hsa_queue_t *, void *with) { error = status, data = with; };
  d.callback_data = &d;
  ASSERT_EQ(create(d), HSA_STATUS_SUCCESS);
  hsa.fail(d.queue, HSA_STATUS_ERROR_INVALID_ISA);
  EXPECT_EQ(error, HSA_STATUS_ERROR_INVALID_ISA);
  EXPECT_EQ(data, &d);
}

TEST_F(DescribedQueue, CooperativeOnesAreOne) {
  start();
  auto first = descriptor(), second = descriptor(), urgent = descriptor();
  for (QueueDescriptor *d : {&first, &second, &urgent})
    d->compute.type = HSA_QUEUE_TYPE_COOPERATIVE;
  urgent.priority = HSA_AMD_QUEUE_PRIORITY_HIGH;
  ASSERT_EQ(create(first), HSA_STATUS_SUCCESS);
  ASSERT_EQ(create(second), HSA_STATUS_SUCCESS);
  EXPECT_EQ(first.queue, second.queue);
  ASSERT_EQ(create(urgent), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(hsa.priorities.empty()) << "the others did not ask for it";
  for (int i = 0; i < 2; ++i) hsa.core().hsa_queue_destroy_fn(first.queue);
  EXPECT_FALSE(queues().has(first.queue));
}

TEST_F(DescribedQueue, QueuesOfCopiesAreMadeByTheRuntimeWithAllTheirParametersAndCounted) {
  start();
  using Create =
      hsa_status_t(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);
  auto *create = hsa.late<Create>("hsa_amd_sdma_queue_create");
  EXPECT_EQ(create(1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(create(1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0), HSA_STATUS_ERROR);
  EXPECT_EQ(unseen().count(Unseen::Kind::sdma_queue), 1u);
}

// ---- with tools of others

TEST_F(DescribedQueue, ToolsOfOthersMakeTheQueueIfTheyAreKeptAndItCanBeWatched) {
  settings.keeps_other_tools = true;
  hsa.can_watch_own_queues = true;
  start();
  auto d = descriptor();
  ASSERT_EQ(create(d), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa.described.size(), 1u);
  EXPECT_TRUE(hsa.isWatched(d.queue));
  hsa_queue_t *plain = hsa.createQueue(64);
  EXPECT_TRUE(hsa.isWatched(plain));
  EXPECT_EQ(hsa.core().hsa_queue_destroy_fn(plain), HSA_STATUS_SUCCESS);
}

TEST_F(DescribedQueue, ElseFadeMakesItAndTheirsIsGivenBack) {
  settings.keeps_other_tools = true;
  start();
  auto d = descriptor();
  ASSERT_EQ(create(d), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa.described.size(), 1u);
  EXPECT_TRUE(hsa.isWatched(d.queue));
  EXPECT_EQ(unseenQueues(), 0u);
}

// ---- counted queues

class CountedQueue : public DescribedQueue {
protected:
  hsa_queue_t *acquire(uint32_t priority = HSA_AMD_QUEUE_PRIORITY_NORMAL) {
    hsa_queue_t *queue = nullptr;
    EXPECT_EQ(hsa.late<decltype(hsa_amd_counted_queue_acquire)>("hsa_amd_counted_queue_acquire")(
                  hsa.gpu.handle, HSA_QUEUE_TYPE_MULTI, priority, nullptr, nullptr, 0, &queue),
              HSA_STATUS_SUCCESS);
    return queue;
  }
  hsa_status_t release(hsa_queue_t *queue) {
    return hsa.late<decltype(hsa_amd_counted_queue_release)>("hsa_amd_counted_queue_release")(
        queue);
  }
};

TEST_F(CountedQueue, EachIsWatchedAndAnother) {
  start();
  hsa_queue_t *first = acquire(), *second = acquire(HSA_AMD_QUEUE_PRIORITY_LOW);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first, second);
  EXPECT_TRUE(hsa.isWatched(first) && hsa.isWatched(second));
  ASSERT_EQ(hsa.priorities.size(), 1u);
  EXPECT_EQ(hsa.priorities[0], std::pair(second, int{HSA_AMD_QUEUE_PRIORITY_LOW}));
  EXPECT_TRUE(hsa.counted.empty());
  for (hsa_queue_t *queue : {first, second}) {
    EXPECT_EQ(release(queue), HSA_STATUS_SUCCESS);
    EXPECT_TRUE(hsa.isDestroyed(queue));
  }
}

TEST_F(CountedQueue, ThoseBeyondAReasonableNumberAreTheRuntimesAndCounted) {
  start();
  std::vector<hsa_queue_t *> all;
  for (int i = 0; i < 40; ++i) all.push_back(acquire());
  EXPECT_EQ(hsa.counted.size(), 8u);
  EXPECT_EQ(unseenQueues(), 8u);
  for (hsa_queue_t *queue : all) EXPECT_EQ(release(queue), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(hsa.counted.empty());
  EXPECT_TRUE(hsa.isWatched(acquire())) << "there is room again";
}

TEST_F(CountedQueue, WhatTheRuntimeRefusesIsRefused) {
  start();
  hsa_queue_t *queue = nullptr;
  EXPECT_EQ(hsa.late<decltype(hsa_amd_counted_queue_acquire)>("hsa_amd_counted_queue_acquire")(
                hsa.gpu.handle, HSA_QUEUE_TYPE_COOPERATIVE, 1, nullptr, nullptr, 0, &queue),
            HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
  EXPECT_EQ(release(&static_cast<hsa_queue_t &>(*hsa.createQueue(64))), HSA_STATUS_ERROR)
      << "it was not acquired";
}

} // namespace
} // namespace fade
