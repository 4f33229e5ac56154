// Atomics on global memory.
#include "memory_bench.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

namespace fade::sim {
namespace {

struct Outcome {
  u64 memory, returned;
};

// One lane does `global_atomic_<name>`; memory holds `old` before, v[4:5] the data and v[6:7] the
// second operand.
Outcome atomic(const std::string &cpu, const std::string &name, bool wide, u64 old, u64 data,
               u64 data2 = 0) {
  MemoryBench b(cpu);
  auto cell = b.allocate<u64>(1);
  cell[0] = old;
  b.set_exec(1);
  b.point(2, cell.va, 0);
  b.set_v64(4, data);
  if (wide)
    b.set_v64(6, data2);
  else
    b.v(5)[0] = static_cast<u32>(data2);
  const bool compares = name.find("cmpswap") != name.npos;
  const unsigned words = (wide ? 2u : 1u) * (compares ? 2u : 1u);
  const std::string from = words == 1 ? "v4" : "v[4:" + std::to_string(3 + words) + "]";
  b.run("global_atomic_" + name + (wide ? " v[0:1]" : " v0") + ", v[2:3], " + from + ", off" +
        (cpu == "gfx942" ? " sc0" : " glc"));
  return {wide ? cell[0] : cell[0] & 0xffffffff, wide ? b.v64(0) : b.v(0)[0]};
}
u64 result(const std::string &name, u64 old, u64 data, u64 data2 = 0) {
  const Outcome o = atomic("gfx90a", name, false, old, data, data2);
  EXPECT_EQ(o.returned, old) << name;
  return o.memory;
}
u64 result64(const std::string &name, u64 old, u64 data, u64 data2 = 0) {
  const Outcome o = atomic("gfx90a", name + "_x2", true, old, data, data2);
  EXPECT_EQ(o.returned, old) << name;
  return o.memory;
}

TEST(GlobalAtomic, IntegerOperationsOf32Bits) {
  EXPECT_EQ(result("add", 0xffffffff, 2), 1u);
  EXPECT_EQ(result("sub", 1, 2), 0xffffffffu);
  EXPECT_EQ(result("swap", 5, 9), 9u);
  EXPECT_EQ(result("smin", 0xffffffff, 1), 0xffffffffu); // -1 < 1
  EXPECT_EQ(result("umin", 0xffffffff, 1), 1u);
  EXPECT_EQ(result("smax", 0xffffffff, 1), 1u);
  EXPECT_EQ(result("umax", 0xffffffff, 1), 0xffffffffu);
  EXPECT_EQ(result("and", 0xff00, 0x0ff0), 0x0f00u);
  EXPECT_EQ(result("or", 0xff00, 0x0ff0), 0xfff0u);
  EXPECT_EQ(result("xor", 0xff00, 0x0ff0), 0xf0f0u);
}

TEST(GlobalAtomic, IncrementWrapsAtTheOperandAndDecrementReloadsIt) {
  EXPECT_EQ(result("inc", 4, 5), 5u);
  EXPECT_EQ(result("inc", 5, 5), 0u);
  EXPECT_EQ(result("inc", 9, 5), 0u);
  EXPECT_EQ(result("dec", 4, 5), 3u);
  EXPECT_EQ(result("dec", 0, 5), 5u);
  EXPECT_EQ(result("dec", 6, 5), 5u);
  EXPECT_EQ(result64("inc", 1ull << 40, 1ull << 41), (1ull << 40) + 1);
  EXPECT_EQ(result64("dec", 0, 1ull << 41), 1ull << 41);
}

TEST(GlobalAtomic, CompareSwapStoresTheFirstOperandWhenMemoryHoldsTheSecond) {
  EXPECT_EQ(result("cmpswap", 7, 100, 7), 100u);
  EXPECT_EQ(result("cmpswap", 7, 100, 8), 7u);
  EXPECT_EQ(result64("cmpswap", 7ull << 32, 100, 7ull << 32), 100u);
  EXPECT_EQ(result64("cmpswap", 7ull << 32, 100, 7), 7ull << 32);
}

TEST(GlobalAtomic, IntegerOperationsOf64Bits) {
  EXPECT_EQ(result64("add", 0xffffffff, 1), 1ull << 32);
  EXPECT_EQ(result64("sub", 0, 1), ~0ull);
  EXPECT_EQ(result64("smin", ~0ull, 1), ~0ull);
  EXPECT_EQ(result64("umin", ~0ull, 1), 1u);
  EXPECT_EQ(result64("smax", ~0ull, 1), 1u);
  EXPECT_EQ(result64("umax", ~0ull, 1), ~0ull);
  EXPECT_EQ(result64("xor", 0xf0f0f0f0f0f0f0f0, ~0ull), 0x0f0f0f0f0f0f0f0fu);
}

TEST(GlobalAtomic, WithoutTheReturnBitTheDestinationStays) {
  MemoryBench b;
  auto cell = b.allocate<u32>(1);
  b.set_exec(1);
  b.point(2, cell.va, 0);
  b.set_v(0, 1234);
  b.set_v(4, 1);
  b.run("global_atomic_add v[2:3], v4, off");
  EXPECT_EQ(cell[0], 1u);
  EXPECT_EQ(b.v(0)[0], 1234u);
}

TEST(GlobalAtomic, AllLanesOnOneAddressGetDistinctOldValues) {
  MemoryBench b;
  auto cell = b.allocate<u32>(1);
  b.point(2, cell.va, 0);
  b.set_v(4, 1);
  b.run("global_atomic_add v0, v[2:3], v4, off glc");
  EXPECT_EQ(cell[0], 64u);
  u64 seen = 0;
  for (unsigned i = 0; i < 64; i++) seen |= 1ull << b.v(0)[i];
  EXPECT_EQ(seen, ~0ull);
}

TEST(GlobalAtomic, SubtractionMayStopAtZero) {
  EXPECT_EQ(atomic("gfx1030", "csub", false, 5, 3).memory, 2u);
  EXPECT_EQ(atomic("gfx1030", "csub", false, 3, 5).memory, 0u);
}

TEST(GlobalAtomic, UnalignedAddressIsAMemoryViolation) {
  MemoryBench b;
  auto violation_at = [&b](const char *line) -> uint64_t {
    try {
      b.run(line);
    } catch (const MisalignedAtomic &f) {
      return f.address;
    }
    return 0;
  };
  auto cell = b.allocate<u32>(4);
  b.set_exec(1);
  b.point(2, cell.va + 2, 0);
  EXPECT_EQ(violation_at("global_atomic_add v[2:3], v4, off"), cell.va + 2);
  b.point(2, cell.va + 4, 0);
  EXPECT_EQ(violation_at("global_atomic_add_x2 v[2:3], v[4:5], off"), cell.va + 4);
}

u32 f(float x) { return bits(x); }

TEST(FloatAtomic, AddsF32AndF64) {
  EXPECT_EQ(result("add_f32", f(1.5f), f(2.25f)), f(3.75f));
  const Outcome o = atomic("gfx90a", "add_f64", true, bits(1.5), bits(-4.0));
  EXPECT_EQ(o.memory, bits(-2.5));
  EXPECT_EQ(o.returned, bits(1.5));
}

TEST(FloatAtomic, F32AdditionFlushesDenormalsExceptOnGfx942) {
  const u32 denormal = 0x00000010;
  EXPECT_EQ(atomic("gfx90a", "add_f32", false, denormal, denormal).memory, 0u);
  EXPECT_EQ(atomic("gfx90a", "add_f32", false, denormal | 0x80000000, denormal | 0x80000000).memory,
            0x80000000u);
  EXPECT_EQ(atomic("gfx942", "add_f32", false, denormal, denormal).memory, 0x20u);
  EXPECT_EQ(atomic("gfx90a", "add_f64", true, 1, 1).memory, 2u); // f64 never
}

TEST(FloatAtomic, MinimumAndMaximumPreferNumbersToNaN) {
  const u64 nan = bits(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(atomic("gfx90a", "min_f64", true, bits(2.0), bits(-3.0)).memory, bits(-3.0));
  EXPECT_EQ(atomic("gfx90a", "max_f64", true, bits(2.0), bits(-3.0)).memory, bits(2.0));
  EXPECT_EQ(atomic("gfx90a", "min_f64", true, nan, bits(-3.0)).memory, bits(-3.0));
  EXPECT_EQ(atomic("gfx90a", "max_f64", true, bits(2.0), nan).memory, bits(2.0));
  EXPECT_EQ(atomic("gfx1030", "fmin", false, f(0.0f), f(-0.0f)).memory, f(-0.0f));
  EXPECT_EQ(atomic("gfx1030", "fmax", false, f(-0.0f), f(0.0f)).memory, f(0.0f));
}

TEST(FloatAtomic, FloatCompareSwapComparesNumbersNotBits) {
  EXPECT_EQ(atomic("gfx1030", "fcmpswap", false, f(-0.0f), f(5), f(0.0f)).memory, f(5));
  const u32 nan = 0x7fc00000;
  EXPECT_EQ(atomic("gfx1030", "fcmpswap", false, nan, f(5), nan).memory, nan);
}

TEST(FloatAtomic, PackedHalvesAreAddedApart) {
  // 1.0 + 2.0 = 3.0 in the low half, 65504 + 65504 overflows to infinity in the high one.
  EXPECT_EQ(atomic("gfx90a", "pk_add_f16", false, 0x7bff3c00, 0x7bff4000).memory, 0x7c004200u);
  // bf16: 1.0 + 2.0 = 3.0, and 256 + 1 = 257 is halfway between 256 and 258: to even.
  EXPECT_EQ(atomic("gfx942", "pk_add_bf16", false, 0x43803f80, 0x3f804000).memory, 0x43804040u);
}

TEST(FlatAtomic, ReachesLdsAndPrivateMemory) {
  MemoryBench b;
  b.set_exec(3);
  b.set_lane64(2, 0, (u64{shared_aperture_hi} << 32) + 16);
  b.set_lane64(2, 1, (u64{private_aperture_hi} << 32) + 8);
  b.set_lds<u64>(16, 0x1ffffffff);
  b.set_v64(4, 1);
  b.run("flat_atomic_add_x2 v[0:1], v[2:3], v[4:5] glc");
  EXPECT_EQ(b.lds<u64>(16), 0x200000000u);
  EXPECT_EQ(b.v64(0, 0), 0x1ffffffffu);
  EXPECT_EQ(b.private_word(1, 8), 1u);
}

TEST(GlobalAtomic, IsAtomicBetweenThreads) {
  auto host = std::make_unique<u32[]>(4);
  host[1] = bits(0.0f);
  auto worker = [&] {
    MemoryBench b;
    b.map(0x10000, host.get(), 16);
    b.point(2, 0x10000, 0);
    b.set_v(4, 1);
    b.set_v(5, bits(1.0f));
    for (int n = 0; n < 500; n++) {
      b.run("global_atomic_add v[2:3], v4, off");
      b.run("global_atomic_add_f32 v[2:3], v5, off offset:4");
    }
  };
  std::thread first(worker), second(worker);
  first.join(), second.join();
  EXPECT_EQ(host[0], 2u * 500 * 64);
  EXPECT_EQ(as_f32(host[1]), 2.0f * 500 * 64);
}

TEST(GlobalStore, IsSeenAfterTheStoresBeforeIt) {
  // Message passing: data first, then a flag. A reader that sees the flag must see the data. The
  // data go to lines that are in no cache, so that a processor which may reorder stores would let
  // the flag overtake them.
  constexpr u32 messages = 1 << 18, words_apart = 64;
  auto data = std::make_unique<u32[]>(messages * words_apart);
  u32 flag = 0;
  std::atomic<bool> done = false;
  u64 wrong = 0;
  std::thread reader([&] {
    while (!done.load(std::memory_order_relaxed)) {
      const u32 n = __atomic_load_n(&flag, __ATOMIC_ACQUIRE);
      wrong += __atomic_load_n(&data[n * words_apart], __ATOMIC_RELAXED) != n;
    }
  });
  MemoryBench b;
  b.map(0x100000000, data.get(), u64{messages} * words_apart * 4);
  b.map(0x10000, &flag, 4);
  b.set_exec(1);
  b.set_lane64(2, 0, 0x10000);
  for (u32 n = 1; n < messages; n++) {
    b.v(4)[0] = n;
    b.set_lane64(6, 0, 0x100000000 + u64{n} * words_apart * 4);
    b.run("global_store_dword v[6:7], v4, off");
    b.run("global_store_dword v[2:3], v4, off");
  }
  done = true;
  reader.join();
  EXPECT_EQ(wrong, 0u);
}

} // namespace
} // namespace fade::sim
