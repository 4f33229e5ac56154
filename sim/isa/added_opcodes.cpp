#include "isa/added_opcodes.h"

#include <algorithm>
#include <cstring>

namespace fade::sim {
namespace {

using At = AddedEncoding;

// gfx950's opcodes that gfx942 does not have, from AMD's manual of the CDNA 4 instruction set.
// clang-format off
constexpr AddedOpcode added_by_gfx950[] = {
    {At::vop1, 88, "v_prng_b32", 1, {1, 0, 0}},
    {At::vop1, 89, "v_permlane16_swap_b32", 1, {1, 0, 0}},
    {At::vop1, 90, "v_permlane32_swap_b32", 1, {1, 0, 0}},
    {At::vop1, 91, "v_cvt_f32_bf16", 1, {1, 0, 0}},
    {At::vop2, 22, "v_dot2c_f32_bf16", 1, {1, 1, 0}},
    {At::vop3, 563, "v_bitop3_b16", 1, {1, 1, 1}},
    {At::vop3, 564, "v_bitop3_b32", 1, {1, 1, 1}},
    {At::vop3, 565, "v_cvt_scalef32_pk_fp8_f32", 1, {1, 1, 1}},
    {At::vop3, 566, "v_cvt_scalef32_pk_bf8_f32", 1, {1, 1, 1}},
    {At::vop3, 567, "v_cvt_scalef32_sr_fp8_f32", 1, {1, 1, 1}},
    {At::vop3, 568, "v_cvt_scalef32_sr_bf8_f32", 1, {1, 1, 1}},
    {At::vop3, 569, "v_cvt_scalef32_pk_f32_fp8", 2, {1, 1, 0}},
    {At::vop3, 570, "v_cvt_scalef32_pk_f32_bf8", 2, {1, 1, 0}},
    {At::vop3, 571, "v_cvt_scalef32_f32_fp8", 1, {1, 1, 0}},
    {At::vop3, 572, "v_cvt_scalef32_f32_bf8", 1, {1, 1, 0}},
    {At::vop3, 573, "v_cvt_scalef32_pk_fp4_f32", 1, {1, 1, 1}},
    {At::vop3, 574, "v_cvt_scalef32_sr_pk_fp4_f32", 1, {2, 1, 1}},
    {At::vop3, 575, "v_cvt_scalef32_pk_f32_fp4", 2, {1, 1, 0}},
    {At::vop3, 576, "v_cvt_scalef32_pk_fp8_f16", 1, {1, 1, 0}},
    {At::vop3, 577, "v_cvt_scalef32_pk_bf8_f16", 1, {1, 1, 0}},
    {At::vop3, 578, "v_cvt_scalef32_sr_fp8_f16", 1, {1, 1, 1}},
    {At::vop3, 579, "v_cvt_scalef32_sr_bf8_f16", 1, {1, 1, 1}},
    {At::vop3, 580, "v_cvt_scalef32_pk_fp8_bf16", 1, {1, 1, 0}},
    {At::vop3, 581, "v_cvt_scalef32_pk_bf8_bf16", 1, {1, 1, 0}},
    {At::vop3, 582, "v_cvt_scalef32_sr_fp8_bf16", 1, {1, 1, 1}},
    {At::vop3, 583, "v_cvt_scalef32_sr_bf8_bf16", 1, {1, 1, 1}},
    {At::vop3, 584, "v_cvt_scalef32_pk_f16_fp8", 1, {1, 1, 0}},
    {At::vop3, 585, "v_cvt_scalef32_pk_f16_bf8", 1, {1, 1, 0}},
    {At::vop3, 586, "v_cvt_scalef32_f16_fp8", 1, {1, 1, 0}},
    {At::vop3, 587, "v_cvt_scalef32_f16_bf8", 1, {1, 1, 0}},
    {At::vop3, 588, "v_cvt_scalef32_pk_fp4_f16", 1, {1, 1, 0}},
    {At::vop3, 589, "v_cvt_scalef32_pk_fp4_bf16", 1, {1, 1, 0}},
    {At::vop3, 590, "v_cvt_scalef32_sr_pk_fp4_f16", 1, {1, 1, 1}},
    {At::vop3, 591, "v_cvt_scalef32_sr_pk_fp4_bf16", 1, {1, 1, 1}},
    {At::vop3, 592, "v_cvt_scalef32_pk_f16_fp4", 1, {1, 1, 0}},
    {At::vop3, 593, "v_cvt_scalef32_pk_bf16_fp4", 1, {1, 1, 0}},
    {At::vop3, 594, "v_cvt_scalef32_2xpk16_fp6_f32", 6, {16, 16, 1}},
    {At::vop3, 595, "v_cvt_scalef32_2xpk16_bf6_f32", 6, {16, 16, 1}},
    {At::vop3, 596, "v_cvt_scalef32_sr_pk32_fp6_f32", 6, {32, 1, 1}},
    {At::vop3, 597, "v_cvt_scalef32_sr_pk32_bf6_f32", 6, {32, 1, 1}},
    {At::vop3, 598, "v_cvt_scalef32_pk32_f32_fp6", 32, {6, 1, 0}},
    {At::vop3, 599, "v_cvt_scalef32_pk32_f32_bf6", 32, {6, 1, 0}},
    {At::vop3, 600, "v_cvt_scalef32_pk32_fp6_f16", 6, {16, 1, 0}},
    {At::vop3, 601, "v_cvt_scalef32_pk32_fp6_bf16", 6, {16, 1, 0}},
    {At::vop3, 602, "v_cvt_scalef32_pk32_bf6_f16", 6, {16, 1, 0}},
    {At::vop3, 603, "v_cvt_scalef32_pk32_bf6_bf16", 6, {16, 1, 0}},
    {At::vop3, 604, "v_cvt_scalef32_sr_pk32_fp6_f16", 6, {16, 1, 1}},
    {At::vop3, 605, "v_cvt_scalef32_sr_pk32_fp6_bf16", 6, {16, 1, 1}},
    {At::vop3, 606, "v_cvt_scalef32_sr_pk32_bf6_f16", 6, {16, 1, 1}},
    {At::vop3, 607, "v_cvt_scalef32_sr_pk32_bf6_bf16", 6, {16, 1, 1}},
    {At::vop3, 608, "v_cvt_scalef32_pk32_f16_fp6", 16, {6, 1, 0}},
    {At::vop3, 609, "v_cvt_scalef32_pk32_bf16_fp6", 16, {6, 1, 0}},
    {At::vop3, 610, "v_cvt_scalef32_pk32_f16_bf6", 16, {6, 1, 0}},
    {At::vop3, 611, "v_cvt_scalef32_pk32_bf16_bf6", 16, {6, 1, 0}},
    {At::vop3, 613, "v_ashr_pk_i8_i32", 1, {1, 1, 1}},
    {At::vop3, 614, "v_ashr_pk_u8_i32", 1, {1, 1, 1}},
    {At::vop3, 615, "v_cvt_pk_f16_f32", 1, {1, 1, 0}},
    {At::vop3, 616, "v_cvt_pk_bf16_f32", 1, {1, 1, 0}},
    {At::vop3, 617, "v_cvt_scalef32_pk_bf16_fp8", 1, {1, 1, 0}},
    {At::vop3, 618, "v_cvt_scalef32_pk_bf16_bf8", 1, {1, 1, 0}},
    {At::vop3, 678, "v_cvt_sr_f16_f32", 1, {1, 1, 0}},
    {At::vop3, 679, "v_cvt_sr_bf16_f32", 1, {1, 1, 0}},
    {At::vop3, 680, "v_minimum3_f32", 1, {1, 1, 1}},
    {At::vop3, 681, "v_maximum3_f32", 1, {1, 1, 1}},
    {At::vop3p, 26, "v_dot2_f32_bf16", 1, {1, 1, 1}},
    {At::vop3p, 27, "v_pk_minimum3_f16", 1, {1, 1, 1}},
    {At::vop3p, 28, "v_pk_maximum3_f16", 1, {1, 1, 1}},
    {At::vop3p, 45, "v_mfma_f32_16x16x128_f8f6f4", 4, {8, 8, 4}},
    {At::vop3p, 46, "v_mfma_f32_32x32x64_f8f6f4", 16, {8, 8, 16}},
    {At::vop3p, 53, "v_mfma_f32_16x16x32_bf16", 4, {4, 4, 4}},
    {At::vop3p, 54, "v_mfma_i32_16x16x64_i8", 4, {4, 4, 4}},
    {At::vop3p, 55, "v_mfma_f32_32x32x16_bf16", 16, {4, 4, 16}},
    {At::vop3p, 56, "v_mfma_i32_32x32x32_i8", 16, {4, 4, 16}},
    {At::vop3p, 57, "v_smfmac_f32_16x16x64_bf16", 4, {4, 8, 1}},
    {At::vop3p, 58, "v_smfmac_i32_16x16x128_i8", 4, {4, 8, 1}},
    {At::vop3p, 59, "v_smfmac_f32_16x16x128_bf8_bf8", 4, {4, 8, 1}},
    {At::vop3p, 60, "v_smfmac_f32_16x16x128_bf8_fp8", 4, {4, 8, 1}},
    {At::vop3p, 61, "v_smfmac_f32_16x16x128_fp8_bf8", 4, {4, 8, 1}},
    {At::vop3p, 67, "v_smfmac_f32_16x16x128_fp8_fp8", 4, {4, 8, 1}},
    {At::vop3p, 70, "v_smfmac_f32_32x32x32_bf16", 16, {4, 8, 1}},
    {At::vop3p, 71, "v_smfmac_i32_32x32x64_i8", 16, {4, 8, 1}},
    {At::vop3p, 75, "v_smfmac_f32_32x32x64_bf8_bf8", 16, {4, 8, 1}},
    {At::vop3p, 78, "v_smfmac_f32_32x32x64_bf8_fp8", 16, {4, 8, 1}},
    {At::vop3p, 79, "v_smfmac_f32_32x32x64_fp8_bf8", 16, {4, 8, 1}},
    {At::vop3p, 83, "v_smfmac_f32_32x32x64_fp8_fp8", 16, {4, 8, 1}},
    {At::vop3p, 84, "v_mfma_f32_16x16x32_f16", 4, {4, 4, 4}},
    {At::vop3p, 85, "v_mfma_f32_32x32x16_f16", 16, {4, 4, 16}},
    {At::vop3p, 90, "v_smfmac_f32_16x16x64_f16", 4, {4, 8, 1}},
    {At::vop3p, 91, "v_smfmac_f32_32x32x32_f16", 16, {4, 8, 1}},
    {At::ds, 224, "ds_read_b64_tr_b4", 2, {1, 0, 0}},
    {At::ds, 225, "ds_read_b96_tr_b6", 3, {1, 0, 0}},
    {At::ds, 226, "ds_read_b64_tr_b8", 2, {1, 0, 0}},
    {At::ds, 227, "ds_read_b64_tr_b16", 2, {1, 0, 0}},
    {At::global, 125, "global_load_lds_dwordx4", 0, {2, 0, 0}},
    {At::global, 126, "global_load_lds_dwordx3", 0, {2, 0, 0}},
    {At::mubuf_lds, 22, "buffer_load_dwordx3", 0, {0, 0, 4}},
    {At::mubuf_lds, 23, "buffer_load_dwordx4", 0, {0, 0, 4}},
};
// clang-format on

struct Found {
  AddedEncoding encoding;
  unsigned number;
};

// VOP3 also holds the short encodings' instructions: those of VOP2 from 256 on, of VOP1 from 320.
constexpr unsigned vop2_in_vop3 = 256, vop1_in_vop3 = 320, own_of_vop3 = 448;

Found place_of(uint32_t word) {
  if (!(word >> 31)) {
    if (word >> 25 == 0x3f) return {At::vop1, word >> 9 & 0xff};
    return {At::vop2, word >> 25};
  }
  switch (word >> 26) {
  case 0x34: {
    if (word >> 23 == 0x1a7) return {At::vop3p, word >> 16 & 0x7f};
    const unsigned number = word >> 16 & 0x3ff;
    if (number >= vop1_in_vop3 && number < own_of_vop3) return {At::vop1, number - vop1_in_vop3};
    if (number >= vop2_in_vop3 && number < vop1_in_vop3) return {At::vop2, number - vop2_in_vop3};
    return {At::vop3, number};
  }
  case 0x36: return {At::ds, word >> 17 & 0xff};
  case 0x38: return {word >> 16 & 1 ? At::mubuf_lds : At::none, word >> 18 & 0x7f};
  case 0x37: return {word >> 14 & 2 ? At::global : At::none, word >> 18 & 0x7f};
  default: return {At::none, 0};
  }
}

const AddedOpcode *row_of(uint32_t word) {
  const Found f = place_of(word);
  const auto *at = std::ranges::find_if(added_by_gfx950, [&](const AddedOpcode &o) {
    return o.encoding == f.encoding && o.number == f.number;
  });
  return at == std::end(added_by_gfx950) ? nullptr : at;
}

} // namespace

AddedInstruction find_added(const Arch &arch, std::span<const uint8_t> bytes) {
  if (arch.id != Gfx::gfx950 || bytes.size() < 4) return {};
  uint32_t word;
  std::memcpy(&word, bytes.data(), sizeof word);
  // A scale for the matrix instruction behind it: both are one instruction.
  constexpr uint32_t load_scale = 0xd3ac;
  if (word >> 16 == load_scale) {
    if (bytes.size() < 16) return {};
    std::memcpy(&word, bytes.data() + 8, sizeof word);
    const AddedOpcode *row = row_of(word);
    if (!row || !AddedInstruction{row, 8, row->name}.is_f8f6f4()) return {};
    return {row, 16,
            row->number == 45 ? "v_mfma_scale_f32_16x16x128_f8f6f4"
                              : "v_mfma_scale_f32_32x32x64_f8f6f4"};
  }
  const AddedOpcode *row = row_of(word);
  if (!row) return {};
  unsigned size = 8;
  if (!(word >> 31)) { // one word, and one more for a literal, SDWA or DPP
    const uint32_t source = word & 0x1ff;
    size = source == 255 || source == 249 || source == 250 ? 8 : 4;
  }
  return bytes.size() < size ? AddedInstruction{} : AddedInstruction{row, size, row->name};
}

bool is_removed(const Arch &arch, std::string_view mnemonic) {
  return arch.id == Gfx::gfx950 && mnemonic.ends_with("xf32");
}

const char *llvm_processor(const Arch &arch) {
  switch (arch.id) {
  case Gfx::gfx950: return "gfx942";
  case Gfx::gfx1153: return "gfx1152"; // the same instructions
  default: return arch.name;
  }
}

} // namespace fade::sim
