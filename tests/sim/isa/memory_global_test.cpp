// Flat and global loads and stores.
#include "memory_bench.h"
#include <fade/observer.h>

#include <gtest/gtest.h>

namespace fade::sim {
namespace {

TEST(GlobalLoad, DwordReadsEachLaneAtItsOwnAddress) {
  MemoryBench b;
  auto data = b.allocate<u32>(256);
  for (u32 i = 0; i < 256; i++) data[i] = i * 3;
  b.point(2, data.va, 12); // every third dword
  b.run("global_load_dword v1, v[2:3], off");
  for (unsigned i = 0; i < 64; i++) EXPECT_EQ(b.v(1)[i], i * 9) << "lane " << i;
}

TEST(GlobalLoad, ContiguousAndScatteredAccessesOfAllWidthsAgree) {
  for (unsigned words = 1; words <= 4; words++) {
    const std::string line = "global_load_dword" + (words > 1 ? "x" + std::to_string(words) : "") +
                             " v[8:" + std::to_string(7 + words) + "], v[2:3], off";
    for (bool reversed : {false, true}) {
      MemoryBench b;
      auto data = b.allocate<u32>(256);
      for (u32 i = 0; i < 256; i++) data[i] = 0x1000 + i;
      for (unsigned i = 0; i < 64; i++) {
        const unsigned slot = reversed ? 63 - i : i;
        b.set_lane64(2, i, data.va + slot * words * 4);
      }
      b.run(words == 1 ? "global_load_dword v8, v[2:3], off" : line);
      for (unsigned i = 0; i < 64; i++)
        for (unsigned k = 0; k < words; k++)
          EXPECT_EQ(b.v(8 + k)[i], 0x1000 + (reversed ? 63 - i : i) * words + k)
              << words << " words, lane " << i;
    }
  }
}

TEST(GlobalLoad, MayOverwriteItsOwnAddressRegisters) {
  MemoryBench b;
  auto data = b.allocate<u32>(256);
  for (u32 i = 0; i < 256; i++) data[i] = i;
  b.point(2, data.va, 16);
  b.run("global_load_dwordx4 v[0:3], v[2:3], off");
  for (unsigned i = 0; i < 64; i++)
    for (unsigned k = 0; k < 4; k++) EXPECT_EQ(b.v(k)[i], i * 4 + k);
}

TEST(GlobalLoad, SmallTypesAreExtended) {
  MemoryBench b;
  auto data = b.allocate<u32>(64);
  data[0] = 0x12348091;
  b.point(2, data.va, 0);
  auto load = [&](const char *name) {
    b.set_v(1, 0xdddddddd);
    b.run(std::string(name) + " v1, v[2:3], off");
    return b.v(1)[5];
  };
  EXPECT_EQ(load("global_load_ubyte"), 0x91u);
  EXPECT_EQ(load("global_load_sbyte"), 0xffffff91u);
  EXPECT_EQ(load("global_load_ushort"), 0x8091u);
  EXPECT_EQ(load("global_load_sshort"), 0xffff8091u);
}

// What a 16-bit load leaves in a register that held 0xdddddddd: the other half is cleared on cards
// with SRAM ECC, which write whole registers, and kept on the others.
u32 low_half(const MemoryBench &b, u32 v) { return b.wave.arch->sram_ecc ? v : 0xdddd0000 | v; }
u32 high_half(const MemoryBench &b, u32 v) {
  return b.wave.arch->sram_ecc ? v << 16 : v << 16 | 0xdddd;
}

TEST(GlobalLoad, WithSramEccSixteenBitLoadsClearTheOtherHalf) {
  EXPECT_TRUE(arch(Gfx::gfx90a).sram_ecc);
  EXPECT_TRUE(arch(Gfx::gfx942).sram_ecc);
  EXPECT_FALSE(arch(Gfx::gfx1030).sram_ecc);
  EXPECT_FALSE(arch(Gfx::gfx1100).sram_ecc);
  for (const char *cpu : {"gfx90a", "gfx942", "gfx1030", "gfx1100"}) {
    MemoryBench b(cpu);
    auto data = b.allocate<u32>(64);
    for (u32 i = 0; i < 64; i++) data[i] = 0x80918091;
    auto load = [&](const std::string &line, uint64_t stride, uint64_t exec) {
      b.set_v(1, 0xdddddddd);
      b.point(2, data.va, stride);
      b.set_exec(exec);
      b.run(line);
      EXPECT_EQ(b.v(1)[4], exec >> 4 & 1 ? b.v(1)[5] : 0xdddddddd) << cpu << ' ' << line;
      b.set_exec(~0ull);
      return b.v(1)[5];
    };
    // Side by side, all at one place, and with lanes that take no part.
    for (const auto &[stride, exec] :
         {std::pair{2ull, ~0ull}, {0ull, ~0ull}, {2ull, 0x0full << 4 & ~0x10ull}})
      for (const std::string space : {"global", "flat"}) {
        const std::string to = space == "flat" ? " v1, v[2:3]" : " v1, v[2:3], off";
        auto half = [&](const char *name) {
          return load(space + "_load_" + name + to, stride, exec);
        };
        EXPECT_EQ(half("short_d16"), low_half(b, 0x8091)) << cpu;
        EXPECT_EQ(half("short_d16_hi"), high_half(b, 0x8091)) << cpu;
        EXPECT_EQ(half("ubyte_d16") & ~0x11u, low_half(b, 0x80)) << cpu; // 0x80 or 0x91
        EXPECT_EQ(half("ubyte_d16_hi") & ~0x110000u, high_half(b, 0x80)) << cpu;
        EXPECT_EQ(half("sbyte_d16") & ~0x11u, low_half(b, 0xff80)) << cpu;
        EXPECT_EQ(half("sbyte_d16_hi") & ~0x110000u, high_half(b, 0xff80)) << cpu;
      }
    for (unsigned lane = 0; lane < b.wave.lanes; lane++)
      *reinterpret_cast<u32 *>(b.private_byte(lane, 0)) = 0x1234;
    b.set_v(4, 0);
    EXPECT_EQ(load("scratch_load_short_d16 v1, v4, off", 0, ~0ull), low_half(b, 0x1234)) << cpu;
    EXPECT_EQ(load("scratch_load_short_d16_hi v1, v4, off", 0, ~0ull), high_half(b, 0x1234)) << cpu;
  }
}

TEST(GlobalLoad, InactiveLanesKeepTheirRegisterAndTouchNoMemory) {
  MemoryBench b;
  auto data = b.allocate<u32>(4);
  data[0] = 7;
  b.point(2, data.va, 0x10000); // only lane 0 is mapped
  b.set_v(1, 99);
  b.set_exec(1);
  b.run("global_load_dword v1, v[2:3], off");
  EXPECT_EQ(b.v(1)[0], 7u);
  EXPECT_EQ(b.v(1)[1], 99u);
  EXPECT_EQ(b.stats.global_bytes_read, 4u);
}

TEST(GlobalLoad, UnalignedAddressesAreLegal) {
  MemoryBench b;
  auto data = b.allocate<u8>(1024);
  for (unsigned i = 0; i < 1024; i++) data[i] = static_cast<u8>(i);
  b.point(2, data.va + 1, 5);
  b.run("global_load_dwordx2 v[4:5], v[2:3], off");
  for (unsigned i = 0; i < 64; i++)
    for (unsigned k = 0; k < 8; k++)
      EXPECT_EQ(b.v(4 + k / 4)[i] >> 8 * (k % 4) & 0xff, (1 + 5 * i + k) & 0xff) << "lane " << i;
}

TEST(GlobalLoad, NeighbouringLanesMayCrossA4GiBBoundary) {
  for (const char *cpu : {"gfx90a", "gfx1030"}) {
    MemoryBench b(cpu);
    std::vector<u32> words(64);
    for (u32 i = 0; i < 64; i++) words[i] = i + 1;
    b.map(0x2ffffffc0, words.data(), 256);
    b.point(2, 0x2ffffffc0, 4); // lane 16 begins the next 4 GiB
    b.run("global_load_dword v1, v[2:3], off");
    for (unsigned i = 0; i < b.wave.lanes; i++) EXPECT_EQ(b.v(1)[i], i + 1) << cpu << " lane " << i;
  }
}

TEST(GlobalLoad, InactiveNeighboursMayBeOutsideOfMemory) {
  MemoryBench b;
  auto data = b.allocate<u32>(16);
  for (u32 i = 0; i < 16; i++) data[i] = 50 + i;
  b.point(2, data.va - 64, 4); // lanes 16 to 31 are inside
  b.set_v(1, 7);
  b.set_exec(0xffff0000);
  b.run("global_load_dword v1, v[2:3], off");
  for (unsigned i = 0; i < 64; i++)
    EXPECT_EQ(b.v(1)[i], i >= 16 && i < 32 ? 50 + i - 16 : 7) << "lane " << i;
  b.set_v(4, 3);
  b.set_exec(0x00550000);
  b.run("global_store_dword v[2:3], v4, off");
  EXPECT_EQ(data[0], 3u);
  EXPECT_EQ(data[1], 51u);
  EXPECT_EQ(data[6], 3u);
}

TEST(GlobalLoad, AlmostNeighbouringLanesAreNotTakenForNeighbours) {
  MemoryBench b;
  auto data = b.allocate<u32>(256);
  for (u32 i = 0; i < 256; i++) data[i] = i;
  for (unsigned odd : {0u, 1u, 31u, 32u, 63u}) {
    b.point(2, data.va, 4);
    b.set_lane64(2, odd, data.va + 4 * 200);
    b.run("global_load_dword v1, v[2:3], off");
    for (unsigned i = 0; i < 64; i++)
      EXPECT_EQ(b.v(1)[i], i == odd ? 200 : i) << "odd lane " << odd;
    b.set_exec(0x8000000180000003);
    b.run("global_load_dword v1, v[2:3], off");
    EXPECT_EQ(b.v(1)[odd],
              odd == 0 || odd == 1 || odd == 31 || odd == 32 || odd == 63 ? 200u : odd);
    b.set_exec(~0ull);
  }
}

TEST(GlobalLoad, LanesMayLieInDifferentRegions) {
  MemoryBench b;
  auto even = b.allocate<u32>(64), odd = b.allocate<u32>(64);
  for (u32 i = 0; i < 64; i++) even[i] = 100 + i, odd[i] = 200 + i;
  for (unsigned i = 0; i < 64; i++) b.set_lane64(2, i, (i % 2 ? odd.va : even.va) + 4 * i);
  b.run("global_load_dword v1, v[2:3], off");
  for (unsigned i = 0; i < 64; i++) EXPECT_EQ(b.v(1)[i], (i % 2 ? 200u : 100u) + i);
}

TEST(GlobalLoad, AnAccessMayStraddleTwoRegions) {
  MemoryBench b;
  u32 low[4] = {1, 2, 3, 4}, high[4] = {5, 6, 7, 8};
  b.map(0x10000, low, sizeof low);
  b.map(0x10010, high, sizeof high);
  b.set_exec(1);
  b.set_lane64(2, 0, 0x10008);
  b.run("global_load_dwordx4 v[4:7], v[2:3], off");
  for (unsigned k = 0; k < 4; k++) EXPECT_EQ(b.v(4 + k)[0], 3 + k);
  b.run("global_store_dwordx4 v[2:3], v[4:7], off");
  EXPECT_EQ(high[1], 6u);
}

TEST(GlobalAddress, OffsetIsSigned) {
  MemoryBench b;
  auto data = b.allocate<u32>(16);
  for (u32 i = 0; i < 16; i++) data[i] = i;
  b.point(2, data.va + 32, 0);
  b.run("global_load_dword v1, v[2:3], off offset:-4");
  EXPECT_EQ(b.v(1)[0], 7u);
  b.run("global_load_dword v1, v[2:3], off offset:8");
  EXPECT_EQ(b.v(1)[0], 10u);
}

TEST(GlobalAddress, ScalarBaseTakesA32BitUnsignedVectorOffset) {
  MemoryBench b;
  // Offsets above 2^31 must not be taken as negative.
  u32 word = 0xabcd;
  b.map(0x180000000, &word, 4);
  b.set_exec(1);
  b.set_s64(4, 0x100000000);
  b.set_v(2, 0x80000000);
  b.run("global_load_dword v1, v2, s[4:5]");
  EXPECT_EQ(b.v(1)[0], 0xabcdu);
}

TEST(GlobalAddress, ByLaneNumber) {
  MemoryBench b("gfx1030");
  auto data = b.allocate<u32>(64);
  for (u32 i = 0; i < 64; i++) data[i] = i * i;
  b.set_s64(4, data.va);
  b.run("global_load_dword_addtid v1, s[4:5] offset:16");
  for (unsigned i = 0; i < 32; i++) EXPECT_EQ(b.v(1)[i], (i + 4) * (i + 4));
}

TEST(GlobalStore, WritesTheNamedPartOfTheRegister) {
  MemoryBench b;
  auto data = b.allocate<u32>(64);
  b.point(2, data.va, 4);
  b.set_v(1, 0x11223344);
  auto stored = [&](const char *name) {
    data[9] = 0xffffffff;
    b.run(std::string(name) + " v[2:3], v1, off");
    return data[9];
  };
  EXPECT_EQ(stored("global_store_dword"), 0x11223344u);
  EXPECT_EQ(stored("global_store_byte"), 0xffffff44u);
  EXPECT_EQ(stored("global_store_byte_d16_hi"), 0xffffff22u);
  EXPECT_EQ(stored("global_store_short"), 0xffff3344u);
  EXPECT_EQ(stored("global_store_short_d16_hi"), 0xffff1122u);
}

TEST(GlobalStore, AllWidthsScatteredAndContiguous) {
  for (unsigned words = 1; words <= 4; words++)
    for (unsigned gap : {0u, 8u}) {
      MemoryBench b;
      auto data = b.allocate<u32>(512);
      const unsigned step = words + gap / 4;
      b.point(2, data.va, step * 4);
      for (unsigned k = 0; k < words; k++) b.fill(8 + k, [&](unsigned i) { return i * 16 + k; });
      b.run(words == 1 ? std::string("global_store_dword v[2:3], v8, off")
                       : "global_store_dwordx" + std::to_string(words) +
                             " v[2:3], v[8:" + std::to_string(7 + words) + "], off");
      for (unsigned i = 0; i < 64; i++)
        for (unsigned k = 0; k < words; k++) EXPECT_EQ(data[i * step + k], i * 16 + k);
    }
}

TEST(GlobalStore, WhereLanesCollideTheHighestWins) {
  MemoryBench b;
  auto data = b.allocate<u32>(4);
  b.point(2, data.va, 0);
  b.fill(1, [](unsigned i) { return i; });
  b.set_exec(0xff);
  b.run("global_store_dword v[2:3], v1, off");
  EXPECT_EQ(data[0], 7u);
}

TEST(GlobalStore, AccumulatorsAreDataToo) {
  MemoryBench b;
  auto data = b.allocate<u32>(64);
  b.point(2, data.va, 4);
  for (unsigned i = 0; i < 64; i++) b.a(6)[i] = 5 * i;
  b.run("global_store_dword v[2:3], a6, off");
  EXPECT_EQ(data[11], 55u);
  b.run("global_load_dword a7, v[2:3], off");
  EXPECT_EQ(b.a(7)[12], 60u);
}

TEST(Fault, NamesTheLowestActiveLaneThatCannotGoOn) {
  MemoryBench b;
  auto data = b.allocate<u32>(16);
  b.point(2, data.va, 4); // lanes 16 and up are beyond the end
  const MemoryFault read = b.fault_of("global_load_dword v1, v[2:3], off");
  EXPECT_EQ(read.address, data.va + 64);
  EXPECT_FALSE(read.write);
  b.set_exec(~0ull << 20);
  const MemoryFault write = b.fault_of("global_store_dword v[2:3], v1, off");
  EXPECT_EQ(write.address, data.va + 80);
  EXPECT_TRUE(write.write);
}

TEST(Fault, ReadOnlyMemoryMayBeReadButNotWritten) {
  MemoryBench b;
  auto data = b.allocate<u32>(64, false);
  b.point(2, data.va, 4);
  EXPECT_EQ(b.fault_of("global_load_dword v1, v[2:3], off").address, 0u);
  EXPECT_EQ(b.fault_of("global_store_dword v[2:3], v1, off").address, data.va);
  EXPECT_EQ(b.fault_of("global_atomic_add v[2:3], v1, off").address, data.va);
}

TEST(Fault, GlobalInstructionsDoNotReachTheApertures) {
  MemoryBench b;
  b.point(2, u64{shared_aperture_hi} << 32, 4);
  EXPECT_EQ(b.fault_of("global_load_dword v1, v[2:3], off").address, u64{shared_aperture_hi} << 32);
}

TEST(Flat, EachLaneGoesWhereItsAddressPoints) {
  MemoryBench b;
  auto data = b.allocate<u32>(64);
  for (u32 i = 0; i < 64; i++) {
    data[i] = 1000 + i;
    b.set_lds<u32>(4 * i, 2000 + i);
    const u32 value = 3000 + i;
    std::memcpy(b.private_byte(i, 8), &value, 4);
    const u64 places[] = {data.va + 4 * i, (u64{shared_aperture_hi} << 32) + 4 * i,
                          (u64{private_aperture_hi} << 32) + 8};
    b.set_lane64(2, i, places[i % 3]);
  }
  b.run("flat_load_dword v1, v[2:3]");
  for (unsigned i = 0; i < 64; i++) EXPECT_EQ(b.v(1)[i], 1000 * (i % 3 + 1) + i) << "lane " << i;
  EXPECT_EQ(b.stats.global_bytes_read, 22u * 4);
  EXPECT_EQ(b.stats.lds_bytes_read, 21u * 4);

  b.fill(4, [](unsigned i) { return 5 * i; });
  b.run("flat_store_dword v[2:3], v4");
  EXPECT_EQ(data[3], 15u);
  EXPECT_EQ(b.lds<u32>(4 * 4), 20u);
  EXPECT_EQ(b.private_word(5, 8), 25u);
}

TEST(Flat, AllLanesInLds) {
  MemoryBench b;
  for (u32 i = 0; i < 128; i++) b.set_lds<u32>(4 * i, 10 + i);
  b.point(2, (u64{shared_aperture_hi} << 32) + 32, 8);
  b.run("flat_load_dwordx2 v[4:5], v[2:3]");
  for (unsigned i = 0; i < 60; i++) {
    EXPECT_EQ(b.v(4)[i], 18 + 2 * i);
    EXPECT_EQ(b.v(5)[i], 19 + 2 * i);
  }
  b.fill(6, [](unsigned i) { return 1000 + i; });
  b.run("flat_store_dword v[2:3], v6");
  EXPECT_EQ(b.lds<u32>(32 + 8 * 5), 1005u);
  b.set_v(6, 1);
  b.run("flat_atomic_add v[2:3], v6");
  EXPECT_EQ(b.lds<u32>(32 + 8 * 5), 1006u);
  EXPECT_EQ(b.stats.lds_bytes_read, 64u * 8 + 64 * 4);
  EXPECT_EQ(b.stats.global_bytes_read, 0u);
}

TEST(Flat, LdsBeyondTheAllocationReadsZeroAndWritesNothing) {
  MemoryBench b;
  b.point(2, (u64{shared_aperture_hi} << 32) + MemoryBench::lds_bytes - 4, 0);
  b.set_lds<u32>(MemoryBench::lds_bytes - 4, 0x55667788);
  b.set_v(5, 77);
  b.run("flat_load_dwordx2 v[4:5], v[2:3]");
  EXPECT_EQ(b.v(4)[0], 0x55667788u);
  EXPECT_EQ(b.v(5)[0], 0u);
}

TEST(Flat, Gfx11UsesTheSameSemanticsUnderItsOwnNames) {
  MemoryBench b("gfx1100");
  auto data = b.allocate<u32>(64);
  for (u32 i = 0; i < 64; i++) data[i] = ~i;
  b.point(2, data.va, 4);
  b.run("flat_load_b32 v1, v[2:3] offset:4");
  for (unsigned i = 0; i < 32; i++) EXPECT_EQ(b.v(1)[i], ~(i + 1));
  b.run("global_store_b16 v[2:3], v1, off");
  EXPECT_EQ(data[0], 0xfffffffeu);
}

class Recorder : public WorkerObserver {
public:
  void access(const ObservedWave &, const ObservedAccess &a) override {
    pc = a.pc, exec = a.lanes, size = a.size, kind = a.kind, space = a.space;
    addresses.assign(a.address, a.address + 64);
    calls++;
  }
  void watch(Wave &w) { w.observer = this, w.observer_wants = kWantsAccesses; }

  uint64_t pc = 0, exec = 0;
  uint32_t size = 0;
  AccessKind kind{};
  AccessSpace space{};
  std::vector<uint64_t> addresses;
  int calls = 0;
};

TEST(Observer, SeesAddressesExecSizeAndKind) {
  MemoryBench b;
  Recorder seen;
  seen.watch(b.wave);
  auto data = b.allocate<u32>(256);
  b.point(2, data.va, 8);
  b.set_exec(0xf0f0);
  b.run("global_store_dwordx2 v[2:3], v[4:5], off");
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.exec, 0xf0f0u);
  EXPECT_EQ(seen.size, 8u);
  EXPECT_EQ(seen.kind, AccessKind::store);
  EXPECT_EQ(seen.space, AccessSpace::global);
  ASSERT_EQ(seen.addresses.size(), 64u);
  EXPECT_EQ(seen.addresses[5], data.va + 40);

  b.fill(6, [](unsigned i) { return 4 * i; });
  b.run("ds_read_b32 v7, v6 offset:16");
  EXPECT_EQ(seen.space, AccessSpace::lds);
  EXPECT_EQ(seen.addresses[4], 32u);
  b.run("global_atomic_add v[2:3], v4, off");
  EXPECT_EQ(seen.kind, AccessKind::atomic);
}

TEST(Observer, DoesNotChangeResults) {
  for (const char *line :
       {"global_load_dwordx2 v[4:5], v[2:3], off", "flat_load_dwordx2 v[4:5], v[2:3]"})
    for (u64 exec : {~0ull, 0x5555ull}) {
      u32 results[2][64];
      for (bool observed : {false, true}) {
        MemoryBench b;
        Recorder seen;
        if (observed) seen.watch(b.wave);
        auto data = b.allocate<u32>(256);
        for (u32 i = 0; i < 256; i++) data[i] = i * i;
        b.point(2, data.va, 8);
        b.set_exec(exec);
        b.run(line);
        std::copy_n(b.v(5), 64, results[observed]);
        EXPECT_EQ(seen.calls, observed);
      }
      EXPECT_TRUE(std::equal(results[0], results[0] + 64, results[1])) << line;
    }
}

TEST(Stats, BytesAreCountedPerActiveLane) {
  MemoryBench b;
  auto data = b.allocate<u32>(256);
  b.point(2, data.va, 16);
  b.set_exec(0x7);
  b.run("global_load_dwordx4 v[4:7], v[2:3], off");
  b.run("global_store_byte v[2:3], v4, off");
  b.run("global_atomic_add_x2 v[2:3], v[4:5], off");
  EXPECT_EQ(b.stats.global_bytes_read, 3u * 16 + 3 * 8);
  EXPECT_EQ(b.stats.global_bytes_written, 3u + 3 * 8);
  b.set_v(1, 0);
  b.run("ds_write2_b64 v1, v[4:5], v[6:7] offset0:0 offset1:1");
  EXPECT_EQ(b.stats.lds_bytes_written, 3u * 16);
  EXPECT_EQ(b.stats.lds_bytes_read, 0u);
}

} // namespace
} // namespace fade::sim
