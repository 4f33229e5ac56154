// Modes in which the software GPU is as unforgiving as a card: residency, and no PCIe atomics.
#include "../support/test_device.h"

#include "base/card_mode.h"
#include "exec/residency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace fade::sim {
namespace {

using Status = DispatchResult::Status;
using namespace std::chrono_literals;

TEST(CardModeTest, AModeIsOnByItsOwnVariableOrByTheOneForAll) {
  EXPECT_EQ(mode_wish(nullptr, nullptr), ModeWish::off);
  EXPECT_EQ(mode_wish("", "0"), ModeWish::off);
  EXPECT_EQ(mode_wish("card", nullptr), ModeWish::on);
  EXPECT_EQ(mode_wish(nullptr, "1"), ModeWish::on);
  EXPECT_EQ(mode_wish("off", "1"), ModeWish::off);
  EXPECT_EQ(mode_wish("yes", "1"), ModeWish::unknown);
}

// The variable is read when a device is made.
struct AsCard {
  AsCard() { setenv("FADE_GPU_RESIDENT", "card", 1); }
  ~AsCard() { unsetenv("FADE_GPU_RESIDENT"); }
};

class CardTest : public testing::TestWithParam<const char *> {
protected:
  Dispatch prepare(TestDevice &device, const char *kernel, uint32_t groups, uint32_t lds,
                   const Arguments &arguments, uint32_t size = 64) {
    CodeObject &object =
        device.load(read_file(std::string(FADE_KERNELS "/exec-kernels-") + GetParam() + ".hsaco"));
    std::vector<uint8_t> bytes = arguments.bytes();
    bytes.resize(bytes.size() + 512);
    Dispatch d;
    d.grid = {groups * size, 1, 1};
    d.workgroup = {size, 1, 1};
    d.group_segment_size = lds;
    d.kernel_object = object.symbol(std::string(kernel) + ".kd");
    d.kernarg_address = device.upload(bytes).va;
    auto packet = device.allocate<uint32_t>(16);
    reinterpret_cast<uint16_t *>(packet.data)[2] = static_cast<uint16_t>(size);
    packet[3] = groups * size;
    d.packet_address = packet.va;
    d.queue_address = 0x1000;
    return d;
  }
  // A barrier of the whole grid, on two compute units; it is stopped if it does not end. Waves that
  // sleep between looks let other workgroups in at once, others only after slices of time.
  Status meet(uint32_t groups, uint32_t lds, bool like_card, bool sleeps = true) {
    std::optional<AsCard> mode;
    if (like_card) mode.emplace();
    TestDevice device{GetParam(), 2};
    mode.reset();
    device.executor().set_compute_units(2);
    auto arrived = device.allocate<uint32_t>(1);
    auto turns = device.allocate<uint32_t>(groups);
    const Dispatch d =
        prepare(device, "meet_in_turns", groups, lds,
                Arguments().add(arrived.va).add(turns.va).add(groups).add(uint32_t{sleeps}));
    DispatchResult result;
    std::atomic<bool> ended{false};
    std::thread other([&] { result = device.executor().run(d), ended = true; });
    // One that does not fit must be stuck: all who fit have come, and each has looked often for the
    // others since.
    constexpr uint32_t often = 2000;
    const auto waiting = [&] {
      return std::count_if(&turns[0], &turns[0] + groups, [&](const uint32_t &count) {
        return __atomic_load_n(&count, __ATOMIC_RELAXED) >= often;
      });
    };
    while (!ended && !(like_card && groups > fits(lds) && waiting() >= fits(lds)))
      std::this_thread::sleep_for(1ms);
    if (!ended) EXPECT_EQ(__atomic_load_n(&arrived[0], __ATOMIC_ACQUIRE), fits(lds));
    if (!ended) device.executor().stop();
    other.join();
    return result.status;
  }
  // Workgroups of 64 work-items on two compute units, of which each has 64 KiB of LDS: by LDS, or
  // by wave slots: 4 SIMDs with 8, for one wave each; on gfx1030 2 SIMDs with 16, for two waves
  // each. OpenCL compiles for WGP mode there: both compute units are one, with twice as much of
  // everything.
  static uint32_t fits(uint32_t lds) {
    return lds ? 2 * (65536 / lds) : std::string(GetParam()) == "gfx90a" ? 64 : 32;
  }
};

TEST_P(CardTest, AGridThatFillsTheCardMeets) {
  EXPECT_EQ(meet(fits(0), 0, true), Status::ok);
  EXPECT_EQ(meet(8, 16384, true), Status::ok);
}

TEST_P(CardTest, AGridThatDoesNotFitNeverMeets) {
  EXPECT_EQ(meet(9, 16384, true), Status::stopped);
  EXPECT_EQ(meet(fits(0) + 1, 0, true), Status::stopped);
}

TEST_P(CardTest, ByDefaultItIsKind) { EXPECT_EQ(meet(65, 16384, false), Status::ok); }

TEST_P(CardTest, WavesThatNeverSleepMeetOrAreStuckTheSameWay) {
  EXPECT_EQ(meet(8, 16384, true, false), Status::ok);
  EXPECT_EQ(meet(9, 16384, true, false), Status::stopped);
  EXPECT_EQ(meet(9, 16384, false, false), Status::ok);
}

// Workgroups that do not wait for each other all run, however few fit.
TEST_P(CardTest, WorkgroupsThatDoNotFitRunLater) {
  const AsCard mode;
  TestDevice device{GetParam(), 2};
  device.executor().set_compute_units(2);
  auto shared = device.allocate<uint32_t>(1), own = device.allocate<uint32_t>(64 * 500);
  const Dispatch d =
      prepare(device, "count", 500, 65536, Arguments().add(shared.va).add(own.va).add(1u));
  EXPECT_EQ(device.executor().run(d).status, Status::ok);
  EXPECT_EQ(shared[0], 64u * 500);
}

TEST_P(CardTest, WithoutPcieAtomicsThoseOnHostMemoryStopTheKernel) {
  TestDevice device{GetParam(), 2};
  auto shared = device.allocate<uint32_t>(1), own = device.allocate<uint32_t>(64);
  const Dispatch d = prepare(device, "count", 1, 0, Arguments().add(shared.va).add(own.va).add(1u));
  EXPECT_EQ(device.executor().run(d).status, Status::ok);
  device.memory().set_host_atomics(false);
  const DispatchResult refused = device.executor().run(d);
  EXPECT_EQ(refused.status, Status::memory_violation);
  EXPECT_NE(refused.message.find("without PCIe atomics"), std::string::npos) << refused.message;
  // The card's own memory needs none.
  device.memory().map(shared.va, 4, shared.data, true, true);
  EXPECT_EQ(device.executor().run(d).status, Status::ok);
  EXPECT_EQ(shared[0], 128u);
}

INSTANTIATE_TEST_SUITE_P(, CardTest, testing::Values("gfx90a", "gfx1030"),
                         [](const auto &p) { return std::string(p.param); });

// Numbers worked out by hand, for gfx90a.
TEST(ResidencyTest, RegistersSlotsAndLdsOfAComputeUnit) {
  TestDevice device{"gfx90a", 1};
  auto descriptor = device.allocate<uint32_t>(16);
  auto fits = [&](uint32_t vgpr_code, uint32_t sgpr_code, uint32_t lds, uint32_t size) {
    descriptor[12] = vgpr_code | sgpr_code << 6; // rsrc1
    Dispatch d;
    d.kernel_object = descriptor.va;
    d.grid = d.workgroup = {size, 1, 1};
    d.group_segment_size = lds;
    return residency(device.arch(), KernelLaunch(device.arch(), device.memory(), d), 1);
  };
  // 64 registers (code 7): 8 waves of each of 4 SIMDs; 72: 7; 512: 1.
  EXPECT_EQ(fits(7, 0, 0, 64).groups, 32u);
  EXPECT_EQ(fits(8, 0, 0, 64).groups, 28u);
  EXPECT_STREQ(fits(8, 0, 0, 64).limit, "vector registers");
  EXPECT_EQ(fits(63, 0, 0, 64).groups, 4u);
  EXPECT_EQ(fits(8, 0, 0, 256).groups, 7u);
  // 96 scalar registers (code 10): 8 waves; 112: 7.
  EXPECT_EQ(fits(0, 10, 0, 64).groups, 32u);
  EXPECT_EQ(fits(0, 12, 0, 64).groups, 28u);
  EXPECT_STREQ(fits(0, 12, 0, 64).limit, "scalar registers");
  // LDS in blocks of 512 bytes.
  EXPECT_EQ(fits(0, 0, 65536, 64).groups, 1u);
  EXPECT_EQ(fits(0, 0, 21504, 64).groups, 3u);
  EXPECT_EQ(fits(0, 0, 21505, 64).groups, 2u);
  EXPECT_STREQ(fits(0, 0, 21505, 64).limit, "LDS");
  // Workgroups of two waves have 16 slots, those of one need none.
  EXPECT_EQ(fits(0, 0, 0, 128).groups, 16u);
  EXPECT_EQ(fits(0, 0, 0, 1024).groups, 2u);
}

// An amd_kernel_code_t has its code at 256; so has a descriptor that happens to lie there.
TEST(KernelLaunchTest, ArgumentsArePreloadedWhereverTheCodeIs) {
  TestDevice device{"gfx90a", 1};
  auto descriptor = device.allocate<uint32_t>(16), arguments = device.allocate<uint32_t>(8);
  auto entry = [&](uint32_t offset, uint32_t user_registers, uint32_t properties) {
    descriptor[4] = offset;
    descriptor[13] = user_registers << 1;     // rsrc2
    descriptor[14] = (2u << 16) | properties; // two dwords are preloaded
    constexpr uint32_t kernarg_segment_ptr = 1 << 3;
    descriptor[14] |= kernarg_segment_ptr;
    Dispatch d;
    d.kernel_object = descriptor.va;
    d.kernarg_address = arguments.va;
    d.grid = d.workgroup = {64, 1, 1};
    const KernelLaunch launch(device.arch(), device.memory(), d);
    EXPECT_EQ(launch.error(), "");
    return launch.entry() - descriptor.va;
  };
  constexpr uint32_t dispatch_ptr = 1 << 1;
  EXPECT_EQ(entry(320, 4, 0), 320u + 256);
  EXPECT_EQ(entry(256, 4, 0), 256u + 256);
  EXPECT_EQ(entry(256, 6, dispatch_ptr), 256u + 256);
  // The upper half of an amd_kernel_code_t's properties.
  EXPECT_EQ(entry(256, 2, 0), 256u);
  EXPECT_EQ(entry(256, 4, dispatch_ptr), 256u);
}

} // namespace
} // namespace fade::sim
