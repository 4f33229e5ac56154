// The tables of instructions in the documentation are what the decoder and the executor say:
// docs/evidence/instructions has a page for each GPU, README.md there their numbers.
// With FADE_UPDATE_DOCS=1 in the environment the test writes them.
#include "exec/inexact.h"
#include "isa/arch.h"
#include "isa/decoder.h"
#include "semantics/opcodes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace fade::sim {
namespace {

// All opcodes of all encodings, with operands that most instructions accept.
class Instructions {
public:
  explicit Instructions(const Arch &arch) : arch_(arch) {
    for (const unsigned lanes : {32u, 64u}) {
      if (lanes == 32 && !arch.gfx10_up) continue;
      Decoder decoder(arch, lanes, opcodes());
      decoder_ = &decoder;
      scalar(), vector(), memory();
    }
  }
  const std::map<std::string, bool> &names() const { return names_; } // and whether it is executed

private:
  void note(std::initializer_list<uint32_t> words) {
    uint8_t bytes[20] = {};
    std::memcpy(bytes, words.begin(), 4 * words.size());
    const Decoder::Result r = decoder_->decode(bytes, 0x1000);
    if (!r.valid) return;
    names_[without_suffix(r.mnemonic)] |= r.known;
    if (!r.mnemonic.starts_with("v_dual")) return;
    const std::string text = decoder_->text(bytes, 0x1000);
    const size_t second = text.find(":: ");
    if (second == text.npos) return;
    std::istringstream(text.substr(second + 3)) >> text_;
    names_[text_] |= r.known;
  }
  static std::string without_suffix(std::string name) {
    for (const char *suffix : {"_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp8", "_dpp"})
      if (name.ends_with(suffix)) return name.substr(0, name.size() - std::strlen(suffix));
    return name;
  }
  void scalar() {
    constexpr uint32_t literal = 0x01234567;
    for (uint32_t op = 0; op < 256; op++) {
      note({0xbe800000 | 4 << 16 | op << 8 | 6});             // SOP1
      note({0xbe800000 | 4 << 16 | op << 8 | 0xff, literal}); // SOP1 with a literal
      note({0xbe800000 | op << 8 | 0xc1}), note({0xbe800000 | op << 8});
      note({0xbf000000 | (op & 127) << 16 | 4 | 6 << 8});                    // SOPC
      note({0xbf800000 | (op & 127) << 16});                                 // SOPP
      note({0x80000000 | (op & 127) << 23 | 4 | 6 << 8 | 8 << 16, literal}); // SOP2
      note({0xb0000000 | (op & 31) << 23 | 4 << 16 | 1, literal});           // SOPK
    }
  }
  void vector() {
    for (uint32_t op = 0; op < 256; op++) {
      note({0x7e000000 | 4 << 17 | op << 9 | 258, 0});
      note({0x7c000000 | op << 17 | 4 << 9 | 258});
    }
    for (uint32_t op = 0; op < 62; op++) note({op << 25 | 4 << 17 | 2 << 9 | 258, 0x3f800000});
    const uint32_t vop3 = arch_.gfx9 ? 0xd0000000 : 0xd4000000;
    const uint32_t vop3p = arch_.gfx9 ? 0xd3800000 : 0xcc000000;
    for (const uint32_t sdst : {0u, 106u << 8})
      for (const uint32_t sources : {258 | 260 << 9 | 262 << 18, 258 | 260 << 9, 258,
                                     258 | 260 << 9 | 2 << 18, 258 | 272 << 9 | 288 << 18}) {
        for (uint32_t op = 0; op < 1024; op++) note({vop3 | op << 16 | sdst | 8, sources});
        for (uint32_t op = 0; op < 128; op++) {
          note({vop3p | op << 16 | 8, sources});
          note({vop3p | op << 16 | 0x4008, sources | 0x18000000});
          note({0xd3ac0000, 0x00020301, vop3p | op << 16 | 8, sources}); // gfx950: with scales
        }
      }
    if (arch_.gfx11)
      for (uint32_t x = 0; x < 16; x++)
        for (uint32_t y = 0; y < 32; y++)
          for (const uint32_t sources : {0u, 2u << 9}) // a move has one source only
            note({0xc8000000 | x << 22 | y << 17 | sources | 257, 4u << 24 | 3 << 9 | 261, 0}),
                note({0xc8000000 | x << 22 | y << 17 | sources | 257, 4u << 24 | 261, 0});
  }
  void memory() {
    for (uint32_t op = 0; op < 256; op++) {
      for (const uint32_t smem : {arch_.gfx9 ? 0xc0000000 : 0xf4000000}) {
        for (const uint32_t soffset : {0u, 0xf8000000u, 0xfa000000u})
          note({smem | op << 18, soffset}), note({smem | (op & 63) << 13, soffset});
        note({smem | op << 18 | 1 << 17, 0});
      }
      for (const uint32_t modifiers : {0u, 1u << 16, 1u << 17})
        for (const uint32_t at : {17u, 18u}) note({0xd8000000 | op << at | modifiers, 0});
      for (const uint32_t modifiers : {0u, 1u << 15, 1u << 16})
        note({0xe0000000 | op << 18 | modifiers, 0x80000000});
      for (const uint32_t mask : {1u, 3u, 7u, 15u})
        for (const uint32_t modifiers : {0u, 1u, 1u << 3, 1u << 2, 1u << 12, 1u << 7})
          note({0xf0000000 | op << 18 | mask << 8 | modifiers, 0});
    }
    for (uint32_t op = 0; op < 128; op++)
      for (uint32_t segment = 0; segment < 4; segment++)
        for (const uint32_t saddr : {0x007f0000u, 0x007c0000u, 0x007d0000u, 0u})
          for (const uint32_t lds : {0u, 1u << 13})
            for (const uint32_t at : {14u, 16u})
              note({0xdc000000 | op << 18 | segment << at | lds, saddr});
    for (uint32_t op = 0; op < 16; op++) {
      note({0xe8000000 | op << 15, 0x80000000});
      note({0xe8000000 | (op & 7) << 16 | 1 << 19, 0x80000000 | (op >> 3) << 21});
    }
    note({0xc4000000, 0}), note({0xf8000000, 0}); // exports
    if (!arch_.gfx12) return;
    for (uint32_t op = 0; op < 256; op++) { // three words
      for (uint32_t segment = 0; segment < 3; segment++)
        for (const uint32_t saddr : {0u, 124u})
          for (const uint32_t modifiers : {0u, 1u << 17, 1u << 20})
            note({0xec000000 | segment << 24 | op << 14 | saddr, modifiers, 0});
      note({0xc4000000 | op << 14, 0x80000000, 0}), note({0xc4000000 | op << 14, 0x80100000, 0});
      for (const uint32_t first : {0xd0000000u, 0xe4000000u})
        note({first | op << 14 | 1 << 22, 0, 0}), note({first | op << 14 | 15 << 22, 0, 0});
    }
  }

  const Arch &arch_;
  Decoder *decoder_ = nullptr;
  std::string text_;
  std::map<std::string, bool> names_;
};

// Made once, because decoding all of them takes long.
const Instructions &instructions_of(const Arch &arch) {
  static std::map<std::string_view, Instructions> all;
  return all.try_emplace(arch.name, arch).first->second;
}

const char *kind_of(std::string_view name) {
  struct Prefix {
    std::string_view prefix;
    const char *kind;
  };
  static constexpr Prefix prefixes[] = {
      {"s_load", "scalar memory"},
      {"s_buffer", "scalar memory"},
      {"s_store", "scalar memory"},
      {"s_scratch", "scalar memory"},
      {"s_atomic", "scalar memory"},
      {"s_dcache", "scalar memory"},
      {"s_mem", "scalar memory"},
      {"s_gl1", "scalar memory"},
      {"s_atc", "scalar memory"},
      {"s_prefetch", "scalar memory"},
      {"s_", "scalar"},
      {"v_mfma", "matrix"},
      {"v_smfmac", "matrix"},
      {"v_wmma", "matrix"},
      {"v_swmmac", "matrix"},
      {"v_cmp", "vector, comparisons"},
      {"v_dual", "vector, two at once"},
      {"v_", "vector"},
      {"ds_", "LDS"},
      {"buffer_", "buffers"},
      {"tbuffer_", "buffers"},
      {"flat_", "flat"},
      {"global_", "global"},
      {"scratch_", "scratch"},
      {"image_", "images"},
  };
  for (const Prefix &p : prefixes)
    if (name.starts_with(p.prefix)) return p.kind;
  return "other";
}

const char *why_inexact(std::string_view name) {
  switch (inexact_of(name)) {
  case 0: return nullptr;
  case kInexactClock: return "clock";
  case kInexactMatrix: return "order of sums";
  case kInexactAtomics: return "order of atomics";
  default: return "last digits";
  }
}

struct Page {
  std::string text, row;
};
Page page_of(const Arch &arch) {
  std::map<std::string, std::string> exact, inexact, missing; // names by kind
  unsigned executed = 0, exactly = 0, all = 0;
  const Instructions &instructions = instructions_of(arch);
  for (const auto &[name, is_executed] : instructions.names()) {
    all++;
    std::string kind = kind_of(name);
    if (!is_executed) {
      missing[kind] += " " + name;
      continue;
    }
    executed++;
    const char *why = why_inexact(name);
    if (!why) exactly++;
    if (why) kind += std::string(", ") + why;
    (why ? inexact : exact)[kind] += " " + name;
  }
  std::ostringstream out;
  out << "# Instructions of " << arch.name << "\n\n"
      << "Of " << all << " instructions, the software GPU executes " << executed << ", " << exactly
      << " of them bit for bit as a card ([exactness](../../software-gpu.md#exactness)). "
      << "The test `sim_coverage` makes this page from the decoder and the executor, and fails if "
         "it is out of date; `FADE_UPDATE_DOCS=1` makes it write the page.\n";
  auto table = [&](const char *title, const std::map<std::string, std::string> &names) {
    if (names.empty()) return;
    out << "\n## " << title << "\n| kind | instructions |\n|---|---|\n";
    for (const auto &[kind, list] : names)
      out << "| " << kind << " | `" << list.substr(1) << "` |\n";
  };
  table("Executed, exact", exact);
  table("Executed, may differ from a card", inexact);
  table("Not executed", missing);
  std::ostringstream row;
  row << "| [" << arch.name << "](" << arch.name << ".md) | " << all << " | " << executed << " | "
      << executed - exactly << " | " << all - executed << " |\n";
  return {out.str(), row.str()};
}

std::string content_of(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}
bool updates() { return std::getenv("FADE_UPDATE_DOCS") != nullptr; }
void expect_file(const std::string &path, const std::string &text) {
  if (updates()) std::ofstream(path, std::ios::binary) << text;
  // Not EXPECT_EQ: it would print all of it.
  EXPECT_TRUE(content_of(path) == text) << path << " is out of date: FADE_UPDATE_DOCS=1 writes it";
}

TEST(InstructionTables, AreWhatTheDecoderAndTheExecutorSay) {
  const std::string docs = FADE_DOCS;
  std::string rows;
  for (const Arch &arch : archs()) {
    const Page page = page_of(arch);
    expect_file(docs + "/evidence/instructions/" + arch.name + ".md", page.text);
    rows += page.row;
  }
  std::string overview = content_of(docs + "/evidence/instructions/README.md");
  const std::string begin =
      "| GPU | instructions | executed | not exact | not executed |\n|---|---|---|---|---|\n";
  const size_t at = overview.find(begin);
  ASSERT_NE(at, overview.npos);
  const size_t first = at + begin.size(), end = overview.find("\n\n", first - 1);
  ASSERT_NE(end, overview.npos);
  overview.replace(first, end + 1 - first, rows);
  expect_file(docs + "/evidence/instructions/README.md", overview);
}

// What the tables are made of is all of it: the mnemonics that compilers were seen to write.
TEST(InstructionTables, HaveWhatRealProgramsUse) {
  for (const char *gpu : {"gfx90a", "gfx942", "gfx1030", "gfx1100"}) {
    const Instructions &all = instructions_of(*find_arch(gpu));
    EXPECT_GT(all.names().size(), 1000u) << gpu;
    std::ifstream in(std::string(FADE_TEST_DATA "/isa/opcodes-") + gpu + ".tsv");
    std::string line, absent;
    std::getline(in, line); // header
    while (std::getline(in, line))
      if (const std::string name = line.substr(0, line.find('\t')); !all.names().contains(name))
        absent += " " + name;
    EXPECT_EQ(absent, "") << gpu;
  }
}

} // namespace
} // namespace fade::sim
