// What surrounds an operation: signs, halves, bytes, other lanes, output modifiers, MODE, EXEC.
#include "wave_bench.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

namespace fade::sim {
namespace {

constexpr u32 denormal = 1;

TEST(Modifiers, SignsApplyBeforeTheOperation) {
  WaveBench b;
  EXPECT_EQ(b.evalf("v_add_f32_e64 v0, -v1, v2", {2.0f, 5.0f}), 3.0f);
  EXPECT_EQ(b.evalf("v_add_f32_e64 v0, |v1|, v2", {-2.0f, 5.0f}), 7.0f);
  EXPECT_EQ(b.evalf("v_add_f32_e64 v0, -|v1|, v2", {-2.0f, 5.0f}), 3.0f);
  EXPECT_EQ(b.evald("v_mul_f64 v[0:1], -v[2:3], |v[4:5]|", {2.0, -5.0}), -10.0);
  EXPECT_EQ(b.eval("v_add_f16_e64 v0, -v1, v2", {0x3c00, 0x4000}), 0x3c00u);
}

TEST(Modifiers, ClampKeepsFloatsBetweenZeroAndOne) {
  WaveBench b;
  EXPECT_EQ(b.evalf("v_add_f32_e64 v0, v1, v2 clamp", {2.0f, 5.0f}), 1.0f);
  EXPECT_EQ(bits(b.evalf("v_add_f32_e64 v0, v1, v2 clamp", {-2.0f, 1.0f})), 0u);
  EXPECT_EQ(b.evalf("v_add_f32_e64 v0, v1, v2 clamp", {0.25f, 0.25f}), 0.5f);
  EXPECT_EQ(b.evald("v_add_f64 v[0:1], v[2:3], v[4:5] clamp", {2.0, 5.0}), 1.0);
  EXPECT_EQ(b.eval("v_add_f16_e64 v0, v1, v2 clamp", {0x4000, 0x4000}), 0x3c00u);
  // NaN becomes 0 with DX10_CLAMP, and stays without.
  EXPECT_EQ(b.eval("v_add_f32_e64 v0, v1, v2 clamp", {0x7fc00000, 0}), 0u);
  b.wave.set_mode(0x2f0);
  EXPECT_EQ(b.eval("v_add_f32_e64 v0, v1, v2 clamp", {0x7fc00000, 0}), 0x7fc00000u);
}

TEST(Modifiers, OutputMultiplierNeedsFlushedDenormalsAndNoIeee) {
  WaveBench b;
  EXPECT_EQ(b.evalf("v_add_f32_e64 v0, v1, v2 mul:2", {1.0f, 2.0f}), 3.0f); // IEEE mode: ignored
  b.wave.set_mode(0x1c0);
  EXPECT_EQ(b.evalf("v_add_f32_e64 v0, v1, v2 mul:2", {1.0f, 2.0f}), 6.0f);
  EXPECT_EQ(b.evalf("v_add_f32_e64 v0, v1, v2 mul:4", {1.0f, 2.0f}), 12.0f);
  EXPECT_EQ(b.evalf("v_add_f32_e64 v0, v1, v2 div:2", {1.0f, 2.0f}), 1.5f);
  EXPECT_EQ(bits(b.evalf("v_mul_f32_e64 v0, v1, v2 div:2", {-0.0f, 2.0f})),
            0u); // a zero loses its sign
  EXPECT_EQ(b.evalf("v_add_f32_e64 v0, v1, v2 clamp div:2", {3.0f, 2.0f}), 1.0f);
}

TEST(Mode, DenormalsAreFlushedPerWidthAndDirection) {
  WaveBench b;
  b.wave.set_mode(0x3c0); // f32: operands and results flushed; f16 and f64 kept
  EXPECT_EQ(b.eval("v_add_f32_e32 v0, v1, v2", {denormal, 0}), 0u);
  EXPECT_EQ(b.eval("v_add_f16_e32 v0, v1, v2", {denormal, 0}), denormal);
  EXPECT_EQ(b.eval64("v_add_f64 v[0:1], v[2:3], v[4:5]", {1, 0}), 1u);
  b.wave.set_mode(0x3d0); // f32 operands kept, results flushed
  EXPECT_EQ(b.evalf("v_mul_f32_e32 v0, v1, v2", {0x1p-140f, 0x1p20f}), 0x1p-120f);
  EXPECT_EQ(b.evalf("v_mul_f32_e32 v0, v1, v2", {0x1p-100f, 0x1p-40f}), 0.0f);
  b.wave.set_mode(0x3e0); // operands flushed, results kept
  EXPECT_EQ(b.evalf("v_mul_f32_e32 v0, v1, v2", {0x1p-140f, 0x1p20f}), 0.0f);
  EXPECT_EQ(b.evalf("v_mul_f32_e32 v0, v1, v2", {0x1p-100f, 0x1p-40f}), 0x1p-140f);
  b.wave.set_mode(0x330); // f16 and f64 flushed
  EXPECT_EQ(b.eval64("v_add_f64 v[0:1], v[2:3], v[4:5]", {0x8000000000000001, 0x8000000000000000}),
            0x8000000000000000u);
  EXPECT_EQ(b.eval("v_mul_f16_e32 v0, v1, v2", {denormal, 0x7b00}), 0u);
  EXPECT_EQ(b.eval("v_mov_b32_e32 v0, v1", {denormal}), denormal); // bits are bits
}

TEST(Mode, RoundingIsChosenPerWidth) {
  WaveBench b;
  const f32 tiny = 0x1p-30f;
  const struct {
    u32 field;
    f32 positive, negative;
  } cases[] = {
      {0, 1.0f, -1.0f},          // nearest even
      {1, 0x1.000002p0f, -1.0f}, // up
      {2, 1.0f, -0x1.000002p0f}, // down
      {3, 1.0f, -1.0f},          // toward zero
  };
  for (const auto &c : cases) {
    b.wave.set_mode(0x3f0 | c.field);
    EXPECT_EQ(b.evalf("v_add_f32_e32 v0, v1, v2", {1.0f, tiny}), c.positive) << c.field;
    EXPECT_EQ(b.evalf("v_sub_f32_e32 v0, v1, v2", {-1.0f, tiny}), c.negative) << c.field;
    EXPECT_EQ(b.evald("v_add_f64 v[0:1], v[2:3], v[4:5]", {1.0, 0x1p-60}), 1.0) << c.field;
  }
  b.wave.set_mode(0x3f4); // f16 and f64 up
  EXPECT_EQ(b.evald("v_add_f64 v[0:1], v[2:3], v[4:5]", {1.0, 0x1p-60}), 0x1.0000000000001p0);
  EXPECT_EQ(b.evalf("v_add_f32_e32 v0, v1, v2", {1.0f, tiny}), 1.0f);
  EXPECT_EQ(b.eval("v_add_f16_e32 v0, v1, v2", {0x3c00, 0x0001}), 0x3c01u);
  EXPECT_EQ(b.eval("v_cvt_f16_f32_e32 v0, v1", {bits(1 + 0x1p-20f)}),
            0x3c01u); // the result's width decides
  EXPECT_EQ(b.eval("v_cvt_f16_f32_e32 v0, v1", {bits(-1 - 0x1p-20f)}), 0xbc00u);
  b.wave.set_mode(0x3f3); // f32 toward zero
  EXPECT_EQ(b.evalf("v_cvt_f32_u32_e32 v0, v1", {as_f32(0xffffffff)}), 4294967040.0f);
  EXPECT_EQ(b.evalf("v_mul_f32_e32 v0, v1, v2", {3e38f, 3e38f}), std::numeric_limits<f32>::max());
}

TEST(Exec, OnlyActiveLanesAreWritten) {
  WaveBench b;
  b.set_v(0, 9);
  b.set_v(1, 1), b.set_v(2, 2);
  b.set_exec(0xf0000000000000f0);
  b.run("v_add_u32_e32 v0, v1, v2");
  for (unsigned i = 0; i < 64; i++)
    EXPECT_EQ(b.v(0)[i], (0xf0000000000000f0 >> i & 1) ? 3u : 9u) << i;
  b.run("v_add_u32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD "
        "src1_sel:DWORD");
  EXPECT_EQ(b.v(0)[0], 9u);
  EXPECT_EQ(b.v(0)[4], 0x303u);
}

// More sets of lanes than a wave keeps masks of, in turn and back.
TEST(Exec, OfManySetsOfLanesEachIsTheRightOne) {
  WaveBench b;
  b.set_v(1, 1), b.set_v(2, 2);
  for (const unsigned first : {0u, 1u, 2u, 3u, 4u, 5u, 0u, 5u, 1u, 4u, 6u, 2u, 6u, 0u}) {
    const uint64_t exec = 0x8000000000000001u << first | 1ull << (first + 32);
    b.set_v(0, 9);
    b.set_exec(exec);
    b.run("v_add_u32_e32 v0, v1, v2");
    for (unsigned i = 0; i < 64; i++)
      EXPECT_EQ(b.v(0)[i], (exec >> i & 1) ? 3u : 9u) << first << " " << i;
  }
}

TEST(Operands, ScalarsAndLiteralsReachEveryLane) {
  WaveBench b;
  b.s(5) = 40;
  b.set_v(1, 2);
  b.run("v_add_u32_e32 v0, s5, v1");
  EXPECT_EQ(b.v(0)[63], 42u);
  b.run("v_add_u32_e32 v0, 0x12345678, v1");
  EXPECT_EQ(b.v(0)[63], 0x1234567au);
  b.run("v_add_u32_e32 v0, -16, v1");
  EXPECT_EQ(b.v(0)[63], 0xfffffff2u);
  b.wave.set_sgpr64(6, bits(2.5));
  b.set_v64(2, bits(0.5));
  b.run("v_add_f64 v[0:1], s[6:7], v[2:3]");
  EXPECT_EQ(as_f64(b.v64(0, 63)), 3.0);
}

TEST(Sdwa, PicksAndExtendsPartsOfSources) {
  WaveBench b;
  EXPECT_EQ(b.eval("v_add_u32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 "
                   "src1_sel:WORD_1",
                   {0x80112233, 0x00450000}),
            0xc5u);
  EXPECT_EQ(b.eval("v_add_u32_sdwa v0, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD "
                   "src0_sel:BYTE_3 src1_sel:WORD_1",
                   {0x80112233, 0x00450000}),
            0xffffffc5u);
  EXPECT_EQ(b.eval("v_add_f16_sdwa v0, -v1, |v2| dst_sel:DWORD dst_unused:UNUSED_PAD "
                   "src0_sel:WORD_1 src1_sel:WORD_0",
                   {0x3c000000, 0x0000c000}),
            0x3c00u);
}

TEST(Sdwa, PlacesResultsAndTreatsTheRestAsAsked) {
  WaveBench b;
  b.set_v(0, 0xaabbccdd);
  const std::string add = "v_add_u32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:";
  const std::string whole = " src0_sel:DWORD src1_sel:DWORD";
  EXPECT_EQ(b.eval(add + "UNUSED_PRESERVE" + whole, {0x70, 0x1f}), 0xaabb8fddu);
  EXPECT_EQ(b.eval(add + "UNUSED_PAD" + whole, {0x70, 0x1f}), 0x00008f00u);
  EXPECT_EQ(b.eval(add + "UNUSED_SEXT" + whole, {0x70, 0x1f}), 0xffff8f00u);
  b.set_v(0, 0xaabbccdd);
  EXPECT_EQ(
      b.eval("v_mov_b32_sdwa v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0",
             {0x1234}),
      0x1234ccddu);
}

TEST(OpSel, ReadsAndWritesHalves) {
  WaveBench b;
  b.set_v(0, 0xaaaabbbb);
  EXPECT_EQ(
      b.eval("v_mad_u16 v0, v1, v2, v3 op_sel:[1,0,1,1]", {0x00020009, 0x00090003, 0x00040009}),
      0x000abbbbu);
  WaveBench r("gfx1100");
  r.set_v(0, 0xaaaabbbb);
  EXPECT_EQ(r.eval("v_add_nc_u16 v0, v1, v2 op_sel:[1,1,0]", {0x00050001, 0x00060001}),
            0xaaaa000bu);
}

// Lanes hold their own number.
class Dpp : public testing::Test {
protected:
  void SetUp() override {
    for (unsigned i = 0; i < 64; i++) b.v(1)[i] = i;
    b.set_v(0, 99);
  }
  void expect(const std::string &control, std::function<int(int)> source) { // -1: not written
    b.set_v(0, 99);
    b.run("v_mov_b32_dpp v0, v1 " + control);
    for (int i = 0; i < static_cast<int>(b.wave.lanes); i++) {
      const int from = source(i);
      EXPECT_EQ(b.v(0)[i], from < 0 ? 99u : static_cast<u32>(from)) << control << " lane " << i;
    }
  }
  WaveBench b;
};

TEST_F(Dpp, EveryControlOfGfx9) {
  const std::string all = " row_mask:0xf bank_mask:0xf";
  expect("quad_perm:[3,0,1,1]" + all, [](int i) {
    return (i & ~3) + std::array{3, 0, 1, 1}[i & 3];
  });
  expect("row_shl:3" + all, [](int i) { return i % 16 + 3 < 16 ? i + 3 : -1; });
  expect("row_shr:5" + all, [](int i) { return i % 16 >= 5 ? i - 5 : -1; });
  expect("row_ror:4" + all, [](int i) { return i / 16 * 16 + (i % 16 + 12) % 16; });
  expect("wave_shl:1" + all, [](int i) { return i < 63 ? i + 1 : -1; });
  expect("wave_shr:1" + all, [](int i) { return i > 0 ? i - 1 : -1; });
  expect("wave_rol:1" + all, [](int i) { return (i + 1) % 64; });
  expect("wave_ror:1" + all, [](int i) { return (i + 63) % 64; });
  expect("row_mirror" + all, [](int i) { return i / 16 * 16 + 15 - i % 16; });
  expect("row_half_mirror" + all, [](int i) { return i / 8 * 8 + 7 - i % 8; });
  // Lanes before the first that is handed on read themselves, whatever bound_ctrl says.
  for (const std::string &bound : {std::string(), std::string(" bound_ctrl:0")}) {
    expect("row_bcast:15" + all + bound, [](int i) { return i < 16 ? i : i / 16 * 16 - 1; });
    expect("row_bcast:31" + all + bound, [](int i) { return i < 32 ? i : 31; });
  }
  expect("row_newbcast:6" + all, [](int i) { return i / 16 * 16 + 6; });
}

TEST_F(Dpp, MasksKeepRowsAndBanks) {
  expect("row_shr:1 row_mask:0xa bank_mask:0x6", [](int i) {
    const bool written = (0xa >> i / 16 & 1) && (0x6 >> i % 16 / 4 & 1) && i % 16 >= 1;
    return written ? i - 1 : -1;
  });
}

TEST_F(Dpp, BoundControlReadsZeroWhereThereIsNoLane) {
  expect("row_shr:5 row_mask:0xf bank_mask:0xf bound_ctrl:0",
         [](int i) { return i % 16 >= 5 ? i - 5 : 0; });
}

TEST_F(Dpp, InactiveLanesCannotBeRead) {
  b.set_exec(~0ull & ~(1ull << 8));
  b.set_v(0, 99);
  b.run("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(b.v(0)[9], 99u);
  EXPECT_EQ(b.v(0)[8], 99u);
  EXPECT_EQ(b.v(0)[10], 9u);
}

TEST(DppOnGfx10, HasItsOwnControls) {
  WaveBench b("gfx1030");
  for (unsigned i = 0; i < 32; i++) b.v(1)[i] = i;
  b.run("v_mov_b32_dpp v0, v1 row_share:7 row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(b.v(0)[20], 23u);
  b.run("v_mov_b32_dpp v0, v1 row_xmask:5 row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(b.v(0)[18], 16u + (2 ^ 5));
  b.run("v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0]");
  EXPECT_EQ(b.v(0)[9], 14u);
  b.set_exec(0xfffffffe);
  b.set_v(0, 99);
  b.run("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf fi:1");
  EXPECT_EQ(b.v(0)[1], 0u); // lane 0 is inactive and still read
}

TEST(DppArithmetic, CombinesWithTheLanesOwnValue) {
  WaveBench b;
  for (unsigned i = 0; i < 64; i++) b.v(1)[i] = i, b.v(2)[i] = 100 * i;
  b.run("v_add_u32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(b.v(0)[5], 504u);
  for (unsigned i = 0; i < 64; i++) b.v(1)[i] = bits(static_cast<f32>(i)), b.v(2)[i] = bits(1.0f);
  b.run("v_add_f32_dpp v0, -v1, |v2| row_newbcast:3 row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(as_f32(b.v(0)[40]), 1.0f - 35.0f);
}

TEST(RegisterIndexing, MovesGoThroughM0Offsets) {
  WaveBench b;
  b.set_v(5, 55), b.set_v(7, 77), b.set_v(0, 0);
  b.wave.set_gpr_index(0x1000 | 4); // source 0 relative
  b.run("v_mov_b32_e32 v0, v1");
  EXPECT_EQ(b.v(0)[0], 55u);
  b.wave.set_gpr_index(0x8000 | 9); // destination relative
  b.run("v_mov_b32_e32 v0, v7");
  EXPECT_EQ(b.v(9)[0], 77u);
  EXPECT_EQ(b.v(0)[0], 55u);
}

// As newer compilers write them; given as words, for LLVM 19 does not assemble them.
TEST(HalfRegisters, EachEncodingOfGfx11ReadsAndWritesTheHalfItNames) {
  WaveBench b("gfx1100", 32);
  b.set_v(0, 0x3c004000); // high 1.0, low 2.0
  b.set_v(1, 0xdeadbeef);
  b.run({0x67030100}); // v_sub_f16_e32 v1.h, v0.l, v0.h
  EXPECT_EQ(b.v(1)[0], 0x3c00beefu);
  b.run({0x7e061780}); // v_cvt_f32_f16_e32 v3, v0.h
  EXPECT_EQ(b.v(3)[7], 0x3f800000u);
  b.set_v(2, 0x40000000), b.set_v(3, 0x00003c00), b.set_v(1, 0x12345678);
  b.run({0xd5324801, 0x00020702}); // v_add_f16_e64 v1.h, v2.h, v3.l
  EXPECT_EQ(b.v(1)[31], 0x42005678u);
  b.set_v(1, 0x12345678);
  b.run({0x7e023982}); // v_mov_b16_e32 v1.l, v2.h
  EXPECT_EQ(b.v(1)[3], 0x12344000u);
}

} // namespace
} // namespace fade::sim
