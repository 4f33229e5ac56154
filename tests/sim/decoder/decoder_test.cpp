// The registers that the decoder reads out of an encoding are those that LLVM prints.
//
// Random words of every encoding are decoded by both. What LLVM's text names must be what the
// decoded instruction names.
#include "isa/decoder.h"
#include "semantics/opcodes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <random>
#include <regex>
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
  static const std::regex word(
      R"(\b(vcc_lo|vcc_hi|vcc|exec_lo|exec_hi|exec|m0|flat_scratch_lo|flat_scratch_hi|flat_scratch|xnack_mask_lo|xnack_mask_hi|xnack_mask|([vsa])(\d+)|([vsa])\[(\d+):(\d+)\]|ttmp(\d+)|ttmp\[(\d+):(\d+)\])(?![\w.]))");
  std::vector<Printed> found;
  auto number = [](const auto &m) { return static_cast<unsigned>(std::stoul(m)); };
  const size_t operands = text.find(' ');
  if (operands == std::string::npos) return found;
  for (auto it = std::sregex_iterator(text.begin() + static_cast<long>(operands), text.end(), word);
       it != std::sregex_iterator(); ++it) {
    const std::smatch &m = *it;
    if (m[2].matched)
      found.push_back({*m[2].first, number(m[3]), number(m[3])});
    else if (m[4].matched)
      found.push_back({*m[4].first, number(m[5]), number(m[6])});
    else if (m[7].matched)
      found.push_back({'s', 108 + number(m[7]), 108 + number(m[7])});
    else if (m[8].matched)
      found.push_back({'s', 108 + number(m[8]), 108 + number(m[9])});
    else
      found.push_back({'s', named.at(m[1]), named.at(m[1])});
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
                         testing::Values("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151"),
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

} // namespace
} // namespace fade::sim
