// Plugins belong to one LLVM: which of them a compiler gets, by what it says of its version.
#include "compile/compiler_version.h"

#include <gtest/gtest.h>

using namespace fade;
using namespace fade::cli;

namespace {

constexpr const char *kDebian19 = "Debian clang version 19.1.7 (3~deb12u1)";
constexpr const char *kDebian22 = "Debian clang version 22.1.8 (1~deb12u1)";
constexpr const char *kSnapshot24 =
    "Debian clang version 24.0.0 (++20261025103442+7e3c57157096-1~exp1)";
constexpr const char *kRocm71 =
    "AMD clang version 20.0.0git (https://github.com/RadeonOpenCompute/llvm-project roc-7.1.0 "
    "25425 1b0eada6b0ee93e2e694c8c146d23fca90bc11c5)";
constexpr const char *kRocm720 =
    "AMD clang version 22.0.0git (https://github.com/RadeonOpenCompute/llvm-project roc-7.2.0 "
    "26014 7b800a19466229b8479a78de19143dc33c3ab9b5)";
constexpr const char *kRocm721 =
    "AMD clang version 22.0.0git (https://github.com/RadeonOpenCompute/llvm-project roc-7.2.1 "
    "26084 f58b06dce1f9c15707c5f808fd002e18c2accf7e)";

// What hipcc of ROCm 7.2 prints.
const std::string kHipcc = std::string("HIP version: 7.2.53211-e1a6bc5663\n") + kRocm721 +
                           "\nTarget: x86_64-unknown-linux-gnu\nThread model: posix\n"
                           "InstalledDir: /opt/rocm-7.2.1/lib/llvm/bin\n"
                           "Configuration file: /opt/rocm-7.2.1/lib/llvm/bin/clang++.cfg\n";

Compiler compiler(const std::string &line, const std::string &folder = "/usr/lib/llvm/bin") {
  return *readCompiler("clang++", line + "\nInstalledDir: " + folder + "\n");
}

TEST(CompilerVersion, IsTheWholeLineOfWhatHipccPrints) {
  const auto found = readCompiler("hipcc", kHipcc);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->line, kRocm721);
  EXPECT_EQ(found->version.number[0], 22u);
  EXPECT_EQ(found->root, "/opt/rocm-7.2.1/lib/llvm");
}

TEST(CompilerVersion, OtherCompilersHaveNone) {
  EXPECT_FALSE(readCompiler("g++", "g++ (Debian 12.2.0-14) 12.2.0\nCopyright (C) 2022\n"));
  EXPECT_FALSE(readCompiler("x", ""));
  EXPECT_FALSE(readCompiler("x", "clang version "));
  EXPECT_FALSE(readCompiler("x", "clang version unknown\n"));
}

TEST(CompilerVersion, ReleasesAreToldFromSnapshotsAndForks) {
  for (const char *line :
       {kDebian19, kDebian22, "Debian clang version 15.0.6", "clang version 19.1.7",
        "clang version 19.1.7 (Fedora 19.1.7-1.fc41)", "Ubuntu clang version 18.1.3 (1ubuntu1)",
        "Ubuntu clang version 19.1.7 (++20250114103320+cd708029e0b2-1~exp1~20250114103432.75)",
        "Ubuntu clang version 17.0.6 (++20231208085846+6009708b4367-1~exp1)"})
    EXPECT_TRUE(clangVersion(line)->is_release) << line;
  for (const char *line :
       {kSnapshot24, kRocm71, kRocm721, "clang version 22.1.0-rc2", "clang version 24.0.0git",
        "Ubuntu clang version 17.0.0 (++20230101000000+abcdef-1~exp1)",
        "AMD clang version 18.1.0 (x)", "Apple clang version 15.0.0 (clang-1500.3.9.4)",
        "AMD AFAR drop #23.2 clang version 23.1.0 (x)"})
    EXPECT_FALSE(clangVersion(line)->is_release) << line;
}

TEST(Plugin, OfAnyReleaseWithTheSameInterfaceFits) {
  EXPECT_TRUE(pluginFits(kDebian19, "clang version 19.1.1"));
  EXPECT_FALSE(pluginFits(kDebian19, kDebian22));
  EXPECT_FALSE(pluginFits("clang version 18.1.8", kDebian19));
}

TEST(Plugin, OfTheSameMajorNumberDoesNotFitAFork) {
  EXPECT_FALSE(pluginFits(kDebian22, kRocm721));
  EXPECT_FALSE(pluginFits(kRocm720, kRocm721));
  EXPECT_FALSE(pluginFits(kSnapshot24, "Debian clang version 24.0.0 (++20261101000000+0-1~exp1)"));
  EXPECT_TRUE(pluginFits(kRocm721, kRocm721));
  EXPECT_TRUE(pluginFits(kSnapshot24, kSnapshot24));
}

TEST(Plugin, IsChosenByTheWholeLine) {
  const std::vector<Plugin> plugins = {
      {"19.so", kDebian19}, {"22.so", kDebian22}, {"rocm-2.so", kRocm721}, {"rocm.so", kRocm720}};
  const auto chosen = [&](const char *line) {
    const Plugin *plugin = choosePlugin(plugins, compiler(line));
    return plugin ? plugin->path : "";
  };
  EXPECT_EQ(chosen(kRocm721), "rocm-2.so");
  EXPECT_EQ(chosen(kRocm720), "rocm.so");
  EXPECT_EQ(chosen(kDebian22), "22.so");
  EXPECT_EQ(chosen("clang version 22.1.1"), "22.so");
  EXPECT_EQ(chosen(kRocm71), "");
  EXPECT_EQ(chosen("clang version 24.0.0git"), "");
}

TEST(Plugin, ThatIsMissingIsOneLineWithTheCommandThatBuildsIt) {
  const std::string of_rocm = noPluginFor(*readCompiler("hipcc", kHipcc), {{"19.so", kDebian19}});
  EXPECT_EQ(of_rocm, std::string("hipcc is '") + kRocm721 +
                         "', and no plugin was built for it (installed: Debian clang version "
                         "19.1.7): run 'scripts/build -DFADE_ROCM_LLVM=/opt/rocm-7.2.1/lib/llvm' "
                         "in FADE's source folder");
  const std::string of_debian = noPluginFor(compiler(kDebian22), {});
  EXPECT_NE(of_debian.find("install llvm-22-dev and clang-22"), std::string::npos) << of_debian;
  EXPECT_EQ(of_debian.find("ROCM"), std::string::npos) << of_debian;
}

TEST(Plugin, OfAFileWithoutALineIsNone) {
  EXPECT_TRUE(pluginsIn({"/no/such/folder", "/proc"}).empty());
}

} // namespace
