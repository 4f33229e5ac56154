// Queues and their packets, from the application's doorbell to what the GPU gets.
#include "fake_hsa.h"
#include "hsa/code_hooks.h"
#include "hsa/packet_rewrite.h"
#include "hsa/queue_flow.h"
#include "hsa/queue_hooks.h"
#include "hsa/queue_registry.h"
#include "hsa/runtime.h"
#include "hsa/unseen.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <unistd.h>

// A runtime is never destroyed; its lock-free queues hide pointers in numbers.
extern "C" const char *__lsan_default_suppressions() { return "leak:boost::lockfree"; }

namespace fade {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// ---- flow

class Flow : public testing::Test {
protected:
  FakeHsa hsa;
  SignalPool signals{SignalPool::Kind::polled};
};

TEST_F(Flow, PacketsAreNumberedInTheOrderInWhichTheyArePassedOn) {
  QueueFlow flow(64);
  EXPECT_EQ(flow.submit(3, signals), 0u);
  EXPECT_EQ(flow.submit(1, signals), 3u);
  EXPECT_FALSE(flow.mark(signals)) << "an eighth of the queue is not full";
  EXPECT_EQ(flow.submit(4, signals), 4u);
  EXPECT_TRUE(flow.mark(signals));
  EXPECT_FALSE(flow.mark(signals)) << "nothing was passed on since the last one";
  EXPECT_EQ(flow.submit(1, signals), 9u) << "a mark is a packet";
}

TEST_F(Flow, WhatFindsAFullQueueGoesOnAsSoonAsTheGpuHasPassedAMark) {
  QueueFlow flow(16, 1h);
  flow.submit(7, signals);
  const auto mark = flow.mark(signals);
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->header, HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE);
  std::atomic<bool> passed{false};
  std::thread application([&] {
    flow.submit(1, signals);
    passed = true;
  });
  EXPECT_TRUE(hsa.isPolled(mark->completion_signal));
  EXPECT_FALSE(passed);
  hsa.complete(mark->completion_signal);
  application.join();
  EXPECT_EQ(signals.take().handle, mark->completion_signal.handle) << "the signal is used again";
}

TEST_F(Flow, ADispatchThatHasEndedMakesRoomForAllBeforeIt) {
  QueueFlow flow(16, 1h);
  flow.submit(8, signals);
  flow.hasConsumed(5);
  flow.hasConsumed(2);
  EXPECT_EQ(flow.submit(6, signals), 8u);
}

TEST_F(Flow, WhatTheGpuDoesNotTakeOutIsNotWaitedForForEver) {
  QueueFlow flow(4, 5ms);
  EXPECT_EQ(flow.submit(100, signals), 0u);
  EXPECT_EQ(flow.submit(1, signals), 100u);
}

TEST_F(Flow, MoreThanHalfOfAQueueAtOnceDoNotWaitForWhatCannotHappen) {
  QueueFlow flow(64, 1h);
  EXPECT_EQ(flow.submit(50, signals), 0u);
  const auto mark = flow.mark(signals);
  ASSERT_TRUE(mark);
  hsa.complete(mark->completion_signal);
  flow.submit(3, signals); // of these the GPU does not tell
  EXPECT_EQ(flow.submit(50, signals), 54u);
}

TEST_F(Flow, SignalsOfMarksAreUsedAgainWhenTheQueueIsGone) {
  QueueFlow flow(8);
  flow.submit(2, signals);
  const auto mark = flow.mark(signals);
  ASSERT_TRUE(mark);
  flow.dropMarks(signals);
  EXPECT_EQ(signals.take().handle, mark->completion_signal.handle);
}

// ---- registry

TEST(QueueRegistry, AQueueIsForgottenWhenTheLastWhoHasItGivesItUp) {
  FakeHsa hsa;
  QueueRegistry registry;
  hsa_queue_t plain{}, cooperative{}, other{};
  const auto add = [&](hsa_queue_t &queue, hsa_queue_t *name) {
    auto state = std::make_shared<QueueState>(&queue);
    state->agent = &hsa.gpu;
    state->cooperative = name;
    registry.add(std::move(state));
  };
  add(plain, nullptr);
  EXPECT_EQ(registry.shareCooperative(&hsa.gpu), nullptr);
  add(cooperative, &other);
  EXPECT_EQ(registry.shareCooperative(&hsa.host), nullptr);
  EXPECT_EQ(registry.shareCooperative(&hsa.gpu), &cooperative);
  EXPECT_TRUE(registry.has(&plain));

  std::shared_ptr<QueueState> state;
  EXPECT_FALSE(registry.take(&cooperative, state)) << "another one has it";
  EXPECT_TRUE(registry.take(&cooperative, state));
  EXPECT_EQ(state->queue, &cooperative);
  EXPECT_FALSE(registry.has(&cooperative));
  state = nullptr;
  EXPECT_TRUE(registry.take(&other, state)) << "who does not know a queue does not keep it";
  EXPECT_FALSE(state);
}

// ---- packets

const std::string kVectorAdd = FADE_TEST_DATA "/triton/gfx90a/vector_add.hsaco";

std::string symbolOf(const std::string &path) {
  const auto code = codeobj::CodeObject::open(*codeobj::Blob::mapFile(path));
  return std::string((*code)->kernelName(0).name);
}

class Doorbell : public testing::Test {
protected:
  Doorbell() {
    settings.log_location = cache_ / "report";
    fs::create_directories(cache_ / "kernels");
  }
  ~Doorbell() override {
    Runtime::finishAndRelease();
    fs::remove_all(cache_);
  }
  void start() {
    Runtime::start(settings);
    static auto *all = new std::vector<const Runtime *>; // LeakSanitizer finds them there
    all->push_back(Runtime::active());
    hookCode(hsa.tables());
    hookQueues(hsa.tables());
  }
  std::string cache() const { return (cache_ / "kernels").string(); }

  FakeHsa::Packets ring(hsa_queue_t *queue, uint64_t object, hsa_signal_t signal = {}) {
    hsa_kernel_dispatch_packet_t packet{};
    packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE;
    packet.setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
    packet.workgroup_size_x = packet.grid_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = object;
    packet.kernarg_address = arguments.data();
    packet.completion_signal = signal;
    auto passed_on = hsa.ring(queue, {packet});
    if (passed_on.empty()) ADD_FAILURE() << "a packet was lost";
    passed_on.resize(std::max<std::size_t>(passed_on.size(), 1));
    return passed_on;
  }

  FakeHsa hsa;
  Settings settings;
  alignas(64) std::array<uint8_t, 512> arguments{};

private:
  const fs::path cache_ =
      fs::path(testing::TempDir()) / ("fade-doorbell-" + std::to_string(getpid()));
};

TEST_F(Doorbell, TheApplicationsSignalFollowsFadesOwn) {
  start();
  const auto executable = hsa.load(kVectorAdd);
  hsa_queue_t *queue = hsa.createQueue(64);
  hsa_signal_t signal{};
  hsaApi().core.hsa_signal_create_fn(1, 0, nullptr, &signal);
  const uint64_t object = hsa.kernelObject(executable, symbolOf(kVectorAdd));
  ASSERT_NE(object, 0u);
  const auto packet = ring(queue, object, signal)[0];
  EXPECT_EQ(packet.kernel_object, object);
  EXPECT_EQ(packet.kernarg_address, arguments.data());
  EXPECT_NE(packet.completion_signal.handle, signal.handle);
  EXPECT_EQ(hsaApi().core.hsa_signal_load_scacquire_fn(signal), 1);
  hsa.complete(packet.completion_signal);
  EXPECT_EQ(hsaApi().core.hsa_signal_load_scacquire_fn(signal), 0);
}

TEST_F(Doorbell, PacketsOfOtherKindsStayAsTheyAre) {
  start();
  hsa_queue_t *queue = hsa.createQueue(64);
  hsa_kernel_dispatch_packet_t barrier{};
  barrier.header = HSA_PACKET_TYPE_BARRIER_OR << HSA_PACKET_HEADER_TYPE;
  barrier.completion_signal = {77};
  const auto passed_on = hsa.ring(queue, {barrier, barrier});
  ASSERT_EQ(passed_on.size(), 2u);
  for (const auto &packet : passed_on) EXPECT_EQ(std::memcmp(&packet, &barrier, sizeof barrier), 0);
}

TEST_F(Doorbell, PacketsGoOnAtTheBeginningOfTheRing) {
  start();
  hsa_queue_t *queue = hsa.createQueue(16);
  FakeHsa::Packets places(16), beyond(16); // in one piece: nothing may be read from `beyond`
  places.insert(places.end(), beyond.begin(), beyond.end());
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i].header = HSA_PACKET_TYPE_BARRIER_OR << HSA_PACKET_HEADER_TYPE;
    places[i].completion_signal = {100 + i};
  }
  queue->base_address = places.data();
  const auto passed_on = hsa.ring(queue, places.data() + 13, 5);
  ASSERT_GE(passed_on.size(), 5u);
  std::vector<uint64_t> order;
  for (std::size_t i = 0; i < 5; ++i) order.push_back(passed_on[i].completion_signal.handle);
  EXPECT_EQ(order, (std::vector<uint64_t>{113, 114, 115, 100, 101}));
}

TEST_F(Doorbell, AVersionOfTheCacheRunsInPlaceOfTheKernel) {
  fs::copy_file(kVectorAdd, fs::path(cache()) / "x.hsaco");
  settings.cache = {cache()};
  start();
  const auto executable = hsa.load(kVectorAdd);
  const uint64_t original = hsa.kernelObject(executable, symbolOf(kVectorAdd));
  const auto packet = ring(hsa.createQueue(64), original)[0];
  EXPECT_NE(packet.kernel_object, original);
  EXPECT_NE(packet.kernel_object, 0u);
  EXPECT_EQ(packet.kernarg_address, arguments.data()) << "the same arguments need no new block";
  EXPECT_EQ(hsa.loads, 2);
  EXPECT_EQ(hsa.doorbell_loads, 0) << "it was loaded when the original was";
  hsa.complete(packet.completion_signal);
}

TEST_F(Doorbell, AVersionThatComesLaterIsNotLoadedByTheThreadThatRings) {
  settings.cache = {cache()};
  start();
  const auto executable = hsa.load(kVectorAdd);
  hsa_queue_t *queue = hsa.createQueue(64);
  const uint64_t original = hsa.kernelObject(executable, symbolOf(kVectorAdd));
  const auto first = ring(queue, original)[0];
  EXPECT_EQ(first.kernel_object, original);
  fs::copy_file(kVectorAdd, fs::path(cache()) / "x.hsaco");
  std::this_thread::sleep_for(6ms); // the system is asked as often as that
  const auto second = ring(queue, original)[0];
  EXPECT_NE(second.kernel_object, original);
  EXPECT_EQ(hsa.loads, 2);
  EXPECT_EQ(hsa.doorbell_loads, 0);
  for (const auto &packet : {first, second}) hsa.complete(packet.completion_signal);
}

TEST_F(Doorbell, AFullQueueGetsAMarkBehindThePackets) {
  start();
  hsa_queue_t *queue = hsa.createQueue(8);
  const auto passed_on = ring(queue, 0x1234);
  ASSERT_EQ(passed_on.size(), 2u);
  EXPECT_EQ(passed_on[1].header, HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE);
  for (const auto &packet : passed_on) hsa.complete(packet.completion_signal);
}

TEST_F(Doorbell, KernelsWithoutAQueueAreNotTakenForNoKernels) {
  for (const bool has_queue : {false, true}) {
    settings.instrumented = true;
    settings.log_format = Format::json;
    settings.log_location += has_queue ? "-with" : "-without";
    start();
    (void)hsa.load(kVectorAdd);
    if (has_queue) (void)hsa.createQueue(64);
    Runtime::finish();
    std::ifstream in(settings.log_location);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(text.find("FADE saw no queue, although kernels were loaded") != text.npos,
              !has_queue);
    EXPECT_EQ(text.find("the application ran no kernels") != text.npos, has_queue);
  }
}

// ---- AMD's extended dispatch packets, and packets that nobody knows

class ExtendedPacket : public Doorbell {
protected:
  /// A grid of 4 clusters in x, each of `size` workgroups of 64.
  static hsa_kernel_dispatch_packet_t packetOf(uint64_t object, uint8_t size) {
    ExtendedDispatch extended{};
    extended.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE;
    extended.format = 3;
    extended.setup = 1;
    extended.workgroup[0] = 64;
    extended.workgroup[1] = extended.workgroup[2] = 1;
    extended.clusters_x = 4;
    extended.clusters_y = extended.clusters_z = 1;
    extended.cluster_size[0] = size;
    extended.cluster_size[1] = extended.cluster_size[2] = 1;
    extended.kernel_object = object;
    hsa_kernel_dispatch_packet_t packet;
    std::memcpy(&packet, &extended, sizeof packet);
    return packet;
  }
  std::string reportText() {
    Runtime::finish();
    std::ifstream in(settings.log_location);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(ExtendedPacket, ItsGridIsCountedInWorkItems) {
  for (const uint8_t size : {uint8_t{1}, uint8_t{2}}) {
    const DispatchShape shape = shapeOf(packetOf(7, size));
    EXPECT_EQ(shape.dimensions, 1u);
    EXPECT_EQ(shape.grid, (std::array<uint32_t, 3>{256u * size, 1, 1}));
    EXPECT_EQ(shape.workgroup, (std::array<uint32_t, 3>{64, 1, 1}));
    EXPECT_EQ(shape.has_clusters, size > 1);
  }
}

TEST_F(ExtendedPacket, ItIsTimedLikeEveryDispatch) {
  settings.log_format = Format::json;
  start();
  const auto executable = hsa.load(kVectorAdd);
  const auto packet = packetOf(hsa.kernelObject(executable, symbolOf(kVectorAdd)), 2);
  auto passed_on = hsa.ring(hsa.createQueue(64), {packet});
  ASSERT_FALSE(passed_on.empty());
  ASSERT_NE(passed_on[0].completion_signal.handle, 0u);
  const hsa_signal_t signal = std::exchange(passed_on[0].completion_signal, {});
  EXPECT_EQ(std::memcmp(passed_on.data(), &packet, sizeof packet), 0) << "nothing else changes";
  hsa.complete(signal);
  EXPECT_NE(reportText().find(R"("grid":[512,1,1],"workgroup":[64,1,1])"), std::string::npos);
  EXPECT_TRUE(unseen().lines(true).empty());
}

TEST_F(ExtendedPacket, ItsKernelIsSwappedUnlessItRunsInClusters) {
  fs::copy_file(kVectorAdd, fs::path(cache()) / "x.hsaco");
  settings.cache = {cache()};
  start();
  const auto executable = hsa.load(kVectorAdd);
  const uint64_t original = hsa.kernelObject(executable, symbolOf(kVectorAdd));
  hsa_queue_t *queue = hsa.createQueue(64);
  for (const uint8_t size : {uint8_t{1}, uint8_t{2}}) {
    const auto passed_on = hsa.ring(queue, {packetOf(original, size)});
    ASSERT_FALSE(passed_on.empty());
    EXPECT_EQ(passed_on[0].kernel_object == original, size > 1);
    hsa.complete(passed_on[0].completion_signal);
  }
  EXPECT_NE(reportText().find("(it is launched in clusters of workgroups)"), std::string::npos);
}

TEST_F(ExtendedPacket, PacketsThatNobodyKnowsStayAsTheyAreAndAreCounted) {
  start();
  hsa_kernel_dispatch_packet_t vendors{}, reserved{}, barrier{};
  vendors.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE;
  vendors.setup = 0x1100 | 77; // the format, and what else is there
  vendors.completion_signal = {5};
  reserved.header = 99 << HSA_PACKET_HEADER_TYPE;
  barrier.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE;
  barrier.setup = 2; // waits for a value
  const auto passed_on = hsa.ring(hsa.createQueue(64), {vendors, reserved, barrier});
  ASSERT_GE(passed_on.size(), 3u);
  EXPECT_EQ(std::memcmp(passed_on.data(), &vendors, sizeof vendors), 0);
  EXPECT_EQ(std::memcmp(passed_on.data() + 1, &reserved, sizeof reserved), 0);
  const auto lines = unseen().lines(false);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "2 packets of a type unknown to FADE (vendor format 77): passed on "
                      "unchanged; kernels they run are missing");
}

TEST_F(Doorbell, AfterTheReportPacketsAreTheApplicationsOwn) {
  start();
  const auto executable = hsa.load(kVectorAdd);
  hsa_queue_t *queue = hsa.createQueue(64);
  Runtime::finish();
  const auto packet = ring(queue, hsa.kernelObject(executable, symbolOf(kVectorAdd)))[0];
  EXPECT_EQ(packet.completion_signal.handle, 0u);
}

} // namespace
} // namespace fade
