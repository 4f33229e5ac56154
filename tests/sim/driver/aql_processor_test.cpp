#include "fake_device.h"

#include "base/clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>

namespace fade::sim {
namespace {

using Step = PacketProcessor::Step;
using Status = DispatchResult::Status;
constexpr uint64_t signal_a = FakeDevice::base + 0x40000, signal_b = signal_a + 64,
                   signal_c = signal_b + 64;

class AqlProcessorTest : public testing::Test {
protected:
  FakeDevice device;
  FakeAqlQueue queue{device};
  AqlProcessor processor{device, queue.spec(), nullptr};

  hsa::Signal &signal(uint64_t va, int64_t value) {
    auto &s = device.at<hsa::Signal>(va);
    s = {};
    s.value = value;
    return s;
  }
};

TEST_F(AqlProcessorTest, IdleUntilTheDoorbellRings) {
  queue.write(a_dispatch(), 0);
  EXPECT_EQ(processor.step(), Step::idle);
  EXPECT_FALSE(processor.has_work());
  queue.ring_bell(0);
  EXPECT_TRUE(processor.has_work());
  EXPECT_EQ(processor.step(), Step::progressed);
  EXPECT_EQ(processor.step(), Step::idle);
}

TEST_F(AqlProcessorTest, DispatchCarriesWhatThePacketSays) {
  auto p = a_dispatch();
  p.grid_size[1] = 7;
  p.workgroup_size[1] = 2;
  p.private_segment_size = 48;
  p.group_segment_size = 4096;
  queue.submit(a_dispatch());
  queue.submit(p);
  processor.step();
  processor.step();
  ASSERT_EQ(device.dispatches.size(), 2u);
  const Dispatch &d = device.dispatches[1];
  EXPECT_EQ(d.grid, (std::array<uint32_t, 3>{128, 7, 1}));
  EXPECT_EQ(d.workgroup, (std::array<uint32_t, 3>{64, 2, 1}));
  EXPECT_EQ(d.private_segment_size, 48u);
  EXPECT_EQ(d.group_segment_size, 4096u);
  EXPECT_EQ(d.kernel_object, 0x1000u);
  EXPECT_EQ(d.kernarg_address, 0x2000u);
  EXPECT_EQ(d.packet_address, FakeAqlQueue::ring + hsa::packet_size);
  EXPECT_EQ(d.queue_address, FakeAqlQueue::queue);
  EXPECT_EQ(d.dispatch_id, 1u);
}

TEST_F(AqlProcessorTest, CompletionDecrementsTheSignalAndTellsTheHost) {
  auto &s = signal(signal_a, 1);
  s.event_mailbox = FakeAqlQueue::mailbox + 8;
  s.event_id = 5;
  uint64_t before = gpu_clock();
  auto p = a_dispatch();
  p.completion_signal = signal_a;
  queue.submit(p);
  processor.step();
  EXPECT_EQ(s.value, 0);
  EXPECT_EQ(device.at<uint64_t>(FakeAqlQueue::mailbox + 8), 5u);
  EXPECT_EQ(device.events, std::vector<uint32_t>{5});
  EXPECT_LE(before, s.start_ts);
  EXPECT_LE(s.start_ts, s.end_ts);
  EXPECT_LE(s.end_ts, gpu_clock());
  EXPECT_EQ(queue.read_index(), 1u);
}

TEST_F(AqlProcessorTest, TimesAreWrittenOnlyWhileTheQueueIsProfiled) {
  auto p = a_dispatch();
  p.completion_signal = signal_a;
  for (const bool profiled : {false, true, false}) {
    auto &s = signal(signal_a, 1);
    queue.profile(profiled);
    queue.submit(p);
    processor.step();
    EXPECT_EQ(s.value, 0);
    EXPECT_EQ(s.start_ts != 0, profiled);
    EXPECT_EQ(s.end_ts != 0, profiled);
  }
}

TEST_F(AqlProcessorTest, SignalWithoutMailboxRaisesNoEvent) {
  signal(signal_a, 3);
  auto p = a_dispatch();
  p.completion_signal = signal_a;
  queue.submit(p);
  processor.step();
  EXPECT_EQ(device.at<hsa::Signal>(signal_a).value, 2);
  EXPECT_TRUE(device.events.empty());
}

TEST_F(AqlProcessorTest, SlotIsFreedAfterwardsAndTheRingWraps) {
  for (uint64_t i = 0; i < 3 * FakeAqlQueue::slots; ++i) {
    queue.submit(a_dispatch());
    ASSERT_EQ(processor.step(), Step::progressed) << i;
    ASSERT_EQ(device.at<uint16_t>(FakeAqlQueue::ring + i % FakeAqlQueue::slots * hsa::packet_size) &
                  0xff,
              hsa::packet_invalid);
  }
  EXPECT_EQ(queue.read_index(), 3 * FakeAqlQueue::slots);
}

TEST_F(AqlProcessorTest, ProducersThatRingOutOfOrderAreBothServed) {
  // Two producers reserved 0 and 1. The second is ready first; the first rings last, with the
  // smaller number.
  queue.write(a_dispatch(), 1);
  queue.ring_bell(1);
  EXPECT_EQ(processor.step(), Step::idle);
  queue.write(a_dispatch(), 0);
  queue.ring_bell(0);
  EXPECT_EQ(processor.step(), Step::progressed);
  EXPECT_EQ(processor.step(), Step::progressed);
  EXPECT_EQ(queue.read_index(), 2u);
}

TEST_F(AqlProcessorTest, BarrierAndWaitsForAllSignals) {
  auto &a = signal(signal_a, 1), &b = signal(signal_b, 1);
  hsa::Barrier p{};
  p.header = hsa::packet_barrier_and;
  p.dep_signal[0] = signal_a;
  p.dep_signal[3] = signal_b;
  queue.submit(p);
  EXPECT_EQ(processor.step(), Step::waiting);
  a.value = 0;
  EXPECT_EQ(processor.step(), Step::waiting);
  b.value = 0;
  EXPECT_EQ(processor.step(), Step::progressed);
}

TEST_F(AqlProcessorTest, AFenceOfScope3IsNoPacket) {
  constexpr uint16_t acquire = 3 << 9, release = 3 << 11;
  for (uint16_t scope : {acquire, release})
    for (uint16_t type :
         {hsa::packet_kernel_dispatch, hsa::packet_barrier_and, hsa::packet_vendor_specific}) {
      FakeDevice own;
      FakeAqlQueue other{own};
      AqlProcessor refusing{own, other.spec(), nullptr};
      auto p = a_dispatch();
      p.header = static_cast<uint16_t>(type | scope);
      other.submit(p);
      testing::internal::CaptureStderr();
      EXPECT_EQ(refusing.step(), Step::halted) << type;
      EXPECT_NE(testing::internal::GetCapturedStderr().find("scope 3, which does not exist"),
                std::string::npos);
      EXPECT_EQ(other.error(), hsa::error_packet_format) << type;
      EXPECT_TRUE(own.dispatches.empty());
    }
}

// What comes to the caches, and when: an acquire before the kernel, a release before its signal.
TEST_F(AqlProcessorTest, FencesOfAPacketStandAroundItsKernel) {
  auto &s = signal(signal_a, 1);
  device.on_run = [&](const Dispatch &) {
    device.fences += "run ";
    return DispatchResult{};
  };
  device.on_release = [&] { EXPECT_EQ(s.value, 1) << "nobody is told before"; };
  auto p = a_dispatch();
  p.completion_signal = signal_a;
  p.header = hsa::packet_kernel_dispatch | hsa::scope_agent << 9 | hsa::scope_system << 11;
  queue.submit(p);
  processor.step();
  EXPECT_EQ(device.fences, "acquire-device run release-system ");
  EXPECT_EQ(s.value, 0);

  device.fences.clear();
  device.on_release = {};
  hsa::Barrier barrier{};
  barrier.header = hsa::packet_barrier_and | hsa::scope_system << 9;
  barrier.dep_signal[0] = signal_b;
  signal(signal_b, 1);
  queue.submit(barrier);
  EXPECT_EQ(processor.step(), Step::waiting);
  EXPECT_EQ(device.fences, "") << "not before what it waits for";
  device.at<hsa::Signal>(signal_b).value = 0;
  EXPECT_EQ(processor.step(), Step::progressed);
  EXPECT_EQ(device.fences, "acquire-system release-none ");
}

TEST_F(AqlProcessorTest, BarrierOrWaitsForOneSignal) {
  signal(signal_a, 1);
  auto &b = signal(signal_b, 1);
  signal(signal_c, 1);
  hsa::Barrier p{};
  p.header = hsa::packet_barrier_or;
  p.dep_signal[0] = signal_a;
  p.dep_signal[1] = signal_b;
  p.completion_signal = signal_c;
  queue.submit(p);
  EXPECT_EQ(processor.step(), Step::waiting);
  b.value = 0;
  EXPECT_EQ(processor.step(), Step::progressed);
  EXPECT_EQ(device.at<hsa::Signal>(signal_c).value, 0);
}

TEST_F(AqlProcessorTest, BarrierWithoutSignalsIsSatisfied) {
  hsa::Barrier p{};
  p.header = hsa::packet_barrier_or;
  queue.submit(p);
  EXPECT_EQ(processor.step(), Step::progressed);
}

TEST_F(AqlProcessorTest, PacketsBehindABarrierWait) {
  signal(signal_a, 1);
  hsa::Barrier p{};
  p.header = hsa::packet_barrier_and;
  p.dep_signal[0] = signal_a;
  queue.submit(p);
  queue.submit(a_dispatch());
  processor.step();
  processor.step();
  EXPECT_TRUE(device.dispatches.empty());
}

struct ValueCase {
  uint32_t condition;
  int64_t signal, reference, mask;
  bool met;
};
void PrintTo(const ValueCase &c, std::ostream *out) {
  *out << "condition " << c.condition << " of " << c.signal << " and " << c.reference;
}
class AqlBarrierValueTest : public AqlProcessorTest,
                            public testing::WithParamInterface<ValueCase> {};

TEST_P(AqlBarrierValueTest, ComparesTheMaskedValue) {
  auto c = GetParam();
  signal(signal_a, c.signal);
  hsa::BarrierValue p{};
  p.header = hsa::packet_vendor_specific;
  p.format = hsa::vendor_barrier_value;
  p.signal = signal_a;
  p.value = c.reference;
  p.mask = c.mask;
  p.condition = c.condition;
  queue.submit(p);
  EXPECT_EQ(processor.step(), c.met ? Step::progressed : Step::waiting);
}
INSTANTIATE_TEST_SUITE_P(
    , AqlBarrierValueTest,
    testing::Values(ValueCase{0, 5, 5, -1, true}, ValueCase{0, 0x15, 5, 0xf, true},
                    ValueCase{0, 6, 5, -1, false}, ValueCase{1, 6, 5, -1, true},
                    ValueCase{1, 5, 5, -1, false}, ValueCase{2, -1, 0, -1, true},
                    ValueCase{2, 0, 0, -1, false}, ValueCase{3, 0, 0, -1, true},
                    ValueCase{3, -1, 0, -1, false}));

TEST_F(AqlProcessorTest, BarrierValueWithoutSignalIsSatisfied) {
  hsa::BarrierValue p{};
  p.header = hsa::packet_vendor_specific;
  p.format = hsa::vendor_barrier_value;
  p.value = 1;
  p.mask = -1;
  queue.submit(p);
  EXPECT_EQ(processor.step(), Step::progressed);
}

hsa::Pm4Ib pm4_at(uint64_t va, uint32_t dwords) {
  hsa::Pm4Ib p{};
  p.header = hsa::packet_vendor_specific;
  p.format = hsa::vendor_pm4_ib;
  p.jump[1] = static_cast<uint32_t>(va);
  p.jump[2] = static_cast<uint32_t>(va >> 32);
  p.jump[3] = dwords;
  return p;
}

TEST_F(AqlProcessorTest, CacheInvalidationByPm4IsAccepted) {
  constexpr uint64_t commands = FakeDevice::base + 0x50000;
  device.at<uint32_t>(commands) = 3u << 30 | 5u << 16 | 0x58u << 8; // ACQUIRE_MEM, 7 dwords in all
  queue.submit(pm4_at(commands, 7));
  EXPECT_EQ(processor.step(), Step::progressed);
}

TEST_F(AqlProcessorTest, OtherPm4StopsTheQueue) {
  constexpr uint64_t commands = FakeDevice::base + 0x50000;
  device.at<uint32_t>(commands) = 3u << 30 | 4u << 16 | 0x40u << 8; // COPY_DATA
  queue.submit(pm4_at(commands, 6));
  EXPECT_EQ(processor.step(), Step::halted);
  EXPECT_EQ(queue.error(), hsa::error_vendor_packet);
}

// ---- errors

TEST_F(AqlProcessorTest, UnknownPacketTypeStopsTheQueueWithAnError) {
  auto p = a_dispatch();
  p.header = 9;
  queue.submit(p);
  queue.submit(a_dispatch());
  EXPECT_EQ(processor.step(), Step::halted);
  EXPECT_EQ(queue.error(), hsa::error_packet_format);
  EXPECT_EQ(device.events, std::vector<uint32_t>{77});
  EXPECT_EQ(device.at<uint64_t>(FakeAqlQueue::mailbox), 77u);
  EXPECT_EQ(processor.step(), Step::halted);
  EXPECT_TRUE(device.dispatches.empty());
  EXPECT_EQ(queue.read_index(), 0u);
}

TEST_F(AqlProcessorTest, AgentDispatchIsNotForAGpu) {
  auto p = a_dispatch();
  p.header = hsa::packet_agent_dispatch;
  queue.submit(p);
  EXPECT_EQ(processor.step(), Step::halted);
  EXPECT_EQ(queue.error(), hsa::error_packet_format);
}

struct ErrorCase {
  const char *name;
  void (*spoil)(hsa::KernelDispatch &);
  int64_t code;
};
void PrintTo(const ErrorCase &c, std::ostream *out) { *out << c.name; }
class AqlBadDispatchTest : public AqlProcessorTest,
                           public testing::WithParamInterface<ErrorCase> {};
TEST_P(AqlBadDispatchTest, StopsTheQueueWithItsCode) {
  auto p = a_dispatch();
  GetParam().spoil(p);
  queue.submit(p);
  EXPECT_EQ(processor.step(), Step::halted);
  EXPECT_EQ(queue.error(), GetParam().code);
  EXPECT_TRUE(device.dispatches.empty());
}
INSTANTIATE_TEST_SUITE_P(
    , AqlBadDispatchTest,
    testing::Values(
        ErrorCase{"empty_grid", [](auto &p) { p.grid_size[2] = 0; }, hsa::error_dimensions},
        ErrorCase{"empty_group", [](auto &p) { p.workgroup_size[0] = 0; }, hsa::error_dimensions},
        ErrorCase{"large_group", [](auto &p) { p.workgroup_size[1] = 17; },
                  hsa::error_workgroup_size},
        ErrorCase{"too_much_lds", [](auto &p) { p.group_segment_size = 65537; },
                  hsa::error_group_memory}),
    [](auto &test) { return test.param.name; });

struct ResultCase {
  const char *name;
  Status status;
  int64_t code;
};
void PrintTo(const ResultCase &c, std::ostream *out) { *out << c.name; }
class AqlFailedDispatchTest : public AqlProcessorTest,
                              public testing::WithParamInterface<ResultCase> {};
TEST_P(AqlFailedDispatchTest, IsReportedToTheRuntime) {
  device.on_run = [](const Dispatch &) {
    DispatchResult r;
    r.status = GetParam().status;
    return r;
  };
  auto &s = signal(signal_a, 1);
  auto p = a_dispatch();
  p.completion_signal = signal_a;
  queue.submit(p);
  EXPECT_EQ(processor.step(), Step::halted);
  EXPECT_EQ(queue.error(), GetParam().code);
  EXPECT_EQ(s.value, 1) << "a failed dispatch must not look complete";
  EXPECT_FALSE(processor.has_work());
}
INSTANTIATE_TEST_SUITE_P(
    , AqlFailedDispatchTest,
    testing::Values(ResultCase{"illegal", Status::illegal_instruction,
                               hsa::error_illegal_instruction},
                    ResultCase{"trap", Status::trap, hsa::error_trap},
                    ResultCase{"bad_code", Status::bad_dispatch, hsa::error_code_object},
                    ResultCase{"no_memory", Status::out_of_resources, hsa::error_resources},
                    ResultCase{"stopped", Status::stopped, 0}),
    [](auto &test) { return test.param.name; });

TEST_F(AqlProcessorTest, WhatIsThrownStopsTheQueueWithAnErrorAndOneLine) {
  device.on_run = [](const Dispatch &) -> DispatchResult { throw std::bad_alloc(); };
  queue.submit(a_dispatch());
  testing::internal::CaptureStderr();
  EXPECT_EQ(processor.step(), Step::halted);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fadegpu: gfx90a: queue 3: packet failed: std::bad_alloc\n");
  EXPECT_EQ(queue.error(), hsa::error_resources);
  EXPECT_EQ(device.events, std::vector<uint32_t>{77});
  EXPECT_FALSE(processor.has_work());
}

TEST_F(AqlProcessorTest, MemoryFaultOfAKernelIsRaisedWithItsAddress) {
  device.on_run = [](const Dispatch &) {
    DispatchResult r;
    r.status = Status::memory_fault;
    r.fault_address = 0xdead0000;
    r.fault_write = true;
    return r;
  };
  queue.submit(a_dispatch());
  EXPECT_EQ(processor.step(), Step::halted);
  EXPECT_EQ(device.faults, (std::vector<FakeDevice::Fault>{{0xdead0000, true}}));
  EXPECT_EQ(queue.error(), 0);
}

TEST_F(AqlProcessorTest, SignalOutsideOfMemoryIsAFault) {
  auto p = a_dispatch();
  p.completion_signal = 0x10;
  queue.submit(p);
  EXPECT_EQ(processor.step(), Step::halted);
  EXPECT_EQ(device.faults, (std::vector<FakeDevice::Fault>{{0x10, true}}));
}

TEST_F(AqlProcessorTest, QueueOutsideOfMemoryIsRefused) {
  auto spec = queue.spec();
  spec.ring = 0x1000;
  EXPECT_FALSE(AqlProcessor(device, spec, nullptr).valid());
  spec = queue.spec();
  spec.read_pointer = 0x1000;
  EXPECT_FALSE(AqlProcessor(device, spec, nullptr).valid());
}

// ---- FADE_GPU_OVERLAP

// Kernels that run at the same time: each waits until as many run as the test wants to see.
class MeetingDevice : public FakeDevice {
public:
  DispatchResult run(const Dispatch &d) override {
    std::unique_lock lock(mutex);
    dispatches.push_back(d);
    most = std::max(most, ++running);
    changed.notify_all();
    changed.wait_for(lock, std::chrono::seconds(wanted > 1 ? 20 : 0),
                     [&] { return most >= wanted; });
    --running;
    return {};
  }
  std::condition_variable changed;
  unsigned running = 0, most = 0, wanted = 1;
};

class OverlapTest : public testing::Test {
protected:
  void submit(unsigned count, unsigned with_barrier_bit) {
    for (unsigned i = 0; i < count; ++i) {
      auto p = a_dispatch();
      if (i == with_barrier_bit) p.header |= 1 << 8;
      p.completion_signal = signal_a;
      queue.submit(p);
    }
    auto &s = device.at<hsa::Signal>(signal_a);
    s = {};
    s.value = count;
  }
  void run(bool overlaps) {
    if (overlaps) setenv("FADE_GPU_OVERLAP", "card", 1);
    AqlProcessor processor{device, queue.spec(), nullptr};
    unsetenv("FADE_GPU_OVERLAP");
    while (processor.step() == Step::progressed) {
    }
  }
  MeetingDevice device;
  FakeAqlQueue queue{device};
};

TEST_F(OverlapTest, DispatchesWithoutBarrierBitRunAtOnce) {
  device.wanted = 3;
  submit(3, 99);
  run(true);
  EXPECT_EQ(device.most, 3u);
  EXPECT_EQ(device.at<hsa::Signal>(signal_a).value, 0);
  EXPECT_EQ(queue.read_index(), 3u);
}

TEST_F(OverlapTest, ABarrierBitWaitsForThoseBefore) {
  device.wanted = 2;
  submit(4, 2);
  run(true);
  EXPECT_EQ(device.most, 2u);
  EXPECT_EQ(device.at<hsa::Signal>(signal_a).value, 0);
  EXPECT_EQ(queue.read_index(), 4u);
  // The first two may come in any order, but before the others.
  std::vector<uint64_t> order;
  for (const Dispatch &d : device.dispatches) order.push_back(d.dispatch_id / 2);
  EXPECT_EQ(order, (std::vector<uint64_t>{0, 0, 1, 1}));
}

TEST_F(OverlapTest, ByDefaultThereIsOneAtATime) {
  submit(3, 99);
  run(false);
  EXPECT_EQ(device.most, 1u);
  EXPECT_EQ(queue.read_index(), 3u);
}

} // namespace
} // namespace fade::sim
