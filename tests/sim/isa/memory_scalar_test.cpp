// Scalar memory.
#include "base/clock.h"
#include "memory_bench.h"

#include <gtest/gtest.h>

namespace fade::sim {
namespace {

TEST(ScalarLoad, ReadsConsecutiveRegisters) {
  MemoryBench b;
  auto data = b.allocate<u32>(64);
  for (u32 i = 0; i < 64; i++) data[i] = i + 1;
  b.set_s64(2, data.va);
  b.run("s_load_dwordx16 s[16:31], s[2:3], 0x10");
  for (u32 k = 0; k < 16; k++) EXPECT_EQ(b.s(16 + k), 5 + k);
  b.run("s_load_dword s4, s[2:3], 0x0");
  EXPECT_EQ(b.s(4), 1u);
  EXPECT_EQ(b.s(5), 0u);
  b.s(7) = 12;
  b.run("s_load_dwordx2 s[8:9], s[2:3], s7");
  EXPECT_EQ(b.s(8), 4u);
  EXPECT_EQ(b.s(9), 5u);
}

TEST(ScalarLoad, TakesImmediateAndRegisterOffsetTogether) {
  MemoryBench b;
  auto data = b.allocate<u32>(64);
  for (u32 i = 0; i < 64; i++) data[i] = i;
  b.set_s64(2, data.va);
  b.s(7) = 16;
  b.run("s_load_dword s4, s[2:3], s7 offset:0x8");
  EXPECT_EQ(b.s(4), 6u);
}

TEST(ScalarLoad, IgnoresTheLowestAddressBits) {
  MemoryBench b;
  auto data = b.allocate<u32>(4);
  data[1] = 42;
  b.set_s64(2, data.va + 7);
  b.run("s_load_dword s4, s[2:3], 0x0");
  EXPECT_EQ(b.s(4), 42u);
}

TEST(ScalarLoad, MayOverwriteItsBase) {
  MemoryBench b;
  auto data = b.allocate<u32>(4);
  data[0] = 1, data[1] = 2;
  b.set_s64(2, data.va);
  b.run("s_load_dwordx2 s[2:3], s[2:3], 0x0");
  EXPECT_EQ(b.s(2), 1u);
  EXPECT_EQ(b.s(3), 2u);
}

TEST(ScalarLoad, RunsWithoutActiveLanesAndFaultsWhereNothingIsMapped) {
  MemoryBench b;
  auto data = b.allocate<u32>(4);
  data[0] = 5;
  b.set_exec(0);
  b.set_s64(2, data.va);
  b.run("s_load_dword s4, s[2:3], 0x0");
  EXPECT_EQ(b.s(4), 5u);
  const MemoryFault f = b.fault_of("s_load_dwordx4 s[8:11], s[2:3], 0x8");
  EXPECT_EQ(f.address, data.va + 16);
  EXPECT_FALSE(f.write);
}

TEST(ScalarBufferLoad, BeyondTheBufferIsZero) {
  for (const char *cpu : {"gfx90a", "gfx1030", "gfx1100"}) {
    MemoryBench b(cpu);
    auto data = b.allocate<u32>(16);
    for (u32 i = 0; i < 16; i++) data[i] = i + 1;
    b.set_s64(4, data.va);
    b.s(6) = 24, b.s(7) = 0; // six dwords
    for (u32 k = 0; k < 4; k++) b.s(8 + k) = 99;
    b.run(std::string(cpu) == "gfx1100" ? "s_buffer_load_b128 s[8:11], s[4:7], 0x10"
                                        : "s_buffer_load_dwordx4 s[8:11], s[4:7], 0x10");
    EXPECT_EQ(b.s(8), 5u) << cpu;
    EXPECT_EQ(b.s(9), 6u) << cpu;
    EXPECT_EQ(b.s(10), 0u) << cpu;
    EXPECT_EQ(b.s(11), 0u) << cpu;
  }
}

TEST(ScalarStore, WritesMemory) {
  MemoryBench b;
  auto data = b.allocate<u32>(4);
  b.set_s64(2, data.va);
  b.s(4) = 11, b.s(5) = 12;
  b.run("s_store_dwordx2 s[4:5], s[2:3], 0x4");
  EXPECT_EQ(data[1], 11u);
  EXPECT_EQ(data[2], 12u);
}

TEST(ScalarAtomic, ReturnsTheOldValueOnRequest) {
  MemoryBench b;
  auto data = b.allocate<u32>(4);
  data[0] = 10;
  b.set_s64(2, data.va);
  b.s(4) = 5;
  b.run("s_atomic_add s4, s[2:3], 0x0");
  EXPECT_EQ(data[0], 15u);
  EXPECT_EQ(b.s(4), 5u);
  b.run("s_atomic_add s4, s[2:3], 0x0 glc");
  EXPECT_EQ(data[0], 20u);
  EXPECT_EQ(b.s(4), 15u);
}

// Each card has one shader clock, of the rate that it reports, and all counters agree at any time.
TEST(Counters, CyclesPassAtTheRateOfTheCard) {
  const std::pair<const char *, u64> rates[] = {
      {"gfx90a", 1700}, {"gfx942", 2100}, {"gfx1030", 2575}, {"gfx1100", 2482}};
  for (const auto &[cpu, mhz] : rates) {
    MemoryBench b(cpu);
    const bool has_memtime = b.wave.arch->id != Gfx::gfx1100;
    const char *realtime = has_memtime ? "s_memrealtime s[6:7]"
                                       : "s_sendmsg_rtn_b64 s[6:7], sendmsg(MSG_RTN_GET_REALTIME)";
    auto at_mhz = [&](u64 real) { return real * mhz / 100; };
    b.run(realtime);
    const u64 before = at_mhz(b.wave.sgpr64(6));
    if (has_memtime) b.run("s_memtime s[4:5]");
    if (!b.wave.arch->gfx9) b.run("s_getreg_b32 s8, hwreg(HW_REG_SHADER_CYCLES)");
    b.run(realtime);
    const u64 after = at_mhz(b.wave.sgpr64(6) + 1);
    if (has_memtime) {
      EXPECT_GE(b.wave.sgpr64(4), before) << cpu;
      EXPECT_LE(b.wave.sgpr64(4), after) << cpu;
    }
    if (!b.wave.arch->gfx9) EXPECT_LE((b.s(8) - before) & 0xfffff, after - before) << cpu;
  }
}

// Like a card: the first look is shortly before the lower 32 bits start again, and so do 20.
TEST(Counters, AboutToWrapTheyDoSoWithinTheFirstCycles) {
  constexpr u64 second = 1000000000;
  const u64 first = shader_clock_about_to_wrap(5 * second, 5 * second, 2482);
  EXPECT_EQ(first, 0xffffffc0u);
  EXPECT_EQ(first & 0xfffff, 0xfffc0u);
  const u64 later = shader_clock_about_to_wrap(5 * second + 1000, 5 * second, 2482);
  EXPECT_EQ(later - first, 2482u); // a microsecond
  EXPECT_LT(later & 0xfffff, first & 0xfffff);
}

TEST(Counters, TimeGoesForwardAndRealtimeTicksAt100MHz) {
  MemoryBench b;
  b.run("s_memtime s[4:5]");
  b.run("s_memrealtime s[6:7]");
  const u64 time = b.wave.sgpr64(4), real = b.wave.sgpr64(6);
  timespec pause{0, 20000000};
  nanosleep(&pause, nullptr);
  b.run("s_memtime s[4:5]");
  b.run("s_memrealtime s[6:7]");
  EXPECT_GE(b.wave.sgpr64(4) - time, 34000000u); // at 1.7 GHz
  EXPECT_GE(b.wave.sgpr64(6) - real, 2000000u);
  EXPECT_LT(b.wave.sgpr64(6) - real, 2000000000u);
}

} // namespace
} // namespace fade::sim
