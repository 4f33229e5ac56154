// Vector comparisons.
#include "wave_bench.h"

#include <gtest/gtest.h>

namespace fade::sim {
namespace {

constexpr u32 nan32 = 0x7fc00000;

// Lane 0 compares less with greater, 1 equal, 2 greater with less, 3 with a NaN.
struct Truth {
  const char *op;
  unsigned expected;
};

TEST(VectorCompares, EveryFloatRelationTreatsNanAsUnordered) {
  const Truth relations[] = {{"f", 0b0000},   {"lt", 0b0001},  {"eq", 0b0010},  {"le", 0b0011},
                             {"gt", 0b0100},  {"lg", 0b0101},  {"ge", 0b0110},  {"o", 0b0111},
                             {"u", 0b1000},   {"nge", 0b1001}, {"nlg", 0b1010}, {"ngt", 0b1011},
                             {"nle", 0b1100}, {"neq", 0b1101}, {"nlt", 0b1110}, {"tru", 0b1111}};
  WaveBench b;
  b.set_exec(0b1111);
  b.set_v(1, {bits(-1.0f), bits(2.0f), bits(3.0f), nan32});
  b.set_v(2, {bits(1.0f), bits(2.0f), bits(-3.0f), bits(1.0f)});
  const f64 left[] = {-1, 2, 3, as_f64(0x7ff8000000000000)}, right[] = {1, 2, -3, 1};
  for (unsigned i = 0; i < 4; i++) {
    b.v(4)[i] = static_cast<u32>(bits(left[i])), b.v(5)[i] = static_cast<u32>(bits(left[i]) >> 32);
    b.v(6)[i] = static_cast<u32>(bits(right[i])),
    b.v(7)[i] = static_cast<u32>(bits(right[i]) >> 32);
    b.v(8)[i] = to_f16(static_cast<f32>(left[i])).bits,
    b.v(9)[i] = to_f16(static_cast<f32>(right[i])).bits;
  }
  for (const Truth &t : relations) {
    b.run("v_cmp_" + std::string(t.op) + "_f32_e32 vcc, v1, v2");
    EXPECT_EQ(b.vcc(), t.expected) << t.op << "_f32";
    b.run("v_cmp_" + std::string(t.op) + "_f64_e32 vcc, v[4:5], v[6:7]");
    EXPECT_EQ(b.vcc(), t.expected) << t.op << "_f64";
    b.run("v_cmp_" + std::string(t.op) + "_f16_e32 vcc, v8, v9");
    EXPECT_EQ(b.vcc(), t.expected) << t.op << "_f16";
  }
}

TEST(VectorCompares, IntegersKnowTheirSignAndWidth) {
  // Lane 0: all ones against one; lane 1: equal; lane 2: one against all ones.
  const Truth signed_relations[] = {{"f", 0},      {"lt", 0b001}, {"eq", 0b010}, {"le", 0b011},
                                    {"gt", 0b100}, {"ne", 0b101}, {"ge", 0b110}, {"t", 0b111}};
  const Truth unsigned_relations[] = {{"f", 0},      {"lt", 0b100}, {"eq", 0b010}, {"le", 0b110},
                                      {"gt", 0b001}, {"ne", 0b101}, {"ge", 0b011}, {"t", 0b111}};
  WaveBench b;
  b.set_exec(0b111);
  b.set_v(1, {0xffffffff, 5, 1});
  b.set_v(2, {1, 5, 0xffffffff});
  b.set_v(3, {0xffffffff, 0, 0}); // high words: -1, 5, 1 and 1, 5, -1
  b.set_v(4, {1, 5, 0xffffffff}), b.set_v(5, {0, 0, 0xffffffff});
  for (unsigned i = 0; i < 3; i++) b.v(6)[i] = b.v(1)[i], b.v(7)[i] = b.v(3)[i];
  for (bool is_signed : {true, false})
    for (const Truth &t : is_signed ? signed_relations : unsigned_relations) {
      const std::string kind = is_signed ? "i" : "u",
                        op = "v_cmp_" + std::string(t.op) + "_" + kind;
      b.run(op + "32_e32 vcc, v1, v2");
      EXPECT_EQ(b.vcc(), t.expected) << op << 32;
      b.run(op + "16_e32 vcc, v1, v2");
      EXPECT_EQ(b.vcc(), t.expected) << op << 16;
      b.run(op + "64_e32 vcc, v[6:7], v[4:5]");
      EXPECT_EQ(b.vcc(), t.expected) << op << 64;
    }
}

TEST(VectorCompares, ClassesAreToldApart) {
  const u32 examples[] = {0x7f800001, 0x7fc00000, 0xff800000, 0xc0000000, 0x80000001,
                          0x80000000, 0x00000000, 0x00000001, 0x40000000, 0x7f800000};
  WaveBench b;
  for (unsigned i = 0; i < 10; i++) b.v(1)[i] = examples[i];
  b.set_exec(0x3ff);
  for (unsigned n = 0; n < 10; n++) {
    b.set_v(2, 1u << n);
    b.run("v_cmp_class_f32_e32 vcc, v1, v2");
    EXPECT_EQ(b.vcc(), 1u << n) << "class " << n;
  }
  b.set_v64(4, 0x8000000000000001ull);
  b.set_v(2, 0x10);
  b.run("v_cmp_class_f64_e32 vcc, v[4:5], v2");
  EXPECT_EQ(b.vcc(), 0x3ffu);
  b.set_v(1, 0x7c00);
  b.set_v(2, 0x200);
  b.run("v_cmp_class_f16_e32 vcc, v1, v2");
  EXPECT_EQ(b.vcc(), 0x3ffu);
}

TEST(VectorCompares, InactiveLanesReadZero) {
  WaveBench b;
  b.set_exec(0xff00);
  b.wave.set_sgpr64(10, ~0ull);
  b.run("v_cmp_eq_u32_e64 s[10:11], v1, v1");
  EXPECT_EQ(b.wave.sgpr64(10), 0xff00u);
}

TEST(VectorCompares, CmpxAlsoWritesExecAndOnGfx10OnlyThat) {
  WaveBench b;
  b.set_v(1, {1, 2, 3, 4});
  b.run("v_cmpx_gt_u32_e32 vcc, 3, v1");
  EXPECT_EQ(b.vcc(), 0b11u);
  EXPECT_EQ(b.wave.exec(), 0b11u);
  WaveBench r("gfx1030");
  r.set_v(1, {1, 2, 3, 4});
  r.wave.sgpr[sreg::vcc_lo] = 77;
  r.run("v_cmpx_gt_u32_e32 3, v1");
  EXPECT_EQ(r.wave.sgpr[sreg::vcc_lo], 77u);
  EXPECT_EQ(r.wave.exec(), 0b11u);
}

TEST(VectorCompares, SignsAndHalvesApplyToOperands) {
  WaveBench b;
  b.set_exec(1);
  b.set_v(1, bits(-2.0f)), b.set_v(2, bits(2.0f));
  b.run("v_cmp_eq_f32_e64 vcc, |v1|, v2");
  EXPECT_EQ(b.vcc(), 1u);
  b.run("v_cmp_eq_f32_e64 vcc, v1, -v2");
  EXPECT_EQ(b.vcc(), 1u);
  b.set_v(1, 0x00120034), b.set_v(2, 0x12);
  b.run("v_cmp_eq_u16_sdwa vcc, v1, v2 src0_sel:WORD_1 src1_sel:DWORD");
  EXPECT_EQ(b.vcc(), 1u);
  b.run("v_cmp_eq_u32_sdwa s[4:5], v1, v2 src0_sel:BYTE_2 src1_sel:BYTE_0");
  EXPECT_EQ(b.wave.sgpr64(4), 1u);
}

TEST(VectorCompares, LanesThatDppLeavesOutReadZero) {
  WaveBench r("gfx1100");
  for (unsigned i = 0; i < 32; i++) r.v(1)[i] = i;
  r.run("v_cmp_le_u32_dpp vcc_lo, v1, v1 row_shr:1 row_mask:0x1 bank_mask:0xf");
  EXPECT_EQ(r.wave.sgpr[sreg::vcc_lo], 0xfffeu);
}

TEST(VectorCompares, DenormalsAreEqualToZeroWhenFlushed) {
  WaveBench b;
  b.set_exec(1);
  b.set_v(1, 1), b.set_v(2, 0);
  b.run("v_cmp_eq_f32_e32 vcc, v1, v2");
  EXPECT_EQ(b.vcc(), 0u);
  b.wave.set_mode(0x3c0); // f32 denormals flushed
  b.run("v_cmp_eq_f32_e32 vcc, v1, v2");
  EXPECT_EQ(b.vcc(), 1u);
}

} // namespace
} // namespace fade::sim
