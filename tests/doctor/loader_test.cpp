// What the doctor thinks the loader does, compared with what it does.
#include "tree_file.h"

#include "doctor/loader.h"

#include <gtest/gtest.h>

namespace fade::doctor {
namespace {

TEST(DoctorLoader, FindsTheLibrariesThatThisProgramHas) {
  // As the real loader sees it, for this very process.
  std::map<std::string, std::string> mapped;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (const auto slash = line.find('/'); slash != line.npos)
      mapped[line.substr(line.rfind('/') + 1)] = line.substr(slash);
  const char *path = std::getenv("LD_LIBRARY_PATH");
  const auto loaded =
      librariesOf(Tree(), std::filesystem::read_symlink("/proc/self/exe"), {path ? path : "", ""});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message();
  std::size_t compared = 0;
  for (const Loaded &one : *loaded) {
    ASSERT_FALSE(one.path.empty()) << one.name;
    const auto real = mapped.find(one.path.substr(one.path.rfind('/') + 1));
    if (real == mapped.end()) continue;
    EXPECT_EQ(one.path, std::filesystem::canonical(real->second).string()) << one.reason;
    ++compared;
  }
  EXPECT_GE(compared, 3u); // libstdc++, libm, libc
}

TEST(DoctorLoader, ReadsWhatTheFileSays) {
  const std::string bytes = test::makeElf({"libx.so.1", "/a:/b", "", {"liby.so", "libz.so"}, {}});
  const auto dynamic = readDynamic(codeobj::Blob::copy(codeobj::asBytes(bytes), "x"));
  ASSERT_TRUE(dynamic.ok());
  EXPECT_EQ(dynamic->soname, "libx.so.1");
  EXPECT_EQ(dynamic->rpath, "/a:/b");
  EXPECT_EQ(dynamic->needed, (std::vector<std::string>{"liby.so", "libz.so"}));
}

TEST(DoctorLoader, EveryTruncatedFileGivesAnAnswerOrAnError) {
  const std::string bytes = test::makeElf({"libx.so.1", "/a", "/b", {"liby.so"}, {"text"}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto dynamic = readDynamic(
        codeobj::Blob::copy(codeobj::asBytes(std::string_view(bytes).substr(0, size)), "x"));
    if (!dynamic.ok()) EXPECT_FALSE(dynamic.error().message().empty());
  }
}

TEST(DoctorLoader, ACacheThatIsShorterThanItSaysIsAnError) {
  std::string cache = "glibc-ld.so.cache1.1";
  cache += std::string("\xff\xff\xff\x7f", 4) + std::string(100, '\0');
  EXPECT_FALSE(readLoaderCache(codeobj::asBytes(cache)).ok());
  EXPECT_FALSE(readLoaderCache(codeobj::asBytes("ld.so-1.7.0")).ok());
}

TEST(DoctorTreeAccess, NothingOutsideOfTheRootIsRead) {
  namespace fs = std::filesystem;
  const test::Folder outer;
  const std::string root = outer.path() + "/root";
  fs::create_directories(root + "/etc");
  std::ofstream(outer.path() + "/secret") << "secret";
  std::ofstream(root + "/etc/name") << "inside\n";
  fs::create_symlink("../../secret", root + "/etc/up");
  fs::create_symlink(outer.path() + "/secret", root + "/etc/absolute");
  fs::create_symlink("/etc/name", root + "/etc/inside");
  fs::create_symlink("../../../../etc/name", root + "/etc/clamped");
  const Tree tree(root);
  EXPECT_FALSE(tree.text("/etc/up"));
  EXPECT_FALSE(tree.text("/../secret"));
  EXPECT_FALSE(tree.text("/etc/absolute"));
  EXPECT_EQ(tree.line("/etc/inside"), "inside");
  EXPECT_EQ(tree.line("/etc/clamped"), "inside"); // the top has nothing above it
}

} // namespace
} // namespace fade::doctor
