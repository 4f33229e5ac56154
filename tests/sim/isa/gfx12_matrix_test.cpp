// WMMA and sparse WMMA of gfx12, against a triple loop on small integers, which all formats hold
// exactly. Where an element is said as the RDNA4 manual says it: which bits of k choose the lane,
// the register and the place in it.
#include "wave_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace fade::sim {
namespace {

enum class Kind { f16, bf16, fp8, bf8, i8, u8, i4, u4, f32, i32 };

unsigned width_of(Kind kind) {
  switch (kind) {
  case Kind::f16:
  case Kind::bf16: return 16;
  case Kind::i4:
  case Kind::u4: return 4;
  case Kind::f32:
  case Kind::i32: return 32;
  default: return 8;
  }
}

// The code of a small integer. Floats: the exponent of its highest bit, and what is below it.
u32 encode(Kind kind, int value) {
  const auto small = [&](int exponent_bits, int mantissa, int bias) -> u32 {
    if (value == 0) return 0;
    const int magnitude = value < 0 ? -value : value;
    int exponent = 0;
    while (magnitude >> (exponent + 1)) exponent++;
    const int fraction = (magnitude << mantissa >> exponent) - (1 << mantissa);
    return static_cast<u32>((value < 0) << (exponent_bits + mantissa) |
                            (exponent + bias) << mantissa | fraction);
  };
  switch (kind) {
  case Kind::f16: return small(5, 10, 15);
  case Kind::bf16: return small(8, 7, 127);
  case Kind::fp8: return small(4, 3, 7);
  case Kind::bf8: return small(5, 2, 15);
  case Kind::f32: return small(8, 23, 127);
  case Kind::i32: return static_cast<u32>(value);
  default: return static_cast<u32>(value) & ((1u << width_of(kind)) - 1);
  }
}

// Numbers of the bits of k, the highest first.
struct Layout {
  int lane5, lane4; // -1: none
  std::string vgpr, place;
};
struct Spot {
  unsigned lane, reg, bit;
};
Spot spot(const Layout &layout, unsigned width, unsigned i, unsigned k) {
  const auto bits_of = [&](const std::string &numbers) {
    unsigned v = 0;
    for (const char n : numbers) v = v << 1 | (k >> (n - '0') & 1);
    return v;
  };
  const auto lane_bit = [&](int n) { return n < 0 ? 0u : k >> n & 1; };
  return {lane_bit(layout.lane5) << 5 | lane_bit(layout.lane4) << 4 | i, bits_of(layout.vgpr),
          width * bits_of(layout.place)};
}

Layout dense(unsigned width, unsigned k, unsigned lanes) {
  if (lanes == 32) {
    if (width == 16) return {-1, 2, "31", "0"};
    if (width == 8) return {-1, 3, "2", "10"};
    return k == 16 ? Layout{-1, 3, "", "210"} : Layout{-1, 4, "3", "210"};
  }
  if (width == 16) return {3, 2, "1", "0"};
  if (width == 8) return {2, 3, "", "10"};
  return k == 16 ? Layout{-1, 3, "", "210"} : Layout{3, 4, "", "210"};
}
// B beside a sparse A.
Layout twice_as_long(unsigned width, unsigned k, unsigned lanes) {
  if (lanes == 32) {
    if (width == 16) return {-1, 3, "421", "0"};
    if (width == 8) return {-1, 4, "32", "10"};
    return k == 32 ? Layout{-1, 4, "3", "210"} : Layout{-1, 5, "43", "210"};
  }
  if (width == 16) return {4, 3, "21", "0"};
  if (width == 8) return {3, 4, "2", "10"};
  return k == 32 ? Layout{3, 4, "", "210"} : Layout{4, 5, "3", "210"};
}

struct Case {
  const char *name;
  Kind a, b, out;
  unsigned k;
  const char *modifiers = "";
};
void PrintTo(const Case &c, std::ostream *to) { *to << c.name << c.modifiers; }

constexpr unsigned a_base = 8, b_base = 16, c_base = 32, d_base = 48, index_register = 60;

std::string registers(unsigned first, unsigned count) {
  if (count == 1) return "v" + std::to_string(first);
  return "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

class Gfx12Matrix : public testing::TestWithParam<std::tuple<Case, unsigned>> {
protected:
  const Case c = std::get<0>(GetParam());
  const unsigned lanes = std::get<1>(GetParam());
  std::mt19937 random{41};
  WaveBench bench{"gfx1201", lanes};
  int a[16][64] = {}, b[64][16] = {}, addend[16][16] = {};

  int number(Kind kind) {
    const bool is_unsigned = kind == Kind::u8 || kind == Kind::u4;
    return static_cast<int>(random() % 5) - (is_unsigned ? 0 : 2);
  }
  void put(unsigned base, const Layout &layout, Kind kind, unsigned i, unsigned k, int value) {
    const Spot s = spot(layout, width_of(kind), i, k);
    bench.v(base + s.reg)[s.lane] |= encode(kind, value) << s.bit;
  }
  // VGPR[(row / 8) * 16 + col][row % 8]; in wave64, of each eight rows four are 32 lanes on.
  Spot result_spot(unsigned row, unsigned column) const {
    const unsigned lane = row / 8 * 16 + column + (lanes == 64 ? row / 4 % 2 * 32 : 0);
    const unsigned element = row % (lanes == 64 ? 4 : 8);
    if (width_of(c.out) == 32) return {lane, element, 0};
    return {lane, element / 2, 16 * (element % 2)};
  }
  void put_addend(unsigned base) {
    for (unsigned i = 0; i < 16; i++)
      for (unsigned j = 0; j < 16; j++) {
        addend[i][j] = static_cast<int>(random() % 21) - 10;
        const Spot s = result_spot(i, j);
        bench.v(base + s.reg)[s.lane] |= encode(c.out, addend[i][j]) << s.bit;
      }
  }
  void expect_results() {
    for (unsigned i = 0; i < 16; i++)
      for (unsigned j = 0; j < 16; j++) {
        int sum = addend[i][j];
        for (unsigned k = 0; k < c.k; k++) sum += a[i][k] * b[k][j];
        const Spot s = result_spot(i, j);
        const u32 mask = width_of(c.out) == 32 ? ~0u : 0xffffu;
        ASSERT_EQ(bench.v(d_base + s.reg)[s.lane] >> s.bit & mask, encode(c.out, sum))
            << i << ", " << j << ": " << sum;
      }
  }
  unsigned count_of(Kind kind, unsigned elements) const {
    return std::max(1u, elements * width_of(kind) / 32 / lanes);
  }
  unsigned results() const { return 256 * width_of(c.out) / 32 / lanes; }
};

class Gfx12Wmma : public Gfx12Matrix {};
TEST_P(Gfx12Wmma, EqualsTheTripleLoop) {
  const Layout at = dense(width_of(c.a), c.k, lanes);
  for (unsigned i = 0; i < 16; i++)
    for (unsigned k = 0; k < c.k; k++) {
      a[i][k] = number(c.a), put(a_base, at, c.a, i, k, a[i][k]);
      b[k][i] = number(c.b), put(b_base, at, c.b, i, k, b[k][i]);
    }
  put_addend(c_base);
  bench.set_exec(1); // it does not matter
  bench.run(std::string("v_wmma_") + c.name + " " + registers(d_base, results()) + ", " +
            registers(a_base, count_of(c.a, 16 * c.k)) + ", " +
            registers(b_base, count_of(c.b, 16 * c.k)) + ", " + registers(c_base, results()) +
            c.modifiers);
  expect_results();
}

const Case dense_cases[] = {
    {"f32_16x16x16_f16", Kind::f16, Kind::f16, Kind::f32, 16},
    {"f32_16x16x16_bf16", Kind::bf16, Kind::bf16, Kind::f32, 16},
    {"f16_16x16x16_f16", Kind::f16, Kind::f16, Kind::f16, 16},
    {"bf16_16x16x16_bf16", Kind::bf16, Kind::bf16, Kind::bf16, 16},
    {"f32_16x16x16_fp8_fp8", Kind::fp8, Kind::fp8, Kind::f32, 16},
    {"f32_16x16x16_fp8_bf8", Kind::fp8, Kind::bf8, Kind::f32, 16},
    {"f32_16x16x16_bf8_fp8", Kind::bf8, Kind::fp8, Kind::f32, 16},
    {"f32_16x16x16_bf8_bf8", Kind::bf8, Kind::bf8, Kind::f32, 16},
    {"i32_16x16x16_iu8", Kind::i8, Kind::i8, Kind::i32, 16, " neg_lo:[1,1,0]"},
    {"i32_16x16x16_iu8", Kind::u8, Kind::i8, Kind::i32, 16, " neg_lo:[0,1,0]"},
    {"i32_16x16x16_iu4", Kind::i4, Kind::u4, Kind::i32, 16, " neg_lo:[1,0,0]"},
    {"i32_16x16x32_iu4", Kind::i4, Kind::i4, Kind::i32, 32, " neg_lo:[1,1,0]"},
    {"i32_16x16x32_iu4", Kind::u4, Kind::u4, Kind::i32, 32},
};
const Case sparse_cases[] = {
    {"f32_16x16x32_f16", Kind::f16, Kind::f16, Kind::f32, 32},
    {"f32_16x16x32_bf16", Kind::bf16, Kind::bf16, Kind::f32, 32},
    {"f16_16x16x32_f16", Kind::f16, Kind::f16, Kind::f16, 32},
    {"bf16_16x16x32_bf16", Kind::bf16, Kind::bf16, Kind::bf16, 32},
    {"f32_16x16x32_fp8_fp8", Kind::fp8, Kind::fp8, Kind::f32, 32},
    {"f32_16x16x32_fp8_bf8", Kind::fp8, Kind::bf8, Kind::f32, 32},
    {"f32_16x16x32_bf8_fp8", Kind::bf8, Kind::fp8, Kind::f32, 32},
    {"f32_16x16x32_bf8_bf8", Kind::bf8, Kind::bf8, Kind::f32, 32},
    {"i32_16x16x32_iu8", Kind::i8, Kind::u8, Kind::i32, 32, " neg_lo:[1,0,0]"},
    {"i32_16x16x32_iu4", Kind::i4, Kind::i4, Kind::i32, 32, " neg_lo:[1,1,0]"},
    {"i32_16x16x64_iu4", Kind::u4, Kind::i4, Kind::i32, 64, " neg_lo:[0,1,0]"},
};
const auto name_of_case = [](const auto &info) {
  std::string name = std::get<0>(info.param).name;
  for (const char x : std::string(std::get<0>(info.param).modifiers))
    if (x == '0' || x == '1') name += x;
  return name + "_wave" + std::to_string(std::get<1>(info.param));
};
INSTANTIATE_TEST_SUITE_P(, Gfx12Wmma,
                         testing::Combine(testing::ValuesIn(dense_cases),
                                          testing::Values(32u, 64u)),
                         name_of_case);

// "The values that can be found in the lane-0 VGPRs are the same ones controlled by the index
// values in lane 0": two elements side by side are a pair, and the n-th pair of a lane has the n-th
// four bits of its index register. Packed, A lies like a dense matrix of half the length.
class Gfx12Swmmac : public Gfx12Matrix {
protected:
  unsigned sets() const { // of indices, that a register holds
    const unsigned pairs = std::max(1u, 16 * c.k / 4 / lanes);
    return width_of(c.a) == 4 && c.k == 32 && lanes == 64 ? 2 : 8 / pairs;
  }
  void prepare(unsigned set) {
    const unsigned width = width_of(c.a), pairs_per_word = 16 / width;
    const Layout packed = dense(width, c.k / 2, lanes),
                 at = twice_as_long(width_of(c.b), c.k, lanes);
    for (unsigned i = 0; i < 16; i++)
      for (unsigned k = 0; k < c.k; k++) b[k][i] = number(c.b), put(b_base, at, c.b, i, k, b[k][i]);
    for (unsigned i = 0; i < 16; i++)
      for (unsigned k = 0; k < c.k; k += 4) {
        const unsigned first = random() % 3, second = first + 1 + random() % (3 - first);
        a[i][k + first] = number(c.a), a[i][k + second] = number(c.a);
        put(a_base, packed, c.a, i, k / 2, a[i][k + first]);
        put(a_base, packed, c.a, i, k / 2 + 1, a[i][k + second]);
        const Spot s = spot(packed, width, i, k / 2);
        const unsigned pair = s.reg * pairs_per_word + s.bit / (2 * width);
        bench.v(index_register)[s.lane] |= (first | second << 2) << (4 * pair + set * 32 / sets());
      }
    put_addend(d_base);
  }
  void run(unsigned set) {
    bench.run(std::string("v_swmmac_") + c.name + " " + registers(d_base, results()) + ", " +
              registers(a_base, count_of(c.a, 8 * c.k)) + ", " +
              registers(b_base, count_of(c.b, 16 * c.k)) + ", v" + std::to_string(index_register) +
              (set ? " index_key:" + std::to_string(set) : std::string()) + c.modifiers);
  }
};
TEST_P(Gfx12Swmmac, EqualsTheTripleLoopOfTheExpandedMatrix) {
  prepare(0), run(0);
  expect_results();
}
TEST_P(Gfx12Swmmac, TakesTheSetOfIndicesThatIsNamed) {
  const unsigned last = sets() - 1;
  prepare(last), run(last);
  expect_results();
}
INSTANTIATE_TEST_SUITE_P(, Gfx12Swmmac,
                         testing::Combine(testing::ValuesIn(sparse_cases),
                                          testing::Values(32u, 64u)),
                         name_of_case);

// Each code of fp8 and bf8 (OCP's tables), in each byte of a register, times one.
TEST(Gfx12WmmaNumbers, EveryCodeOfEightBitsInEveryByte) {
  auto value = [](u32 code, unsigned exponent_bits, bool has_infinity) {
    const unsigned mantissa = 7 - exponent_bits, top = (1u << exponent_bits) - 1;
    const unsigned e = code >> mantissa & top, m = code & ((1u << mantissa) - 1);
    if (e == top && has_infinity) return m ? NAN : code & 0x80 ? -INFINITY : INFINITY;
    if (e == top && m == (1u << mantissa) - 1) return NAN;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const f32 size = std::ldexp(static_cast<f32>(e ? m + (1u << mantissa) : m),
                                static_cast<int>(e ? e : 1) - bias - static_cast<int>(mantissa));
    return code & 0x80 ? -size : size;
  };
  for (const bool is_bf8 : {false, true})
    for (unsigned byte = 0; byte < 4; byte++)
      for (u32 code = 0; code < 256; code += 16) { // 16 of them in the rows of A
        WaveBench b("gfx1201");
        for (unsigned i = 0; i < 16; i++) b.v(8)[i] = (code + i) << 8 * byte;
        for (unsigned reg = 10; reg < 12; reg++) b.set_v(reg, is_bf8 ? 0x3c3c3c3c : 0x38383838);
        b.run(is_bf8 ? "v_wmma_f32_16x16x16_bf8_bf8 v[48:55], v[8:9], v[10:11], 0"
                     : "v_wmma_f32_16x16x16_fp8_fp8 v[48:55], v[8:9], v[10:11], 0");
        for (unsigned i = 0; i < 16; i++) {
          const f32 expected = value(code + i, is_bf8 ? 5 : 4, is_bf8);
          const u32 got = b.v(48 + i % 8)[16 * (i / 8) + 3];
          EXPECT_EQ(got, std::isnan(expected) ? 0x7fc00000u : bits(expected + 0.0f))
              << is_bf8 << " byte " << byte << " code " << code + i;
        }
      }
}

TEST(Gfx12WmmaModifiers, SignsAndConstants) {
  WaveBench b("gfx1201");
  const u32 ones = 0x3c003c00;
  for (unsigned reg = 8; reg < 16; reg++) b.set_v(reg, ones);
  const std::string start = "v_wmma_f32_16x16x16_f16 v[48:55], v[8:11], v[12:15], ";
  b.run(start + "1.0");
  EXPECT_EQ(as_f32(b.v(48)[0]), 17.0f);
  b.run(start + "1.0 neg_lo:[1,0,0]"); // even elements of A: the sum cancels
  EXPECT_EQ(as_f32(b.v(50)[7]), 1.0f);
  b.run(start + "1.0 neg_lo:[1,0,0] neg_hi:[1,0,0]");
  EXPECT_EQ(as_f32(b.v(55)[31]), -15.0f);
  for (unsigned reg = 32; reg < 40; reg++) b.set_v(reg, 0xc0000000);
  b.run(start + "v[32:39] neg_hi:[0,0,1]"); // magnitude
  EXPECT_EQ(as_f32(b.v(48)[3]), 18.0f);
  b.run(start + "v[32:39] neg_lo:[0,0,1]");
  EXPECT_EQ(as_f32(b.v(48)[3]), 18.0f);
  b.run(start + "v[32:39] neg_lo:[0,0,1] neg_hi:[0,0,1]");
  EXPECT_EQ(as_f32(b.v(48)[3]), 14.0f);
  // Integers saturate only if asked to.
  for (unsigned reg = 8; reg < 12; reg++) b.set_v(reg, 0x01010101);
  for (unsigned reg = 32; reg < 40; reg++) b.set_v(reg, 0x7fffffff);
  b.run("v_wmma_i32_16x16x16_iu8 v[48:55], v[8:9], v[10:11], v[32:39]");
  EXPECT_EQ(b.v(48)[0], 0x8000000fu);
  b.run("v_wmma_i32_16x16x16_iu8 v[48:55], v[8:9], v[10:11], v[32:39] clamp");
  EXPECT_EQ(b.v(48)[0], 0x7fffffffu);
}

} // namespace
} // namespace fade::sim
