// The registers that the decoder reads out of an encoding are those that LLVM prints.
//
// Random words of every encoding are decoded by both. What LLVM's text names must be what the
// decoded instruction names.
#include "isa/decoder.h"
#include "semantics/opcodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

namespace fade::sim {
namespace {

using Register = std::pair<char, unsigned>; // file and number: 'v', 'a' or 's'

// A register or range as printed. LLVM aligns the scalar ranges of encodings that name odd
// registers.
struct Printed {
  char file;
  unsigned first, last;
  bool matches(const std::set<Register> &decoded) const {
    for (unsigned n = first; n <= last; n++)
      if (decoded.contains({file, n})) return true;
    return false;
  }
  std::string text() const { return file + std::to_string(first); }
};

std::vector<Printed> printed_registers(const std::string &text) {
  static const std::map<std::string, unsigned> named = {{"vcc", 106},
                                                        {"vcc_lo", 106},
                                                        {"vcc_hi", 107},
                                                        {"exec", 126},
                                                        {"exec_lo", 126},
                                                        {"exec_hi", 127},
                                                        {"m0", 124},
                                                        {"flat_scratch", 102},
                                                        {"flat_scratch_lo", 102},
                                                        {"flat_scratch_hi", 103},
                                                        {"xnack_mask", 104},
                                                        {"xnack_mask_lo", 104},
                                                        {"xnack_mask_hi", 105}};
  std::vector<Printed> found;
  const auto is_letter = [&](size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  const auto number = [&](size_t &at) -> std::optional<unsigned> {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc()) return std::nullopt;
    at = static_cast<size_t>(end - text.data());
    return value;
  };
  // A word, or a word with a range in brackets. Not with std::regex, which takes most of the time
  // of this test.
  for (size_t at = std::min(text.find(' '), text.size()); at < text.size();) {
    if (!is_letter(at)) {
      at++;
      continue;
    }
    const size_t begin = at;
    while (is_letter(at)) at++;
    const std::string word = text.substr(begin, at - begin);
    const auto ends_at = [&](size_t end) { return !is_letter(end) && text[end] != '.'; };
    if (const auto name = named.find(word); name != named.end()) {
      if (ends_at(at)) found.push_back({'s', name->second, name->second});
      continue;
    }
    const size_t digits = word.find_first_of("0123456789");
    const std::string file = word.substr(0, digits);
    const bool is_trap = file == "ttmp"; // scalar registers from 108 on
    if (!is_trap && file != "v" && file != "s" && file != "a") continue;
    std::optional<unsigned> first, last;
    size_t end = at;
    if (digits != word.npos) {
      size_t from = begin + digits;
      first = last = number(from);
      if (from != at) continue; // letters after the digits
    } else if (text[at] == '[') {
      size_t from = at + 1;
      first = number(from);
      if (first && text[from] == ':') last = number(++from);
      if (last && text[from] == ']') end = from + 1;
    }
    if (!last || (digits == word.npos && end == at) || !ends_at(end)) continue;
    const unsigned base = is_trap ? 108 : 0;
    found.push_back({is_trap ? 's' : file[0], base + *first, base + *last});
  }
  return found;
}

void collect(const Operand &o, std::set<Register> &into) {
  if (o.kind == Operand::Kind::sgpr) into.emplace('s', o.index);
  if (o.kind == Operand::Kind::vgpr)
    into.emplace(o.index >= agpr_base ? 'a' : 'v', o.index % agpr_base);
}

std::set<Register> decoded_registers(const Instruction &in) {
  std::set<Register> found;
  for (const Instruction *i = &in; i; i = i->paired) {
    collect(i->dst, found), collect(i->sdst, found);
    for (const Operand &o : i->src) collect(o, found);
  }
  return found;
}

struct Shape { // an encoding: fixed bits of the first word
  uint32_t value, mask;
};
std::vector<Shape> shapes_of(const Arch &arch) {
  std::vector<Shape> s = {{0x00000000, 0x80000000}, {0x7e000000, 0xfe000000},
                          {0x7c000000, 0xfe000000}, // VOP2, VOP1, VOPC
                          {0x80000000, 0xc0000000}, {0xb0000000, 0xf0000000},
                          {0xbe800000, 0xff800000}, // SOP2, SOPK, SOP1
                          {0xbf000000, 0xff800000}, {0xd8000000, 0xfc000000},
                          {0xdc000000, 0xfc000000},                            // SOPC, DS, FLAT
                          {0xe0000000, 0xfc000000}, {0xe8000000, 0xfc000000}}; // MUBUF, MTBUF
  if (arch.gfx9)
    s.insert(s.end(),
             {{0xc0000000, 0xfc000000}, {0xd0000000, 0xfc000000}, {0xd3800000, 0xff800000}});
  else
    s.insert(s.end(),
             {{0xf4000000, 0xfc000000}, {0xd4000000, 0xfc000000}, {0xcc000000, 0xff800000}});
  if (arch.gfx12) s.insert(s.end(), {{0xec000000, 0xfc000000}, {0xc4000000, 0xfc000000}});
  return s;
}

class DecoderFields : public testing::TestWithParam<const char *> {};

TEST_P(DecoderFields, NameTheRegistersThatLlvmPrints) {
  const Arch &arch = *find_arch(GetParam());
  Decoder decoder(arch, arch.gfx10_up ? 32 : 64, opcodes());
  std::mt19937_64 random(7);
  std::map<std::string, std::string> wrong; // one example per mnemonic
  unsigned checked = 0;
  for (const Shape &shape : shapes_of(arch))
    for (int i = 0; i < 6000; i++) {
      std::array<uint32_t, 5> words;
      for (auto &w : words) w = static_cast<uint32_t>(random());
      words[0] = (words[0] & ~shape.mask) | shape.value;
      std::array<uint8_t, 20> bytes;
      std::memcpy(bytes.data(), words.data(), bytes.size());
      const Decoder::Result r = decoder.decode(bytes, 0x1000);
      if (!r.valid || !r.known) continue;
      const std::string text = decoder.text(bytes, 0x1000);
      if (text.find("/*") != std::string::npos)
        continue; // LLVM marks operands that no assembler would accept
      checked++;
      const auto printed = printed_registers(text);
      const auto decoded = decoded_registers(r.instruction);
      std::string missing;
      for (const Printed &p : printed)
        if (!p.matches(decoded)) missing += " " + p.text();
      if (!missing.empty()) wrong.emplace(r.mnemonic, text + " | not decoded:" + missing);
    }
  EXPECT_GT(checked, 5000u);
  std::string report;
  for (const auto &[name, example] : wrong) report += "\n  " + example;
  EXPECT_EQ(wrong.size(), 0u) << report;
}

INSTANTIATE_TEST_SUITE_P(, DecoderFields,
                         testing::Values("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151",
                                         "gfx950", "gfx1201"),
                         [](const auto &i) { return std::string(i.param); });

// v_mul_lo_u32 v2, v2, v1 as LLVM 23 writes it, with a third source that does not exist.
TEST(Decoder, LeavesOutSourcesThatAnInstructionDoesNotTake) {
  const std::array<uint32_t, 2> words = {0xd5690002, 0x02020302};
  std::array<uint8_t, 8> bytes;
  std::memcpy(bytes.data(), words.data(), bytes.size());
  for (const char *name : {"gfx1030", "gfx1100"}) {
    std::array<uint8_t, 8> own = bytes;
    if (std::string(name) == "gfx1100") own[2] = 0x2c, own[3] = 0xd7; // the same there
    Decoder decoder(*find_arch(name), 32, opcodes());
    const Decoder::Result r = decoder.decode(own, 0x1000);
    ASSERT_TRUE(r.valid && r.known) << name;
    EXPECT_EQ(r.mnemonic, "v_mul_lo_u32");
    EXPECT_EQ(r.instruction.size, 8);
    EXPECT_EQ(decoded_registers(r.instruction), (std::set<Register>{{'v', 1}, {'v', 2}}));
    EXPECT_EQ(decoder.text(own, 0x1000).substr(0, 23), "v_mul_lo_u32 v2, v2, v1");
  }
  // A field of another value is another matter.
  bytes[7] = 0x03;
  EXPECT_FALSE(Decoder(*find_arch("gfx1030"), 32, opcodes()).decode(bytes, 0x1000).valid);
}

// LLVM 19 knows it for gfx1151, LLVM 22 for no processor.
TEST(Decoder, ReadsTheHintOfRegistersThatAreReadOnceOnGfx115Only) {
  const std::array<uint8_t, 4> bytes = {0x34, 0x12, 0x93, 0xbf};
  Decoder decoder(*find_arch("gfx1151"), 32, opcodes());
  const Decoder::Result r = decoder.decode(bytes, 0x1000);
  ASSERT_TRUE(r.valid && r.known);
  EXPECT_EQ(r.mnemonic, "s_singleuse_vdst");
  EXPECT_EQ(r.instruction.size, 4);
  EXPECT_EQ(decoder.text(bytes, 0x1000), "s_singleuse_vdst 0x1234");
  EXPECT_FALSE(Decoder(*find_arch("gfx1100"), 32, opcodes()).decode(bytes, 0x1000).valid);
}

// gfx950's own instructions, as LLVM 22 encodes them.
struct Encoded {
  const char *text;
  std::vector<uint32_t> words;
};
// clang-format off
const Encoded gfx950_encodings[] = {
    {"v_prng_b32 v8, v40", {0x7e10b128}},
    {"v_permlane16_swap_b32 v8, v40", {0x7e10b328}},
    {"v_permlane32_swap_b32 v8, v40", {0x7e10b528}},
    {"v_cvt_f32_bf16 v8, v40", {0x7e10b728}},
    {"v_dot2c_f32_bf16 v8, v40, v72", {0x2c109128}},
    {"v_bitop3_b16 v8, v40, v72, v104", {0xd2330008, 0x05a29128}},
    {"v_bitop3_b32 v8, v40, v72, v104", {0xd2340008, 0x05a29128}},
    {"v_cvt_scalef32_pk_fp8_f32 v8, v40, v72, v104", {0xd2350008, 0x05a29128}},
    {"v_cvt_scalef32_pk_bf8_f32 v8, v40, v72, v104", {0xd2360008, 0x05a29128}},
    {"v_cvt_scalef32_sr_fp8_f32 v8, v40, v72, v104", {0xd2370008, 0x05a29128}},
    {"v_cvt_scalef32_sr_bf8_f32 v8, v40, v72, v104", {0xd2380008, 0x05a29128}},
    {"v_cvt_scalef32_pk_f32_fp8 v[8:9], v40, v72", {0xd2390008, 0x00029128}},
    {"v_cvt_scalef32_pk_f32_bf8 v[8:9], v40, v72", {0xd23a0008, 0x00029128}},
    {"v_cvt_scalef32_f32_fp8 v8, v40, v72", {0xd23b0008, 0x00029128}},
    {"v_cvt_scalef32_f32_bf8 v8, v40, v72", {0xd23c0008, 0x00029128}},
    {"v_cvt_scalef32_pk_fp4_f32 v8, v40, v72, v104", {0xd23d0008, 0x05a29128}},
    {"v_cvt_scalef32_sr_pk_fp4_f32 v8, v[40:41], v72, v104", {0xd23e0008, 0x05a29128}},
    {"v_cvt_scalef32_pk_f32_fp4 v[8:9], v40, v72", {0xd23f0008, 0x00029128}},
    {"v_cvt_scalef32_pk_fp8_f16 v8, v40, v72", {0xd2400008, 0x00029128}},
    {"v_cvt_scalef32_pk_bf8_f16 v8, v40, v72", {0xd2410008, 0x00029128}},
    {"v_cvt_scalef32_sr_fp8_f16 v8, v40, v72, v104", {0xd2420008, 0x05a29128}},
    {"v_cvt_scalef32_sr_bf8_f16 v8, v40, v72, v104", {0xd2430008, 0x05a29128}},
    {"v_cvt_scalef32_pk_fp8_bf16 v8, v40, v72", {0xd2440008, 0x00029128}},
    {"v_cvt_scalef32_pk_bf8_bf16 v8, v40, v72", {0xd2450008, 0x00029128}},
    {"v_cvt_scalef32_sr_fp8_bf16 v8, v40, v72, v104", {0xd2460008, 0x05a29128}},
    {"v_cvt_scalef32_sr_bf8_bf16 v8, v40, v72, v104", {0xd2470008, 0x05a29128}},
    {"v_cvt_scalef32_pk_f16_fp8 v8, v40, v72", {0xd2480008, 0x00029128}},
    {"v_cvt_scalef32_pk_f16_bf8 v8, v40, v72", {0xd2490008, 0x00029128}},
    {"v_cvt_scalef32_f16_fp8 v8, v40, v72", {0xd24a0008, 0x00029128}},
    {"v_cvt_scalef32_f16_bf8 v8, v40, v72", {0xd24b0008, 0x00029128}},
    {"v_cvt_scalef32_pk_fp4_f16 v8, v40, v72", {0xd24c0008, 0x00029128}},
    {"v_cvt_scalef32_pk_fp4_bf16 v8, v40, v72", {0xd24d0008, 0x00029128}},
    {"v_cvt_scalef32_sr_pk_fp4_f16 v8, v40, v72, v104", {0xd24e0008, 0x05a29128}},
    {"v_cvt_scalef32_sr_pk_fp4_bf16 v8, v40, v72, v104", {0xd24f0008, 0x05a29128}},
    {"v_cvt_scalef32_pk_f16_fp4 v8, v40, v72", {0xd2500008, 0x00029128}},
    {"v_cvt_scalef32_pk_bf16_fp4 v8, v40, v72", {0xd2510008, 0x00029128}},
    {"v_cvt_scalef32_2xpk16_fp6_f32 v[8:13], v[40:55], v[72:87], v104", {0xd2520008, 0x05a29128}},
    {"v_cvt_scalef32_2xpk16_bf6_f32 v[8:13], v[40:55], v[72:87], v104", {0xd2530008, 0x05a29128}},
    {"v_cvt_scalef32_sr_pk32_fp6_f32 v[8:13], v[40:71], v72, v104", {0xd2540008, 0x05a29128}},
    {"v_cvt_scalef32_sr_pk32_bf6_f32 v[8:13], v[40:71], v72, v104", {0xd2550008, 0x05a29128}},
    {"v_cvt_scalef32_pk32_f32_fp6 v[8:39], v[40:45], v72", {0xd2560008, 0x00029128}},
    {"v_cvt_scalef32_pk32_f32_bf6 v[8:39], v[40:45], v72", {0xd2570008, 0x00029128}},
    {"v_cvt_scalef32_pk32_fp6_f16 v[8:13], v[40:55], v72", {0xd2580008, 0x00029128}},
    {"v_cvt_scalef32_pk32_fp6_bf16 v[8:13], v[40:55], v72", {0xd2590008, 0x00029128}},
    {"v_cvt_scalef32_pk32_bf6_f16 v[8:13], v[40:55], v72", {0xd25a0008, 0x00029128}},
    {"v_cvt_scalef32_pk32_bf6_bf16 v[8:13], v[40:55], v72", {0xd25b0008, 0x00029128}},
    {"v_cvt_scalef32_sr_pk32_fp6_f16 v[8:13], v[40:55], v72, v104", {0xd25c0008, 0x05a29128}},
    {"v_cvt_scalef32_sr_pk32_fp6_bf16 v[8:13], v[40:55], v72, v104", {0xd25d0008, 0x05a29128}},
    {"v_cvt_scalef32_sr_pk32_bf6_f16 v[8:13], v[40:55], v72, v104", {0xd25e0008, 0x05a29128}},
    {"v_cvt_scalef32_sr_pk32_bf6_bf16 v[8:13], v[40:55], v72, v104", {0xd25f0008, 0x05a29128}},
    {"v_cvt_scalef32_pk32_f16_fp6 v[8:23], v[40:45], v72", {0xd2600008, 0x00029128}},
    {"v_cvt_scalef32_pk32_bf16_fp6 v[8:23], v[40:45], v72", {0xd2610008, 0x00029128}},
    {"v_cvt_scalef32_pk32_f16_bf6 v[8:23], v[40:45], v72", {0xd2620008, 0x00029128}},
    {"v_cvt_scalef32_pk32_bf16_bf6 v[8:23], v[40:45], v72", {0xd2630008, 0x00029128}},
    {"v_ashr_pk_i8_i32 v8, v40, v72, v104", {0xd2650008, 0x05a29128}},
    {"v_ashr_pk_u8_i32 v8, v40, v72, v104", {0xd2660008, 0x05a29128}},
    {"v_cvt_pk_f16_f32 v8, v40, v72", {0xd2670008, 0x00029128}},
    {"v_cvt_pk_bf16_f32 v8, v40, v72", {0xd2680008, 0x00029128}},
    {"v_cvt_scalef32_pk_bf16_fp8 v8, v40, v72", {0xd2690008, 0x00029128}},
    {"v_cvt_scalef32_pk_bf16_bf8 v8, v40, v72", {0xd26a0008, 0x00029128}},
    {"v_cvt_sr_f16_f32 v8, v40, v72", {0xd2a60008, 0x00029128}},
    {"v_cvt_sr_bf16_f32 v8, v40, v72", {0xd2a70008, 0x00029128}},
    {"v_minimum3_f32 v8, v40, v72, v104", {0xd2a80008, 0x05a29128}},
    {"v_maximum3_f32 v8, v40, v72, v104", {0xd2a90008, 0x05a29128}},
    {"v_dot2_f32_bf16 v8, v40, v72, v104", {0xd39a4008, 0x1da29128}},
    {"v_pk_minimum3_f16 v8, v40, v72, v104", {0xd39b4008, 0x1da29128}},
    {"v_pk_maximum3_f16 v8, v40, v72, v104", {0xd39c4008, 0x1da29128}},
    {"v_mfma_f32_16x16x128_f8f6f4 v[8:11], v[40:47], v[72:79], v[104:107]", {0xd3ad0008, 0x05a29128}},
    {"v_mfma_f32_32x32x64_f8f6f4 v[8:23], v[40:47], v[72:79], v[104:119]", {0xd3ae0008, 0x05a29128}},
    {"v_mfma_f32_16x16x32_bf16 v[8:11], v[40:43], v[72:75], v[104:107]", {0xd3b50008, 0x05a29128}},
    {"v_mfma_i32_16x16x64_i8 v[8:11], v[40:43], v[72:75], v[104:107]", {0xd3b60008, 0x05a29128}},
    {"v_mfma_f32_32x32x16_bf16 v[8:23], v[40:43], v[72:75], v[104:119]", {0xd3b70008, 0x05a29128}},
    {"v_mfma_i32_32x32x32_i8 v[8:23], v[40:43], v[72:75], v[104:119]", {0xd3b80008, 0x05a29128}},
    {"v_smfmac_f32_16x16x64_bf16 v[8:11], v[40:43], v[72:79], v104", {0xd3b90008, 0x05a29128}},
    {"v_smfmac_i32_16x16x128_i8 v[8:11], v[40:43], v[72:79], v104", {0xd3ba0008, 0x05a29128}},
    {"v_smfmac_f32_16x16x128_bf8_bf8 v[8:11], v[40:43], v[72:79], v104", {0xd3bb0008, 0x05a29128}},
    {"v_smfmac_f32_16x16x128_bf8_fp8 v[8:11], v[40:43], v[72:79], v104", {0xd3bc0008, 0x05a29128}},
    {"v_smfmac_f32_16x16x128_fp8_bf8 v[8:11], v[40:43], v[72:79], v104", {0xd3bd0008, 0x05a29128}},
    {"v_smfmac_f32_16x16x128_fp8_fp8 v[8:11], v[40:43], v[72:79], v104", {0xd3c30008, 0x05a29128}},
    {"v_smfmac_f32_32x32x32_bf16 v[8:23], v[40:43], v[72:79], v104", {0xd3c60008, 0x05a29128}},
    {"v_smfmac_i32_32x32x64_i8 v[8:23], v[40:43], v[72:79], v104", {0xd3c70008, 0x05a29128}},
    {"v_smfmac_f32_32x32x64_bf8_bf8 v[8:23], v[40:43], v[72:79], v104", {0xd3cb0008, 0x05a29128}},
    {"v_smfmac_f32_32x32x64_bf8_fp8 v[8:23], v[40:43], v[72:79], v104", {0xd3ce0008, 0x05a29128}},
    {"v_smfmac_f32_32x32x64_fp8_bf8 v[8:23], v[40:43], v[72:79], v104", {0xd3cf0008, 0x05a29128}},
    {"v_smfmac_f32_32x32x64_fp8_fp8 v[8:23], v[40:43], v[72:79], v104", {0xd3d30008, 0x05a29128}},
    {"v_mfma_f32_16x16x32_f16 v[8:11], v[40:43], v[72:75], v[104:107]", {0xd3d40008, 0x05a29128}},
    {"v_mfma_f32_32x32x16_f16 v[8:23], v[40:43], v[72:75], v[104:119]", {0xd3d50008, 0x05a29128}},
    {"v_smfmac_f32_16x16x64_f16 v[8:11], v[40:43], v[72:79], v104", {0xd3da0008, 0x05a29128}},
    {"v_smfmac_f32_32x32x32_f16 v[8:23], v[40:43], v[72:79], v104", {0xd3db0008, 0x05a29128}},
    {"ds_read_b64_tr_b4 v[8:9], v40", {0xd9c00000, 0x08000028}},
    {"ds_read_b96_tr_b6 v[8:10], v40", {0xd9c20000, 0x08000028}},
    {"ds_read_b64_tr_b8 v[8:9], v40", {0xd9c40000, 0x08000028}},
    {"ds_read_b64_tr_b16 v[8:9], v40", {0xd9c60000, 0x08000028}},
    {"global_load_lds_dwordx4 v[8:9]", {0xddf48000, 0x007f0008}},
    {"global_load_lds_dwordx3 v[8:9]", {0xddf88000, 0x007f0008}},
    {"buffer_load_dwordx3 s[8:11]", {0xe0590000, 0x03020000}},
};
// clang-format on

TEST(Decoder, KnowsWhatGfx950Added) {
  Decoder decoder(*find_arch("gfx950"), 64, opcodes());
  unsigned executed = 0;
  for (const Encoded &e : gfx950_encodings) {
    std::vector<uint8_t> bytes(4 * e.words.size());
    std::memcpy(bytes.data(), e.words.data(), bytes.size());
    const Decoder::Result r = decoder.decode(bytes, 0x1000);
    ASSERT_TRUE(r.valid) << e.text;
    const std::string text = e.text;
    EXPECT_EQ(r.mnemonic, text.substr(0, text.find(' ')));
    EXPECT_EQ(r.instruction.size, bytes.size()) << e.text;
    // What is not executed has its name.
    EXPECT_EQ(decoder.text(bytes, 0x1000), r.known ? text : r.mnemonic);
    executed += r.known;
    // gfx942 does not have it.
    const auto before = Decoder(*find_arch("gfx942"), 64, opcodes()).decode(bytes, 0x1000);
    EXPECT_TRUE(!before.valid || before.mnemonic != r.mnemonic) << e.text;
  }
  EXPECT_EQ(executed, std::size(gfx950_encodings));
}

TEST(Decoder, ReadsMatrixInstructionsWithScalesAsOne) {
  const uint32_t words[] = {0xd3ac0000, 0x00023318, 0xd3ad0800, 0x04521904};
  std::array<uint8_t, 16> bytes;
  std::memcpy(bytes.data(), words, bytes.size());
  Decoder decoder(*find_arch("gfx950"), 64, opcodes());
  const Decoder::Result r = decoder.decode(bytes, 0x1000);
  EXPECT_TRUE(r.valid);
  EXPECT_TRUE(r.known);
  EXPECT_EQ(r.mnemonic, "v_mfma_scale_f32_16x16x128_f8f6f4");
  EXPECT_EQ(decoder.text(bytes, 0x1000),
            "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[20:23], v24, v25");
  // Registers by the formats: six for fp6, four for fp4.
  bytes[9] |= 2, bytes[15] |= 0x80;
  const RegisterUse use = decoder.registers(bytes, 0x1000);
  ASSERT_EQ(use.reads.size(), 5u);
  EXPECT_EQ(use.reads[0].count, 6u);
  EXPECT_EQ(use.reads[1].count, 4u);
  EXPECT_EQ(use.reads[3].first, 24u);
  EXPECT_EQ(use.reads[4].first, 25u);
  EXPECT_EQ(r.instruction.size, 16);
}

TEST(Decoder, DoesNotKnowWhatGfx950Removed) {
  const std::array<uint8_t, 8> bytes = {0x00, 0x00, 0xbe, 0xd3, 0x04, 0x0d, 0x22, 0x04};
  const auto before = Decoder(*find_arch("gfx942"), 64, opcodes()).decode(bytes, 0x1000);
  EXPECT_TRUE(before.valid && before.mnemonic.ends_with("xf32")) << before.mnemonic;
  EXPECT_FALSE(Decoder(*find_arch("gfx950"), 64, opcodes()).decode(bytes, 0x1000).valid);
}

} // namespace
} // namespace fade::sim
