// Matrix instructions against a plain triple loop, with AMD's published places of elements in
// registers and lanes.
#include "wave_bench.h"

#include "semantics/fp8.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace fade::sim {
namespace {

enum class Kind { f64, f32, xf32, f16, bf16, i8, fp8, bf8, u8, i4, u4 };

unsigned width_of(Kind k) {
  switch (k) {
  case Kind::f64: return 64;
  case Kind::f32:
  case Kind::xf32: return 32;
  case Kind::f16:
  case Kind::bf16: return 16;
  case Kind::i4:
  case Kind::u4: return 4;
  default: return 8;
  }
}
u64 encode(Kind k, int value) { // small integers, exact in every type
  switch (k) {
  case Kind::f64: return bits(static_cast<f64>(value));
  case Kind::f32:
  case Kind::xf32: return bits(static_cast<f32>(value));
  case Kind::f16: return to_f16(static_cast<f32>(value)).bits;
  case Kind::bf16: return to_bf16(static_cast<f32>(value)).bits;
  case Kind::fp8: return to_small_float<fp8>(static_cast<f32>(value), true, 0, false).bits;
  case Kind::bf8: return to_small_float<bf8>(static_cast<f32>(value), true, 0, false).bits;
  default: return static_cast<u64>(value) & ((1u << width_of(k)) - 1);
  }
}

struct Mfma {
  const char *cpu, *name;
  Kind a, b;
  unsigned m, k, blocks, a_registers; // a_registers: of A and of B
  bool is_integer() const { return a == Kind::i8; }
  bool is_double() const { return a == Kind::f64; }
};
void PrintTo(const Mfma &m, std::ostream *os) { *os << m.cpu << " " << m.name; }

// Registers of the accumulators, and the lane in them.
struct Place {
  unsigned reg, lane;
};
Place accumulator_place(const Mfma &t, unsigned block, unsigned i, unsigned j) {
  if (t.is_double())
    return t.m == 4 ? Place{0, 16 * i + 4 * block + j} : Place{2 * (i / 4), 16 * (i % 4) + j};
  if (t.m == 32) return {16 * block + 4 * (i / 8) + i % 4, 32 * (i / 4) % 64 + j};
  if (t.m == 16) return {4 * block + i % 4, 16 * (i / 4) + j};
  return {i, 4 * block + j};
}
// Lane of A[i][k] or B[k][i], and how manieth element of the lane it is.
Place operand_place(const Mfma &t, unsigned block, unsigned i, unsigned k) {
  if (t.is_double() && t.m == 4) return {0, 4 * block + 16 * k + i};
  const unsigned per_lane = t.a_registers * 32 / width_of(t.a);
  if (t.blocks > 1) return {k, t.m * block + i};
  return {k % per_lane, t.m * (k / per_lane) + i};
}

constexpr unsigned a_base = 0, b_base = 8, c_base = 32, d_base = 64;

class Matrices {
public:
  Matrices(const Mfma &t, u64 seed)
      : t_(t), a_(t.blocks * t.m * t.k), b_(a_), c_(t.blocks * t.m * t.m) {
    std::mt19937_64 random(seed);
    for (auto *v : {&a_, &b_})
      for (int &x : *v) x = static_cast<int>(random() % 7) - 3;
    for (int &x : c_) x = static_cast<int>(random() % 100) - 50;
  }
  int &a(unsigned block, unsigned i, unsigned k) { return a_[(block * t_.m + i) * t_.k + k]; }
  int &b(unsigned block, unsigned k, unsigned j) { return b_[(block * t_.m + j) * t_.k + k]; }
  int &c(unsigned block, unsigned i, unsigned j) { return c_[(block * t_.m + i) * t_.m + j]; }

  void store(WaveBench &w) {
    for (unsigned block = 0; block < t_.blocks; block++)
      for (unsigned i = 0; i < t_.m; i++) {
        for (unsigned k = 0; k < t_.k; k++) {
          const Place p = operand_place(t_, block, i, k);
          put(w, a_base, t_.a, p, encode(t_.a, a(block, i, k)));
          put(w, b_base, t_.b, p, encode(t_.b, b(block, k, i)));
        }
        for (unsigned j = 0; j < t_.m; j++) {
          const Place p = accumulator_place(t_, block, i, j);
          const int v = c(block, i, j);
          if (t_.is_integer())
            w.v(c_base + p.reg)[p.lane] = static_cast<u32>(v);
          else if (!t_.is_double())
            w.v(c_base + p.reg)[p.lane] = bits(static_cast<f32>(v));
          else {
            w.v(c_base + p.reg)[p.lane] = static_cast<u32>(bits(static_cast<f64>(v)));
            w.v(c_base + p.reg + 1)[p.lane] = static_cast<u32>(bits(static_cast<f64>(v)) >> 32);
          }
        }
      }
  }
  f64 result(WaveBench &w, unsigned block, unsigned i, unsigned j, unsigned base = d_base) const {
    const Place p = accumulator_place(t_, block, i, j);
    const u32 word = w.v(base + p.reg)[p.lane];
    if (t_.is_integer()) return static_cast<i32>(word);
    if (t_.is_double()) return as_f64(u64{w.v(base + p.reg + 1)[p.lane]} << 32 | word);
    return as_f32(word);
  }
  // A's and B's block may be replaced by another one (broadcasts).
  f64 expected(unsigned a_block, unsigned b_block, unsigned c_block, unsigned i, unsigned j,
               int c_factor = 1) {
    f64 sum = c_factor * c(c_block, i, j);
    for (unsigned k = 0; k < t_.k; k++) sum += a(a_block, i, k) * b(b_block, k, j);
    return sum;
  }

private:
  static void put(WaveBench &w, unsigned base, Kind kind, Place p, u64 value) {
    const unsigned width = width_of(kind);
    if (width == 64) {
      w.v(base)[p.lane] = static_cast<u32>(value),
      w.v(base + 1)[p.lane] = static_cast<u32>(value >> 32);
      return;
    }
    const unsigned at = p.reg * width;
    u32 &word = w.v(base + at / 32)[p.lane];
    word |= static_cast<u32>(value) << at % 32;
  }
  const Mfma &t_;
  std::vector<int> a_, b_, c_;
};

std::string range(unsigned base, unsigned count) {
  return count == 1 ? "v" + std::to_string(base)
                    : "v[" + std::to_string(base) + ":" + std::to_string(base + count - 1) + "]";
}
std::string line_for(const Mfma &t, const std::string &c = "", const std::string &modifiers = "") {
  const unsigned registers = t.m * t.m * t.blocks / 64 * (t.is_double() ? 2 : 1);
  return std::string(t.name) + " " + range(d_base, registers) + ", " +
         range(a_base, t.a_registers) + ", " + range(b_base, t.a_registers) + ", " +
         (c.empty() ? range(c_base, registers) : c) + modifiers;
}

class MatrixMultiply : public testing::TestWithParam<Mfma> {};

TEST_P(MatrixMultiply, EqualsTheTripleLoop) {
  const Mfma &t = GetParam();
  WaveBench w(t.cpu);
  Matrices m(t, 17);
  m.store(w);
  w.set_exec(1); // does not matter
  w.run(line_for(t));
  for (unsigned block = 0; block < t.blocks; block++)
    for (unsigned i = 0; i < t.m; i++)
      for (unsigned j = 0; j < t.m; j++)
        ASSERT_EQ(m.result(w, block, i, j), m.expected(block, block, block, i, j))
            << block << " " << i << " " << j;
}

// The manual forbids some of it, and assemblers refuse it; still no element may depend on which
// other one was computed first.
TEST_P(MatrixMultiply, ResultsMayLieWhereOperandsAre) {
  const Mfma &t = GetParam();
  for (const unsigned base : {c_base, c_base - 2, c_base + 2, a_base, b_base}) {
    WaveBench w(t.cpu);
    Matrices m(t, 19);
    m.store(w);
    const std::vector<uint8_t> code = Assembler(t.cpu, false).assemble(line_for(t));
    u32 words[2];
    ASSERT_EQ(code.size(), sizeof words);
    std::memcpy(words, code.data(), sizeof words);
    w.run({(words[0] & ~0xffu) | base, words[1]}); // the first byte is the destination
    for (unsigned block = 0; block < t.blocks; block++)
      for (unsigned i = 0; i < t.m; i++)
        for (unsigned j = 0; j < t.m; j++)
          ASSERT_EQ(m.result(w, block, i, j, base), m.expected(block, block, block, i, j))
              << "v" << base << ": " << block << " " << i << " " << j;
  }
}

TEST_P(MatrixMultiply, TakesAConstantForC) {
  const Mfma &t = GetParam();
  WaveBench w(t.cpu);
  Matrices m(t, 18);
  m.store(w);
  w.run(line_for(t, t.is_integer() ? "1" : "1.0"));
  ASSERT_EQ(m.result(w, 0, 1, 2), m.expected(0, 0, 0, 1, 2, 0) + 1);
}

constexpr Mfma instructions[] = {
    {"gfx90a", "v_mfma_f64_16x16x4f64", Kind::f64, Kind::f64, 16, 4, 1, 2},
    {"gfx90a", "v_mfma_f64_4x4x4f64", Kind::f64, Kind::f64, 4, 4, 4, 2},
    {"gfx90a", "v_mfma_f32_32x32x1f32", Kind::f32, Kind::f32, 32, 1, 2, 1},
    {"gfx90a", "v_mfma_f32_16x16x1f32", Kind::f32, Kind::f32, 16, 1, 4, 1},
    {"gfx90a", "v_mfma_f32_4x4x1f32", Kind::f32, Kind::f32, 4, 1, 16, 1},
    {"gfx90a", "v_mfma_f32_32x32x2f32", Kind::f32, Kind::f32, 32, 2, 1, 1},
    {"gfx90a", "v_mfma_f32_16x16x4f32", Kind::f32, Kind::f32, 16, 4, 1, 1},
    {"gfx90a", "v_mfma_f32_32x32x4f16", Kind::f16, Kind::f16, 32, 4, 2, 2},
    {"gfx90a", "v_mfma_f32_16x16x4f16", Kind::f16, Kind::f16, 16, 4, 4, 2},
    {"gfx90a", "v_mfma_f32_4x4x4f16", Kind::f16, Kind::f16, 4, 4, 16, 2},
    {"gfx90a", "v_mfma_f32_32x32x8f16", Kind::f16, Kind::f16, 32, 8, 1, 2},
    {"gfx90a", "v_mfma_f32_16x16x16f16", Kind::f16, Kind::f16, 16, 16, 1, 2},
    {"gfx90a", "v_mfma_f32_32x32x2bf16", Kind::bf16, Kind::bf16, 32, 2, 2, 1},
    {"gfx90a", "v_mfma_f32_16x16x2bf16", Kind::bf16, Kind::bf16, 16, 2, 4, 1},
    {"gfx90a", "v_mfma_f32_4x4x2bf16", Kind::bf16, Kind::bf16, 4, 2, 16, 1},
    {"gfx90a", "v_mfma_f32_32x32x4bf16", Kind::bf16, Kind::bf16, 32, 4, 1, 1},
    {"gfx90a", "v_mfma_f32_16x16x8bf16", Kind::bf16, Kind::bf16, 16, 8, 1, 1},
    {"gfx90a", "v_mfma_f32_32x32x4bf16_1k", Kind::bf16, Kind::bf16, 32, 4, 2, 2},
    {"gfx90a", "v_mfma_f32_16x16x4bf16_1k", Kind::bf16, Kind::bf16, 16, 4, 4, 2},
    {"gfx90a", "v_mfma_f32_4x4x4bf16_1k", Kind::bf16, Kind::bf16, 4, 4, 16, 2},
    {"gfx90a", "v_mfma_f32_32x32x8bf16_1k", Kind::bf16, Kind::bf16, 32, 8, 1, 2},
    {"gfx90a", "v_mfma_f32_16x16x16bf16_1k", Kind::bf16, Kind::bf16, 16, 16, 1, 2},
    {"gfx90a", "v_mfma_i32_32x32x4i8", Kind::i8, Kind::i8, 32, 4, 2, 1},
    {"gfx90a", "v_mfma_i32_16x16x4i8", Kind::i8, Kind::i8, 16, 4, 4, 1},
    {"gfx90a", "v_mfma_i32_4x4x4i8", Kind::i8, Kind::i8, 4, 4, 16, 1},
    {"gfx90a", "v_mfma_i32_32x32x8i8", Kind::i8, Kind::i8, 32, 8, 1, 1},
    {"gfx90a", "v_mfma_i32_16x16x16i8", Kind::i8, Kind::i8, 16, 16, 1, 1},
    {"gfx942", "v_mfma_f64_16x16x4_f64", Kind::f64, Kind::f64, 16, 4, 1, 2},
    {"gfx942", "v_mfma_f32_32x32x2_f32", Kind::f32, Kind::f32, 32, 2, 1, 1},
    {"gfx942", "v_mfma_f32_4x4x1_16b_f32", Kind::f32, Kind::f32, 4, 1, 16, 1},
    {"gfx942", "v_mfma_f32_16x16x16_f16", Kind::f16, Kind::f16, 16, 16, 1, 2},
    {"gfx942", "v_mfma_f32_32x32x8_bf16", Kind::bf16, Kind::bf16, 32, 8, 1, 2},
    {"gfx942", "v_mfma_f32_16x16x8_xf32", Kind::xf32, Kind::xf32, 16, 8, 1, 2},
    {"gfx942", "v_mfma_f32_32x32x4_xf32", Kind::xf32, Kind::xf32, 32, 4, 1, 2},
    {"gfx942", "v_mfma_i32_32x32x16_i8", Kind::i8, Kind::i8, 32, 16, 1, 2},
    {"gfx942", "v_mfma_i32_16x16x32_i8", Kind::i8, Kind::i8, 16, 32, 1, 2},
    {"gfx942", "v_mfma_f32_16x16x32_fp8_fp8", Kind::fp8, Kind::fp8, 16, 32, 1, 2},
    {"gfx942", "v_mfma_f32_16x16x32_fp8_bf8", Kind::fp8, Kind::bf8, 16, 32, 1, 2},
    {"gfx942", "v_mfma_f32_16x16x32_bf8_fp8", Kind::bf8, Kind::fp8, 16, 32, 1, 2},
    {"gfx942", "v_mfma_f32_32x32x16_bf8_bf8", Kind::bf8, Kind::bf8, 32, 16, 1, 2},
};
INSTANTIATE_TEST_SUITE_P(, MatrixMultiply, testing::ValuesIn(instructions), [](const auto &i) {
  return std::string(i.param.cpu) + "_" + i.param.name;
});

TEST(MatrixModifiers, BlocksOfAAreBroadcast) {
  const Mfma &t = instructions[4]; // 4x4x1f32, 16 blocks
  WaveBench w;
  Matrices m(t, 19);
  m.store(w);
  w.run(line_for(t, "", " cbsz:2 abid:1")); // in groups of four blocks, all take the second one's A
  for (unsigned block = 0; block < 16; block++)
    for (unsigned i = 0; i < 4; i++)
      for (unsigned j = 0; j < 4; j++)
        ASSERT_EQ(m.result(w, block, i, j), m.expected(block / 4 * 4 + 1, block, block, i, j))
            << block;
}

TEST(MatrixModifiers, NoMoreBlocksOfAAreBroadcastThanThereAre) {
  const auto one_block =
      std::find_if(std::begin(instructions), std::end(instructions),
                   [](auto &t) { return t.name == std::string("v_mfma_f32_32x32x8bf16_1k"); });
  WaveBench w;
  Matrices m(*one_block, 23);
  m.store(w);
  w.run(line_for(*one_block, "", " cbsz:3 abid:5"));
  for (unsigned i = 0; i < 32; i++)
    for (unsigned j = 0; j < 32; j++)
      ASSERT_EQ(m.result(w, 0, i, j), m.expected(0, 0, 0, i, j)) << i << ", " << j;
}

TEST(MatrixModifiers, LaneGroupsOfBAreBroadcastOrRotated) {
  const Mfma &t = instructions[4]; // four blocks in each group of 16 lanes
  const unsigned from[8][4] = {{0, 1, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}, {1, 2, 3, 0},
                               {0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};
  WaveBench w;
  Matrices m(t, 20);
  m.store(w);
  for (unsigned blgp = 0; blgp < 8; blgp++) {
    w.run(line_for(t, "", " blgp:" + std::to_string(blgp)));
    for (unsigned block = 0; block < 16; block++)
      ASSERT_EQ(m.result(w, block, 1, 2),
                m.expected(block, 4 * from[blgp][block / 4] + block % 4, block, 1, 2))
          << "blgp " << blgp << " block " << block;
  }
}

TEST(MatrixModifiers, DoublesAreNegatedInstead) {
  const Mfma &t = instructions[27]; // f64 on gfx942
  WaveBench w(t.cpu);
  Matrices m(t, 21);
  m.store(w);
  w.run(line_for(t, "", " neg:[1,0,1]"));
  ASSERT_EQ(m.result(w, 0, 3, 5), -m.expected(0, 0, 0, 3, 5));
  w.run(line_for(t, "", " neg:[0,1,0]"));
  ASSERT_EQ(m.result(w, 0, 3, 5), 2 * m.c(0, 3, 5) - m.expected(0, 0, 0, 3, 5));
}

TEST(MatrixModifiers, AccumulatorsAreRegistersOfTheirOwn) {
  const Mfma &t = instructions[6]; // 16x16x4f32
  WaveBench w;
  Matrices m(t, 22);
  m.store(w);
  for (unsigned r = 0; r < 4; r++)
    for (unsigned lane = 0; lane < 64; lane++) w.a(8 + r)[lane] = w.v(c_base + r)[lane];
  w.run("v_mfma_f32_16x16x4f32 a[8:11], v0, v8, a[8:11]");
  for (unsigned r = 0; r < 4; r++)
    for (unsigned lane = 0; lane < 64; lane++) w.v(d_base + r)[lane] = w.a(8 + r)[lane];
  for (unsigned i = 0; i < 16; i++) ASSERT_EQ(m.result(w, 0, i, 3), m.expected(0, 0, 0, i, 3));
}

TEST(MatrixDenormals, Gfx90aFlushesThemInHalfPrecision) {
  for (const char *cpu : {"gfx90a", "gfx942"}) {
    WaveBench w(cpu);
    w.v(0)[0] = 1;      // A[0][0]: the smallest f16
    w.v(8)[0] = 0x3c00; // B[0][0] = 1
    w.run(std::string(cpu) == "gfx90a" ? "v_mfma_f32_16x16x16f16 v[64:67], v[0:1], v[8:9], 0"
                                       : "v_mfma_f32_16x16x16_f16 v[64:67], v[0:1], v[8:9], 0");
    EXPECT_EQ(as_f32(w.v(64)[0]), std::string(cpu) == "gfx90a" ? 0.0f : 0x1p-24f) << cpu;
  }
}

// Of four neighbours in a row of A two are there, at positions that 2 bits each tell.
struct Sparse {
  const char *name;
  Kind a, b;
  unsigned m, k;
};
class SparseMultiply : public testing::TestWithParam<Sparse> {
protected:
  // A register has as many sets of positions as fit; those of set `set` are the right ones.
  void check(unsigned set, const std::string &modifiers);
};

void SparseMultiply::check(unsigned set, const std::string &modifiers) {
  const Sparse &t = GetParam();
  const unsigned per_lane = t.m * t.k / 64; // dense columns of A that a lane stands for
  WaveBench w("gfx942");
  std::mt19937 random(29);
  auto number = [&] { return static_cast<int>(random() % 7) - 3; };
  std::vector<std::vector<int>> a(t.m, std::vector<int>(t.k)), b(t.k, std::vector<int>(t.m)),
      c(t.m, std::vector<int>(t.m));
  auto put = [&](unsigned base, unsigned lane, Kind kind, unsigned e, int value) {
    w.v(base + e * width_of(kind) / 32)[lane] |= static_cast<u32>(encode(kind, value))
                                                 << e * width_of(kind) % 32;
  };
  constexpr unsigned positions = 30;
  w.set_v(positions, ~(((1u << per_lane) - 1) << set * per_lane)); // others are wrong
  for (unsigned lane = 0; lane < 64; lane++)
    for (unsigned group = 0; group < per_lane / 4; group++) {
      const unsigned first = random() % 3, second = first + 1 + random() % (3 - first);
      for (unsigned n = 0; n < 2; n++) {
        const unsigned position = n ? second : first, e = 2 * group + n;
        const int value = number();
        a[lane % t.m][per_lane * (lane / t.m) + 4 * group + position] = value;
        put(a_base, lane, t.a, e, value);
        w.v(positions)[lane] |= position << (set * per_lane + 2 * e);
      }
    }
  for (unsigned k = 0; k < t.k; k++)
    for (unsigned j = 0; j < t.m; j++) {
      b[k][j] = number();
      put(b_base, t.m * (k / per_lane) + j, t.b, k % per_lane, b[k][j]);
    }
  const Mfma shape{"gfx942", t.name, t.a, t.b, t.m, t.k, 1, 2};
  auto cell = [&](unsigned i, unsigned j) -> u32 & {
    const Place p = accumulator_place(shape, 0, i, j);
    return w.v(d_base + p.reg)[p.lane];
  };
  for (unsigned i = 0; i < t.m; i++)
    for (unsigned j = 0; j < t.m; j++) {
      c[i][j] = number();
      cell(i, j) = shape.is_integer() ? static_cast<u32>(c[i][j]) : bits(static_cast<f32>(c[i][j]));
    }
  w.run(std::string(t.name) + " " + range(d_base, t.m * t.m / 64) + ", v[0:1], v[8:11], v30" +
        modifiers);
  for (unsigned i = 0; i < t.m; i++)
    for (unsigned j = 0; j < t.m; j++) {
      int sum = c[i][j];
      for (unsigned k = 0; k < t.k; k++) sum += a[i][k] * b[k][j];
      ASSERT_EQ(shape.is_integer() ? static_cast<f32>(static_cast<i32>(cell(i, j)))
                                   : as_f32(cell(i, j)),
                sum)
          << i << " " << j << modifiers;
    }
}

TEST_P(SparseMultiply, EqualsTheTripleLoopWithEachSetOfPositions) {
  const unsigned sets = width_of(GetParam().a) == 16 ? 4 : 2;
  for (unsigned set = 0; set < sets; set++) check(set, " abid:" + std::to_string(set));
}
TEST_P(SparseMultiply, CbszMeansTheFirstSet) { check(0, " cbsz:1 abid:1"); }

INSTANTIATE_TEST_SUITE_P(
    , SparseMultiply,
    testing::Values(Sparse{"v_smfmac_f32_16x16x32_f16", Kind::f16, Kind::f16, 16, 32},
                    Sparse{"v_smfmac_f32_32x32x16_f16", Kind::f16, Kind::f16, 32, 16},
                    Sparse{"v_smfmac_f32_16x16x32_bf16", Kind::bf16, Kind::bf16, 16, 32},
                    Sparse{"v_smfmac_f32_32x32x16_bf16", Kind::bf16, Kind::bf16, 32, 16},
                    Sparse{"v_smfmac_i32_16x16x64_i8", Kind::i8, Kind::i8, 16, 64},
                    Sparse{"v_smfmac_i32_32x32x32_i8", Kind::i8, Kind::i8, 32, 32},
                    Sparse{"v_smfmac_f32_16x16x64_bf8_bf8", Kind::bf8, Kind::bf8, 16, 64},
                    Sparse{"v_smfmac_f32_16x16x64_bf8_fp8", Kind::bf8, Kind::fp8, 16, 64},
                    Sparse{"v_smfmac_f32_16x16x64_fp8_bf8", Kind::fp8, Kind::bf8, 16, 64},
                    Sparse{"v_smfmac_f32_16x16x64_fp8_fp8", Kind::fp8, Kind::fp8, 16, 64},
                    Sparse{"v_smfmac_f32_32x32x32_bf8_bf8", Kind::bf8, Kind::bf8, 32, 32},
                    Sparse{"v_smfmac_f32_32x32x32_bf8_fp8", Kind::bf8, Kind::fp8, 32, 32},
                    Sparse{"v_smfmac_f32_32x32x32_fp8_bf8", Kind::fp8, Kind::bf8, 32, 32},
                    Sparse{"v_smfmac_f32_32x32x32_fp8_fp8", Kind::fp8, Kind::fp8, 32, 32}),
    [](const auto &i) { return std::string(i.param.name); });

// gfx11: A's row i lies in lanes i and i + 16, element after element; rows of C and D alternate
// between halves.
class Wmma : public testing::TestWithParam<unsigned> { // lanes
protected:
  void prepare(WaveBench &w, Kind kind) {
    std::mt19937 random(23);
    const unsigned per_word = 32 / width_of(kind);
    for (unsigned i = 0; i < 16; i++)
      for (unsigned k = 0; k < 16; k++) {
        const bool is_signed = kind != Kind::u8 && kind != Kind::u4;
        a[i][k] = static_cast<int>(random() % 7) - (is_signed ? 3 : 0);
        b[k][i] = static_cast<int>(random() % 7) - (is_signed ? 3 : 0);
      }
    for (unsigned i = 0; i < 16; i++)
      for (unsigned k = 0; k < 16; k++)
        for (unsigned lane = i; lane < GetParam(); lane += 16) {
          const unsigned shift = width_of(kind) * (k % per_word);
          w.v(a_base + k / per_word)[lane] |= static_cast<u32>(encode(kind, a[i][k])) << shift;
          w.v(16 + k / per_word)[lane] |= static_cast<u32>(encode(kind, b[k][i])) << shift;
        }
    for (auto &row : c)
      for (int &x : row) x = static_cast<int>(random() % 100) - 50;
  }
  Place place(unsigned i, unsigned j) const {
    return {i / (GetParam() / 16), 16 * (i % (GetParam() / 16)) + j};
  }
  int expected(unsigned i, unsigned j) const {
    int sum = c[i][j];
    for (unsigned k = 0; k < 16; k++) sum += a[i][k] * b[k][j];
    return sum;
  }
  std::string line(const std::string &name, unsigned inputs,
                   const std::string &modifiers = "") const {
    const unsigned outputs = GetParam() == 32 ? 8 : 4;
    return name + " " + range(d_base, outputs) + ", " + range(a_base, inputs) + ", " +
           range(16, inputs) + ", " + range(c_base, outputs) + modifiers;
  }
  int a[16][16], b[16][16], c[16][16];
};

TEST_P(Wmma, FloatsEqualTheTripleLoop) {
  for (Kind kind : {Kind::f16, Kind::bf16}) {
    WaveBench w("gfx1100", GetParam());
    prepare(w, kind);
    for (unsigned i = 0; i < 16; i++)
      for (unsigned j = 0; j < 16; j++)
        w.v(c_base + place(i, j).reg)[place(i, j).lane] = bits(static_cast<f32>(c[i][j]));
    w.run(line(kind == Kind::f16 ? "v_wmma_f32_16x16x16_f16" : "v_wmma_f32_16x16x16_bf16", 8));
    for (unsigned i = 0; i < 16; i++)
      for (unsigned j = 0; j < 16; j++)
        ASSERT_EQ(as_f32(w.v(d_base + place(i, j).reg)[place(i, j).lane]),
                  static_cast<f32>(expected(i, j)));
  }
}

TEST_P(Wmma, NarrowResultsGoToTheHalfThatOpSelNames) {
  WaveBench w("gfx1100", GetParam());
  prepare(w, Kind::f16);
  for (unsigned i = 0; i < 16; i++)
    for (unsigned j = 0; j < 16; j++) {
      w.v(c_base + place(i, j).reg)[place(i, j).lane] = u32{to_f16(static_cast<f32>(c[i][j])).bits}
                                                        << 16;
      w.v(d_base + place(i, j).reg)[place(i, j).lane] = 0xabcdabcd;
    }
  w.run(line("v_wmma_f16_16x16x16_f16", 8, " op_sel:[0,0,1]"));
  for (unsigned i = 0; i < 16; i++)
    for (unsigned j = 0; j < 16; j++)
      ASSERT_EQ(w.v(d_base + place(i, j).reg)[place(i, j).lane],
                0xabcdu | u32{to_f16(static_cast<f32>(expected(i, j))).bits} << 16);
}

TEST_P(Wmma, IntegersAreSignedAsAsked) {
  const struct {
    Kind kind;
    const char *name;
    unsigned inputs;
    const char *modifiers;
  } cases[] = {{Kind::i8, "v_wmma_i32_16x16x16_iu8", 4, " neg_lo:[1,1,0]"},
               {Kind::u8, "v_wmma_i32_16x16x16_iu8", 4, ""},
               {Kind::i4, "v_wmma_i32_16x16x16_iu4", 2, " neg_lo:[1,1,0]"},
               {Kind::u4, "v_wmma_i32_16x16x16_iu4", 2, " clamp"}};
  for (const auto &t : cases) {
    WaveBench w("gfx1100", GetParam());
    prepare(w, t.kind);
    for (unsigned i = 0; i < 16; i++)
      for (unsigned j = 0; j < 16; j++)
        w.v(c_base + place(i, j).reg)[place(i, j).lane] = static_cast<u32>(c[i][j]);
    w.run(line(t.name, t.inputs, t.modifiers));
    for (unsigned i = 0; i < 16; i++)
      for (unsigned j = 0; j < 16; j++)
        ASSERT_EQ(static_cast<i32>(w.v(d_base + place(i, j).reg)[place(i, j).lane]), expected(i, j))
            << t.name << t.modifiers;
  }
}

INSTANTIATE_TEST_SUITE_P(, Wmma, testing::Values(32u, 64u),
                         [](const auto &i) { return "wave" + std::to_string(i.param); });

} // namespace
} // namespace fade::sim
