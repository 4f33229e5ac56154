#include <fade/site_table.h>

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace {

using fade::SiteTable;

// A small table, laid out by hand, so that the reader is not tested with its own writer.
struct Image {
  fade_sites header{};
  std::vector<fade_site_kernel> kernels;
  std::vector<fade_site> sites;
  std::vector<fade_site_frame> frames;
  std::vector<fade_site_line> lines;
  std::string strings = std::string("\0vadd\0__fade_vadd\0a.hip\0inner\0", 30);

  Image() {
    kernels = {{1, 6, 18, 3, FADE_MODE_ACCESSES, 0}};
    frames = {{1, 18, 10, 2, FADE_NO_INDEX}, {24, 18, 20, 4, 0}};
    lines = {{18, 4}, {18, 5}};
    fade_site block{FADE_SITE_BLOCK, 0, FADE_SPACE_NONE, 0,   18, 4,  1, 1,
                    FADE_NO_INDEX,   0, FADE_NO_INDEX,   {0}, 2,  {0}};
    fade_site load{
        FADE_SITE_LOAD, FADE_SITE_READS, FADE_SPACE_GLOBAL, 4, 18, 5, 9, 24, 1, 0, 0, {0}, 0, {0}};
    sites = {block, load};
    header.magic = FADE_SITES_MAGIC;
    header.version = FADE_SITES_VERSION;
    header.message_version = FADE_MESSAGE_VERSION;
    header.module_id = 42;
    header.modes = FADE_MODE_ACCESSES;
    header.source = 18;
  }

  std::vector<std::byte> bytes(const std::function<void(fade_sites &)> &patch = {}) {
    std::vector<std::byte> out(sizeof header);
    auto add = [&](const auto &array, uint32_t &offset, uint32_t &count) {
      offset = uint32_t(out.size());
      count = uint32_t(array.size());
      const auto *from = reinterpret_cast<const std::byte *>(array.data());
      out.insert(out.end(), from, from + array.size() * sizeof array[0]);
    };
    add(kernels, header.kernels_offset, header.kernel_count);
    add(sites, header.sites_offset, header.site_count);
    add(frames, header.frames_offset, header.frame_count);
    add(lines, header.lines_offset, header.line_count);
    add(strings, header.strings_offset, header.strings_size);
    out.resize((out.size() + 7) / 8 * 8);
    header.size = out.size();
    fade_sites patched = header;
    if (patch) patch(patched);
    std::memcpy(out.data(), &patched, sizeof patched);
    return out;
  }
};

TEST(SiteTable, GivesBackWhatWasWritten) {
  Image image;
  std::string error;
  const auto table = SiteTable::parse(image.bytes(), error);
  ASSERT_TRUE(table) << error;
  EXPECT_EQ(table->moduleId(), 42u);
  EXPECT_EQ(table->source(), "a.hip");
  ASSERT_EQ(table->kernels().size(), 1u);
  EXPECT_EQ(table->string(table->kernels()[0].clone), "__fade_vadd");
  ASSERT_EQ(table->sites().size(), 2u);
  const auto &load = table->sites()[1];
  EXPECT_EQ(load.size, 4u);
  EXPECT_EQ(table->string(load.function), "inner");
  const auto &frame = table->frames()[load.inlined_at];
  EXPECT_EQ(frame.line, 20u);
  EXPECT_EQ(table->frames()[frame.parent].line, 10u);
  const auto lines = table->lines(table->sites()[0]);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].line, 5u);
}

TEST(SiteTable, SectionWithSeveralTablesAndPaddingIsReadWhole) {
  Image a, b;
  b.header.module_id = 43;
  auto section = a.bytes();
  section.resize(section.size() + 24);
  const auto second = b.bytes();
  section.insert(section.end(), second.begin(), second.end());
  section.resize(section.size() + 4);
  std::string error;
  const auto tables = fade::parseSiteTables(section, error);
  EXPECT_EQ(error, "");
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].moduleId(), 42u);
  EXPECT_EQ(tables[1].moduleId(), 43u);
}

TEST(SiteTable, ErrorNamesTheOffsetOfTheBadTable) {
  Image a;
  auto section = a.bytes();
  const auto offset = section.size();
  section.resize(offset + 200, std::byte{1});
  std::string error;
  EXPECT_EQ(fade::parseSiteTables(section, error).size(), 1u);
  EXPECT_EQ(error, ".fade.sites at offset " + std::to_string(offset) +
                       ": it does not start like a site table");
}

void expectRefused(std::vector<std::byte> bytes, const std::string &why) {
  std::string error;
  EXPECT_FALSE(SiteTable::parse(bytes, error));
  EXPECT_EQ(error, why);
}

TEST(SiteTable, RefusesOtherVersions) {
  Image image;
  expectRefused(image.bytes([](auto &h) { h.version = 2; }),
                "the site table is of another version");
  expectRefused(image.bytes([](auto &h) { h.message_version = 9; }),
                "the kernels write records of another version");
}

TEST(SiteTable, RefusesCountsThatReachBeyondTheTable) {
  Image image;
  expectRefused(image.bytes([](auto &h) { h.site_count = 0xffffffff; }),
                "the sites reach beyond the site table");
  expectRefused(image.bytes([](auto &h) { h.kernels_offset = 0xfffffff8; }),
                "the kernels reach beyond the site table");
  expectRefused(image.bytes([](auto &h) { h.size += 8; }), "the size of the site table is wrong");
}

TEST(SiteTable, RefusesReferencesToNothing) {
  Image string;
  string.sites[1].function = 1000;
  expectRefused(string.bytes(), "a site refers to a string that is not there");
  Image frame;
  frame.sites[1].inlined_at = 2;
  expectRefused(frame.bytes(), "a site refers to a frame that is not there");
  Image loop;
  loop.frames[0].parent = 1;
  expectRefused(loop.bytes(), "a frame has an impossible parent");
  Image lines;
  lines.sites[0].line_count = 3;
  expectRefused(lines.bytes(), "a site refers to lines that are not there");
  Image strings;
  strings.strings.back() = 'x';
  expectRefused(strings.bytes(), "the strings are not terminated");
}

TEST(SiteTable, DamagedTablesAreRefusedOrReadWithinBounds) {
  std::mt19937_64 random(4);
  const auto good = Image().bytes();
  for (int round = 0; round < 5000; ++round) {
    auto bytes = good;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = std::byte(random());
    bytes.resize(random() % 4 ? bytes.size() : random() % bytes.size());
    std::string error;
    const auto table = SiteTable::parse(bytes, error);
    if (!table) {
      EXPECT_NE(error, "");
      continue;
    }
    for (const auto &s : table->sites()) {
      (void)table->string(s.function).size();
      (void)table->lines(s).size();
      for (uint32_t f = s.inlined_at; f != FADE_NO_INDEX; f = table->frames()[f].parent) {
      }
    }
  }
}

} // namespace
