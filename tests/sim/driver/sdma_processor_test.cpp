#include "fake_device.h"

#include "base/clock.h"
#include "device/sdma_processor.h"

#include <gtest/gtest.h>
#include <numeric>

namespace fade::sim {
namespace {

using Step = PacketProcessor::Step;
constexpr uint64_t ring = FakeDevice::base, ring_bytes = 1024,
                   read_pointer = FakeDevice::base + 0x8000;
constexpr uint64_t source = FakeDevice::base + 0x10000, target = FakeDevice::base + 0x20000;

class SdmaProcessorTest : public testing::Test {
protected:
  SdmaProcessorTest() {
    QueueSpec spec;
    spec.ring = ring;
    spec.ring_bytes = ring_bytes;
    spec.read_pointer = read_pointer;
    spec.doorbell = &doorbell;
    processor = std::make_unique<SdmaProcessor>(device, spec);
  }

  void submit(const std::vector<uint32_t> &dwords) {
    for (uint32_t d : dwords) {
      device.at<uint32_t>(ring + written % ring_bytes) = d;
      written += 4;
    }
    doorbell = written;
  }
  static uint32_t low(uint64_t v) { return static_cast<uint32_t>(v); }
  static uint32_t high(uint64_t v) { return static_cast<uint32_t>(v >> 32); }
  void submit_copy(uint64_t to, uint64_t from, uint32_t bytes) {
    submit({1, bytes - 1, 0, low(from), high(from), low(to), high(to)});
  }
  void number(uint64_t va, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) device.at<uint8_t>(va + i) = static_cast<uint8_t>(i * 7 + 1);
  }

  FakeDevice device;
  volatile uint64_t doorbell = doorbell_unrung;
  uint64_t written = 0;
  std::unique_ptr<SdmaProcessor> processor;
};

TEST_F(SdmaProcessorTest, IdleUntilTheDoorbellMoves) {
  EXPECT_EQ(processor->step(), Step::idle);
  doorbell = 0;
  EXPECT_EQ(processor->step(), Step::idle);
  submit({0});
  EXPECT_EQ(processor->step(), Step::progressed);
  EXPECT_EQ(device.at<uint64_t>(read_pointer), 4u);
}

TEST_F(SdmaProcessorTest, CopiesExactlyTheBytesAsked) {
  number(source, 100);
  submit_copy(target + 3, source + 1, 50);
  EXPECT_EQ(processor->step(), Step::progressed);
  EXPECT_EQ(device.at<uint8_t>(target + 2), 0);
  for (int i = 0; i < 50; ++i)
    ASSERT_EQ(device.at<uint8_t>(target + 3 + i), device.at<uint8_t>(source + 1 + i)) << i;
  EXPECT_EQ(device.at<uint8_t>(target + 53), 0);
  EXPECT_EQ(device.at<uint64_t>(read_pointer), 28u);
}

TEST_F(SdmaProcessorTest, CopyCrossesRegions) {
  std::vector<uint8_t> a(64, 1), b(64, 2);
  device.space().map(0x9000, 64, a.data());
  device.space().map(0x9040, 64, b.data());
  submit_copy(target, 0x9000 + 60, 8);
  processor->step();
  EXPECT_EQ(device.at<uint32_t>(target), 0x01010101u);
  EXPECT_EQ(device.at<uint32_t>(target + 4), 0x02020202u);
}

TEST_F(SdmaProcessorTest, RingWrapsInsideAPacket) {
  while (written + 8 < ring_bytes) submit({0});
  while (processor->step() == Step::progressed) {
  }
  number(source, 16);
  submit_copy(target, source, 16);
  EXPECT_EQ(processor->step(), Step::progressed);
  EXPECT_EQ(device.at<uint64_t>(target), device.at<uint64_t>(source));
  EXPECT_EQ(device.at<uint64_t>(read_pointer), written);
}

TEST_F(SdmaProcessorTest, NopSkipsItsPayload) {
  submit({0 | 3u << 16, 0xffffffff, 0xffffffff, 0xffffffff});
  submit({5, low(target), high(target), 9});
  EXPECT_EQ(processor->step(), Step::progressed);
  EXPECT_EQ(processor->step(), Step::progressed);
  EXPECT_EQ(device.at<uint32_t>(target), 9u);
}

TEST_F(SdmaProcessorTest, CopiesARectangle) {
  // 3 x 2 elements of 4 bytes from (1, 1) of a pitch of 8 elements to (2, 0) of a pitch of 5.
  constexpr uint32_t log2_element = 2, from_pitch = 8, to_pitch = 5;
  for (uint32_t i = 0; i < 64; ++i) device.at<uint32_t>(source + i * 4) = 1000 + i;
  submit({1 | 4 << 8 | log2_element << 29, low(source), high(source), 1 | 1 << 16,
          0 | (from_pitch - 1) << 13, from_pitch * 4 - 1, low(target), high(target), 2 | 0 << 16,
          0 | (to_pitch - 1) << 13, to_pitch * 4 - 1, (3 - 1) | (2 - 1) << 16, 0});
  EXPECT_EQ(processor->step(), Step::progressed);
  for (uint32_t y = 0; y < 2; ++y)
    for (uint32_t x = 0; x < 3; ++x)
      EXPECT_EQ(device.at<uint32_t>(target + ((y * to_pitch) + 2 + x) * 4),
                1000 + (1 + y) * from_pitch + 1 + x);
  EXPECT_EQ(device.at<uint32_t>(target + 5 * 4), 0u);
  EXPECT_EQ(device.at<uint64_t>(read_pointer), 13u * 4);
}

TEST_F(SdmaProcessorTest, RectanglesOfGfx12HaveWiderFields) {
  // 3 x 2 bytes from (1, 1, 0) of a pitch of 8 and slices of 64 to (0, 0, 1) of a pitch of 5 and
  // slices of 16.
  QueueSpec spec;
  spec.ring = ring, spec.ring_bytes = ring_bytes;
  spec.read_pointer = read_pointer, spec.doorbell = &doorbell;
  SdmaProcessor gfx12(device, spec, true);
  for (uint32_t i = 0; i < 64; ++i) device.at<uint8_t>(source + i) = static_cast<uint8_t>(i + 1);
  submit({1 | 4 << 8, low(source), high(source), 1 | 1 << 16, 0 | (8 - 1) << 16, 64 - 1,
          low(target), high(target), 0, 1 | (5 - 1) << 16, 16 - 1, (3 - 1) | (2 - 1) << 16,
          1 << 20 | 1 << 28});
  EXPECT_EQ(gfx12.step(), Step::progressed);
  EXPECT_EQ(device.at<uint32_t>(target + 16), 0x000c0b0au);
  EXPECT_EQ(device.at<uint32_t>(target + 16 + 5), 0x00141312u);
  EXPECT_EQ(device.at<uint32_t>(target), 0u);
}

TEST_F(SdmaProcessorTest, RectangleHasSlices) {
  for (uint32_t i = 0; i < 64; ++i) device.at<uint8_t>(source + i) = static_cast<uint8_t>(i + 1);
  // 2 x 1 x 3 bytes, slices of 16 bytes to slices of 4, starting at slice 1.
  submit({1 | 4 << 8, low(source), high(source), 0, 1 | (4 - 1) << 13, 16 - 1, low(target),
          high(target), 0, (2 - 1) << 13, 4 - 1, (2 - 1), 3 - 1});
  EXPECT_EQ(processor->step(), Step::progressed);
  EXPECT_EQ(device.at<uint32_t>(target), 0x1211u);
  EXPECT_EQ(device.at<uint32_t>(target + 4), 0x2221u);
  EXPECT_EQ(device.at<uint32_t>(target + 8), 0x3231u);
}

TEST_F(SdmaProcessorTest, FillsWordsBytesAndHalves) {
  submit({11 | 2u << 30, low(target), high(target), 0xaabbccdd, (3 - 1) * 4});
  processor->step();
  EXPECT_EQ(device.at<uint64_t>(target), 0xaabbccddaabbccddu);
  EXPECT_EQ(device.at<uint64_t>(target + 8), 0xaabbccddu);
  submit({11, low(target + 64), high(target + 64), 0x5a, 4});
  processor->step();
  EXPECT_EQ(device.at<uint64_t>(target + 64), 0x5a5a5a5a5au);
  submit({11 | 1u << 30, low(target + 128), high(target + 128), 0x1234, 2});
  processor->step();
  EXPECT_EQ(device.at<uint64_t>(target + 128), 0x12341234u);
}

TEST_F(SdmaProcessorTest, FillOfOneWordFillsOneWord) {
  submit({11 | 2u << 30, low(target), high(target), 1, 0});
  processor->step();
  EXPECT_EQ(device.at<uint64_t>(target), 1u);
}

TEST_F(SdmaProcessorTest, WritesInlineData) {
  submit({2, low(target), high(target), 2 - 1, 0x11, 0x22});
  EXPECT_EQ(processor->step(), Step::progressed);
  EXPECT_EQ(device.at<uint64_t>(target), 0x2200000011u);
  EXPECT_EQ(device.at<uint64_t>(read_pointer), 24u);
}

TEST_F(SdmaProcessorTest, FenceThenTrapWakesTheHost) {
  submit({5, low(target), high(target), 41});
  submit({6, 12});
  processor->step();
  EXPECT_EQ(device.at<uint32_t>(target), 41u);
  EXPECT_TRUE(device.events.empty());
  processor->step();
  EXPECT_EQ(device.events, std::vector<uint32_t>{12});
}

TEST_F(SdmaProcessorTest, AtomicAddDecrementsASignal) {
  device.at<int64_t>(target) = 1;
  submit({10 | 47u << 25, low(target), high(target), 0xffffffff, 0xffffffff, 0, 0, 0});
  EXPECT_EQ(processor->step(), Step::progressed);
  EXPECT_EQ(device.at<int64_t>(target), 0);
}

TEST_F(SdmaProcessorTest, ThirtyTwoBitAtomicLeavesItsNeighbourAlone) {
  device.at<uint64_t>(target) = 0xffffffff;
  submit({10 | 15u << 25, low(target), high(target), 1, 0, 0, 0, 0});
  EXPECT_EQ(processor->step(), Step::progressed);
  EXPECT_EQ(device.at<uint64_t>(target), 0u);
}

struct PollCase {
  uint32_t function, value, reference;
  bool met;
};
void PrintTo(const PollCase &c, std::ostream *out) {
  *out << "function " << c.function << " of " << c.value << " and " << c.reference;
}
class SdmaPollTest : public SdmaProcessorTest, public testing::WithParamInterface<PollCase> {};
TEST_P(SdmaPollTest, WaitsForTheComparison) {
  auto c = GetParam();
  device.at<uint32_t>(target) = c.value | 0xff000000;
  submit({8 | c.function << 28 | 1u << 31, low(target), high(target), c.reference, 0x00ffffff, 0});
  EXPECT_EQ(processor->step(), c.met ? Step::progressed : Step::waiting);
  EXPECT_EQ(device.at<uint64_t>(read_pointer), c.met ? 24u : 0u);
}
INSTANTIATE_TEST_SUITE_P(, SdmaPollTest,
                         testing::Values(PollCase{0, 1, 2, true}, PollCase{1, 1, 2, true},
                                         PollCase{1, 2, 2, false}, PollCase{2, 2, 2, true},
                                         PollCase{2, 3, 2, false}, PollCase{3, 2, 2, true},
                                         PollCase{3, 1, 2, false}, PollCase{4, 1, 2, true},
                                         PollCase{4, 2, 2, false}, PollCase{5, 2, 2, true},
                                         PollCase{5, 1, 2, false}, PollCase{6, 3, 2, true},
                                         PollCase{6, 2, 2, false}));

TEST_F(SdmaProcessorTest, PollContinuesOnceMemoryChanges) {
  device.at<uint32_t>(target) = 1;
  submit({8 | 3u << 28 | 1u << 31, low(target), high(target), 0, 0xffffffff, 0});
  EXPECT_EQ(processor->step(), Step::waiting);
  EXPECT_EQ(processor->step(), Step::waiting);
  device.at<uint32_t>(target) = 0;
  EXPECT_EQ(processor->step(), Step::progressed);
}

TEST_F(SdmaProcessorTest, CacheAndHostFlushesDoNothing) {
  submit({8, 0, 0x80000000, 0, 0, 0});
  submit({17 | 1 << 8, 0, 0, 0, 0});
  EXPECT_EQ(processor->step(), Step::progressed);
  EXPECT_EQ(processor->step(), Step::progressed);
  EXPECT_EQ(device.at<uint64_t>(read_pointer), 44u);
}

TEST_F(SdmaProcessorTest, TimestampIsTheGpuClock) {
  uint64_t before = gpu_clock();
  submit({13 | 2 << 8, low(target), high(target)});
  EXPECT_EQ(processor->step(), Step::progressed);
  EXPECT_LE(before, device.at<uint64_t>(target));
  EXPECT_LE(device.at<uint64_t>(target), gpu_clock());
}

TEST_F(SdmaProcessorTest, ReadOutsideOfMemoryFaultsAndHalts) {
  submit_copy(target, FakeDevice::base + FakeDevice::bytes - 4, 8);
  submit({0});
  EXPECT_EQ(processor->step(), Step::halted);
  EXPECT_EQ(device.faults,
            (std::vector<FakeDevice::Fault>{{FakeDevice::base + FakeDevice::bytes, false}}));
  EXPECT_EQ(processor->step(), Step::halted);
  EXPECT_EQ(device.at<uint64_t>(read_pointer), 0u);
}

TEST_F(SdmaProcessorTest, WriteToReadOnlyMemoryFaults) {
  std::vector<uint8_t> page(64);
  device.space().map(0x9000, 64, page.data(), false);
  submit_copy(0x9000, source, 8);
  EXPECT_EQ(processor->step(), Step::halted);
  EXPECT_EQ(device.faults, (std::vector<FakeDevice::Fault>{{0x9000, true}}));
}

struct FaultCase {
  const char *name;
  std::vector<uint32_t> packet;
  bool write;
};
void PrintTo(const FaultCase &c, std::ostream *out) { *out << c.name; }
class SdmaFaultTest : public SdmaProcessorTest, public testing::WithParamInterface<FaultCase> {};
TEST_P(SdmaFaultTest, UnmappedAddressFaults) {
  submit(GetParam().packet);
  EXPECT_EQ(processor->step(), Step::halted);
  EXPECT_EQ(device.faults, (std::vector<FakeDevice::Fault>{{0x500, GetParam().write}}));
}
INSTANTIATE_TEST_SUITE_P(
    , SdmaFaultTest,
    testing::Values(FaultCase{"fence", {5, 0x500, 0, 1}, true},
                    FaultCase{"atomic", {10 | 47u << 25, 0x500, 0, 1, 0, 0, 0, 0}, true},
                    FaultCase{"fill", {11 | 2u << 30, 0x500, 0, 1, 0}, true},
                    FaultCase{"timestamp", {13 | 2 << 8, 0x500, 0}, true},
                    FaultCase{"write", {2, 0x500, 0, 0, 7}, true},
                    FaultCase{"poll", {8 | 3u << 28 | 1u << 31, 0x500, 0, 0, 0, 0}, false}),
    [](auto &test) { return test.param.name; });

TEST_F(SdmaProcessorTest, UnknownPacketHaltsAtThePacket) {
  submit({0});
  submit({0x63});
  EXPECT_EQ(processor->step(), Step::progressed);
  EXPECT_EQ(processor->step(), Step::halted);
  EXPECT_EQ(device.faults, (std::vector<FakeDevice::Fault>{{ring + 4, false}}));
}

} // namespace
} // namespace fade::sim
