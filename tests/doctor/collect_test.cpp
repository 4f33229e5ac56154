// --collect: the copy has the same findings, and nothing private.
#include "doctor/collect.h"

#include "doctor/output.h"
#include "tree_file.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace fade::doctor {
namespace {

namespace fs = std::filesystem;

RuleSet allRules() {
  RuleSet set;
  EXPECT_TRUE(set.add(FADE_DOCTOR_RULES).ok());
  return set;
}

TEST(Collect, OnlySettingsOfRocmAreCopiedFromShellFiles) {
  const test::Folder original, copy;
  const auto write = [&](const std::string &path, const std::string &text) {
    fs::create_directories(fs::path(original.path() + path).parent_path());
    std::ofstream(original.path() + path) << text;
  };
  write("/fade-doctor/environ", "HOME=/home/me\n");
  write("/home/me/.bashrc", "export TOKEN=secret\nexport HSA_XNACK=1 # mine\nalias x=secret\n");
  write("/home/me/private.txt", "secret");
  write("/etc/group", "render:x:109:me,you\nsecretproject:x:1234:me\n");
  write("/etc/profile", "SECRET=secret\n");
  const RuleSet all = allRules();
  const auto collected =
      collect(Tree(original.path()), {"", all.variables()}, copy.path() + "/tree");
  ASSERT_TRUE(collected);
  std::string everything;
  for (const auto &entry : fs::recursive_directory_iterator(copy.path()))
    if (entry.is_regular_file()) {
      std::ifstream file(entry.path());
      everything += entry.path().string() + std::string(std::istreambuf_iterator<char>(file), {});
    }
  EXPECT_NE(everything.find("HSA_XNACK=1"), std::string::npos);
  EXPECT_NE(everything.find("render:x:109:\n"), std::string::npos);
  EXPECT_EQ(everything.find("secret"), std::string::npos) << everything;
  EXPECT_EQ(everything.find("private"), std::string::npos);
}

TEST(Collect, OfALargeLibraryOnlyWhatIsLookedAtIsCopied) {
  const test::Folder original, copy;
  const std::string library = "/opt/rocm/lib/libhsa-runtime64.so.1.14.60200";
  fs::create_directories(original.path() + "/opt/rocm/lib");
  fs::create_directories(original.path() + "/fade-doctor");
  std::ofstream(original.path() + "/fade-doctor/environ") << "HSA_XNACK=1\n";
  {
    std::ofstream file(original.path() + library);
    file << test::makeElf({"libhsa-runtime64.so.1", "", "", {}, {}});
    file.seekp(8 << 20);
    file << std::string(1, '\0') + "HSA_XNACK" + std::string(1, '\0') + "gfx1030" + '\0';
    file.seekp(9 << 20);
    file << "secret";
  }
  const RuleSet all = allRules();
  const LookOptions options{"", all.variables()};
  const auto collected = collect(Tree(original.path()), options, copy.path() + "/tree");
  ASSERT_TRUE(collected);
  EXPECT_LT(collected->bytes, 1u << 20);
  const Facts facts = look(Tree(copy.path() + "/tree"), options);
  ASSERT_EQ(facts.of("library").size(), 1u);
  EXPECT_EQ(facts.of("library")[0]->get("archs"), "gfx1030");
  ASSERT_EQ(facts.of("variable").size(), 1u);
  EXPECT_EQ(facts.of("variable")[0]->get("readers"), library);
  std::ifstream file(copy.path() + "/tree" + library);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(bytes.find("secret"), std::string::npos);
}

TEST(Collect, AFolderThatIsNotEmptyIsRefused) {
  const test::Folder original, copy;
  std::ofstream(copy.path() + "/x") << "x";
  const auto collected = collect(Tree(original.path()), {"", {}}, copy.path());
  ASSERT_FALSE(collected);
  EXPECT_NE(collected.error().message().find("not empty"), std::string::npos);
}

} // namespace
} // namespace fade::doctor
