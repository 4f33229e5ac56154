// Every vector ALU instruction that LLVM knows has semantics, except those for graphics only.
#include "isa/arch.h"
#include "isa/llvm_mc.h"
#include "semantics/opcodes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

namespace fade::sim {
namespace {

class VectorMnemonics : public testing::TestWithParam<const char *> {
protected:
  void note(std::initializer_list<uint32_t> words) {
    std::vector<uint8_t> bytes(4 * words.size());
    std::memcpy(bytes.data(), words.begin(), bytes.size());
    const auto answer = disassembler_.disassemble(bytes, 0, false);
    if (answer.size && answer.mnemonic.starts_with("v_")) found_.insert(answer.mnemonic);
  }
  // All opcodes of the five encodings, with operands that most instructions accept.
  void scan() {
    const bool gfx9 = find_arch(GetParam())->gfx9;
    for (uint32_t op = 0; op < 256; op++) {
      note({0x7e000000 | 4 << 17 | op << 9 | 258, 0});
      note({0x7c000000 | op << 17 | 4 << 9 | 258});
    }
    for (uint32_t op = 0; op < 62; op++) note({op << 25 | 4 << 17 | 2 << 9 | 258, 0x3f800000});
    const uint32_t vop3 = gfx9 ? 0xd0000000 : 0xd4000000, vop3p = gfx9 ? 0xd3800000 : 0xcc000000;
    for (uint32_t sdst : {0u, 106u << 8})
      for (uint32_t sources :
           {258 | 260 << 9 | 262 << 18, 258 | 260 << 9, 258, 258 | 260 << 9 | 2 << 18}) {
        for (uint32_t op = 0; op < 1024; op++) note({vop3 | op << 16 | sdst | 8, sources});
        for (uint32_t op = 0; op < 128; op++) {
          note({vop3p | op << 16 | 8, sources});
          note({vop3p | op << 16 | 0x4008, sources | 0x18000000});
        }
      }
  }
  LlvmDisassembler disassembler_{GetParam(), find_arch(GetParam())->gfx10_up};
  std::set<std::string> found_;
};

TEST_P(VectorMnemonics, AllHaveSemantics) {
  scan();
  EXPECT_GT(found_.size(), 600u);
  std::string missing;
  for (const std::string &name : found_) {
    const bool graphics = name.starts_with("v_interp") || name.starts_with("v_screen_partition");
    const Opcode *op = opcodes().find(name);
    if (!graphics && (!op || !op->run)) missing += " " + name;
  }
  EXPECT_EQ(missing, "");
}

INSTANTIATE_TEST_SUITE_P(, VectorMnemonics,
                         testing::Values("gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100",
                                         "gfx1150", "gfx1201"),
                         [](const auto &i) { return std::string(i.param); });

} // namespace
} // namespace fade::sim
