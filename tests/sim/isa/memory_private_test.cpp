// Private memory: scratch_*, buffer_* through a scratch resource and flat_* through the aperture
// agree about where a lane's bytes are.
#include "memory_bench.h"

#include <gtest/gtest.h>

namespace fade::sim {
namespace {

// The resource that a launch puts in s[0:3].
void scratch_resource(MemoryBench &b) {
  b.s(0) = static_cast<u32>(scratch_window_base);
  b.s(1) = static_cast<u32>(scratch_window_base >> 32) | 1u << 31; // swizzled
  b.s(2) = 0xffffffff;
  const u32 index_stride = b.wave.lanes == 64 ? 3 : 2;
  b.s(3) = index_stride << 21 | 1u << 23 |
           (b.wave.arch->gfx10_up ? 2u << 28 : 0); // add the lane's number
}

TEST(Private, BufferStoreInterleavesDwordsOfLanes) {
  for (const char *cpu : {"gfx90a", "gfx1030"}) {
    MemoryBench b(cpu);
    scratch_resource(b);
    b.fill(1, [](unsigned i) { return 0x100 + i; });
    b.run("buffer_store_dword v1, off, s[0:3], 0 offset:8");
    for (unsigned i = 0; i < b.wave.lanes; i++) EXPECT_EQ(b.private_word(i, 8), 0x100 + i) << cpu;
    b.run("buffer_load_dword v2, off, s[0:3], 0 offset:8");
    for (unsigned i = 0; i < b.wave.lanes; i++) EXPECT_EQ(b.v(2)[i], 0x100 + i) << cpu;
  }
}

TEST(Private, VectorOffsetsAreSwizzledAndTheScalarOffsetIsNot) {
  MemoryBench b;
  scratch_resource(b);
  b.fill(1, [](unsigned i) { return i; });
  b.fill(2, [](unsigned i) { return i % 2 ? 4u : 12u; });
  b.run("buffer_store_dword v1, v2, s[0:3], 0 offen offset:4");
  for (unsigned i = 0; i < 64; i++) EXPECT_EQ(b.private_word(i, i % 2 ? 8 : 16), i);
  // A stack pointer counts bytes of all lanes: 64 lanes * 4 bytes is one dword of each.
  b.s(32) = 2 * 256;
  b.run("buffer_load_dword v3, off, s[0:3], s32");
  EXPECT_EQ(b.v(3)[5], 5u);
}

TEST(Private, BytesAndShortsStayInsideTheirDword) {
  MemoryBench b;
  scratch_resource(b);
  b.set_v(1, 0x11223344);
  b.run("buffer_store_byte v1, off, s[0:3], 0 offset:6");
  b.run("buffer_store_short v1, off, s[0:3], 0 offset:8");
  EXPECT_EQ(b.private_word(9, 4), 0x00440000u);
  EXPECT_EQ(b.private_word(9, 8), 0x3344u);
  b.run("buffer_load_sbyte v2, off, s[0:3], 0 offset:9");
  EXPECT_EQ(b.v(2)[9], 0x33u);
}

TEST(Private, ScratchInstructionsTakeVectorAndScalarAddresses) {
  MemoryBench b("gfx942");
  b.fill(4, [](unsigned i) { return 10 + i; });
  b.fill(5, [](unsigned i) { return 500 + i; });
  b.run("scratch_store_dwordx2 off, v[4:5], off offset:16"); // no address at all
  EXPECT_EQ(b.private_word(7, 16), 17u);
  EXPECT_EQ(b.private_word(7, 20), 507u);
  b.s(6) = 12;
  b.run("scratch_load_dword v8, off, s6 offset:4"); // scalar
  EXPECT_EQ(b.v(8)[7], 17u);
  b.set_v(9, 20);
  b.run("scratch_load_dword v8, v9, off"); // vector
  EXPECT_EQ(b.v(8)[7], 507u);
  b.set_v(9, 4);
  b.run("scratch_load_dword v8, v9, s6 offset:4"); // both
  EXPECT_EQ(b.v(8)[7], 507u);
}

TEST(Private, ScratchAddressesMayDifferBetweenLanesAndBeUnaligned) {
  MemoryBench b("gfx942");
  b.fill(9, [](unsigned i) { return i; });
  b.set_v64(4, 0x8877665544332211);
  b.run("scratch_store_dwordx2 v9, v[4:5], off");
  for (unsigned lane : {0u, 1u, 3u, 63u})
    for (unsigned k = 0; k < 8; k++)
      EXPECT_EQ(static_cast<unsigned>(*b.private_byte(lane, lane + k)), 0x11 * (k + 1))
          << "lane " << lane;
  b.run("scratch_load_dwordx2 v[6:7], v9, off");
  for (unsigned i = 0; i < 64; i++) EXPECT_EQ(b.v64(6, i), 0x8877665544332211u);
}

TEST(Private, ShortsMayCrossDwords) {
  MemoryBench b("gfx942");
  b.set_v(9, 3);
  b.set_v(4, 0xabcd);
  b.run("scratch_store_short v9, v4, off");
  EXPECT_EQ(b.private_word(2, 0), 0xcd000000u);
  EXPECT_EQ(b.private_word(2, 4), 0xabu);
  b.run("scratch_load_ushort v5, v9, off");
  EXPECT_EQ(b.v(5)[2], 0xabcdu);
}

TEST(Private, FlatScratchAndBufferAgree) {
  MemoryBench b;
  scratch_resource(b);
  b.fill(1, [](unsigned i) { return 7 * i; });
  b.run("buffer_store_dword v1, off, s[0:3], 0 offset:40");
  b.point(2, (u64{private_aperture_hi} << 32) + 40, 0);
  b.run("flat_load_dword v4, v[2:3]");
  b.set_v(6, 40);
  b.run("scratch_load_dword v5, v6, off");
  for (unsigned i = 0; i < 64; i++) {
    EXPECT_EQ(b.v(4)[i], 7 * i);
    EXPECT_EQ(b.v(5)[i], 7 * i);
  }
}

TEST(Private, FlatAtomicsOf64BitsSpanTwoDwords) {
  MemoryBench b;
  b.point(2, (u64{private_aperture_hi} << 32) + 16, 0);
  b.set_v64(4, 0xffffffff);
  b.run("flat_atomic_add_x2 v[2:3], v[4:5]");
  b.run("flat_atomic_add_x2 v[0:1], v[2:3], v[4:5] glc");
  EXPECT_EQ(b.v64(0, 9), 0xffffffffu);
  EXPECT_EQ(b.private_word(9, 16), 0xfffffffeu);
  EXPECT_EQ(b.private_word(9, 20), 1u);
}

TEST(Private, IsNotCountedAsGlobal) {
  MemoryBench b;
  scratch_resource(b);
  b.run("buffer_store_dword v1, off, s[0:3], 0");
  b.point(2, u64{private_aperture_hi} << 32, 0);
  b.run("flat_load_dword v4, v[2:3]");
  EXPECT_EQ(b.stats.global_bytes_written, 0u);
  EXPECT_EQ(b.stats.global_bytes_read, 0u);
}

TEST(Private, BeyondTheWavesMemoryFaultsInTheAperture) {
  MemoryBench b;
  scratch_resource(b);
  const u64 aperture = u64{private_aperture_hi} << 32;
  b.point(2, aperture + MemoryBench::private_bytes, 0);
  EXPECT_EQ(b.fault_of("flat_load_dword v4, v[2:3]").address,
            aperture + MemoryBench::private_bytes);
  EXPECT_EQ(b.fault_of("buffer_store_dword v1, off, s[0:3], 0 offset:256").address, aperture + 256);
  b.set_v(6, 252);
  EXPECT_EQ(b.fault_of("scratch_store_dwordx2 v6, v[4:5], off").address, aperture + 256);
  EXPECT_EQ(b.fault_of("scratch_store_dword v6, v4, off").address, 0u);
}

TEST(Private, IsNowhereBeforeTheKernelHasSaidWhere) {
  for (const char *cpu : {"gfx90a", "gfx908", "gfx1030"}) {
    MemoryBench b(cpu);
    b.set_v(6, 8);
    b.run("scratch_load_dword v5, v6, off");
    b.set_flat_scratch(0);
    EXPECT_EQ(b.fault_of("scratch_load_dword v5, v6, off").address, 2u * b.wave.lanes * 4) << cpu;
    b.point(2, (u64{private_aperture_hi} << 32) + 8, 0);
    EXPECT_EQ(b.fault_of("flat_load_dword v4, v[2:3]").address, 2u * b.wave.lanes * 4) << cpu;
  }
}

TEST(Private, Wave32HasRowsOf32Lanes) {
  MemoryBench b("gfx1100");
  b.fill(4, [](unsigned i) { return 10 + i; });
  b.run("scratch_store_b32 off, v4, off offset:4");
  for (unsigned i = 0; i < 32; i++) EXPECT_EQ(b.private_word(i, 4), 10 + i);
}

} // namespace
} // namespace fade::sim
