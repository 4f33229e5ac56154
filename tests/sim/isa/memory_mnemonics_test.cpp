// Every memory instruction that LLVM knows has semantics, except those for graphics and semaphores
// of global wave sync.
#include "isa/arch.h"
#include "isa/llvm_mc.h"
#include "semantics/opcodes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <regex>
#include <set>
#include <string>

namespace fade::sim {
namespace {

class MemoryMnemonics : public testing::TestWithParam<const char *> {
protected:
  void note(uint32_t first, uint32_t second) {
    const uint32_t words[] = {first, second, 0, 0};
    uint8_t bytes[sizeof words];
    std::memcpy(bytes, words, sizeof words);
    const auto answer = disassembler_.disassemble(bytes, 0, false);
    static const std::regex memory(
        "(s_(load|buffer|store|scratch|atomic|dcache|mem|gl1|atc|prefetch)|flat_|global_|scratch_|"
        "t?buffer_|ds_|image_).*");
    if (answer.size && std::regex_match(answer.mnemonic, memory)) found_.insert(answer.mnemonic);
  }
  // All opcodes of the memory encodings, with fields that most instructions accept.
  void scan() {
    const uint32_t smem = find_arch(GetParam())->gfx9 ? 0xc0000000 : 0xf4000000;
    for (uint32_t op = 0; op < 256; op++) {
      for (uint32_t soffset : {0u, 0xf8000000u, 0xfa000000u}) note(smem | op << 18, soffset);
      note(smem | op << 18 | 1 << 17, 0);
      for (uint32_t modifiers : {0u, 1u << 16, 1u << 17})
        for (uint32_t at : {17u, 18u}) note(0xd8000000 | op << at | modifiers, 0);
      for (uint32_t modifiers : {0u, 1u << 15, 1u << 16})
        note(0xe0000000 | op << 18 | modifiers, 0x80000000);
      for (uint32_t mask : {1u, 3u, 7u, 15u})
        for (uint32_t modifiers : {0u, 1u, 1u << 3, 1u << 2, 1u << 12, 1u << 7})
          note(0xf0000000 | op << 18 | mask << 8 | modifiers, 0);
    }
    for (uint32_t op = 0; op < 128; op++)
      for (uint32_t segment = 0; segment < 4; segment++)
        for (uint32_t saddr : {0x007f0000u, 0x007c0000u, 0x007d0000u, 0u})
          for (uint32_t lds : {0u, 1u << 13})
            for (uint32_t at : {14u, 16u}) note(0xdc000000 | op << 18 | segment << at | lds, saddr);
    if (find_arch(GetParam())->gfx12) // three words; SMEM's opcode elsewhere
      for (uint32_t op = 0; op < 256; op++) {
        for (uint32_t segment = 0; segment < 3; segment++)
          for (uint32_t saddr : {0u, 124u})
            for (uint32_t modifiers : {0u, 1u << 17, 1u << 20}) // vector address, old value
              note(0xec000000 | segment << 24 | op << 14 | saddr, modifiers);
        note(0xc4000000 | op << 14, 0x80000000), note(0xc4000000 | op << 14, 0x80100000);
        note(0xf4000000 | (op & 63) << 13, 0xf8000000);
      }
    for (uint32_t op = 0; op < 16; op++) {
      note(0xe8000000 | op << 15, 0x80000000);
      note(0xe8000000 | (op & 7) << 16 | 1 << 19, 0x80000000 | (op >> 3) << 21);
    }
  }
  LlvmDisassembler disassembler_{GetParam(), find_arch(GetParam())->gfx10_up};
  std::set<std::string> found_;
};

TEST_P(MemoryMnemonics, AllHaveSemantics) {
  scan();
  EXPECT_GT(found_.size(), 350u);
  static const std::regex left_out(
      "ds_.*_src2_.*|ds_gws_sema_.*|ds_ordered_count|ds_(add|sub)_gs_reg_rtn|ds_bvh_stack_.*|"
      "global_atomic_"
      "ordered_add_b64|"
      "image_bvh.*|image_msaa_load|image_.*_pck.*|image_get_lod|image_gather4h|image_atomic_f.*|"
      "image_(sample|gather4)(_.*)?_(c|o|g16|cd)(_.*)?|image_(sample|gather4)_(c|o|cd)");
  std::string missing;
  for (const std::string &name : found_)
    if (const Opcode *op = opcodes().find(name);
        (!op || !op->run) && !std::regex_match(name, left_out))
      missing += " " + name;
  EXPECT_EQ(missing, "");
}

INSTANTIATE_TEST_SUITE_P(, MemoryMnemonics,
                         testing::Values("gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100",
                                         "gfx1150", "gfx1201"),
                         [](const auto &i) { return std::string(i.param); });

} // namespace
} // namespace fade::sim
