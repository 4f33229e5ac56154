// Images: texels, samplers, and the layout of linear ones.
#include "memory_bench.h"

#include <gtest/gtest.h>

namespace fade::sim {
namespace {

constexpr u32 same_channels = 4 | 5 << 3 | 6 << 6 | 7 << 9;

struct Texture {
  u64 base;
  u32 width, height = 1, depth = 1, pitch = 0;
  u32 type = 9;             // 2D
  u32 data = 4, number = 7; // gfx9: 32 bits, float
  u32 format = 22;          // gfx10: the same
  u32 tiling = 0;
  u32 select = same_channels;
};

// T# in s[0:7].
void set_texture(MemoryBench &b, const Texture &t) {
  const u32 pitch = (t.pitch ? t.pitch : t.width) - 1, width = t.width - 1;
  b.s(0) = static_cast<u32>(t.base >> 8);
  b.s(3) = t.select | t.tiling << 20 | t.type << 28;
  if (b.wave.arch->gfx9) {
    b.s(1) = static_cast<u32>(t.base >> 40) | t.data << 20 | t.number << 26;
    b.s(2) = width | (t.height - 1) << 14;
    b.s(4) = (t.depth - 1) | pitch << 13;
  } else {
    b.s(1) = static_cast<u32>(t.base >> 40) | t.format << 20 | width << 30;
    b.s(2) = width >> 2 | (t.height - 1) << 14;
    b.s(4) = t.type == 9 || t.type == 8 ? pitch : t.depth - 1;
  }
}

// S# in s[8:11].
void set_sampler(MemoryBench &b, u32 clamp, bool linear, bool unnormalized = false,
                 u32 border = 0) {
  b.s(8) = clamp | clamp << 3 | clamp << 6 | (unnormalized ? 1u << 15 : 0);
  b.s(10) = linear ? 1u << 20 | 1u << 22 : 0;
  b.s(11) = border << 30;
}

struct ImageBench : MemoryBench {
  explicit ImageBench(const char *cpu = "gfx90a")
      : MemoryBench(cpu), texels(allocate<float>(1024)) {
    for (u32 i = 0; i < 1024; i++) texels[i] = static_cast<float>(i);
  }
  Buffer<float> texels;
  float result(unsigned reg = 16, unsigned lane = 0) { return as_f32(v(reg)[lane]); }
};

TEST(Image, LoadsTheTexelAtRowAndColumnOfALinearImage) {
  for (const char *cpu : {"gfx90a", "gfx1030"}) {
    ImageBench b(cpu);
    set_texture(b, {.base = b.texels.va, .width = 10, .height = 8, .pitch = 64});
    b.fill(4, [](unsigned i) { return i % 16; });
    b.set_v(5, 3);
    const std::string dim = b.wave.arch->gfx9 ? "" : " dim:SQ_RSRC_IMG_2D";
    b.run("image_load v16, v[4:5], s[0:7] dmask:0x1" + dim + " unorm");
    for (unsigned i = 0; i < 16; i++)
      EXPECT_EQ(b.result(16, i), i < 10 ? 3 * 64 + i : 0) << cpu << " column " << i;
  }
}

TEST(Image, StoresTexelsAndDropsThoseOutside) {
  ImageBench b;
  set_texture(b, {.base = b.texels.va, .width = 4, .height = 4, .pitch = 64});
  b.fill(4, [](unsigned i) { return i; });
  b.set_v(5, 2);
  b.set_v(16, bits(-5.0f));
  b.run("image_store v16, v[4:5], s[0:7] dmask:0x1 unorm");
  EXPECT_EQ(b.texels[2 * 64 + 3], -5.0f);
  EXPECT_EQ(b.texels[2 * 64 + 4], 132.0f);
}

TEST(Image, ComponentsFollowMaskAndSelection) {
  ImageBench b;
  auto pixels = b.allocate<u32>(4);
  pixels[0] = 0x80ff0033;
  set_texture(b, {.base = pixels.va, .width = 1, .data = 10, .number = 0}); // 8_8_8_8 unorm
  b.set_v(4, 0), b.set_v(5, 0);
  b.run("image_load v[16:17], v[4:5], s[0:7] dmask:0x5 unorm"); // x and z
  EXPECT_FLOAT_EQ(b.result(16), 0.2f);
  EXPECT_EQ(b.result(17), 1.0f);
  set_texture(b, {.base = pixels.va,
                  .width = 1,
                  .data = 10,
                  .number = 4,
                  .select = 6 | 1 << 3 | 0 << 6 | 4 << 9});
  b.run("image_load v[16:19], v[4:5], s[0:7] dmask:0xf unorm"); // uint: z, one, zero, x
  EXPECT_EQ(b.v(16)[0], 0xffu);
  EXPECT_EQ(b.v(17)[0], 1u);
  EXPECT_EQ(b.v(18)[0], 0u);
  EXPECT_EQ(b.v(19)[0], 0x33u);
}

TEST(Image, WhatIsStoredInATiledImageIsLoadedAgain) {
  ImageBench b;
  set_texture(b, {.base = b.texels.va, .width = 7, .height = 5, .tiling = 9});
  b.fill(4, [](unsigned i) { return i % 7; });
  b.fill(5, [](unsigned i) { return i / 7; });
  b.fill(16, [](unsigned i) { return bits(100.0f + static_cast<float>(i)); });
  b.set_exec((1ull << 35) - 1);
  b.run("image_store v16, v[4:5], s[0:7] dmask:0x1 unorm");
  b.set_v(17, 0);
  b.run("image_load v17, v[4:5], s[0:7] dmask:0x1 unorm");
  for (unsigned i = 0; i < 35; i++) EXPECT_EQ(b.result(17, i), 100.0f + static_cast<float>(i));
}

TEST(Image, NearestSampleTakesTheTexelThatHoldsThePoint) {
  ImageBench b;
  set_texture(b, {.base = b.texels.va, .width = 8, .height = 4, .pitch = 64});
  set_sampler(b, 2, false); // clamp to edge
  b.set_v(4, {bits(0.0f), bits(0.124f), bits(0.126f), bits(0.99f), bits(1.5f), bits(-3.0f)});
  b.set_v(5, bits(0.6f)); // row 2
  b.run("image_sample v16, v[4:5], s[0:7], s[8:11] dmask:0x1");
  const float expected[] = {0, 0, 1, 7, 7, 0};
  for (unsigned i = 0; i < 6; i++) EXPECT_EQ(b.result(16, i), 128 + expected[i]) << "lane " << i;
}

TEST(Image, LinearSampleMixesFourNeighbours) {
  ImageBench b;
  set_texture(b, {.base = b.texels.va, .width = 8, .height = 4, .pitch = 64});
  set_sampler(b, 2, true, true);
  // Between columns 2 and 3 (a quarter of the way) and rows 1 and 2 (half way).
  b.set_v(4, bits(2.75f)), b.set_v(5, bits(2.0f));
  b.run("image_sample v16, v[4:5], s[0:7], s[8:11] dmask:0x1");
  EXPECT_EQ(b.result(), 1.5f * 64 + 2.25f);
  b.set_v(4, bits(0.5f)), b.set_v(5, bits(0.5f)); // the middle of the first texel
  b.run("image_sample v16, v[4:5], s[0:7], s[8:11] dmask:0x1");
  EXPECT_EQ(b.result(), 0.0f);
}

float sampled(u32 clamp, float x, bool linear = false, u32 border = 0) {
  ImageBench b;
  set_texture(b, {.base = b.texels.va + 1024, .width = 4, .type = 8}); // texels 256, 257, 258, 259
  set_sampler(b, clamp, linear, false, border);
  b.set_v(4, bits(x));
  b.run("image_sample v16, v4, s[0:7], s[8:11] dmask:0x1");
  return b.result();
}

TEST(Image, ClampModes) {
  EXPECT_EQ(sampled(0, 1.3f), 257); // wrap
  EXPECT_EQ(sampled(0, -0.1f), 259);
  EXPECT_EQ(sampled(1, 1.1f), 259); // mirror
  EXPECT_EQ(sampled(1, -0.3f), 257);
  EXPECT_EQ(sampled(1, 2.1f), 256);
  EXPECT_EQ(sampled(2, 5.0f), 259); // edge
  EXPECT_EQ(sampled(6, 1.1f), 0);   // border
  EXPECT_EQ(sampled(6, 0.6f), 258);
  EXPECT_EQ(sampled(6, 1.0f, true), 259.0f / 2); // half texel, half border
  EXPECT_EQ(sampled(0, 0.0f, true), (259.0f + 256.0f) / 2);
  EXPECT_EQ(sampled(6, 1.1f, false, 2), 1); // white
}

TEST(Image, ThreeDimensionsFilterInAll) {
  ImageBench b("gfx1030");
  set_texture(b,
              {.base = b.texels.va, .width = 4, .height = 4, .depth = 4, .type = 10, .tiling = 1});
  set_sampler(b, 2, true, true);
  b.set_v(4, bits(2.0f)), b.set_v(5, bits(2.0f)), b.set_v(6, bits(2.0f));
  b.run("image_sample_lz v16, v[4:6], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_3D");
  EXPECT_EQ(b.result(), 1.5f * 16 + 1.5f * 4 + 1.5f);
}

TEST(Image, AddressRegistersMayBeNamedOneByOne) {
  for (const char *cpu : {"gfx1030", "gfx1100"}) {
    ImageBench b(cpu);
    set_texture(
        b, {.base = b.texels.va, .width = 4, .height = 4, .depth = 4, .type = 10, .tiling = 1});
    b.set_v(4, 1), b.set_v(9, 2), b.set_v(7, 3);
    b.run("image_load v16, [v4, v9, v7], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_3D unorm");
    EXPECT_EQ(b.result(), 3.0f * 16 + 2 * 4 + 1) << cpu;
  }
}

TEST(Image, SixteenBitAddressesAndData) {
  ImageBench b("gfx1030");
  set_texture(b, {.base = b.texels.va, .width = 64, .height = 4});
  b.set_v(4, 3 | 2 << 16); // column 3, row 2
  b.run("image_load v16, v4, s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm a16");
  EXPECT_EQ(b.result(), 131.0f);
  b.run("image_load v16, v4, s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm a16 d16");
  EXPECT_EQ(b.v(16)[0] & 0xffff, 0x5818u); // 131 as f16
}

TEST(Image, WithSramEccAHalfWithoutAComponentIsCleared) {
  for (const char *cpu : {"gfx90a", "gfx1030"}) {
    ImageBench b(cpu);
    set_texture(b, {.base = b.texels.va, .width = 64, .height = 4});
    b.set_v(4, 3), b.set_v(5, 2);
    b.set_v(16, 0xdddddddd);
    const std::string dim = b.wave.arch->gfx9 ? "" : " dim:SQ_RSRC_IMG_2D";
    b.run("image_load v16, v[4:5], s[0:7] dmask:0x1" + dim + " unorm d16");
    EXPECT_EQ(b.v(16)[0], b.wave.arch->gfx9 ? 0x5818u : 0xdddd5818u) << cpu;
  }
}

TEST(Image, LayersAreRoundedAndClamped) {
  ImageBench b("gfx1030");
  set_texture(b,
              {.base = b.texels.va, .width = 4, .height = 4, .depth = 3, .type = 13, .tiling = 1});
  set_sampler(b, 2, true, true);
  b.set_v(4, bits(0.5f)), b.set_v(5, bits(0.5f));
  b.set_v(6, {bits(1.4f), bits(1.6f), bits(9.0f), bits(-1.0f)});
  b.run("image_sample_lz v16, v[4:6], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D_ARRAY");
  const float layers[] = {1, 2, 2, 0};
  for (unsigned i = 0; i < 4; i++) EXPECT_EQ(b.result(16, i), 16 * layers[i]) << "lane " << i;
}

TEST(Image, GatherTakesOneComponentOfFourTexels) {
  ImageBench b("gfx1030");
  set_texture(b, {.base = b.texels.va, .width = 64, .height = 4});
  set_sampler(b, 2, true, true);
  b.set_v(4, bits(2.0f)), b.set_v(5, bits(1.0f)); // columns 1 and 2, rows 0 and 1
  b.run("image_gather4_lz v[16:19], v[4:5], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D");
  EXPECT_EQ(b.result(16), 65.0f);
  EXPECT_EQ(b.result(17), 66.0f);
  EXPECT_EQ(b.result(18), 2.0f);
  EXPECT_EQ(b.result(19), 1.0f);
}

TEST(Image, AtomicsAndSize) {
  ImageBench b;
  auto cells = b.allocate<u32>(64);
  set_texture(b, {.base = cells.va, .width = 8, .height = 4, .number = 4});
  b.set_v(4, 3), b.set_v(5, 1);
  b.set_v(16, 2);
  b.run("image_atomic_add v16, v[4:5], s[0:7] dmask:0x1 unorm glc");
  EXPECT_EQ(cells[8 + 3], 128u);
  EXPECT_EQ(b.v(16)[63], 126u);
  b.run("image_get_resinfo v[16:19], v4, s[0:7] dmask:0xf");
  EXPECT_EQ(b.v(16)[0], 8u);
  EXPECT_EQ(b.v(17)[0], 4u);
  EXPECT_EQ(b.v(18)[0], 1u);
}

TEST(Image, CubesAreRefused) {
  ImageBench b;
  set_texture(b, {.base = b.texels.va, .width = 8, .height = 8, .type = 11});
  EXPECT_THROW(b.run("image_sample v16, v[4:6], s[0:7], s[8:11] dmask:0x1"), IllegalInstruction);
}

TEST(Image, TexelsBeyondMappedMemoryFault) {
  ImageBench b;
  set_texture(b, {.base = b.texels.va, .width = 64, .height = 64});
  b.set_v(4, 0), b.set_v(5, 16);
  EXPECT_EQ(b.fault_of("image_load v16, v[4:5], s[0:7] dmask:0x1 unorm").address,
            b.texels.va + 4096);
}

} // namespace
} // namespace fade::sim
