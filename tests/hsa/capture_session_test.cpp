// Captures while an application runs: what is put around its packets, and what comes of it. The
// test is the GPU: it completes signals and writes memory.
#include "fake_hsa.h"
#include "hsa/capture_session.h"
#include "hsa/code_hooks.h"
#include "hsa/copy_hooks.h"
#include "hsa/memory_hooks.h"
#include "hsa/queue_hooks.h"
#include "hsa/runtime.h"
#include "hsa/unseen.h"
#include "thread_state.h"

#include "capture/reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <thread>
#include <unistd.h>

namespace fade {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using capture::kPageSize;

const std::string kSample = FADE_TEST_DATA "/triton/gfx90a/vector_add.hsaco";

std::chrono::nanoseconds threadTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

class Capture : public testing::Test {
protected:
  Capture() {
    settings.capture = (folder_ / "captures").string();
    settings.log_location = folder_ / "report";
    settings.progress = false;
    fs::create_directories(folder_);
    memory = static_cast<uint8_t *>(std::aligned_alloc(kPageSize, 2 * kPageSize));
    std::memset(memory, 1, 2 * kPageSize);
  }
  ~Capture() override {
    Runtime::finishAndRelease();
    fs::remove_all(folder_);
    std::free(memory);
  }

  void start() {
    Runtime::start(settings);
    static auto *all = new std::vector<const Runtime *>; // LeakSanitizer finds them there
    all->push_back(Runtime::active());
    hookCode(hsa.tables());
    hookQueues(hsa.tables());
    hookCopies(hsa.tables(), true);
    const auto code = codeobj::CodeObject::open(*codeobj::Blob::mapFile(kSample));
    symbol = std::string((*code)->kernelName(0).name);
    object = hsa.kernelObject(hsa.load(kSample), symbol);
    session().memory().addPool(memory, 2 * kPageSize - 100, *hsa.host.host_pool,
                               Runtime::active()->agents());
  }
  static CaptureSession &session() { return *Runtime::active()->captures(); }

  FakeHsa::Packets ring(hsa_queue_t *queue, hsa_signal_t signal = {}, uint16_t scopes = 0) {
    hsa_kernel_dispatch_packet_t packet{};
    packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE | scopes;
    packet.setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
    packet.workgroup_size_x = packet.grid_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = object;
    packet.kernarg_address = arguments.data();
    packet.completion_signal = signal;
    return hsa.ring(queue, {packet});
  }

  static hsa_barrier_and_packet_t asBarrier(const hsa_kernel_dispatch_packet_t &packet) {
    hsa_barrier_and_packet_t barrier;
    std::memcpy(&barrier, &packet, sizeof barrier);
    return barrier;
  }
  static int typeOf(const hsa_kernel_dispatch_packet_t &packet) {
    return packet.header >> HSA_PACKET_HEADER_TYPE & 0xff;
  }
  static int64_t valueOf(hsa_signal_t signal) {
    return hsaApi().core.hsa_signal_load_scacquire_fn(signal);
  }
  /// False if it does not come to that within a time that only a broken program needs.
  static bool comesTo(hsa_signal_t signal, int64_t value) {
    for (int i = 0; i < 20000 && valueOf(signal) != value; ++i) std::this_thread::sleep_for(1ms);
    return valueOf(signal) == value;
  }
  hsa_signal_t signalOf(int64_t value) {
    hsa_signal_t signal{};
    (void)hsaApi().core.hsa_signal_create_fn(value, 0, nullptr, &signal);
    return signal;
  }

  /// The packets of a captured dispatch, as the GPU gets them.
  struct Gates {
    hsa_signal_t reached, go, done, leave;
  };
  static Gates gatesOf(const FakeHsa::Packets &packets) {
    return {packets[0].completion_signal, asBarrier(packets[1]).dep_signal[0],
            packets[2].completion_signal, asBarrier(packets[3]).dep_signal[0]};
  }
  std::vector<std::string> captured() const {
    std::vector<std::string> names;
    for (const auto &entry : fs::directory_iterator(settings.capture))
      names.push_back(entry.path().filename());
    return names;
  }
  bool comesToCaptures(std::size_t count) const {
    for (int i = 0; i < 20000; ++i) {
      if (fs::exists(settings.capture) && captured().size() == count &&
          !captured()[0].ends_with(capture::kPartial))
        return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }

  void theWaitingOneGoesOn(hsa_queue_t *own, hsa_queue_t *waiting, hsa_queue_t *busy);

  FakeHsa hsa;
  Settings settings;
  uint8_t *memory = nullptr; ///< two pages that the GPU sees
  std::string symbol;
  uint64_t object = 0;
  alignas(64) std::array<uint8_t, 512> arguments{7, 8, 9};

private:
  const fs::path folder_ =
      fs::path(testing::TempDir()) / ("fade-capture-session-" + std::to_string(getpid()));
};

TEST_F(Capture, GatesStandAroundADispatch) {
  start();
  const auto packets = ring(hsa.createQueue(64));
  ASSERT_GE(packets.size(), 5u);
  EXPECT_EQ(typeOf(packets[0]), HSA_PACKET_TYPE_BARRIER_AND);
  EXPECT_EQ(typeOf(packets[1]), HSA_PACKET_TYPE_BARRIER_AND);
  EXPECT_EQ(typeOf(packets[2]), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  EXPECT_EQ(typeOf(packets[3]), HSA_PACKET_TYPE_BARRIER_AND);
  EXPECT_EQ(packets[2].kernel_object, object);
  EXPECT_NE(packets[2].header >> HSA_PACKET_HEADER_BARRIER & 1, 0) << "nothing runs beside it";
  const Gates gates = gatesOf(packets);
  EXPECT_EQ(valueOf(gates.go), 1);
  EXPECT_EQ(valueOf(gates.leave), 1);
  hsa.complete(gates.reached);
  hsa.complete(gates.done);
  EXPECT_TRUE(comesTo(gates.leave, 0));
}

TEST_F(Capture, ADispatchInClustersCannotBeReplayedAndIsPassedOnAndCounted) {
  settings.capture_limit = 1;
  start();
  hsa_queue_t *queue = hsa.createQueue(64);
  ExtendedDispatch extended{};
  extended.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE;
  extended.format = 3;
  extended.setup = 1;
  extended.workgroup[0] = 64;
  extended.workgroup[1] = extended.workgroup[2] = 1;
  extended.clusters_x = 2;
  extended.clusters_y = extended.clusters_z = 1;
  extended.cluster_size[1] = extended.cluster_size[2] = 1;
  extended.kernel_object = object;
  extended.kernarg_address = arguments.data();
  const auto send = [&](uint8_t cluster_size, uint64_t waits_for) {
    extended.cluster_size[0] = cluster_size;
    extended.waits_for.handle = waits_for;
    hsa_kernel_dispatch_packet_t packet;
    std::memcpy(&packet, &extended, sizeof packet);
    return hsa.ring(queue, {packet});
  };
  EXPECT_EQ(typeOf(send(4, 0)[0]), HSA_PACKET_TYPE_VENDOR_SPECIFIC) << "no gate before it";
  EXPECT_EQ(typeOf(send(1, 77)[0]), HSA_PACKET_TYPE_VENDOR_SPECIFIC) << "it waits for something";
  EXPECT_EQ(unseen().count(Unseen::Kind::cluster), 2u);
  const auto packets = send(1, 0);
  ASSERT_GE(packets.size(), 5u) << "those that were passed on are not captures";
  const Gates gates = gatesOf(packets);
  hsa.complete(gates.reached);
  ASSERT_TRUE(comesTo(gates.go, 0));
  hsa.complete(gates.done);
  ASSERT_TRUE(comesToCaptures(1));
  const auto reader = capture::Reader::open(settings.capture + "/" + captured()[0]);
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->description().grid, (std::array<uint32_t, 3>{128, 1, 1}));
  EXPECT_EQ((*reader)->description().dimensions, 1u);
}

// HIP's packets have agent scope (1) by default; with system (2) on top it would be 3.
TEST_F(Capture, FencesOfAPacketReachTheSystemWhateverTheyWere) {
  start();
  const auto acquire = [](const hsa_kernel_dispatch_packet_t &p) {
    return p.header >> HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE & 3;
  };
  const auto release = [](const hsa_kernel_dispatch_packet_t &p) {
    return p.header >> HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE & 3;
  };
  constexpr uint16_t agent = HSA_FENCE_SCOPE_AGENT << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                             HSA_FENCE_SCOPE_AGENT << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  const auto packets = ring(hsa.createQueue(64), {}, agent);
  ASSERT_GE(packets.size(), 5u);
  for (const auto &packet : packets) {
    EXPECT_EQ(acquire(packet), HSA_FENCE_SCOPE_SYSTEM) << typeOf(packet);
    EXPECT_EQ(release(packet), HSA_FENCE_SCOPE_SYSTEM) << typeOf(packet);
  }
  const Gates gates = gatesOf(packets);
  hsa.complete(gates.reached);
  hsa.complete(gates.done);
  EXPECT_TRUE(comesTo(gates.leave, 0));
}

TEST_F(Capture, MemoryBeforeAndAfterIsThatWhichTheKernelFoundAndLeft) {
  start();
  const hsa_signal_t theirs = signalOf(1);
  const Gates gates = gatesOf(ring(hsa.createQueue(64), theirs));
  EXPECT_TRUE(hsa.isPolled(gates.reached));
  EXPECT_EQ(valueOf(gates.go), 1) << "the GPU has not come to it yet";
  EXPECT_EQ(session().progress(3.2), "fade: 3 s, 0 captures");
  hsa.complete(gates.reached);
  ASSERT_TRUE(comesTo(gates.go, 0));
  EXPECT_EQ(session().progress(4), "fade: 4 s, capturing vector_add: 0.0 MiB of 0.0 MiB read");
  std::memset(memory + kPageSize, 2, kPageSize); // the kernel
  hsa.complete(gates.done);
  ASSERT_TRUE(comesTo(theirs, 0)) << "the application is told";
  ASSERT_EQ(captured().size(), 1u);
  ASSERT_FALSE(captured()[0].ends_with(capture::kPartial)) << "it is whole by then";
  ASSERT_TRUE(comesTo(gates.leave, 0));
  for (int i = 0; i < 20000 && session().progress(5) != "fade: 5 s, 1 capture"; ++i)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(session().progress(5), "fade: 5 s, 1 capture");
  auto reader = capture::Reader::open(settings.capture + "/" + captured()[0]);
  ASSERT_TRUE(reader.ok()) << reader.error().message();
  const capture::Description &d = (*reader)->description();
  EXPECT_EQ(d.symbol, symbol);
  EXPECT_EQ(d.dispatch, 1u);
  EXPECT_EQ(d.grid[0], 64u);
  EXPECT_EQ(d.other_queues_busy, 0u);
  ASSERT_GE(d.arguments.size(), 3u);
  EXPECT_EQ(d.arguments[2], 9);
  ASSERT_EQ(d.regions.size(), 1u);
  EXPECT_EQ(d.regions[0].address, reinterpret_cast<uint64_t>(memory));
  EXPECT_EQ(d.regions[0].used, 2 * kPageSize - 100);
  std::vector<std::pair<uint64_t, int>> before, after;
  (void)(*reader)->forStored(capture::State::before, 0, [&](uint64_t page, const uint8_t *bytes) {
    before.emplace_back(page, bytes[100]);
  });
  (void)(*reader)->forStored(capture::State::after, 0, [&](uint64_t page, const uint8_t *bytes) {
    after.emplace_back(page, bytes[100]);
  });
  EXPECT_EQ(before, (std::vector<std::pair<uint64_t, int>>{{0, 1}, {1, 1}}));
  EXPECT_EQ(after, (std::vector<std::pair<uint64_t, int>>{{1, 2}}));
}

TEST_F(Capture, OtherQueuesWaitAtTheDoorUntilMemoryWasRead) {
  settings.capture_limit = 1;
  start();
  hsa_queue_t *own = hsa.createQueue(64), *other = hsa.createQueue(64);
  const Gates gates = gatesOf(ring(own));
  hsa.complete(gates.reached);
  ASSERT_TRUE(comesTo(gates.go, 0));
  const auto packets = ring(other); // while the kernel runs
  ASSERT_GE(packets.size(), 2u);
  ASSERT_EQ(typeOf(packets[0]), HSA_PACKET_TYPE_BARRIER_AND);
  const hsa_signal_t door = asBarrier(packets[0]).dep_signal[0];
  ASSERT_NE(door.handle, 0u);
  EXPECT_EQ(typeOf(packets[1]), HSA_PACKET_TYPE_KERNEL_DISPATCH)
      << "and that is all there is to it";
  EXPECT_EQ(valueOf(door), 1);
  hsa.complete(gates.done);
  EXPECT_TRUE(comesTo(door, 0));
  ASSERT_TRUE(comesToCaptures(1));
  const auto later = ring(other);
  EXPECT_EQ(typeOf(later[0]), HSA_PACKET_TYPE_KERNEL_DISPATCH) << "nothing more is captured";
}

TEST_F(Capture, WhatOtherQueuesHaveUnderWayIsWaitedForAndSaidIfItDoesNotEnd) {
  settings.capture_limit = 1;
  settings.dispatches = {DispatchChoice::Kind::range, 2, 2};
  settings.patience = 0.2;
  start();
  hsa_queue_t *own = hsa.createQueue(64), *other = hsa.createQueue(64);
  (void)ring(other); // never ends
  const Gates gates = gatesOf(ring(own));
  hsa.complete(gates.reached);
  ASSERT_TRUE(comesTo(gates.go, 0));
  hsa.complete(gates.done);
  ASSERT_TRUE(comesToCaptures(1));
  const auto reader = capture::Reader::open(settings.capture + "/" + captured()[0]);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->description().other_queues_busy, 1u);
}

TEST_F(Capture, WhatComesWhileTheLastOneGetsItsGatesIsWaitedFor) {
  settings.capture_limit = 1;
  start();
  hsa_queue_t *own = hsa.createQueue(64), *other = hsa.createQueue(64);
  FakeHsa::Packets meanwhile;
  hsa.before_a_signal = [&] { std::thread([&] { meanwhile = ring(other); }).join(); };
  const Gates gates = gatesOf(ring(own));
  ASSERT_EQ(meanwhile.size(), 2u) << "a mark tells when it has ended";
  hsa.complete(gates.reached);
  EXPECT_TRUE(hsa.isPolled(meanwhile[1].completion_signal));
  EXPECT_EQ(valueOf(gates.go), 1) << "it has not";
  hsa.complete(meanwhile[1].completion_signal);
  EXPECT_TRUE(comesTo(gates.go, 0));
  hsa.complete(gates.done);
  ASSERT_TRUE(comesToCaptures(1));
}

/// A queue stands before a packet that waits for another one, whose kernel ends while that is
/// waited for.
void Capture::theWaitingOneGoesOn(hsa_queue_t *own, hsa_queue_t *waiting, hsa_queue_t *busy) {
  const hsa_signal_t end = signalOf(1);
  const auto kernel = ring(busy, end);
  hsa_barrier_and_packet_t barrier{};
  barrier.header =
      HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER;
  barrier.dep_signal[0] = end;
  hsa_kernel_dispatch_packet_t packet;
  std::memcpy(&packet, &barrier, sizeof packet);
  const auto behind = hsa.ring(waiting, {packet});
  ASSERT_EQ(behind.size(), 3u) << "a mark before it and one behind";
  hsa.complete(behind[0].completion_signal);
  const Gates gates = gatesOf(ring(own));
  hsa.complete(gates.reached);
  EXPECT_TRUE(hsa.isPolled(kernel.back().completion_signal));
  EXPECT_EQ(valueOf(gates.go), 1) << "one is busy";
  hsa.complete(end);
  hsa.complete(kernel.back().completion_signal);
  EXPECT_TRUE(hsa.isPolled(behind[2].completion_signal));
  EXPECT_EQ(valueOf(gates.go), 1) << "the other one is now";
  hsa.complete(behind[2].completion_signal);
  EXPECT_TRUE(comesTo(gates.go, 0));
  hsa.complete(gates.done);
  ASSERT_TRUE(comesToCaptures(1));
}

TEST_F(Capture, QueuesThatWaitForEachOtherAreAtRestAtTheSameTime) {
  settings.capture_limit = 1;
  settings.dispatches = {DispatchChoice::Kind::range, 2, 2};
  start();
  hsa_queue_t *own = hsa.createQueue(64), *one = hsa.createQueue(64), *two = hsa.createQueue(64);
  theWaitingOneGoesOn(own, one, two);
}

TEST_F(Capture, QueuesThatWaitForEachOtherAreAtRestAtTheSameTimeInWhicheverOrder) {
  settings.capture_limit = 1;
  settings.dispatches = {DispatchChoice::Kind::range, 2, 2};
  start();
  hsa_queue_t *own = hsa.createQueue(64), *one = hsa.createQueue(64), *two = hsa.createQueue(64);
  theWaitingOneGoesOn(own, two, one);
}

TEST_F(Capture, WhatStandsBehindTheDoorIsAtRest) {
  settings.capture_limit = 1;
  settings.dispatches = {DispatchChoice::Kind::range, 2, 2};
  settings.patience = 0.2;
  start();
  hsa_queue_t *own = hsa.createQueue(64), *busy = hsa.createQueue(64), *late = hsa.createQueue(64);
  (void)ring(busy); // never ends, so that all is looked at until patience is over
  const Gates gates = gatesOf(ring(own));
  hsa.complete(gates.reached);
  // The door is closed soon; packets that come then are behind it.
  for (;;) {
    const auto packets = ring(late);
    if (typeOf(packets[0]) == HSA_PACKET_TYPE_BARRIER_AND) break;
    for (const auto &packet : packets)
      if (typeOf(packet) == HSA_PACKET_TYPE_BARRIER_AND && packet.completion_signal.handle != 0)
        hsaApi().core.hsa_signal_store_screlease_fn(packet.completion_signal, 0);
    ASSERT_NE(valueOf(gates.go), 0) << "the door was never closed";
  }
  ASSERT_TRUE(comesTo(gates.go, 0));
  hsa.complete(gates.done);
  ASSERT_TRUE(comesToCaptures(1));
  const auto reader = capture::Reader::open(settings.capture + "/" + captured()[0]);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->description().other_queues_busy, 1u) << "only the one that never ends";
}

TEST_F(Capture, SignalsAreGivenBackBeforeTheRuntimeIsShutDown) {
  settings.capture_limit = 1;
  start();
  const Gates gates = gatesOf(ring(hsa.createQueue(64)));
  hsa.complete(gates.reached);
  ASSERT_TRUE(comesTo(gates.go, 0));
  hsa.complete(gates.done);
  ASSERT_TRUE(comesTo(gates.leave, 0));
  ASSERT_TRUE(comesToCaptures(1));
  EXPECT_GT(hsa.signals(), 0u);
  Runtime::finishAndRelease();
  EXPECT_EQ(hsa.signals(), 0u);
}

TEST_F(Capture, MemoryOfAnotherProcessIsCaptured) {
  settings.capture_limit = 1;
  start();
  hookMemory(hsa.tables());
  auto *other = static_cast<uint8_t *>(std::aligned_alloc(kPageSize, kPageSize));
  std::memset(other, 7, kPageSize);
  ASSERT_EQ(hsa.openOther(other, kPageSize), HSA_STATUS_SUCCESS);
  const Gates gates = gatesOf(ring(hsa.createQueue(64)));
  hsa.complete(gates.reached);
  ASSERT_TRUE(comesTo(gates.go, 0));
  other[5] = 8;
  hsa.complete(gates.done);
  ASSERT_TRUE(comesToCaptures(1));
  const auto reader = capture::Reader::open(settings.capture + "/" + captured()[0]);
  ASSERT_TRUE(reader.ok());
  const auto &regions = (*reader)->description().regions;
  const auto at =
      std::ranges::find(regions, reinterpret_cast<uint64_t>(other), &capture::Region::address);
  ASSERT_NE(at, regions.end());
  EXPECT_EQ(at->size, kPageSize);
  const auto index = static_cast<std::size_t>(at - regions.begin());
  EXPECT_EQ((*reader)->runs(capture::State::after, index)[0].kind, capture::Run::kStored);
  EXPECT_EQ(hsa.closeOther(other), HSA_STATUS_SUCCESS);
  for (const VisibleRegion &region :
       session().memory().seenBy(*Runtime::active()->agents().find(hsa.gpu.handle)))
    EXPECT_NE(region.region.address, reinterpret_cast<uint64_t>(other)) << "it is gone";
  std::free(other);
}

TEST_F(Capture, CodeThatWasUnloadedWhileTheKernelRanIsNotRead) {
  settings.capture_limit = 1;
  hsa.tells_code = true;
  start();
  const hsa_executable_t other = hsa.load(kSample);
  const auto code = reinterpret_cast<uint64_t>(hsa.codeOf(other));
  const Gates gates = gatesOf(ring(hsa.createQueue(64)));
  hsa.complete(gates.reached);
  ASSERT_TRUE(comesTo(gates.go, 0));
  EXPECT_EQ(hsa.core().hsa_executable_destroy_fn(other), HSA_STATUS_SUCCESS);
  hsa.complete(gates.done); // whoever reads it now has a memory fault
  ASSERT_TRUE(comesToCaptures(1));
  const auto reader = capture::Reader::open(settings.capture + "/" + captured()[0]);
  ASSERT_TRUE(reader.ok());
  const auto &regions = (*reader)->description().regions;
  EXPECT_EQ(std::ranges::count(regions, code, &capture::Region::address), 1) << "it was there";
  EXPECT_TRUE((*reader)->description().has_after);
}

TEST_F(Capture, CodeThatIsBeingUnloadedIsNotRead) {
  settings.capture_limit = 1;
  hsa.tells_code = true;
  start();
  const hsa_executable_t other = hsa.load(kSample), kept = hsa.load(kSample);
  const auto code = reinterpret_cast<uint64_t>(hsa.codeOf(other)),
             kept_code = reinterpret_cast<uint64_t>(hsa.codeOf(kept));
  const Gates gates = gatesOf(ring(hsa.createQueue(64)));
  bool was_read = false;
  hsa.before_an_unload = [&] { // the runtime is about to take it away, and has not yet
    hsa.complete(gates.reached);
    was_read = comesTo(gates.go, 0);
  };
  EXPECT_EQ(hsa.core().hsa_executable_destroy_fn(other), HSA_STATUS_SUCCESS);
  ASSERT_TRUE(was_read) << "the capture does not wait for the end of that";
  hsa.complete(gates.done);
  ASSERT_TRUE(comesToCaptures(1));
  const auto reader = capture::Reader::open(settings.capture + "/" + captured()[0]);
  ASSERT_TRUE(reader.ok());
  const auto &regions = (*reader)->description().regions;
  EXPECT_EQ(std::ranges::count(regions, code, &capture::Region::address), 0);
  EXPECT_EQ(std::ranges::count(regions, kept_code, &capture::Region::address), 1);
}

TEST_F(Capture, AnExecutableWithTheHandleOfOneThatWasUnloadedIsAnotherOne) {
  hsa.tells_code = true;
  start();
  VisibleMemory &visible = session().memory();
  const Agent &agent = *Runtime::active()->agents().find(hsa.gpu.handle);
  const auto before = visible.seenBy(agent);
  ASSERT_EQ(visible.areStillThere(before), std::vector<bool>(before.size(), true));
  const auto code = std::ranges::find(before, capture::RegionKind::code,
                                      [](const VisibleRegion &r) { return r.region.kind; });
  ASSERT_NE(code, before.end());
  visible.beginUnload(hsa.lastExecutable().handle);
  visible.endUnload(hsa.lastExecutable().handle);
  const auto after = visible.seenBy(agent); // the loader tells of the same handle
  ASSERT_EQ(after.size(), before.size());
  EXPECT_FALSE(visible.areStillThere(before)[static_cast<std::size_t>(code - before.begin())]);
  EXPECT_EQ(visible.areStillThere(after), std::vector<bool>(after.size(), true));
}

// While all queues are held: programs may have a hundred thousand allocations.
TEST_F(Capture, WhatIsStillThereIsFoundInTimeThatGrowsAsAllocationsDo) {
  const Agents agents;
  const auto cost = [&](uint64_t count) {
    VisibleMemory visible;
    std::vector<VisibleRegion> regions(count);
    for (uint64_t i = 0; i < count; ++i) {
      visible.addMapped(reinterpret_cast<const void *>((i + 1) << 20), 4096, agents);
      regions[i].allocation = count - i; // they are numbered from 1 on
    }
    auto least = std::chrono::nanoseconds::max();
    for (int i = 0; i < 5; ++i) {
      const auto begin = threadTime();
      EXPECT_EQ(visible.areStillThere(regions), std::vector<bool>(count, true));
      least = std::min(least, threadTime() - begin);
    }
    return least;
  };
  // 16 times as many: if each were looked for among all, it would take 256 times as long.
  EXPECT_LT(cost(16'000), 80 * cost(1000));
}

TEST_F(Capture, ACopyThatHasEndedIsNotWaitedForIfNobodyTellsOfItsEnd) {
  settings.capture_limit = 1;
  settings.patience = 5; // a busy machine is not stuck
  start();
  const hsa_signal_t copy = Runtime::active()->interruptSignals().take();
  EXPECT_EQ(session().admitCopy(copy).handle, 0u);
  hsaApi().core.hsa_signal_store_screlease_fn(copy, 0);
  const Gates gates = gatesOf(ring(hsa.createQueue(64)));
  hsa.complete(gates.reached);
  ASSERT_TRUE(comesTo(gates.go, 0));
  hsa.complete(gates.done);
  ASSERT_TRUE(comesToCaptures(1));
  const auto reader = capture::Reader::open(settings.capture + "/" + captured()[0]);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->description().other_queues_busy, 0u);
}

TEST_F(Capture, ACopyThatWaitsIsDoneByAnotherEngineIfItsOwnRefuses) {
  start();
  const std::vector<char> from(100, 'x');
  std::vector<char> to(100);
  hsa_signal_t waits_for = signalOf(1), done = signalOf(1);
  EXPECT_EQ(hsa.copyOnEngine(to.data(), from.data(), 100, waits_for, done, hsa.kRefusedEngine),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(valueOf(done), 1);
  hsa.complete(waits_for);
  EXPECT_EQ(valueOf(done), 0) << "HIP waits forever if it is -1";
  EXPECT_EQ(to, from);
  // If it need not wait, the application hears of it, and may try something else.
  done = signalOf(1);
  EXPECT_NE(hsa.copyOnEngine(to.data(), from.data(), 100, waits_for, done, hsa.kRefusedEngine),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(valueOf(done), 1);
}

TEST_F(Capture, CopiesWaitUntilMemoryWasRead) {
  settings.capture_limit = 1;
  start();
  const Gates gates = gatesOf(ring(hsa.createQueue(64)));
  hsa.complete(gates.reached);
  ASSERT_TRUE(comesTo(gates.go, 0));
  const hsa_signal_t copy = Runtime::active()->interruptSignals().take();
  const hsa_signal_t door = session().admitCopy(copy);
  ASSERT_NE(door.handle, 0u);
  EXPECT_EQ(valueOf(door), 1);
  session().copyBegins(copy); // one that slipped through
  session().copyEnds(copy);
  hsa.complete(gates.done);
  EXPECT_TRUE(comesTo(door, 0));
  EXPECT_EQ(session().admitCopy(copy).handle, 0u);
  ASSERT_TRUE(comesToCaptures(1));
  const auto reader = capture::Reader::open(settings.capture + "/" + captured()[0]);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->description().other_queues_busy, 1u) << "it is said";
}

TEST_F(Capture, ThreadsThatCopyRectanglesWaitUntilMemoryWasRead) {
  settings.capture_limit = 1;
  start();
  const Gates gates = gatesOf(ring(hsa.createQueue(64)));
  hsa.complete(gates.reached);
  ASSERT_TRUE(comesTo(gates.go, 0));
  const std::vector<char> from(100, 'x');
  std::vector<char> to(100);
  const hsa_signal_t done = signalOf(1);
  std::atomic<bool> has_returned = false;
  std::atomic<pid_t> copier = 0;
  std::thread copying([&] {
    copier = gettid();
    EXPECT_EQ(hsa.copyRow(to.data(), from.data(), 100, done), HSA_STATUS_SUCCESS);
    has_returned = true;
  });
  threads::waitUntilTwice(
      [&] { return has_returned || (copier != 0 && threads::isAsleep(copier)); });
  EXPECT_FALSE(has_returned);
  hsa.complete(gates.done);
  copying.join();
  EXPECT_EQ(to, from);
  ASSERT_TRUE(comesToCaptures(1));
  const auto reader = capture::Reader::open(settings.capture + "/" + captured()[0]);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->description().other_queues_busy, 0u);
}

TEST_F(Capture, GatesOpenAtTheEndEvenIfTheGpuNeverCameToThem) {
  settings.patience = 0.2;
  start();
  const Gates gates = gatesOf(ring(hsa.createQueue(64)));
  std::thread gpu([&] { // comes to it late
    EXPECT_TRUE(comesTo(gates.go, 0));
    hsa.complete(gates.done);
  });
  session().stop();
  gpu.join();
  EXPECT_TRUE(comesTo(gates.leave, 0));
  EXPECT_FALSE(fs::exists(settings.capture) && !captured().empty());
}

TEST_F(Capture, ADispatchInWhichTheGpuStopsIsCapturedWithoutMemoryAfterIt) {
  for (const bool all : {true, false}) {
    start();
    const Gates gates = gatesOf(ring(hsa.createQueue(64)));
    hsa.complete(gates.reached);
    ASSERT_TRUE(comesTo(gates.go, 0));
    session().gpuStopped(77); // another queue is not its affair
    EXPECT_EQ(captured(), std::vector<std::string>{"vector_add.1.partial"});
    session().gpuStopped(all ? std::nullopt : std::optional<uint64_t>(0));
    ASSERT_EQ(captured(), std::vector<std::string>{"vector_add.1"}) << "before the process ends";
    auto reader = capture::Reader::open(settings.capture + "/vector_add.1");
    ASSERT_TRUE(reader.ok()) << reader.error().message();
    EXPECT_FALSE((*reader)->description().has_after);
    ASSERT_EQ((*reader)->description().regions.size(), 1u);
    EXPECT_EQ((*reader)->description().regions[0].address, reinterpret_cast<uint64_t>(memory));
    Runtime::finishAndRelease();
    fs::remove_all(settings.capture);
  }
}

TEST_F(Capture, ADispatchThatNeverEndsKeepsNobodyAndIsCapturedWithoutMemoryAfterIt) {
  settings.patience = 0.1;
  start();
  const Gates gates = gatesOf(ring(hsa.createQueue(64)));
  hsa.complete(gates.reached);
  ASSERT_TRUE(comesTo(gates.go, 0));
  session().stop();
  ASSERT_EQ(captured(), std::vector<std::string>{"vector_add.1"});
  EXPECT_FALSE(
      (*capture::Reader::open(settings.capture + "/vector_add.1"))->description().has_after);
}

TEST_F(Capture, ThreadsThatLaunchMeanwhileLoseNoPacket) {
  settings.capture_limit = 3;
  start();
  std::atomic<bool> is_over{false};
  std::mutex ringing; // the fake GPU gives one thread its packets at a time
  std::vector<std::thread> threads;
  std::atomic<int> dispatches{0};
  std::mutex gates_mutex;
  std::deque<Gates> waiting;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      hsa_queue_t *queue = nullptr;
      {
        const std::lock_guard lock(ringing);
        queue = hsa.createQueue(1024);
      }
      for (int i = 0; i < 20; ++i) {
        // The whole of it: gates are come to in the order in which they were made, as below.
        const std::lock_guard ring_lock(ringing);
        const FakeHsa::Packets packets = ring(queue);
        for (std::size_t at = 0; at < packets.size(); ++at) {
          if (typeOf(packets[at]) != HSA_PACKET_TYPE_KERNEL_DISPATCH) continue;
          ++dispatches;
          const bool is_gated = at >= 2 && asBarrier(packets[at - 1]).dep_signal[0].handle != 0 &&
                                packets[at - 2].completion_signal.handle != 0 &&
                                at + 1 < packets.size() &&
                                asBarrier(packets[at + 1]).dep_signal[0].handle != 0;
          if (!is_gated) continue;
          const std::lock_guard lock(gates_mutex);
          waiting.push_back(
              {packets[at - 2].completion_signal, asBarrier(packets[at - 1]).dep_signal[0],
               packets[at].completion_signal, asBarrier(packets[at + 1]).dep_signal[0]});
        }
        // What is not gated has ended as soon as it was launched.
        for (const auto &packet : packets)
          if (typeOf(packet) == HSA_PACKET_TYPE_BARRIER_AND &&
              asBarrier(packet).dep_signal[0].handle == 0 && packet.completion_signal.handle != 0)
            hsaApi().core.hsa_signal_store_screlease_fn(packet.completion_signal, 0);
      }
    });
  std::thread gpu([&] {
    while (!is_over) {
      Gates gates{};
      {
        const std::lock_guard lock(gates_mutex);
        if (!waiting.empty()) {
          gates = waiting.front();
          waiting.pop_front();
        }
      }
      if (gates.go.handle == 0) {
        std::this_thread::sleep_for(100us);
        continue;
      }
      EXPECT_TRUE(comesTo(gates.go, 0));
      hsaApi().core.hsa_signal_store_screlease_fn(gates.done, 0);
      EXPECT_TRUE(comesTo(gates.leave, 0));
    }
  });
  for (std::thread &thread : threads) thread.join();
  EXPECT_TRUE(comesToCaptures(3));
  is_over = true;
  gpu.join();
  EXPECT_EQ(dispatches.load(), 80);
}

} // namespace
} // namespace fade
