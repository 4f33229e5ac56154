// Site tables as the pass makes them, and what machine code says of them.
#include "codeobj/instruction.h"
#include "codeobj/machine_check.h"

#include <gtest/gtest.h>

#include <cstring>

namespace fade::codeobj {
namespace {

class MachineCheck : public ::testing::Test {
protected:
  uint32_t site(uint32_t space, uint32_t size, uint32_t line, uint32_t column, uint32_t flags = 0) {
    fade_site one{};
    one.kind = FADE_SITE_LOAD;
    one.flags = FADE_SITE_READS | flags;
    one.space = space;
    one.size = size;
    one.file = 1;
    one.line = line;
    one.column = column;
    one.inlined_at = FADE_NO_INDEX;
    one.block = FADE_NO_INDEX;
    sites_.push_back(one);
    return static_cast<uint32_t>(sites_.size() - 1);
  }
  void gone(uint32_t line, uint32_t column, uint32_t done_by) {
    const uint32_t part = site(FADE_SPACE_GLOBAL, 4, line, column, FADE_SITE_IS_GONE);
    sites_[part].done_by = done_by + 1;
  }
  void instruction(uint32_t line, uint32_t column, const char *name, uint32_t bytes,
                   uint32_t addresses = 1) {
    const std::string_view text = name;
    machine_.push_back({"/elsewhere/k.hip", line, column, FADE_SITE_LOAD, text.starts_with("ds_"),
                        text.starts_with("s_"), bytes, addresses, name});
  }
  std::optional<SiteTable> check() const {
    fade_sites header{};
    header.magic = FADE_SITES_MAGIC;
    header.version = FADE_SITES_VERSION;
    header.message_version = FADE_MESSAGE_VERSION;
    header.modes = FADE_MODE_ACCESSES | FADE_MODE_MACHINE;
    const std::string strings("\0/src/k.hip\0kernel\0", 19);
    const fade_site_kernel kernel{12, 12, 1, 1, FADE_MODE_ACCESSES, 0};
    std::vector<std::byte> bytes(sizeof header);
    const auto put = [&](const void *from, std::size_t size) {
      const auto at = static_cast<uint32_t>(bytes.size());
      const auto *begin = static_cast<const std::byte *>(from);
      bytes.insert(bytes.end(), begin, begin + size);
      return at;
    };
    header.kernels_offset = put(&kernel, sizeof kernel), header.kernel_count = 1;
    header.sites_offset = put(sites_.data(), sites_.size() * sizeof(fade_site));
    header.site_count = static_cast<uint32_t>(sites_.size());
    header.frames_offset = header.lines_offset = header.sites_offset;
    header.strings_offset = put(strings.data(), strings.size());
    header.strings_size = static_cast<uint32_t>(strings.size());
    bytes.resize((bytes.size() + 7) / 8 * 8);
    header.size = bytes.size();
    std::memcpy(bytes.data(), &header, sizeof header);
    std::string error;
    const auto table = SiteTable::parse(bytes, error);
    EXPECT_TRUE(table) << error;
    return table ? checkedByMachine(*table, {{0, machine_}}) : std::nullopt;
  }

private:
  std::vector<fade_site> sites_;
  std::vector<MachineAccess> machine_;
};

TEST_F(MachineCheck, WhatAgreesIsLeftAlone) {
  site(FADE_SPACE_GLOBAL, 16, 3, 5);
  site(FADE_SPACE_LDS, 8, 4, 5, FADE_SITE_OF_PIECES(4));
  site(FADE_SPACE_LDS, 4, 7, 5); // two of them in one instruction
  site(FADE_SPACE_LDS, 4, 7, 5);
  site(FADE_SPACE_GLOBAL, 8, 5, 5); // nothing is known of it
  instruction(3, 5, "global_load_dwordx4", 16);
  instruction(4, 5, "ds_read2_b32", 4, 2);
  instruction(7, 5, "ds_read2_b32", 4, 2);
  EXPECT_FALSE(check());
}

TEST_F(MachineCheck, AnAccessThatTheMachineMakesInPiecesIsInPieces) {
  const uint32_t pair = site(FADE_SPACE_LDS, 8, 3, 5);
  instruction(3, 5, "ds_read2_b32", 4, 2);
  const auto table = check();
  ASSERT_TRUE(table);
  EXPECT_EQ(FADE_SITE_PIECE(table->sites()[pair].flags), 4u);
}

TEST_F(MachineCheck, OneThatIsExpectedInPiecesAndIsNotIsWhole) {
  const uint32_t pair = site(FADE_SPACE_LDS, 8, 3, 5, FADE_SITE_OF_PIECES(4));
  instruction(3, 5, "ds_read_b64", 8);
  const auto table = check();
  ASSERT_TRUE(table);
  EXPECT_EQ(FADE_SITE_PIECE(table->sites()[pair].flags), 8u);
  EXPECT_EQ(table->sites()[pair].flags & FADE_SITE_IS_OTHERWISE, 0u);
}

TEST_F(MachineCheck, AccessesThatTheMachineDoesNotMergeAreApart) {
  const uint32_t both = site(FADE_SPACE_GLOBAL, 8, 3, 5);
  gone(3, 20, both);
  instruction(3, 5, "global_load_dword", 4);
  instruction(3, 20, "global_load_dword", 4);
  const auto table = check();
  ASSERT_TRUE(table);
  EXPECT_EQ(FADE_SITE_PIECE(table->sites()[both].flags), 4u);
}

TEST_F(MachineCheck, ALoadIsTheScalarUnitsIfTheMachineSaysSo) {
  const uint32_t vector = site(FADE_SPACE_GLOBAL, 4, 3, 5),
                 scalar = site(FADE_SPACE_GLOBAL, 4, 4, 5, FADE_SITE_IS_SCALAR);
  instruction(3, 5, "s_load_dword", 4);
  instruction(4, 5, "global_load_dword", 4);
  const auto table = check();
  ASSERT_TRUE(table);
  EXPECT_NE(table->sites()[vector].flags & FADE_SITE_IS_SCALAR, 0u);
  EXPECT_EQ(table->sites()[scalar].flags & FADE_SITE_IS_SCALAR, 0u);
}

TEST_F(MachineCheck, WhatCannotBeToldIsNamed) {
  const uint32_t one = site(FADE_SPACE_LDS, 8, 3, 5), other = site(FADE_SPACE_LDS, 8, 3, 5);
  instruction(3, 5, "ds_read_b64", 8);
  instruction(3, 5, "ds_read2_b32", 4, 2);
  // Only a part of it is loaded.
  const uint32_t half = site(FADE_SPACE_GLOBAL, 8, 4, 5);
  instruction(4, 5, "global_load_dword", 4);
  const auto table = check();
  ASSERT_TRUE(table);
  for (const uint32_t index : {one, other}) {
    ASSERT_NE(table->sites()[index].flags & FADE_SITE_IS_OTHERWISE, 0u);
    EXPECT_EQ(table->string(table->sites()[index].instead), "ds_read2_b32, ds_read_b64");
  }
  ASSERT_NE(table->sites()[half].flags & FADE_SITE_IS_OTHERWISE, 0u);
  EXPECT_EQ(table->string(table->sites()[half].instead), "global_load_dword");
}

TEST(ClauseLines, AllButTheFirstInstructionOfAClauseHaveItsLine) {
  ClauseLines clause;
  std::string shares;
  for (const char *text :
       {"v_nop", "s_clause 0x1", "global_load_dword", "global_load_dword", "global_load_dword",
        "s_clause 0x2", "global_load_dword", "global_load_dword", "global_load_dword", "v_nop"})
    shares += clause.shares({0, 8, text, std::nullopt}) ? '1' : '0';
  EXPECT_EQ(shares, "0001000110");
}

} // namespace
} // namespace fade::codeobj
