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

/// /etc/ld.so.cache with these libraries, all of one name.
std::string makeCache(const std::string &name, const std::vector<std::string> &paths) {
  const auto number = [](std::size_t value) {
    const auto bytes = static_cast<uint32_t>(value);
    return std::string(reinterpret_cast<const char *>(&bytes), sizeof bytes);
  };
  const std::size_t strings_at = 48 + 24 * paths.size();
  std::string entries, strings = name + '\0';
  for (const std::string &path : paths) {
    entries += number(0x0303) + number(strings_at) + number(strings_at + strings.size()) +
               std::string(12, '\0');
    strings += path + '\0';
  }
  std::string header = "glibc-ld.so.cache1.1" + number(paths.size()) + number(strings.size());
  header.resize(48);
  return header + entries + strings;
}

TEST(DoctorLoader, TheCacheHasTheBestForTheProcessorWhateverTheOrder) {
  namespace fs = std::filesystem;
  const std::string v2 = "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3",
                    v3 = v2 + " avx avx2 bmi1 bmi2 f16c fma abm movbe xsave";
  const std::vector<std::string> paths = {"/a/libx.so.1", "/a/glibc-hwcaps/x86-64-v2/libx.so.1",
                                          "/a/glibc-hwcaps/x86-64-v3/libx.so.1"};
  const test::Folder folder;
  const auto write = [&](const std::string &path, const std::string &text) {
    fs::create_directories(fs::path(folder.path() + path).parent_path());
    std::ofstream(folder.path() + path, std::ios::binary) << text;
  };
  write("/app", test::makeElf({"", "", "", {"libx.so.1"}, {}}));
  write("/etc/ld.so.cache", makeCache("libx.so.1", paths));
  for (const std::string &path : paths) write(path, test::makeElf({"libx.so.1", "", "", {}, {}}));
  for (const auto &[flags, expected] : std::map<std::string, std::string>{
           {"fpu", paths[0]}, {v2, paths[1]}, {v3, paths[2]}, {"avx512f " + v2, paths[1]}}) {
    write("/proc/cpuinfo", "processor : 0\nflags : " + flags + "\n");
    const auto loaded = librariesOf(Tree(folder.path()), "/app", {});
    ASSERT_TRUE(loaded.ok());
    ASSERT_EQ(loaded->size(), 1u);
    EXPECT_EQ(loaded->front().path, expected) << flags;
    EXPECT_EQ(loaded->front().reason, "ld.so.cache");
  }
  write("/etc/ld.so.preload", paths[0] + "\n");
  EXPECT_EQ(librariesOf(Tree(folder.path()), "/app", {})->front().path, paths[0]);
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
