// LDS instructions: loads, stores, atomics, and moving values between lanes.
#include "memory_bench.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fade::sim {
namespace {

TEST(Lds, ReadsAndWritesOfEveryWidth) {
  MemoryBench b;
  b.fill(1, [](unsigned i) { return 32 * i; });
  for (unsigned k = 0; k < 4; k++) b.fill(4 + k, [&](unsigned i) { return i * 100 + k; });
  b.run("ds_write_b128 v1, v[4:7] offset:16");
  for (unsigned i = 0; i < 64; i++)
    for (unsigned k = 0; k < 4; k++) EXPECT_EQ(b.lds<u32>(32 * i + 16 + 4 * k), i * 100 + k);
  b.run("ds_read_b96 v[8:10], v1 offset:16");
  b.run("ds_read_b64 v[12:13], v1 offset:20");
  b.run("ds_read_b32 v14, v1 offset:28");
  EXPECT_EQ(b.v(10)[7], 702u);
  EXPECT_EQ(b.v(12)[7], 701u);
  EXPECT_EQ(b.v(13)[7], 702u);
  EXPECT_EQ(b.v(14)[7], 703u);
}

TEST(Lds, SmallTypesAreExtendedAndWrittenFromEitherHalf) {
  MemoryBench b;
  b.set_lds<u32>(8, 0x1234f0e1);
  b.set_v(1, 0);
  auto read = [&](const char *name) {
    b.set_v(2, 0xdddddddd);
    b.run(std::string(name) + " v2, v1 offset:8");
    return b.v(2)[3];
  };
  EXPECT_EQ(read("ds_read_u8"), 0xe1u);
  EXPECT_EQ(read("ds_read_i8"), 0xffffffe1u);
  EXPECT_EQ(read("ds_read_u16"), 0xf0e1u);
  EXPECT_EQ(read("ds_read_i16"), 0xfffff0e1u);
  b.set_v(3, 0xaabbccdd);
  b.run("ds_write_b16_d16_hi v1, v3 offset:8");
  b.run("ds_write_b8 v1, v3 offset:10");
  EXPECT_EQ(b.lds<u32>(8), 0x12ddaabbu);
}

TEST(Lds, WithSramEccSixteenBitReadsClearTheOtherHalf) {
  for (const char *cpu : {"gfx90a", "gfx942", "gfx1030", "gfx1100"})
    // All lanes, some of them, and lanes beyond the end, which read zero.
    for (const auto &[exec, at] : {std::pair{~0ull, 8u}, {0xfull, 8u}, {~0ull, 0x10000u}}) {
      MemoryBench b(cpu);
      b.set_lds<u32>(8, 0x1234f0e1);
      b.set_v(1, at);
      b.set_exec(exec);
      auto read = [&](const std::string &name) {
        b.set_v(2, 0xdddddddd);
        b.run("ds_read_" + name + " v2, v1");
        if (exec == 0xf) EXPECT_EQ(b.v(2)[4], 0xdddddddd);
        return b.v(2)[3];
      };
      const bool inside = at == 8, clears = b.wave.arch->sram_ecc;
      auto low = [&](u32 v) { return (inside ? v : 0) | (clears ? 0 : 0xdddd0000); };
      auto high = [&](u32 v) { return (inside ? v << 16 : 0) | (clears ? 0 : 0xdddd); };
      EXPECT_EQ(read("u8_d16"), low(0xe1)) << cpu;
      EXPECT_EQ(read("u8_d16_hi"), high(0xe1)) << cpu;
      EXPECT_EQ(read("i8_d16"), low(0xffe1)) << cpu;
      EXPECT_EQ(read("i8_d16_hi"), high(0xffe1)) << cpu;
      EXPECT_EQ(read("u16_d16"), low(0xf0e1)) << cpu;
      EXPECT_EQ(read("u16_d16_hi"), high(0xf0e1)) << cpu;
    }
}

TEST(Lds, TwoAddressOffsetsCountElements) {
  MemoryBench b;
  for (u32 i = 0; i < 1024; i++) b.set_lds<u32>(4 * i, i);
  b.set_v(1, 16);
  b.run("ds_read2_b32 v[2:3], v1 offset0:1 offset1:5");
  EXPECT_EQ(b.v(2)[0], 5u); // (16 + 1 * 4) / 4
  EXPECT_EQ(b.v(3)[0], 9u);
  b.run("ds_read2st64_b32 v[2:3], v1 offset0:1 offset1:2");
  EXPECT_EQ(b.v(2)[0], 68u);
  EXPECT_EQ(b.v(3)[0], 132u);
  b.run("ds_read2_b64 v[4:7], v1 offset0:0 offset1:3");
  EXPECT_EQ(b.v(4)[0], 4u);
  EXPECT_EQ(b.v(6)[0], 10u);
  EXPECT_EQ(b.v(7)[0], 11u);
  b.set_v(8, 111), b.set_v(9, 222);
  b.run("ds_write2st64_b32 v1, v8, v9 offset0:0 offset1:3");
  EXPECT_EQ(b.lds<u32>(16), 111u);
  EXPECT_EQ(b.lds<u32>(16 + 768), 222u);
}

TEST(Lds, BeyondTheAllocationReadsZeroAndWritesNothing) {
  MemoryBench b;
  b.set_lds<u32>(MemoryBench::lds_bytes - 4, 0x77);
  b.set_v(1, MemoryBench::lds_bytes - 4);
  b.set_v(2, 1), b.set_v(3, 2);
  b.run("ds_read_b64 v[2:3], v1");
  EXPECT_EQ(b.v(2)[0], 0x77u);
  EXPECT_EQ(b.v(3)[0], 0u);
  b.set_v(1, MemoryBench::lds_bytes);
  b.run("ds_write_b32 v1, v2");
  b.run("ds_add_rtn_u32 v2, v1, v3");
  EXPECT_EQ(b.v(2)[0], 0u);
  b.set_v(1, 0xfffffff0); // an address below zero
  b.run("ds_read_b32 v2, v1");
  EXPECT_EQ(b.v(2)[0], 0u);
}

TEST(Lds, AddressAndOffsetWrapAt32Bits) {
  MemoryBench b;
  b.set_lds<u32>(8, 0x1234);
  b.set_v(1, 0xfffffff8);
  b.run("ds_read_b32 v2, v1 offset:16");
  EXPECT_EQ(b.v(2)[0], 0x1234u);
}

TEST(Lds, InactiveLanesTakeNoPart) {
  MemoryBench b;
  b.fill(1, [](unsigned i) { return 4 * i; });
  b.set_v(2, 5);
  b.set_exec(0x8);
  b.run("ds_write_b32 v1, v2");
  EXPECT_EQ(b.lds<u32>(12), 5u);
  EXPECT_EQ(b.lds<u32>(16), 0u);
}

TEST(Lds, AddressFromM0AndLaneNumber) {
  MemoryBench b;
  b.s(sreg::m0) = 64;
  b.fill(1, [](unsigned i) { return i + 1; });
  b.run("ds_write_addtid_b32 v1 offset:8");
  EXPECT_EQ(b.lds<u32>(72 + 4 * 9), 10u);
  b.run("ds_read_addtid_b32 v2 offset:8");
  EXPECT_EQ(b.v(2)[20], 21u);
}

// Lane 0 does an atomic at byte 16, which holds `old`; data in v[2:3], second operand in v[4:5],
// result in v[6:7].
u64 lds_atomic(const std::string &name, u64 old, u64 data, u64 data2 = 0,
               const char *cpu = "gfx90a") {
  MemoryBench b(cpu);
  b.set_exec(1);
  b.set_lds<u64>(16, old);
  b.set_v(1, 16);
  b.set_v64(2, data), b.set_v64(4, data2);
  const bool wide = name.ends_with("64"), two = name.find("cmpst") != name.npos ||
                                                name.find("mskor") != name.npos ||
                                                name.find("wrap") != name.npos;
  b.run(name + (wide ? " v[6:7], v1, v[2:3]" : " v6, v1, v2") +
        (two ? wide ? ", v[4:5]" : ", v4" : ""));
  EXPECT_EQ(wide ? b.v64(6) : b.v(6)[0], wide ? old : old & 0xffffffff) << name;
  return wide ? b.lds<u64>(16) : b.lds<u32>(16);
}

TEST(LdsAtomic, IntegerOperations) {
  EXPECT_EQ(lds_atomic("ds_add_rtn_u32", 0xffffffff, 3), 2u);
  EXPECT_EQ(lds_atomic("ds_sub_rtn_u32", 3, 5), 0xfffffffeu);
  EXPECT_EQ(lds_atomic("ds_rsub_rtn_u32", 3, 5), 2u);
  EXPECT_EQ(lds_atomic("ds_inc_rtn_u32", 7, 7), 0u);
  EXPECT_EQ(lds_atomic("ds_dec_rtn_u32", 0, 7), 7u);
  EXPECT_EQ(lds_atomic("ds_min_rtn_i32", 5, 0xffffffff), 0xffffffffu);
  EXPECT_EQ(lds_atomic("ds_min_rtn_u32", 5, 0xffffffff), 5u);
  EXPECT_EQ(lds_atomic("ds_max_rtn_i32", 5, 0xffffffff), 5u);
  EXPECT_EQ(lds_atomic("ds_max_rtn_u32", 5, 0xffffffff), 0xffffffffu);
  EXPECT_EQ(lds_atomic("ds_and_rtn_b32", 12, 10), 8u);
  EXPECT_EQ(lds_atomic("ds_or_rtn_b32", 12, 10), 14u);
  EXPECT_EQ(lds_atomic("ds_xor_rtn_b32", 12, 10), 6u);
  EXPECT_EQ(lds_atomic("ds_mskor_rtn_b32", 0xffff, 0x0ff0, 0x0110), 0xf11fu);
  EXPECT_EQ(lds_atomic("ds_wrxchg_rtn_b32", 4, 9), 9u);
  EXPECT_EQ(lds_atomic("ds_wrap_rtn_b32", 4, 9, 100), 104u);
  EXPECT_EQ(lds_atomic("ds_wrap_rtn_b32", 10, 9, 100), 1u);
  EXPECT_EQ(lds_atomic("ds_add_rtn_u64", 0xffffffff, 1), 1ull << 32);
  EXPECT_EQ(lds_atomic("ds_max_rtn_i64", ~0ull, 1), 1u);
}

TEST(LdsAtomic, CompareAndStoreTakesTheComparandFirstBeforeGfx11AndLastFromThenOn) {
  EXPECT_EQ(lds_atomic("ds_cmpst_rtn_b32", 7, 7, 100), 100u);
  EXPECT_EQ(lds_atomic("ds_cmpst_rtn_b32", 7, 8, 100), 7u);
  EXPECT_EQ(lds_atomic("ds_cmpst_rtn_b64", 7ull << 40, 7ull << 40, 100), 100u);
  EXPECT_EQ(lds_atomic("ds_cmpstore_rtn_b32", 7, 100, 7, "gfx1100"), 100u);
  EXPECT_EQ(lds_atomic("ds_cmpstore_rtn_b32", 7, 7, 100, "gfx1100"), 7u);
}

TEST(LdsAtomic, FloatOperations) {
  EXPECT_EQ(lds_atomic("ds_add_rtn_f32", bits(1.5f), bits(2.0f)), bits(3.5f));
  EXPECT_EQ(lds_atomic("ds_add_rtn_f64", bits(1.5), bits(2.0)), bits(3.5));
  EXPECT_EQ(lds_atomic("ds_min_rtn_f32", bits(1.5f), bits(-2.0f)), bits(-2.0f));
  EXPECT_EQ(lds_atomic("ds_max_rtn_f64", bits(1.5), bits(-2.0)), bits(1.5));
  EXPECT_EQ(lds_atomic("ds_add_rtn_f32", 0x10, 0x10), 0x20u); // MODE keeps denormals
  EXPECT_EQ(lds_atomic("ds_pk_add_rtn_f16", 0x3c003c00, 0x40003c00, 0, "gfx942"), 0x42004000u);
}

TEST(LdsAtomic, DenormalsAreFlushedWhenModeSaysSo) {
  MemoryBench b;
  b.wave.set_mode(0x3c0); // f32 flushes, f64 and f16 do not
  b.set_exec(1);
  b.set_lds<u32>(0, 0x10);
  b.set_v(1, 0), b.set_v(2, 0x10);
  b.run("ds_add_f32 v1, v2");
  EXPECT_EQ(b.lds<u32>(0), 0u);
}

TEST(LdsAtomic, AllLanesOnOneAddressAddUp) {
  MemoryBench b;
  b.set_v(1, 32), b.set_v(2, 2);
  b.set_exec(0xffff);
  b.run("ds_add_u32 v1, v2");
  EXPECT_EQ(b.lds<u32>(32), 32u);
  EXPECT_EQ(b.stats.lds_bytes_read, 64u);
  EXPECT_EQ(b.stats.lds_bytes_written, 64u);
}

TEST(LdsAtomic, ExchangeOfTwo) {
  MemoryBench b;
  b.set_exec(1);
  b.set_lds<u32>(4, 10), b.set_lds<u32>(12, 20);
  b.set_v(1, 0), b.set_v(2, 100), b.set_v(3, 200);
  b.run("ds_wrxchg2_rtn_b32 v[4:5], v1, v2, v3 offset0:1 offset1:3");
  EXPECT_EQ(b.v(4)[0], 10u);
  EXPECT_EQ(b.v(5)[0], 20u);
  EXPECT_EQ(b.lds<u32>(4), 100u);
  EXPECT_EQ(b.lds<u32>(12), 200u);
}

TEST(LdsAtomic, ConditionalExchangeLooksAtBit31OfEachHalf) {
  MemoryBench b;
  b.set_exec(1);
  b.set_lds<u64>(8, 0x0000000a00000005);
  b.set_v(1, 8);
  b.set_v64(2, 0x0000001180000022);
  b.run("ds_condxchg32_rtn_b64 v[4:5], v1, v[2:3]");
  EXPECT_EQ(b.v64(4), 0x0000000a00000005u);
  EXPECT_EQ(b.lds<u64>(8), 0x0000000a00000022u);
}

TEST(LdsAtomic, AppendAndConsumeCountActiveLanes) {
  MemoryBench b;
  b.s(sreg::m0) = 64;
  b.set_lds<u32>(72, 1000);
  b.set_exec(0x1f);
  b.run("ds_append v1 offset:8");
  EXPECT_EQ(b.lds<u32>(72), 1005u);
  EXPECT_EQ(b.v(1)[0], 1000u);
  EXPECT_EQ(b.v(1)[4], 1000u);
  EXPECT_EQ(b.v(1)[5], 0u);
  b.run("ds_consume v1 offset:8");
  EXPECT_EQ(b.lds<u32>(72), 1000u);
  EXPECT_EQ(b.v(1)[0], 1005u);
}

TEST(CrossLane, BpermuteFetchesAndInactiveLanesGiveZero) {
  MemoryBench b;
  b.fill(1, [](unsigned i) { return 4 * ((i + 1) % 64); });
  b.fill(2, [](unsigned i) { return 100 + i; });
  b.set_v(3, 7);
  b.set_exec(~(1ull << 10));
  b.run("ds_bpermute_b32 v3, v1, v2");
  EXPECT_EQ(b.v(3)[0], 101u);
  EXPECT_EQ(b.v(3)[63], 100u);
  EXPECT_EQ(b.v(3)[9], 0u);  // its source is inactive
  EXPECT_EQ(b.v(3)[10], 7u); // inactive itself
}

TEST(CrossLane, BpermuteAddressWrapsAndTakesAnOffset) {
  MemoryBench b;
  b.set_v(1, 4 * 64 + 4 * 5);
  b.fill(2, [](unsigned i) { return 100 + i; });
  b.run("ds_bpermute_b32 v3, v1, v2 offset:8");
  EXPECT_EQ(b.v(3)[0], 107u);
}

TEST(CrossLane, BpermuteOfGfx10StaysInItsHalf) {
  MemoryBench b("gfx1030", 64);
  b.set_v(1, 4 * 3);
  b.fill(2, [](unsigned i) { return 100 + i; });
  b.run("ds_bpermute_b32 v3, v1, v2");
  EXPECT_EQ(b.v(3)[0], 103u);
  EXPECT_EQ(b.v(3)[40], 135u);
}

TEST(CrossLane, PermuteSendsAndTheHighestSenderWins) {
  MemoryBench b;
  b.fill(1, [](unsigned i) {
    return i < 3 ? 4 * 8 : 4 * i;
  }); // lanes 0-2 all send to lane 8, as lane 8 does
  b.fill(2, [](unsigned i) { return 100 + i; });
  b.set_exec(~(1ull << 8 | 1ull << 5));
  b.set_v(3, 1);
  b.run("ds_permute_b32 v3, v1, v2");
  EXPECT_EQ(b.v(3)[0], 0u); // nobody sends there
  EXPECT_EQ(b.v(3)[4], 104u);
  EXPECT_EQ(b.v(3)[8], 1u); // inactive: keeps its register
  b.set_exec(~0ull);
  b.run("ds_permute_b32 v3, v1, v2");
  EXPECT_EQ(b.v(3)[8], 108u);
}

std::vector<u32> swizzled(const std::string &offset, u64 exec = ~0ull) {
  MemoryBench b;
  b.fill(1, [](unsigned i) { return i; });
  b.set_v(2, 999);
  b.set_exec(exec);
  b.run("ds_swizzle_b32 v2, v1 offset:" + offset);
  return {b.v(2), b.v(2) + 64};
}

TEST(CrossLane, SwizzleModes) {
  const auto quad = swizzled("swizzle(QUAD_PERM, 3, 2, 1, 0)");
  const auto swap = swizzled("swizzle(SWAP, 16)");
  const auto broadcast = swizzled("swizzle(BROADCAST, 8, 5)");
  const auto reverse = swizzled("swizzle(REVERSE, 32)");
  const auto fft = swizzled("0xe000"), fft1 = swizzled("0xe010");
  const auto rotate = swizzled("0xc060"), rotate_back = swizzled("0xc420");
  for (unsigned i = 0; i < 64; i++) {
    EXPECT_EQ(quad[i], i ^ 3);
    EXPECT_EQ(swap[i], i ^ 16);
    EXPECT_EQ(broadcast[i], (i & ~7u) + 5);
    EXPECT_EQ(reverse[i], i ^ 31);
    EXPECT_EQ(rotate[i], (i & 32) + ((i + 3) & 31));      // by 3, all bits move
    EXPECT_EQ(rotate_back[i], (i & 32) + ((i - 1) & 31)); // by 1, the other way
  }
  EXPECT_EQ(fft[1], 16u); // bits reversed
  EXPECT_EQ(fft[6], 12u);
  EXPECT_EQ(fft[33], 48u);
  EXPECT_EQ(fft1[1], 8u); // the top bit stays, the other four are reversed
  EXPECT_EQ(fft1[17], 24u);
}

TEST(CrossLane, SwizzleReadsZeroFromInactiveLanes) {
  const auto r = swizzled("swizzle(SWAP, 1)", ~2ull);
  EXPECT_EQ(r[0], 0u);
  EXPECT_EQ(r[1], 999u);
  EXPECT_EQ(r[2], 3u);
}

TEST(GlobalWaveSync, TheLastOfAllWavesEndsThePhase) {
  MemoryBench b;
  b.set_v(2, 2); // three waves
  b.run("ds_gws_init v2 gds");
  std::vector<u64> phases;
  for (int n = 0; n < 2; n++) {
    b.wave.state = WaveState::running;
    b.run("ds_gws_barrier v2 gds");
    EXPECT_EQ(b.wave.state, WaveState::at_global_barrier);
    phases.push_back(b.wave.global_barrier_phase);
  }
  EXPECT_FALSE(b.wave.device->global_sync.ended(phases[0]));
  b.run("ds_gws_barrier v2 gds");
  EXPECT_TRUE(b.wave.device->global_sync.ended(phases[0]));
  EXPECT_TRUE(b.wave.device->global_sync.ended(phases[1]));
}

TEST(GlobalWaveSync, ABarrierThatNobodyPreparedIsSaidOnce) {
  for (const bool is_prepared : {false, true}) {
    testing::internal::CaptureStderr();
    MemoryBench b;
    b.set_v(2, 0);
    if (is_prepared) b.run("ds_gws_init v2 gds");
    for (int n = 0; n < 2; n++) {
      b.wave.state = WaveState::running;
      b.run("ds_gws_barrier v2 gds");
      EXPECT_TRUE(b.wave.device->global_sync.ended(b.wave.global_barrier_phase));
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::ranges::count(said, '\n'), is_prepared ? 0 : 1) << said;
    EXPECT_EQ(said.find("nobody has prepared") == std::string::npos, is_prepared) << said;
  }
}

TEST(Lds, ThereIsNoGlobalDataShare) {
  MemoryBench b("gfx1030");
  EXPECT_THROW(b.run("ds_read_b32 v1, v2 gds"), IllegalInstruction);
}

// Each 16 lanes read a matrix of 16 columns, row by row, and get a column each: the manual, and the
// map that Triton gives for these instructions. Words as LLVM 22 encodes them.
TEST(Lds, TransposedReads) {
  struct {
    unsigned width, words;
    u32 word;
  } const reads[] = {
      {16, 2, 0xd9c60000}, {8, 2, 0xd9c40000}, {4, 2, 0xd9c00000}, {6, 3, 0xd9c20000}};
  for (const auto &r : reads) {
    MemoryBench b("gfx950");
    const unsigned rows = 32 * r.words / r.width, lanes_of_row = 16 / rows, bytes = 4 * r.words;
    auto value = [&](unsigned matrix, unsigned row, unsigned column) {
      return (matrix * 5 + row * 7 + column * 3) & ((1u << r.width) - 1);
    };
    // Rows lie apart, each matrix behind the one before; addresses of a row's lanes are neighbours.
    constexpr unsigned stride = 24;
    for (unsigned lane = 0; lane < 64; lane++) {
      const unsigned matrix = lane / 16, row = lane % 16 / lanes_of_row,
                     piece = lane % lanes_of_row;
      const unsigned at = 1024 * matrix + stride * row * (lanes_of_row > 1 ? 2 : 1) + bytes * piece;
      b.v(1)[lane] = at - 8;
      for (unsigned e = 0; e < rows; e++)
        for (unsigned n = 0; n < r.width; n++) {
          const unsigned bit = 8 * at + e * r.width + n;
          const u32 v = value(matrix, row, piece * rows + e) >> n & 1;
          b.set_lds<u8>(bit / 8, static_cast<u8>(b.lds<u8>(bit / 8) | v << bit % 8));
        }
    }
    b.run({r.word | 8, 0x02000001}); // v[2:3] or v[2:4], v1 offset:8
    for (unsigned lane = 0; lane < 64; lane++)
      for (unsigned row = 0; row < rows; row++) {
        u32 got = 0;
        for (unsigned n = 0; n < r.width; n++) {
          const unsigned bit = row * r.width + n;
          got |= (b.v(2 + bit / 32)[lane] >> bit % 32 & 1) << n;
        }
        ASSERT_EQ(got, value(lane / 16, row, lane % 16))
            << r.width << " lane " << lane << " row " << row;
      }
  }
}

} // namespace
} // namespace fade::sim
