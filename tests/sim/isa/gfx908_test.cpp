// gfx908 (MI100): accumulators are a file of their own, which matrix instructions add to and
// v_accvgpr_read and v_accvgpr_write reach; much of gfx90a is missing.
#include "wave_bench.h"

#include "semantics/opcodes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace fade::sim::gfx908 {
namespace {

struct Name {
  const char *name;
  unsigned operand, result; // registers
};
const Name names[] = {
    {"v_mfma_f32_32x32x1f32", 1, 32},  {"v_mfma_f32_16x16x1f32", 1, 16},
    {"v_mfma_f32_4x4x1f32", 1, 4},     {"v_mfma_f32_32x32x2f32", 1, 16},
    {"v_mfma_f32_16x16x4f32", 1, 4},   {"v_mfma_f32_32x32x4f16", 2, 32},
    {"v_mfma_f32_16x16x4f16", 2, 16},  {"v_mfma_f32_4x4x4f16", 2, 4},
    {"v_mfma_f32_32x32x8f16", 2, 16},  {"v_mfma_f32_16x16x16f16", 2, 4},
    {"v_mfma_i32_32x32x4i8", 1, 32},   {"v_mfma_i32_16x16x4i8", 1, 16},
    {"v_mfma_i32_4x4x4i8", 1, 4},      {"v_mfma_i32_32x32x8i8", 1, 16},
    {"v_mfma_i32_16x16x16i8", 1, 4},   {"v_mfma_f32_32x32x2bf16", 1, 32},
    {"v_mfma_f32_16x16x2bf16", 1, 16}, {"v_mfma_f32_4x4x2bf16", 1, 4},
    {"v_mfma_f32_32x32x4bf16", 1, 16}, {"v_mfma_f32_16x16x8bf16", 1, 4},
};
std::string range(char file, unsigned first, unsigned count) {
  if (count == 1) return file + std::to_string(first);
  return file + ("[" + std::to_string(first)) + ":" + std::to_string(first + count - 1) + "]";
}

// The products are gfx90a's, whose own tests compare with a triple loop; the file is another one.
TEST(Gfx908, MatricesAreAddedToAccumulatorsOnly) {
  for (const Name &n : names) {
    WaveBench own("gfx908"), other("gfx90a");
    std::mt19937 random(5);
    for (WaveBench *b : {&own, &other}) {
      random.seed(5);
      for (unsigned r = 0; r < 8; r++)
        for (unsigned lane = 0; lane < 64; lane++) {
          // Ones and twos in all types, in the places where they are ones and twos in one.
          const u32 word = std::strstr(n.name, "bf16")  ? (random() % 2 ? 0x3f804000 : 0x40003f80)
                           : std::strstr(n.name, "f16") ? (random() % 2 ? 0x3c004000 : 0x40003c00)
                           : std::strstr(n.name, "i8")  ? static_cast<u32>(random())
                                                        : (random() % 2 ? 0x3f800000 : 0x40000000);
          b->v(r)[lane] = word, b->a(100 + r)[lane] = word;
        }
      for (unsigned r = 0; r < 32; r++)
        for (unsigned lane = 0; lane < 64; lane++)
          b->a(r)[lane] = std::strstr(n.name, "i8") ? 7 : 0x40e00000;
    }
    const std::string c = range('a', 0, n.result);
    const std::string line = std::string(n.name) + " " + range('a', 40, n.result) + ", " +
                             range('v', 0, n.operand) + ", " + range('a', 104, n.operand) + ", " +
                             c;
    own.run(line), other.run(line);
    bool differs = false;
    for (unsigned r = 0; r < n.result; r++)
      for (unsigned lane = 0; lane < 64; lane++) {
        ASSERT_EQ(own.a(40 + r)[lane], other.a(40 + r)[lane]) << n.name << " " << r << " " << lane;
        ASSERT_EQ(own.v(40 + r)[lane], 0u) << n.name;
        differs |= own.a(40 + r)[lane] != 0x40e00000 && own.a(40 + r)[lane] != 7;
      }
    EXPECT_TRUE(differs) << n.name;
  }
}

TEST(Gfx908, DenormalHalvesAreMultiplied) {
  WaveBench b("gfx908");
  b.set_v(0, 0x0001), b.set_v(2, 0x3c00); // 2^-24 and 1, and zeros
  b.run("v_mfma_f32_16x16x16f16 a[0:3], v[0:1], v[2:3], a[4:7]");
  EXPECT_EQ(as_f32(b.a(0)[0]), 4 * 0x1p-24f); // gfx90a takes them for 0
}

TEST(Gfx908, MovesBetweenTheFiles) {
  WaveBench b("gfx908");
  b.set_v(2, 17);
  b.run("v_accvgpr_write_b32 a3, v2");
  EXPECT_EQ(b.a(3)[5], 17u);
  b.run("v_accvgpr_write_b32 a4, 1.0");
  EXPECT_EQ(b.a(4)[5], 0x3f800000u);
  b.run("v_accvgpr_read_b32 v7, a3");
  EXPECT_EQ(b.v(7)[63], 17u);
}

// Words of gfx90a that gfx908 does not have.
TEST(Gfx908, DoesNotKnowWhatCameWithGfx90a) {
  const uint32_t words[][2] = {
      {0xd3b04000, 0x1c0a0702}, // v_pk_fma_f32
      {0xd3ee0000, 0x04121102}, // v_mfma_f64_16x16x4f64
      {0xdd3c8000, 0x007f0200}, // global_atomic_add_f64
      {0xd3e30000, 0x04021102}, // v_mfma_f32_32x32x4bf16_1k
  };
  Decoder decoder(*find_arch("gfx908"), 64, opcodes()), later(*find_arch("gfx90a"), 64, opcodes());
  for (const auto &w : words) {
    std::vector<uint8_t> bytes(sizeof w);
    std::memcpy(bytes.data(), w, sizeof w);
    EXPECT_FALSE(decoder.decode(bytes, 0x1000).valid) << std::hex << w[0];
    EXPECT_TRUE(later.decode(bytes, 0x1000).known) << std::hex << w[0];
  }
}

} // namespace
} // namespace fade::sim::gfx908
