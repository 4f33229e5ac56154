// gfx950's matrix instructions of small floats and of sparse matrices. Instructions are given as
// words, as LLVM 22 encodes them.
//
// Where the numbers of A and B lie is written down here as tables in Composable Kernel's test of
// these instructions have it (mx_mfma_op.hpp), and AMD's manual of CDNA 4 for sparse matrices; the
// lanes that scales come from are those that Composable Kernel measured on the hardware
// (scale_mapping_16x16x128.txt).
#include "wave_bench.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace fade::sim::cdna4_matrix {
namespace {

struct Small {
  const char *name;
  int exponent_bits, mantissa, bias;
  int width() const { return 1 + exponent_bits + mantissa; }
  double value(u32 code) const {
    const u32 e = code >> mantissa & ((1u << exponent_bits) - 1), m = code & ((1u << mantissa) - 1);
    if (width() == 8 && exponent_bits == 5 && e == 31) return m ? NAN : HUGE_VAL;
    if (width() == 8 && exponent_bits == 4 && e == 15 && m == 7) return NAN;
    const double fraction = m * std::pow(2.0, -mantissa);
    const double r =
        std::pow(2.0, (e ? static_cast<int>(e) : 1) - bias) * (e ? 1 + fraction : fraction);
    return code >> (width() - 1) & 1 ? -r : r;
  }
};
// As CBSZ and BLGP number them.
const Small formats[] = {
    {"fp8", 4, 3, 7}, {"bf8", 5, 2, 15}, {"fp6", 2, 3, 1}, {"bf6", 3, 2, 3}, {"fp4", 2, 1, 1}};

// A place of a number that is `item` of 32 in its lane.
struct At {
  unsigned lane, item;
};
// 8 bits: "Reg 0: K0 K16 K32 K48 … Reg 4: K64 K80 K96 K112" for rows of 16, "Reg 0: K0 K16 … Reg 4:
// K32 K48" for 32. Less: 32 neighbours.
At place_of(const Small &f, unsigned rows, unsigned row, unsigned k) {
  if (f.width() < 8) return {k / 32 * rows + row, k % 32};
  const unsigned upper = rows == 16 ? 64 : 32;
  return {k % upper / 16 * rows + row, (k >= upper ? 16 : 0) + k % 16};
}
// The first register of A, B, C and D, and those of the scales.
constexpr unsigned first_a = 16, first_b = 24, first_c = 32, scale_a = 50, scale_b = 51;

void put(WaveBench &b, unsigned first, const Small &f, At at, u32 code) {
  for (int n = 0; n < f.width(); n++) {
    const unsigned bit = at.item * static_cast<unsigned>(f.width()) + static_cast<unsigned>(n);
    u32 &word = b.v(first + bit / 32)[at.lane];
    word = (word & ~(1u << bit % 32)) | (code >> n & 1) << bit % 32;
  }
}
// D and C: four rows in four registers, groups of them go around the wave.
f32 result(WaveBench &b, unsigned rows, unsigned i, unsigned j, unsigned first = 0) {
  const unsigned around = 64 / rows, group = i / 4;
  return as_f32(b.v(first + 4 * (group / around) + i % 4)[rows * (group % around) + j]);
}

struct Shape {
  unsigned rows, k;
  u32 word;
};
const Shape shapes[] = {{16, 128, 0xd3ad0000}, {32, 64, 0xd3ae0000}};

void run_plain(WaveBench &b, const Shape &s, u32 cbsz, u32 blgp) {
  b.run({s.word | cbsz << 8,
         (256 + first_a) | (256 + first_b) << 9 | (256 + first_c) << 18 | blgp << 29});
}
void run_scaled(WaveBench &b, const Shape &s, u32 cbsz, u32 blgp, u32 src_a = 256 + scale_a,
                u32 src_b = 256 + scale_b, u32 byte_a = 0, u32 byte_b = 0) {
  b.run({0xd3ac0000 | (byte_a & 1) << 11 | (byte_b & 1) << 12,
         src_a | src_b << 9 | byte_a >> 1 << 27 | byte_b >> 1 << 28, s.word | 1u << 11 | cbsz << 8,
         (256 + first_a) | (256 + first_b) << 9 | (256 + first_c) << 18 | blgp << 29});
}

TEST(Cdna4Matrix, EveryPairOfFormatsWithAndWithoutScales) {
  std::mt19937 random(7);
  for (const Shape &s : shapes)
    for (u32 fa = 0; fa < 5; fa++)
      for (u32 fb = 0; fb < 5; fb++) {
        WaveBench b("gfx950");
        for (unsigned r = 0; r < 64; r++) b.set_v(r, 0xdeadbeef);
        std::vector<double> a(s.rows * s.k), m(s.rows * s.k), c(s.rows * s.rows);
        const struct {
          std::vector<double> &values;
          const Small &format;
          unsigned first;
        } inputs[] = {{a, formats[fa], first_a}, {m, formats[fb], first_b}};
        for (const auto &in : inputs)
          for (unsigned i = 0; i < s.rows; i++)
            for (unsigned k = 0; k < s.k; k++) {
              u32 code;
              do code = random() % (1u << in.format.width());
              while (!std::isfinite(in.format.value(code)));
              put(b, in.first, in.format, place_of(in.format, s.rows, i, k), code);
              in.values[i * s.k + k] = in.format.value(code);
            }
        for (unsigned i = 0; i < s.rows; i++)
          for (unsigned j = 0; j < s.rows; j++) {
            const unsigned around = 64 / s.rows, group = i / 4;
            const f32 x = static_cast<f32>(static_cast<int>(random() % 64) - 32) / 4;
            b.v(first_c + 4 * (group / around) + i % 4)[s.rows * (group % around) + j] = bits(x);
            c[i * s.rows + j] = x;
          }
        for (unsigned lane = 0; lane < 64; lane++) {
          b.v(scale_a)[lane] = 117 + random() % 20; // 2^-10 to 2^9
          b.v(scale_b)[lane] = 117 + random() % 20;
        }
        for (const bool scaled : {false, true}) {
          if (scaled)
            run_scaled(b, s, fa, fb);
          else
            run_plain(b, s, fa, fb);
          for (unsigned i = 0; i < s.rows; i++)
            for (unsigned j = 0; j < s.rows; j++) {
              double sum = c[i * s.rows + j], size = std::fabs(sum);
              for (unsigned k = 0; k < s.k; k++) {
                double p = a[i * s.k + k] * m[j * s.k + k];
                if (scaled) {
                  const unsigned block = k / 32 * s.rows;
                  p *= std::pow(2.0, static_cast<int>(b.v(scale_a)[block + i]) - 127 +
                                         static_cast<int>(b.v(scale_b)[block + j]) - 127);
                }
                sum += p, size += std::fabs(p);
              }
              // What neither loses a digit is exact: 20 bits of fp4 and fp6 without scales.
              const bool exact = !scaled && fa != 3 && fb != 3 && fa >= 2 && fb >= 2;
              ASSERT_NEAR(result(b, s.rows, i, j), sum, exact ? 0 : size * 0x1p-20)
                  << formats[fa].name << " " << formats[fb].name << " " << s.k
                  << (scaled ? " scaled " : " ") << i << "," << j;
            }
        }
      }
}

// "a(0,16) is scaled from thread 32": in each lane one number after the other is 1, the others 0,
// and each lane's scale is another power of two.
TEST(Cdna4Matrix, ScalesComeFromTheLanesThatWereMeasured) {
  const Shape &s = shapes[0];
  const unsigned measured[4][2] = {{0, 32}, {0, 32}, {16, 48}, {16, 48}};
  for (unsigned row : {0u, 1u, 15u})
    for (unsigned group = 0; group < 4; group++)
      for (unsigned item = 0; item < 32; item++) {
        WaveBench b("gfx950");
        for (unsigned k = 0; k < 128; k++)
          put(b, first_b, formats[0], place_of(formats[0], 16, 0, k), 0x38);
        put(b, first_a, formats[0], {16 * group + row, item}, 0x38);
        for (unsigned lane = 0; lane < 64; lane++) b.v(scale_a)[lane] = 127 + lane;
        run_scaled(b, s, 0, 0, 256 + scale_a, 0xf2); // the constant 1.0 for B
        ASSERT_EQ(result(b, 16, row, 0),
                  std::ldexp(1.0f, static_cast<int>(measured[group][item / 16] + row)))
            << row << " group " << group << " item " << item;
      }
}

TEST(Cdna4Matrix, OpSelPicksTheByteOfEachScale) {
  for (const Shape &s : shapes)
    for (u32 byte_a = 0; byte_a < 4; byte_a++)
      for (u32 byte_b = 0; byte_b < 4; byte_b++) {
        WaveBench b("gfx950");
        put(b, first_a, formats[4], {2, 0}, 2), put(b, first_b, formats[4], {5, 0}, 2); // 1 * 1
        b.set_v(scale_a, 0x84838281), b.set_v(scale_b, 0x8c8a8886);
        run_scaled(b, s, 4, 4, 256 + scale_a, 256 + scale_b, byte_a, byte_b);
        const int expected = static_cast<int>(2 + byte_a + 7 + 2 * byte_b);
        EXPECT_EQ(result(b, s.rows, 2, 5), std::ldexp(1.0f, expected)) << byte_a << byte_b;
      }
}

TEST(Cdna4Matrix, SmallestAndLargestScalesAndNan) {
  const Shape &s = shapes[0];
  auto one_times_one = [&](u32 a, u32 m, u32 c = 0, u32 mode = WaveBench::default_mode) {
    WaveBench b("gfx950");
    b.wave.set_mode(mode);
    put(b, first_a, formats[0], {3, 0}, 0x38), put(b, first_b, formats[0], {4, 0}, 0x38);
    for (unsigned r = 0; r < 4; r++) b.set_v(first_c + r, c);
    b.set_v(scale_a, a), b.set_v(scale_b, m);
    run_scaled(b, s, 0, 0);
    return bits(result(b, 16, 3, 4));
  };
  EXPECT_EQ(one_times_one(0, 254), 0x3f800000u);           // 2^-127 * 2^127
  EXPECT_EQ(one_times_one(0, 127), 0x00400000u);           // 2^-127, a denormal
  EXPECT_EQ(one_times_one(0, 0), 0u);                      // 2^-254 is too small
  EXPECT_EQ(one_times_one(0, 0, 0x40400000), 0x40400000u); // ... and leaves 3 as it is
  EXPECT_EQ(one_times_one(254, 127), 0x7f000000u);         // 2^127
  EXPECT_EQ(one_times_one(254, 254), 0x7f800000u);         // too large
  EXPECT_EQ(one_times_one(254, 254, 0, WaveBench::default_mode | 1u << 23), 0x7f7fffffu);
  EXPECT_EQ(one_times_one(255, 127), 0x7fc00000u); // NaN
  EXPECT_EQ(one_times_one(127, 255), 0x7fc00000u);
  EXPECT_EQ(one_times_one(255, 0, 0x40400000), 0x7fc00000u);
  // A scale of NaN makes NaN of zeros, too, but only of its own row.
  WaveBench b("gfx950");
  b.set_v(scale_a, 127), b.set_v(scale_b, 127);
  b.v(scale_a)[7] = 255;
  run_scaled(b, s, 4, 4);
  for (unsigned i = 0; i < 16; i++)
    EXPECT_EQ(bits(result(b, 16, i, 9)), i == 7 ? 0x7fc00000u : 0u) << i;
}

// Four blocks of 32 products, of which one each is not zero: a number of row 2 and a one.
TEST(Cdna4Matrix, SumsThatAreTooLargeOnTheWayDoNotOverflow) {
  const Shape &s = shapes[0];
  auto sum = [&](const u32(&numbers)[4], const u32(&scales)[4], u32 c = 0) {
    WaveBench b("gfx950");
    b.set_v(scale_a, 127), b.set_v(scale_b, 254);
    for (unsigned block = 0; block < 4; block++) {
      put(b, first_a, formats[1], place_of(formats[1], 16, 2, 32 * block), numbers[block]);
      put(b, first_b, formats[1], place_of(formats[1], 16, 5, 32 * block), 0x3c); // 1
      b.v(scale_a)[16 * block + 2] = scales[block];
    }
    for (unsigned r = 0; r < 4; r++) b.set_v(first_c + r, c);
    run_scaled(b, s, 1, 1);
    return bits(result(b, 16, 2, 5));
  };
  constexpr u32 one = 0x3c, minus_one = 0xbc, infinite = 0x7c, minus_infinite = 0xfc;
  EXPECT_EQ(sum({one, minus_one, one, 0}, {200, 200, 0, 127}), bits(1.0f)); // 2^200 - 2^200 + 1
  EXPECT_EQ(sum({one, minus_infinite, 0, 0}, {254, 127, 127, 127}), 0xff800000u);
  EXPECT_EQ(sum({infinite, minus_one, 0, 0}, {127, 254, 127, 127}), 0x7f800000u);
  EXPECT_EQ(sum({minus_one, 0, 0, 0}, {254, 127, 127, 127}, 0x7f800000), 0x7f800000u);
  EXPECT_EQ(sum({infinite, minus_infinite, 0, 0}, {127, 127, 127, 127}), 0x7fc00000u);
  EXPECT_EQ(sum({one, minus_one, 0, 0}, {254, 253, 127, 127}), 0x7f800000u); // 2^254 - 2^253
}

TEST(Cdna4Matrix, NanAndInfinityOfNumbers) {
  const Shape &s = shapes[1];
  auto product = [&](u32 format, u32 x, u32 y) {
    WaveBench b("gfx950");
    put(b, first_a, formats[format], {1, 0}, x), put(b, first_b, formats[format], {2, 0}, y);
    run_plain(b, s, format, format);
    return bits(result(b, 32, 1, 2));
  };
  EXPECT_EQ(product(0, 0x7f, 0x38), 0x7fc00000u); // fp8 has NaN, and no infinity
  EXPECT_EQ(product(0, 0x7e, 0x7e), bits(448.0f * 448.0f));
  EXPECT_EQ(product(0, 0x01, 0x01), bits(0x1p-18f)); // denormals
  EXPECT_EQ(product(1, 0x7c, 0xbc), 0xff800000u);    // bf8: infinity * -1
  EXPECT_EQ(product(1, 0x7c, 0x00), 0x7fc00000u);    // infinity * 0
  EXPECT_EQ(product(1, 0x7d, 0x3c), 0x7fc00000u);
  EXPECT_EQ(product(2, 0x1f, 0x3f), bits(-7.5f * 7.5f)); // the others have neither
  EXPECT_EQ(product(3, 0x1f, 0x1f), bits(28.0f * 28.0f));
  EXPECT_EQ(product(4, 0x07, 0x0f), bits(-36.0f));
}

TEST(Cdna4Matrix, AccumulatorsAndConstantsAsOperands) {
  WaveBench b("gfx950");
  // v_mfma_f32_16x16x128_f8f6f4 a[0:3], a[8:15], v[16:23], 1.0
  for (unsigned k = 0; k < 8; k++)
    for (unsigned lane = 0; lane < 64; lane++)
      b.a(8 + k)[lane] = 0x38383838, b.v(16 + k)[lane] = 0x40404040;
  b.run({0xd3ad8000, 0x0bca2108});
  EXPECT_EQ(as_f32(b.a(0)[0]), 1 + 128 * 2.0f);
  EXPECT_EQ(as_f32(b.a(3)[63]), 1 + 128 * 2.0f);
  EXPECT_EQ(b.v(0)[0], 0u);
}

// Sparse: of every four neighbours along k of A, two are stored.
struct Sparse {
  const char *name;
  unsigned rows, k, bits;
  u32 word;
};
const Sparse sparse[] = {
    {"f32_16x16x64_f16", 16, 64, 16, 0xd3da0000},
    {"f32_32x32x32_f16", 32, 32, 16, 0xd3db0000},
    {"f32_16x16x64_bf16", 16, 64, 16, 0xd3b90000},
    {"f32_32x32x32_bf16", 32, 32, 16, 0xd3c60000},
    {"i32_16x16x128_i8", 16, 128, 8, 0xd3ba0000},
    {"i32_32x32x64_i8", 32, 64, 8, 0xd3c70000},
    {"f32_16x16x128_bf8_bf8", 16, 128, 8, 0xd3bb0000},
    {"f32_16x16x128_bf8_fp8", 16, 128, 8, 0xd3bc0000},
    {"f32_16x16x128_fp8_bf8", 16, 128, 8, 0xd3bd0000},
    {"f32_16x16x128_fp8_fp8", 16, 128, 8, 0xd3c30000},
    {"f32_32x32x64_bf8_bf8", 32, 64, 8, 0xd3cb0000},
    {"f32_32x32x64_bf8_fp8", 32, 64, 8, 0xd3ce0000},
    {"f32_32x32x64_fp8_bf8", 32, 64, 8, 0xd3cf0000},
    {"f32_32x32x64_fp8_fp8", 32, 64, 8, 0xd3d30000},
};
// The codes of 1 to 4 in a type.
u32 code_of(std::string_view type, unsigned n) {
  if (type == "f16") return (const u32[]){0, 0x3c00, 0x4000, 0x4200, 0x4400}[n];
  if (type == "bf16") return (const u32[]){0, 0x3f80, 0x4000, 0x4040, 0x4080}[n];
  if (type == "fp8") return (const u32[]){0, 0x38, 0x40, 0x44, 0x48}[n];
  if (type == "bf8") return (const u32[]){0, 0x3c, 0x40, 0x42, 0x44}[n];
  return n;
}

TEST(Cdna4Matrix, SparseMatrices) {
  std::mt19937 random(11);
  for (const Sparse &s : sparse)
    for (u32 set = 0; set < (s.bits == 16 ? 2u : 1u); set++) {
      WaveBench b("gfx950");
      const std::string name = s.name;
      const bool is_int = name.starts_with("i32");
      const std::string last = name.substr(name.rfind('_') + 1);
      std::string first = last;
      if (last.ends_with("8") && !is_int) first = name.substr(name.rfind('_') - 3, 3);
      std::vector<unsigned> a(s.rows * s.k), m(s.rows * s.k);
      const unsigned lane_k = s.rows * s.k / 64; // numbers of B in a lane, twice those of A
      auto store = [&](unsigned reg, unsigned lane, unsigned item, u32 code) {
        const unsigned per_word = 32 / s.bits;
        b.v(reg + item / per_word)[lane] |= code << s.bits * (item % per_word);
      };
      // The table of B: the first four registers have neighbours of the lower half of K, and so on.
      for (unsigned j = 0; j < s.rows; j++)
        for (unsigned k = 0; k < s.k; k++) {
          const unsigned half = k / (s.k / 2), run = lane_k / 2, in_half = k % (s.k / 2);
          m[j * s.k + k] = 1 + random() % 4;
          store(72, in_half / run * s.rows + j, half * run + in_half % run,
                code_of(last, m[j * s.k + k]));
        }
      for (unsigned i = 0; i < s.rows; i++)
        for (unsigned quad = 0; quad < s.k / 4; quad++) {
          unsigned p = random() % 4, q = random() % 4;
          while (p == q) q = random() % 4;
          if (p > q) std::swap(p, q);
          // A is packed like a dense matrix of half the depth: neighbours in a lane.
          const unsigned packed = 2 * quad, lane = packed / (lane_k / 2) * s.rows + i;
          for (unsigned n = 0; n < 2; n++) {
            const unsigned item = (packed + n) % (lane_k / 2), value = 1 + random() % 4;
            a[i * s.k + 4 * quad + (n ? q : p)] = value;
            store(40, lane, item, code_of(first, value));
            b.v(104)[lane] |= (n ? q : p) << (2 * item + 16 * set);
          }
        }
      for (unsigned r = 0; r < 16; r++) b.set_v(8 + r, is_int ? 5 : bits(5.0f));
      b.run({s.word | 8 | set << 11, 0x05a29128});
      for (unsigned i = 0; i < s.rows; i++)
        for (unsigned j = 0; j < s.rows; j++) {
          u32 sum = 5;
          for (unsigned k = 0; k < s.k; k++) sum += a[i * s.k + k] * m[j * s.k + k];
          const f32 got = result(b, s.rows, i, j, 8);
          ASSERT_EQ(is_int ? bits(got) : static_cast<u32>(got), sum)
              << name << " " << set << " " << i << "," << j;
        }
    }
}

} // namespace
} // namespace fade::sim::cdna4_matrix
