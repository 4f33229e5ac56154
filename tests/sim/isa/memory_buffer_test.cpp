// Buffer instructions: addressing, bounds and formats.
#include "memory_bench.h"

#include <gtest/gtest.h>

namespace fade::sim {
namespace {

constexpr u32 identity = 4 | 5 << 3 | 6 << 6 | 7 << 9; // x, y, z, w

struct Resource {
  u64 base;
  u32 records;
  u32 stride = 0;
  bool swizzle = false;
  u32 word3 = identity;
};
void set_resource(MemoryBench &b, const Resource &r) {
  b.s(4) = static_cast<u32>(r.base);
  b.s(5) = static_cast<u32>(r.base >> 32) | r.stride << 16 | (r.swizzle ? 1u << 31 : 0);
  b.s(6) = r.records;
  b.s(7) = r.word3;
}

TEST(Buffer, RawOffsetsAddUp) {
  MemoryBench b;
  auto data = b.allocate<u32>(128);
  for (u32 i = 0; i < 128; i++) data[i] = i;
  set_resource(b, {data.va, 512});
  b.fill(1, [](unsigned i) { return 4 * i; });
  b.s(8) = 16;
  b.run("buffer_load_dword v2, v1, s[4:7], s8 offen offset:8");
  for (unsigned i = 0; i < 64; i++) EXPECT_EQ(b.v(2)[i], i + 6);
}

TEST(Buffer, OutOfRangeReadsZeroAndWritesNothing) {
  for (const char *cpu : {"gfx90a", "gfx1030", "gfx1100"}) {
    MemoryBench b(cpu);
    auto data = b.allocate<u32>(128);
    for (u32 i = 0; i < 128; i++) data[i] = 100 + i;
    set_resource(b, {data.va, 40, 0, false,
                     identity | (b.wave.arch->gfx10_up ? 3u << 28 : 0)}); // ten dwords
    b.fill(1, [](unsigned i) { return 4 * i; });
    b.set_v(2, 1);
    b.run("buffer_load_dword v2, v1, s[4:7], 0 offen");
    for (unsigned i = 0; i < 32; i++)
      EXPECT_EQ(b.v(2)[i], i < 10 ? 100 + i : 0) << cpu << " lane " << i;
    b.set_v(2, 5);
    b.run("buffer_store_dword v2, v1, s[4:7], 0 offen");
    EXPECT_EQ(data[9], 5u);
    EXPECT_EQ(data[10], 110u);
    b.set_v(1, 0xfffffff0); // does not wrap around to the start
    b.run("buffer_load_dword v2, v1, s[4:7], 0 offen offset:32");
    EXPECT_EQ(b.v(2)[0], 0u) << cpu;
  }
}

TEST(Buffer, DwordsOfOneAccessAreCheckedOneByOne) {
  MemoryBench b;
  auto data = b.allocate<u32>(16);
  for (u32 i = 0; i < 16; i++) data[i] = i + 1;
  set_resource(b, {data.va, 24});
  b.set_v(1, 16);
  for (unsigned k = 0; k < 4; k++) b.set_v(4 + k, 99);
  b.run("buffer_load_dwordx4 v[4:7], v1, s[4:7], 0 offen");
  EXPECT_EQ(b.v(4)[0], 5u);
  EXPECT_EQ(b.v(5)[0], 6u);
  EXPECT_EQ(b.v(6)[0], 0u);
  EXPECT_EQ(b.v(7)[0], 0u);
  for (unsigned k = 0; k < 4; k++) b.set_v(4 + k, 70 + k);
  b.run("buffer_store_dwordx4 v[4:7], v1, s[4:7], 0 offen");
  EXPECT_EQ(data[5], 71u);
  EXPECT_EQ(data[6], 7u);
}

TEST(Buffer, StructuredBuffersCountElements) {
  MemoryBench b;
  auto data = b.allocate<u32>(64);
  for (u32 i = 0; i < 64; i++) data[i] = i;
  set_resource(b, {data.va, 3, 16}); // three elements of four dwords
  b.fill(2, [](unsigned i) { return i; });
  b.set_v(3, 8);
  b.run("buffer_load_dword v1, v[2:3], s[4:7], 0 idxen offen offset:4");
  for (unsigned i = 0; i < 8; i++) EXPECT_EQ(b.v(1)[i], i < 3 ? 4 * i + 3 : 0) << "lane " << i;
}

TEST(Buffer, Gfx10ResourceChoosesTheCheck) {
  MemoryBench b("gfx1030");
  auto data = b.allocate<u32>(64);
  for (u32 i = 0; i < 64; i++) data[i] = i + 1;
  b.set_v(2, 1); // element 1
  b.set_v(3, 12);
  auto load = [&](u32 bounds, u32 records) {
    set_resource(b, {data.va, records, 8, false, identity | bounds << 28});
    b.run("buffer_load_dword v1, v[2:3], s[4:7], 0 idxen offen");
    return b.v(1)[0];
  };
  EXPECT_EQ(load(0, 4), 0u); // the offset leaves the element
  EXPECT_EQ(load(1, 4), 6u); // only the index counts
  EXPECT_EQ(load(1, 1), 0u);
  EXPECT_EQ(load(2, 1), 6u);  // nothing is checked
  EXPECT_EQ(load(3, 16), 6u); // bytes
  EXPECT_EQ(load(3, 15), 0u);
}

TEST(Buffer, SwizzledElementsOfNeighboursLieTogether) {
  MemoryBench b;
  auto data = b.allocate<u32>(256);
  for (u32 i = 0; i < 256; i++) data[i] = i;
  // Stride 8, groups of 16: dword 0 of 16 elements, then dword 1 of them, then the next 16
  // elements.
  set_resource(b, {data.va, 64, 8, true, identity | 1u << 21});
  b.fill(2, [](unsigned i) { return i; });
  b.run("buffer_load_dwordx2 v[8:9], v2, s[4:7], 0 idxen");
  for (unsigned i = 0; i < 64; i++) {
    EXPECT_EQ(b.v(8)[i], i / 16 * 32 + i % 16);
    EXPECT_EQ(b.v(9)[i], i / 16 * 32 + 16 + i % 16);
  }
}

TEST(Buffer, AtomicsRespectBounds) {
  MemoryBench b;
  auto data = b.allocate<u32>(64);
  set_resource(b, {data.va, 8});
  b.fill(1, [](unsigned i) { return 4 * i; });
  b.set_v(2, 3);
  b.run("buffer_atomic_add v2, v1, s[4:7], 0 offen glc");
  EXPECT_EQ(data[1], 3u);
  EXPECT_EQ(data[2], 0u);
  EXPECT_EQ(b.v(2)[5], 0u);
}

TEST(Buffer, LoadsToLdsGoBehindM0AndFillWithZeroOutOfRange) {
  MemoryBench b;
  auto data = b.allocate<u32>(64);
  for (u32 i = 0; i < 64; i++) data[i] = 0xff00ff00 + i;
  set_resource(b, {data.va, 80}); // 16 dwords behind the offset of 16
  b.s(sreg::m0) = 128;
  b.set_lds<u32>(128 + 16 + 4 * 20, 1);
  b.fill(1, [](unsigned i) { return 4 * i; });
  b.run("buffer_load_dword v1, s[4:7], 0 offen offset:16 lds");
  EXPECT_EQ(b.lds<u32>(128 + 16), 0xff00ff04u);
  EXPECT_EQ(b.lds<u32>(128 + 16 + 4 * 15), 0xff00ff13u);
  EXPECT_EQ(b.lds<u32>(128 + 16 + 4 * 20), 0u);
  b.run("buffer_load_ubyte v1, s[4:7], 0 offen lds");
  EXPECT_EQ(b.lds<u32>(128 + 4 * 3), 3u); // a dword for each lane
}

// gfx942 has instructions of their own for it, before that it is a bit of the ordinary ones.
TEST(Global, LoadsToLds) {
  for (const auto &[cpu, text] :
       {std::pair("gfx942", "global_load_lds_dword v[2:3], off offset:4"),
        std::pair("gfx90a", "global_load_dword v[2:3], off offset:4 lds")}) {
    MemoryBench b(cpu);
    auto data = b.allocate<u32>(128);
    for (u32 i = 0; i < 128; i++) data[i] = 7 * i;
    b.s(sreg::m0) = 64;
    b.point(2, data.va, 8);
    b.run(text);
    for (unsigned i = 0; i < 63; i++)
      EXPECT_EQ(b.lds<u32>(64 + 4 + 4 * i), 7 * (2 * i + 1)) << cpu; // the offset counts twice
  }
}

// Words as LLVM 22 encodes them.
TEST(Global, LoadsOfFourDwordsToLds) {
  MemoryBench b("gfx950");
  auto data = b.allocate<u32>(512);
  for (u32 i = 0; i < 512; i++) data[i] = 7 * i;
  b.s(sreg::m0) = 64;
  b.point(0, data.va, 32);
  b.set_exec(~2ull);
  b.run({0xddf48000, 0x007f0000}); // global_load_lds_dwordx4 v[0:1], off
  for (unsigned i = 0; i < 60; i++)
    for (unsigned k = 0; k < 4; k++)
      EXPECT_EQ(b.lds<u32>(64 + 16 * i + 4 * k), i == 1 ? 0 : 7 * (8 * i + k)) << i << ", " << k;
}
TEST(Buffer, LoadsOfFourDwordsToLds) {
  MemoryBench b("gfx950");
  auto data = b.allocate<u32>(4);
  for (u32 i = 0; i < 4; i++) data[i] = 7 + i;
  set_resource(b, {data.va, 16});
  b.s(sreg::m0) = 66;              // its lowest bits do not count
  b.run({0xe05d0000, 0x80010000}); // buffer_load_dwordx4 off, s[4:7], 0 lds
  for (unsigned i = 0; i < 256; i++) EXPECT_EQ(b.lds<u32>(64 + 4 * i), 7 + i % 4) << i;
}
// The manual: three dwords are written at 16 times the lane's number, the fourth is skipped.
TEST(Global, LoadsOfThreeDwordsToLdsSkipTheFourth) {
  MemoryBench b("gfx950");
  auto data = b.allocate<u32>(512);
  for (u32 i = 0; i < 512; i++) data[i] = 7 * i + 1;
  for (u32 i = 0; i < 1024; i++) b.set_lds<u32>(4 * i, 0xdeadbeef);
  b.s(sreg::m0) = 64;
  b.point(0, data.va, 32);
  b.run({0xddf88000, 0x007f0000}); // global_load_lds_dwordx3 v[0:1], off
  for (unsigned i = 0; i < 64; i++)
    for (unsigned k = 0; k < 4; k++)
      EXPECT_EQ(b.lds<u32>(64 + 16 * i + 4 * k), k == 3 ? 0xdeadbeef : 7 * (8 * i + k) + 1)
          << i << ", " << k;
}
TEST(Buffer, LoadsOfThreeDwordsToLdsSkipTheFourth) {
  MemoryBench b("gfx950");
  auto data = b.allocate<u32>(4);
  for (u32 i = 0; i < 4; i++) data[i] = 7 + i;
  for (u32 i = 0; i < 1024; i++) b.set_lds<u32>(4 * i, 0xdeadbeef);
  set_resource(b, {data.va, 16});
  b.s(sreg::m0) = 64;
  b.run({0xe0590000, 0x80010000}); // buffer_load_dwordx3 off, s[4:7], 0 lds
  for (unsigned i = 0; i < 256; i++)
    EXPECT_EQ(b.lds<u32>(64 + 4 * i), i % 4 == 3 ? 0xdeadbeef : 7 + i % 4) << i;
}

// gfx9: data format in bits 18:15, number format in 14:12.
u32 gfx9_format(u32 data, u32 number) { return identity | data << 15 | number << 12; }

std::vector<u32> load_format(u32 word3, u64 memory, const std::string &cpu = "gfx90a") {
  MemoryBench b(cpu);
  auto data = b.allocate<u64>(2);
  data[0] = memory;
  set_resource(b, {data.va, 16, 0, false, word3});
  b.run("buffer_load_format_xyzw v[8:11], off, s[4:7], 0");
  return {b.v(8)[0], b.v(9)[0], b.v(10)[0], b.v(11)[0]};
}

TEST(TypedBuffer, ConvertsNumbers) {
  using V = std::vector<u32>;
  const u32 one = bits(1.0f);
  EXPECT_EQ(load_format(gfx9_format(10, 0), 0x00ff33ff),
            (V{one, bits(0.2f), one, 0})); // 8_8_8_8 unorm
  EXPECT_EQ(load_format(gfx9_format(10, 1), 0x8081007f),
            (V{one, 0, bits(-1.0f), bits(-1.0f)})); // snorm
  EXPECT_EQ(load_format(gfx9_format(10, 2), 0x000005ff),
            (V{bits(255.f), bits(5.f), 0, 0})); // uscaled
  EXPECT_EQ(load_format(gfx9_format(10, 3), 0x000005ff),
            (V{bits(-1.f), bits(5.f), 0, 0}));                               // sscaled
  EXPECT_EQ(load_format(gfx9_format(10, 4), 0x040302ff), (V{255, 2, 3, 4})); // uint
  EXPECT_EQ(load_format(gfx9_format(10, 5), 0x040302ff), (V{~0u, 2, 3, 4})); // sint
  EXPECT_EQ(load_format(gfx9_format(5, 7), 0xc0003c00),
            (V{one, bits(-2.0f), 0, one}));                                          // 16_16 float
  EXPECT_EQ(load_format(gfx9_format(4, 7), bits(2.5f)), (V{bits(2.5f), 0, 0, one})); // 32 float
  EXPECT_EQ(load_format(gfx9_format(4, 4), 77), (V{77, 0, 0, 1}));                   // 32 uint
  // 2_10_10_10: x is the lowest ten bits.
  EXPECT_EQ(load_format(gfx9_format(9, 4), 3u << 30 | 5 << 20 | 6 << 10 | 7), (V{7, 6, 5, 3}));
  // 10_11_11 float: 11 bits of x: exponent 15, no fraction: 1.0; z has 10 bits.
  EXPECT_EQ(load_format(gfx9_format(6, 7), 15u << 6 | 16u << 17 | 14ull << 27),
            (V{one, bits(2.0f), bits(0.5f), one}));
}

TEST(TypedBuffer, Gfx10NumbersFormatsInOneList) {
  using V = std::vector<u32>;
  const u32 raw = 3u << 28;
  EXPECT_EQ(load_format(identity | 60u << 12 | raw, 0x040302ff, "gfx1030"),
            (V{255, 2, 3, 4})); // 8_8_8_8 uint
  EXPECT_EQ(load_format(identity | 46u << 12 | raw, 0x040302ff, "gfx1100"), (V{255, 2, 3, 4}));
  EXPECT_EQ(load_format(identity | 22u << 12 | raw, bits(2.5f), "gfx1030"),
            (V{bits(2.5f), 0, 0, bits(1.0f)}));
}

TEST(TypedBuffer, TheResourceSelectsComponents) {
  const u32 select = 5 | 4 << 3 | 1 << 6 | 0 << 9; // y, x, one, zero
  const auto r =
      load_format((gfx9_format(11, 7) & ~0xfffu) | select, u64{bits(8.0f)} << 32 | bits(3.0f));
  EXPECT_EQ(r, (std::vector<u32>{bits(8.0f), bits(3.0f), bits(1.0f), 0}));
}

TEST(TypedBuffer, StoresConvertBack) {
  MemoryBench b;
  auto data = b.allocate<u32>(4);
  set_resource(b, {data.va, 16, 0, false, gfx9_format(10, 0)});
  b.set_v(8, bits(1.0f)), b.set_v(9, bits(0.5f)), b.set_v(10, bits(-3.0f)), b.set_v(11, bits(7.0f));
  b.set_exec(1);
  b.run("buffer_store_format_xyzw v[8:11], off, s[4:7], 0");
  EXPECT_EQ(data[0], 0xff0080ffu); // 127.5 rounds to even
}

TEST(TypedBuffer, InstructionMayNameTheFormatAndHalvesArePacked) {
  MemoryBench b;
  auto data = b.allocate<u32>(4);
  data[0] = 0xc0003c00;
  set_resource(b, {data.va, 16, 0, false, 0});
  b.run("tbuffer_load_format_xy v[8:9], off, s[4:7], 0 format:[BUF_DATA_FORMAT_16_16, "
        "BUF_NUM_FORMAT_FLOAT]");
  EXPECT_EQ(b.v(8)[0], bits(1.0f));
  EXPECT_EQ(b.v(9)[0], bits(-2.0f));
  b.run("tbuffer_load_format_d16_xy v8, off, s[4:7], 0 format:[BUF_DATA_FORMAT_16_16, "
        "BUF_NUM_FORMAT_FLOAT]");
  EXPECT_EQ(b.v(8)[0], 0xc0003c00u);
  b.set_exec(1);
  b.set_v(8, 0x4200bc00);
  b.run("tbuffer_store_format_d16_xy v8, off, s[4:7], 0 format:[BUF_DATA_FORMAT_32_32, "
        "BUF_NUM_FORMAT_FLOAT] offset:4");
  EXPECT_EQ(data[1], bits(-1.0f));
  EXPECT_EQ(data[2], bits(3.0f));
}

TEST(Buffer, WithSramEccSixteenBitLoadsClearTheOtherHalf) {
  for (const char *cpu : {"gfx90a", "gfx942", "gfx1030", "gfx1100"}) {
    MemoryBench b(cpu);
    auto data = b.allocate<u32>(4);
    data[0] = 0x40003c00, data[1] = 0x4200;
    const bool gfx9 = b.wave.arch->gfx9;
    // 16_16_16_16 floats: gfx9 has data and number formats apart, gfx10 and gfx11 one number.
    const u32 format =
        gfx9 ? 7u << 12 | 12u << 15 : (b.wave.arch->id == Gfx::gfx1100 ? 57u : 71u) << 12;
    set_resource(b, {data.va, 8, 0, false, identity | format | (gfx9 ? 0 : 3u << 28)});
    const u32 high = gfx9 ? 0 : 0xdddd0000, low = gfx9 ? 0 : 0xdddd;
    auto load = [&](const std::string &line) {
      for (unsigned reg : {8, 9}) b.set_v(reg, 0xdddddddd);
      b.run(line);
    };
    auto check = [&](const std::string &line, u32 expected) {
      load(line);
      EXPECT_EQ(b.v(8)[2], expected) << cpu << ' ' << line;
    };
    check("buffer_load_short_d16 v8, off, s[4:7], 0", high | 0x3c00);
    check("buffer_load_short_d16_hi v8, off, s[4:7], 0", 0x3c000000 | low);
    check("buffer_load_short_d16 v8, off, s[4:7], 0 offset:8", high); // out of range
    check("buffer_load_format_d16_x v8, off, s[4:7], 0", high | 0x3c00);
    check("buffer_load_format_d16_hi_x v8, off, s[4:7], 0", 0x3c000000 | low);
    check("buffer_load_format_d16_xy v8, off, s[4:7], 0", 0x40003c00);
    load("buffer_load_format_d16_xyz v[8:9], off, s[4:7], 0");
    EXPECT_EQ(b.v(8)[2], 0x40003c00u) << cpu;
    EXPECT_EQ(b.v(9)[2], high | 0x4200) << cpu;
  }
}

} // namespace
} // namespace fade::sim
