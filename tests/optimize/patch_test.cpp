// Patches, applied by patch(1).
#include "optimize/patch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fade::cli {
namespace {

std::string patched(const std::string &before, const std::string &patch) {
  std::string folder = (std::filesystem::temp_directory_path() / "fade-patch-XXXXXX").string();
  if (!mkdtemp(folder.data())) return "no folder";
  std::ofstream(folder + "/a.hip", std::ios::binary) << before;
  std::ofstream(folder + "/patch", std::ios::binary) << patch;
  const std::string command =
      "cd '" + folder + "' && patch --binary -s -p1 <patch >/dev/null 2>&1 || echo failed >a.hip";
  if (std::system(command.c_str()) != 0) return "no shell";
  std::ifstream in(folder + "/a.hip", std::ios::binary);
  const std::string after(std::istreambuf_iterator<char>(in), {});
  std::filesystem::remove_all(folder);
  return after;
}

TEST(Patch, GivesTheOtherTextWhateverItsLinesAre) {
  const std::string before = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";
  for (const std::string &after :
       {before + "nine\n", "zero\n" + before, std::string("one\n"),
        before.substr(0, before.size() - 1), std::string("all\nnew\n"),
        std::string("one\ntwo\nthree\n4\nfive\nsix\nseven\n8\n"),
        std::string("one\r\ntwo\r\nthree\nfour\nfive\nsix\nseven\neight\n"),
        std::string("\tone\n") + before.substr(4)}) {
    EXPECT_EQ(patched(before, patchOf("a.hip", before, after)), after);
    EXPECT_EQ(patched(after, patchOf("a.hip", after, before)), before);
  }
  EXPECT_EQ(patchOf("a.hip", before, before), "");
}

TEST(Patch, HasOnlyLinesThatChangedAndThreeAroundThem) {
  std::string before, after;
  for (int i = 0; i < 60; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    before += line;
    after += i == 10 || i == 14 || i == 50 ? "changed " + line : line;
  }
  const std::string patch = patchOf("a.hip", before, after);
  EXPECT_EQ(patched(before, patch), after);
  const auto count = [&](const std::string &begin) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = patch.find("\n" + begin, at)) != patch.npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count("@@ "), 2u); // 10 and 14 are near each other
  EXPECT_EQ(count("-line"), 3u);
  EXPECT_EQ(count("+changed"), 3u);
  EXPECT_EQ(count(" line"), 3u + 3 + 3 + 3 + 3);
}

TEST(Merged, HasBothChangesOrSaysThatTheyMeet) {
  const std::string before = "one\ntwo\nthree\nfour\nfive\nsix\n";
  const std::string after = "1\ntwo\nthree\nfour\nfive\nsix\nseven\n";
  EXPECT_EQ(merged(before, after, "one\ntwo\n3\nfive\nsix\n"), "1\ntwo\n3\nfive\nsix\nseven\n");
  EXPECT_EQ(merged(before, after, before), after);
  EXPECT_EQ(merged(before, before, after), after);
  EXPECT_EQ(merged(before, after, "I\ntwo\nthree\nfour\nfive\nsix\n"), std::nullopt);
  EXPECT_EQ(merged(before, after, "one\n2\nthree\nfour\nfive\nsix\n"), std::nullopt);
  EXPECT_EQ(merged(before, after, ""), std::nullopt);
}

} // namespace
} // namespace fade::cli
