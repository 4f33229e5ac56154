// Instruction boundaries and mnemonics against llvm-objdump; classes, blocks and counts against
// what the code says.
#include "codeobj/kernel_code.h"
#include "extent.h"
#include "fade/gpu.h"
#include "support.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace fade::codeobj {
namespace {

/// Address -> mnemonic. objdump prints "\ts_endpgm    // 000000001804: BF810000".
std::map<std::uint64_t, std::string> instructions_by_objdump(const std::string &path) {
  std::map<std::uint64_t, std::string> found;
  for (const std::string &line : testing::lines_of(testing::objdump("-d " + path))) {
    std::size_t comment = line.find("// ");
    if (!line.starts_with('\t') || comment == std::string::npos) continue;
    std::string text = line.substr(1, comment - 1);
    found[std::stoull(line.substr(comment + 3), nullptr, 16)] = text.substr(0, text.find(' '));
  }
  return found;
}

/// Versions of LLVM differ on whether an instruction with only one encoding names it.
std::string without_encoding(std::string_view mnemonic) {
  for (std::string_view suffix : {"_e32", "_e64"})
    if (mnemonic.ends_with(suffix)) mnemonic.remove_suffix(suffix.size());
  return std::string(mnemonic);
}

Kernel kernel_of(const CodeObject &object, const std::string &name) {
  auto index = object.findKernel(name);
  EXPECT_TRUE(index) << name;
  auto kernel = object.kernel(*index);
  EXPECT_TRUE(kernel) << kernel.error().message();
  return *kernel;
}

KernelCode code_of(const std::string &sample, const std::string &name) {
  auto object = testing::open_object(testing::sample(sample));
  auto code = analyzeKernel(*object, kernel_of(*object, name));
  EXPECT_TRUE(code) << code.error().message();
  return *code;
}

TEST(InstructionText, IsTheSameWhicheverLlvmPrintsIt) {
  EXPECT_EQ(instructionText("\tv_add_f32_e32 v0, v1, v2\t// 00: 02000501"),
            "v_add_f32_e32 v0, v1, v2");
  // LLVM 22
  EXPECT_EQ(instructionText("\ts_addc_u32 s1, s1, lit(0x0)"), "s_addc_u32 s1, s1, 0");
  EXPECT_EQ(instructionText("s_add_u32 s0, s0, lit(0x40)"), "s_add_u32 s0, s0, 64");
  EXPECT_EQ(instructionText("v_mul_f32_e32 v1, lit(0x3f800000), v1"),
            "v_mul_f32_e32 v1, 0x3f800000, v1");
  EXPECT_EQ(instructionText("s_mov_b64 s[0:1], lit64(0x1)"), "s_mov_b64 s[0:1], 1");
  EXPECT_EQ(instructionText("v_pk_add lit(0x2), lit(0x3), v1"), "v_pk_add 2, 3, v1");
  EXPECT_EQ(instructionText("s_mov_b32 s0, lit(0x1"), "s_mov_b32 s0, lit(0x1");
}

class CodeOfObject : public ::testing::TestWithParam<std::string> {};

TEST_P(CodeOfObject, BoundariesAndMnemonicsEqualObjdump) {
  auto object = testing::open_object(GetParam());
  auto expected = instructions_by_objdump(GetParam());
  for (std::size_t i = 0; i < object->kernelCount(); ++i) {
    auto kernel = object->kernel(i);
    ASSERT_TRUE(kernel);
    auto code = analyzeKernel(*object, *kernel);
    ASSERT_TRUE(code) << code.error().message();
    std::uint64_t next = kernel->code_address;
    for (const Instruction &instruction : code->instructions) {
      ASSERT_EQ(instruction.address, next);
      auto found = expected.find(instruction.address);
      ASSERT_NE(found, expected.end())
          << fmt::format("{:#x} {}", instruction.address, instruction.text);
      EXPECT_EQ(without_encoding(instruction.mnemonic()), without_encoding(found->second))
          << fmt::format("{:#x}", instruction.address);
      next += instruction.size;
    }
    EXPECT_EQ(next, kernel->code_address + kernel->code_size);
  }
}

TEST_P(CodeOfObject, EveryInstructionHasAClassAndEveryAccessAWidth) {
  auto object = testing::open_object(GetParam());
  for (std::size_t i = 0; i < object->kernelCount(); ++i) {
    auto kernel = object->kernel(i);
    ASSERT_TRUE(kernel);
    auto code = analyzeKernel(*object, *kernel);
    ASSERT_TRUE(code) << code.error().message();
    for (std::size_t n = 0; n < code->instructions.size(); ++n) {
      EXPECT_NE(code->info[n].unit, Unit::Invalid) << code->instructions[n].text;
      if (code->info[n].memory != MemoryOperation::None) {
        EXPECT_GT(code->info[n].width, 0u) << code->instructions[n].text;
      }
      if (code->info[n].unit == Unit::Matrix) {
        EXPECT_GT(code->info[n].wave_flops, 0u) << code->instructions[n].text;
      }
    }
  }
}

TEST_P(CodeOfObject, BlocksCoverTheCodeAndEdgesLeadToBlocks) {
  auto object = testing::open_object(GetParam());
  for (std::size_t i = 0; i < object->kernelCount(); ++i) {
    auto kernel = object->kernel(i);
    ASSERT_TRUE(kernel);
    auto code = analyzeKernel(*object, *kernel);
    ASSERT_TRUE(code);
    std::size_t next = 0;
    std::uint32_t instructions = 0;
    for (std::size_t b = 0; b < code->blocks.size(); ++b) {
      const BasicBlock &block = code->blocks[b];
      EXPECT_EQ(block.first, next);
      next += block.count;
      instructions += block.mix.instructions();
      for (std::size_t successor : block.successors) EXPECT_LT(successor, code->blocks.size());
      for (std::size_t n = block.first; n < block.first + block.count; ++n)
        EXPECT_EQ(code->blockOf(n), b);
      // Only the last instruction of a block may change the way.
      for (std::size_t n = block.first; n + 1 < block.first + block.count; ++n)
        EXPECT_TRUE(code->info[n].flow == Flow::Next || code->info[n].flow == Flow::Call);
    }
    EXPECT_EQ(next, code->instructions.size());
    EXPECT_EQ(instructions, code->mix.instructions());
  }
}

INSTANTIATE_TEST_SUITE_P(All, CodeOfObject, ::testing::ValuesIn(testing::small_code_objects()),
                         [](const auto &p) { return testing::test_name(p.param); });

// A real library: the first kernels of each processor, with far more kinds of instructions than the
// samples have.
TEST(Disassembler, EqualsObjdumpOnRocrand) {
  std::size_t objects = 0, instructions = 0;
  for (const std::string &path : testing::modern_code_objects()) {
    if (path.find("/rocrand-") == std::string::npos) continue;
    ++objects;
    auto object = testing::open_object(path);
    for (std::size_t i = 0; i < extent::steps<std::size_t>(6, 2); ++i) {
      auto kernel = object->kernel(i);
      ASSERT_TRUE(kernel);
      auto expected = instructions_by_objdump(
          fmt::format("--start-address={:#x} --stop-address={:#x} {}", kernel->code_address,
                      kernel->code_address + kernel->code_size, path));
      auto code = analyzeKernel(*object, *kernel);
      ASSERT_TRUE(code) << code.error().message();
      EXPECT_EQ(code->instructions.size(), expected.size()) << kernel->name;
      for (std::size_t n = 0; n < code->instructions.size(); ++n) {
        const Instruction &instruction = code->instructions[n];
        ASSERT_TRUE(expected.contains(instruction.address))
            << fmt::format("{:#x}", instruction.address);
        ASSERT_EQ(without_encoding(instruction.mnemonic()),
                  without_encoding(expected[instruction.address]));
        EXPECT_NE(code->info[n].unit, Unit::Invalid) << instruction.text;
      }
      instructions += code->instructions.size();
    }
  }
  if (objects == 0) GTEST_SKIP() << "librocrand is not installed";
  EXPECT_GT(instructions, 1000u);
}

struct Expected {
  const char *text;
  Unit unit;
  MemoryOperation memory = MemoryOperation::None;
  MemorySpace space = MemorySpace::None;
  unsigned width = 0;
  unsigned lane_flops = 0;
  unsigned wave_flops = 0;
};

TEST(Classify, KnowsUnitsWidthsSpacesAndFlops) {
  using enum Unit;
  using Op = MemoryOperation;
  using Sp = MemorySpace;
  const Expected table[] = {
      {"v_add_f32_e32 v0, v1, v2", Valu, Op::None, Sp::None, 0, 1},
      {"v_fma_f32 v0, v1, v2, v3", Valu, Op::None, Sp::None, 0, 2},
      {"v_fmac_f32_e32 v0, v1, v2", Valu, Op::None, Sp::None, 0, 2},
      {"v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", Valu, Op::None, Sp::None, 0, 2},
      {"v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]", Valu, Op::None, Sp::None, 0, 4},
      {"v_pk_add_f16 v0, v1, v2", Valu, Op::None, Sp::None, 0, 2},
      {"v_fma_mix_f32 v0, v1, v2, v3", Valu, Op::None, Sp::None, 0, 2},
      {"v_div_fmas_f32 v0, v1, v2, v3", Valu, Op::None, Sp::None, 0, 2},
      {"v_div_scale_f32 v0, vcc, v1, v2, v3", Valu},
      {"v_rcp_f32_e32 v0, v1", Valu, Op::None, Sp::None, 0, 1},
      {"v_exp_f32_e32 v0, v1", Valu, Op::None, Sp::None, 0, 1},
      {"v_dot2_f32_f16 v0, v1, v2, v3", Valu, Op::None, Sp::None, 0, 4},
      {"v_dual_mul_f32 v0, v1, v2 :: v_dual_fmac_f32 v3, v4, v5", Valu, Op::None, Sp::None, 0, 3},
      {"v_dual_mov_b32 v0, v1 :: v_dual_add_f32 v3, v4, v5", Valu, Op::None, Sp::None, 0, 1},
      {"v_max_f32_e32 v0, v1, v2", Valu},
      {"v_cvt_f32_f16_e32 v0, v1", Valu},
      {"v_mad_u32_u24 v0, v1, v2, v3", Valu},
      {"v_add_u32_e32 v0, v1, v2", Valu},
      {"v_mul_lo_u32 v0, v1, v2", Valu},
      {"v_cmp_gt_f32_e32 vcc, v0, v1", Valu},
      {"v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]", Matrix, Op::None, Sp::None, 0, 0,
       2 * 32 * 32 * 1 * 2},
      {"v_mfma_f32_32x32x2f32 a[0:15], v0, v1, a[0:15]", Matrix, Op::None, Sp::None, 0, 0,
       2 * 32 * 32 * 2},
      {"v_mfma_f32_16x16x1f32 a[0:15], v0, v1, a[0:15]", Matrix, Op::None, Sp::None, 0, 0,
       2 * 16 * 16 * 1 * 4},
      {"v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]", Matrix, Op::None, Sp::None, 0, 0,
       2 * 4 * 4 * 1 * 16},
      {"v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]", Matrix, Op::None, Sp::None, 0, 0,
       2 * 32 * 32 * 8},
      {"v_mfma_f32_32x32x4f16 a[0:31], v[0:1], v[2:3], 0", Matrix, Op::None, Sp::None, 0, 0,
       2 * 32 * 32 * 4 * 2},
      {"v_mfma_f32_32x32x4bf16_1k a[0:31], v[0:1], v[2:3], 0", Matrix, Op::None, Sp::None, 0, 0,
       2 * 32 * 32 * 4 * 2},
      {"v_mfma_f32_32x32x4bf16 a[0:15], v0, v1, 0", Matrix, Op::None, Sp::None, 0, 0,
       2 * 32 * 32 * 4},
      {"v_mfma_i32_16x16x16i8 a[0:3], v0, v1, 0", Matrix, Op::None, Sp::None, 0, 0,
       2 * 16 * 16 * 16},
      {"v_mfma_f64_4x4x4f64 a[0:1], v[0:1], v[2:3], 0", Matrix, Op::None, Sp::None, 0, 0,
       2 * 4 * 4 * 4 * 4},
      {"v_mfma_f64_16x16x4f64 a[0:7], v[0:1], v[2:3], 0", Matrix, Op::None, Sp::None, 0, 0,
       2 * 16 * 16 * 4},
      {"v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], 0", Matrix, Op::None, Sp::None, 0, 0,
       2 * 16 * 16 * 16},
      {"v_mfma_f32_4x4x4_16b_f16 a[0:3], v[0:1], v[2:3], 0", Matrix, Op::None, Sp::None, 0, 0,
       2 * 4 * 4 * 4 * 16},
      {"v_mfma_f32_32x32x16_fp8_bf8 a[0:15], v[0:1], v[2:3], 0", Matrix, Op::None, Sp::None, 0, 0,
       2 * 32 * 32 * 16},
      {"v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10", Matrix, Op::None, Sp::None, 0, 0,
       2 * 16 * 16 * 32},
      {"v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", Matrix, Op::None, Sp::None, 0,
       0, 2 * 16 * 16 * 16},
      {"s_add_u32 s0, s1, s2", Salu},
      {"s_and_saveexec_b64 s[0:1], vcc", Salu},
      {"s_getpc_b64 s[0:1]", Salu},
      {"s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0", Salu},
      {"s_load_dwordx4 s[0:3], s[4:5], 0x0", Smem, Op::Load, Sp::Constant, 16},
      {"s_load_b128 s[0:3], s[4:5], 0x0", Smem, Op::Load, Sp::Constant, 16},
      {"s_buffer_load_dword s0, s[4:7], 0x0", Smem, Op::Load, Sp::Constant, 4},
      {"s_load_u16 s0, s[4:5], 0x0", Smem, Op::Load, Sp::Constant, 2},
      {"s_memtime s[0:1]", Smem},
      {"global_load_dwordx4 v[0:3], v4, s[0:1]", Vmem, Op::Load, Sp::Global, 16},
      {"global_load_b96 v[0:2], v4, s[0:1]", Vmem, Op::Load, Sp::Global, 12},
      {"global_load_ubyte v0, v1, s[0:1]", Vmem, Op::Load, Sp::Global, 1},
      {"global_load_u8 v0, v1, s[0:1]", Vmem, Op::Load, Sp::Global, 1},
      {"global_load_short_d16_hi v0, v1, s[0:1]", Vmem, Op::Load, Sp::Global, 2},
      {"global_load_d16_hi_b16 v0, v1, s[0:1]", Vmem, Op::Load, Sp::Global, 2},
      {"global_store_dword v0, v1, s[0:1]", Vmem, Op::Store, Sp::Global, 4},
      {"global_store_byte v0, v1, s[0:1]", Vmem, Op::Store, Sp::Global, 1},
      {"global_atomic_add v0, v1, s[0:1]", Vmem, Op::Atomic, Sp::Global, 4},
      {"global_atomic_add_x2 v0, v[1:2], s[0:1]", Vmem, Op::Atomic, Sp::Global, 8},
      {"global_atomic_add_u32 v0, v1, s[0:1]", Vmem, Op::Atomic, Sp::Global, 4},
      {"global_atomic_add_f64 v0, v[2:3], s[0:1]", Vmem, Op::Atomic, Sp::Global, 8},
      {"global_atomic_pk_add_f16 v0, v1, s[0:1]", Vmem, Op::Atomic, Sp::Global, 4},
      {"global_atomic_cmpswap_b64 v0, v[2:5], s[0:1]", Vmem, Op::Atomic, Sp::Global, 8},
      {"flat_load_dwordx2 v[0:1], v[2:3]", Vmem, Op::Load, Sp::Flat, 8},
      {"scratch_store_dword off, v0, s0", Vmem, Op::Store, Sp::Scratch, 4},
      {"buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen", Vmem, Op::Load, Sp::Buffer, 16},
      {"buffer_load_dword v4, s[0:3], 0 offen lds", Vmem, Op::Load, Sp::Buffer, 4},
      {"buffer_load_format_xyzw v[0:3], v4, s[0:3], 0 idxen", Vmem, Op::Load, Sp::Buffer, 16},
      {"buffer_load_format_d16_xy v0, v4, s[0:3], 0 idxen", Vmem, Op::Load, Sp::Buffer, 4},
      {"buffer_wbinvl1_vol", Other},
      {"buffer_gl0_inv", Other},
      {"global_inv scope:SCOPE_DEV", Other},
      {"ds_read_b32 v0, v1", Lds, Op::Load, Sp::Lds, 4},
      {"ds_read2_b64 v[0:3], v4 offset1:1", Lds, Op::Load, Sp::Lds, 16},
      {"ds_read2st64_b32 v[0:1], v4 offset1:1", Lds, Op::Load, Sp::Lds, 8},
      {"ds_load_2addr_b32 v[0:1], v4 offset1:1", Lds, Op::Load, Sp::Lds, 8},
      {"ds_wrxchg2_rtn_b32 v[4:5], v1, v2, v3 offset1:3", Lds, Op::Atomic, Sp::Lds, 8},
      {"ds_storexchg_2addr_rtn_b64 v[4:7], v1, v[2:3], v[8:9]", Lds, Op::Atomic, Sp::Lds, 16},
      {"ds_condxchg32_rtn_b64 v[4:5], v1, v[2:3]", Lds, Op::Atomic, Sp::Lds, 8},
      {"ds_load_b128 v[0:3], v4", Lds, Op::Load, Sp::Lds, 16},
      {"ds_read_u16_d16_hi v0, v4", Lds, Op::Load, Sp::Lds, 2},
      {"ds_write_b8 v0, v1", Lds, Op::Store, Sp::Lds, 1},
      {"ds_write2_b32 v0, v1, v2 offset1:1", Lds, Op::Store, Sp::Lds, 8},
      {"ds_store_b64 v0, v[1:2]", Lds, Op::Store, Sp::Lds, 8},
      {"ds_add_u32 v0, v1", Lds, Op::Atomic, Sp::Lds, 4},
      {"ds_add_rtn_u64 v[0:1], v2, v[3:4]", Lds, Op::Atomic, Sp::Lds, 8},
      {"ds_wrxchg_rtn_b32 v0, v1, v2", Lds, Op::Atomic, Sp::Lds, 4},
      {"ds_storexchg_rtn_b32 v0, v1, v2", Lds, Op::Atomic, Sp::Lds, 4},
      {"ds_bpermute_b32 v0, v1, v2", Lds},
      {"ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,16)", Lds},
      {"s_waitcnt vmcnt(0)", Wait},
      {"s_waitcnt_vscnt null, 0x0", Wait},
      {"s_wait_loadcnt 0x0", Wait},
      {"s_barrier", Barrier},
      {"s_barrier_signal -1", Barrier},
      {"s_branch 65530", Branch},
      {"s_cbranch_vccnz 4", Branch},
      {"s_setpc_b64 s[30:31]", Branch},
      {"s_endpgm", Branch},
      {"s_add_f32 s0, s1, s2", Salu, Op::None, Sp::None, 0, 0, 1},
      {"s_fmac_f16 s0, s1, s2", Salu, Op::None, Sp::None, 0, 0, 2},
      {"s_fmaak_f32 s0, s1, s2, 0x40490fdb", Salu, Op::None, Sp::None, 0, 0, 2},
      {"s_cmp_lt_f32 s1, s2", Salu},
      {"s_cvt_f32_f16 s0, s1", Salu},
      {"s_add_co_i32 s0, s1, s2", Salu},
      {"s_nop 0", Other},
      {"s_sendmsg sendmsg(MSG_INTERRUPT)", Other},
      {"s_delay_alu instid0(VALU_DEP_1)", Other},
      {"s_clause 0x1", Other},
      {".long 0x00000000", Invalid},
  };
  for (const Expected &e : table) {
    InstructionInfo info = classify(e.text);
    EXPECT_EQ(to_string(info.unit), to_string(e.unit)) << e.text;
    EXPECT_EQ(to_string(info.memory), to_string(e.memory)) << e.text;
    EXPECT_EQ(to_string(info.space), to_string(e.space)) << e.text;
    EXPECT_EQ(info.width, e.width) << e.text;
    EXPECT_EQ(info.lane_flops, e.lane_flops) << e.text;
    EXPECT_EQ(info.wave_flops, e.wave_flops) << e.text;
  }
}

TEST(Classify, LoadsThatGoIntoLdsCountForBoth) {
  EXPECT_TRUE(classify("buffer_load_dword v4, s[0:3], 0 offen lds").also_lds);
  EXPECT_TRUE(classify("global_load_lds_dwordx4 v1, s[0:1]").also_lds);
  EXPECT_FALSE(classify("buffer_load_dword v1, v4, s[0:3], 0 offen").also_lds);
  EXPECT_EQ(classify("global_load_lds_dwordx4 v1, s[0:1]").width, 16u);
}

TEST(Classify, OperationsHaveTheTypeOfTheirOperands) {
  const auto type = [](const char *text) { return classify(text).flop_type; };
  EXPECT_EQ(type("v_fma_f64 v[0:1], v[0:1], v[0:1], v[0:1]"), NumberType::F64);
  EXPECT_EQ(type("v_add_f32_e32 v0, v1, v2"), NumberType::F32);
  EXPECT_EQ(type("v_pk_fma_f32 v[0:1], v[0:1], v[0:1], v[0:1]"), NumberType::F32);
  EXPECT_EQ(type("v_pk_fma_f16 v0, v0, v0, v0"), NumberType::F16);
  EXPECT_EQ(type("v_dot2_f32_f16 v0, v1, v2, v3"), NumberType::F16);
  EXPECT_EQ(type("v_dot2_f32_bf16 v0, v1, v2, v3"), NumberType::Bf16);
  EXPECT_EQ(type("v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]"), NumberType::F16);
  EXPECT_EQ(type("v_mfma_f32_32x32x4bf16_1k a[0:31], v[0:1], v[2:3], a[0:31]"), NumberType::Bf16);
  EXPECT_EQ(type("v_mfma_f64_16x16x4f64 a[0:7], v[0:1], v[2:3], a[0:7]"), NumberType::F64);
  EXPECT_EQ(type("v_mfma_f32_16x16x32_fp8_bf8 a[0:3], v[0:1], v[2:3], a[0:3]"), NumberType::F8);
  EXPECT_EQ(type("v_mfma_i32_32x32x8i8 a[0:15], v0, v1, a[0:15]"), NumberType::Integer);
  EXPECT_EQ(type("v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]"), NumberType::Bf16);
  EXPECT_EQ(type("v_dual_mov_b32 v0, v1 :: v_dual_fmac_f32 v2, v3, v4"), NumberType::F32);
  EXPECT_EQ(type("v_add_u32_e32 v0, v1, v2"), NumberType::None);
  EXPECT_EQ(type("v_cvt_f32_f64_e32 v0, v[1:2]"), NumberType::None);
  EXPECT_TRUE(classify("v_pk_fma_f16 v0, v0, v0, v0").is_packed);
  EXPECT_FALSE(classify("v_fma_f16 v0, v0, v0, v0").is_packed);
}

TEST(KernelCode, LoopHasABackEdgeToItsOwnBlock) {
  for (const char *sample : {"inlined-gfx90a-g", "inlined-gfx1100-g"}) {
    KernelCode code = code_of(sample, "loop");
    std::size_t back_edges = 0;
    for (std::size_t b = 0; b < code.blocks.size(); ++b)
      for (std::size_t successor : code.blocks[b].successors) back_edges += successor <= b;
    EXPECT_GE(back_edges, 1u) << sample;
    EXPECT_GE(code.mix.count(Unit::Barrier), 2u) << sample;
    EXPECT_GE(code.mix.lds_loaded, 4u) << sample;
    EXPECT_EQ(code.mix.vmem_atomic, 4u) << sample;
  }
}

TEST(KernelCode, BranchesGoWhereObjdumpSaysTheyGo) {
  // "s_cbranch_scc1 65530   // 000000001A14: BF85FFFA <loop+0x40>"
  std::string path = testing::sample("inlined-gfx90a-g");
  auto object = testing::open_object(path);
  std::map<std::uint64_t, std::uint64_t> expected;
  for (const std::string &line : testing::lines_of(testing::objdump("-d " + path))) {
    std::size_t comment = line.find("// "), symbol = line.find('<'), plus = line.rfind("+0x");
    if (comment == std::string::npos || symbol == std::string::npos || plus == std::string::npos ||
        plus < symbol)
      continue;
    const Symbol *function = object->findSymbol(line.substr(symbol + 1, plus - symbol - 1));
    ASSERT_NE(function, nullptr) << line;
    expected[std::stoull(line.substr(comment + 3), nullptr, 16)] =
        function->value + std::stoull(line.substr(plus + 1), nullptr, 16);
  }
  ASSERT_GE(expected.size(), 3u);
  std::size_t compared = 0;
  for (const char *name : {"nested", "loop"}) {
    KernelCode code = code_of("inlined-gfx90a-g", name);
    for (const Instruction &instruction : code.instructions)
      if (auto it = expected.find(instruction.address); it != expected.end()) {
        EXPECT_EQ(instruction.target, it->second) << instruction.text;
        ++compared;
      }
  }
  EXPECT_GE(compared, 3u);
}

TEST(KernelCode, ShowsThatTheCompilerMergedFourLoadsOfALine) {
  auto object = testing::open_object(testing::sample("inlined-gfx90a-g"));
  auto source = SourceMap::open(object);
  ASSERT_TRUE(source);
  auto code = analyzeKernel(*object, kernel_of(*object, "copy_four"));
  ASSERT_TRUE(code);
  std::vector<LineAccess> loads, stores;
  for (const auto &[line, accesses] : accessesByLine(*code, **source))
    for (const LineAccess &access : accesses) {
      if (access.space != MemorySpace::Global) continue;
      EXPECT_TRUE(line.first.ends_with("inlined.hip"));
      (access.operation == MemoryOperation::Load ? loads : stores).push_back(access);
    }
  ASSERT_EQ(loads.size(), 1u);
  ASSERT_EQ(stores.size(), 1u);
  EXPECT_EQ(loads[0].width, 16u);
  EXPECT_EQ(stores[0].width, 16u);
}

TEST(KernelCode, MatrixMultiplicationOfTritonIsMostlyMatrixFlops) {
  auto object = testing::open_object(testing::data_file("triton/gfx90a/matmul_f16.hsaco"));
  auto code = analyzeKernel(*object, kernel_of(*object, "matmul_f16"));
  ASSERT_TRUE(code) << code.error().message();
  EXPECT_GT(code->mix.count(Unit::Matrix), 0u);
  EXPECT_GT(code->mix.wave_flops, 10 * code->mix.lane_flops * 64);
}

TEST(Disassembler, BytesThatAreNoInstructionBecomeData) {
  auto disassembler = Disassembler::create(*parseTarget("gfx90a"), 64);
  ASSERT_TRUE(disassembler);
  std::vector<std::uint8_t> bytes(4, 0xff);
  bytes.insert(bytes.end(), {0x00, 0x00, 0x81, 0xbf, 0x12});
  auto instructions = (*disassembler)->disassemble(bytes, 0x1000);
  ASSERT_EQ(instructions.size(), 3u);
  EXPECT_EQ(instructions[0].text, ".long 0xffffffff");
  EXPECT_EQ(instructions[1].text, "s_endpgm");
  EXPECT_EQ(instructions[1].address, 0x1004u);
  EXPECT_EQ(instructions[2].size, 1u);
  EXPECT_FALSE(instructions[2].valid());
}

TEST(Disassembler, AnInstructionThatIsCutOffIsData) {
  auto disassembler = Disassembler::create(*parseTarget("gfx90a"), 64);
  ASSERT_TRUE(disassembler);
  // s_endpgm, and s_mov_b32 s0 with half of its constant
  const std::vector<std::uint8_t> bytes = {0x00, 0x00, 0x81, 0xbf, 0xff,
                                           0x00, 0x80, 0xbe, 0x12, 0x34};
  auto instructions = (*disassembler)->disassemble(bytes, 0x1000);
  ASSERT_EQ(instructions.size(), 3u);
  EXPECT_EQ(instructions[1].text, ".long 0xbe8000ff");
  EXPECT_EQ(instructions[2].size, 2u);
  EXPECT_EQ((*disassembler)->disassemble(bytes, 0x1000, 1).size(), 1u);
}

// LLVM ends the process that asks for a processor which it does not know.
TEST(Disassembler, NoProcessorOfTheTableEndsTheProcess) {
  const auto askForAll = [] {
    for (const GpuInfo &gpu : allGpus()) {
      std::fprintf(stderr, "%s\n", gpu.name);
      (void)Disassembler::create(*parseTarget(gpu.name), gpu.unit.smallest_wave);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(askForAll(), ::testing::ExitedWithCode(0), "")
      << "the last one needs a line in firstLlvmFor (host_rt/codeobj/disassembler.cpp)";
}

TEST(Disassembler, UnknownProcessorIsNotACrash) {
  auto disassembler = Disassembler::create(*parseTarget("gfx1399"), 32);
  if (disassembler) {
    EXPECT_FALSE((*disassembler)->disassemble(std::vector<std::uint8_t>(8, 0xff), 0).empty());
  }
}

} // namespace
} // namespace fade::codeobj
