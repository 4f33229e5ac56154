// --fix: what is written is taken back to the byte, and nothing else is touched.
#include "tree_file.h"

#include "doctor/fix.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace fade::doctor {
namespace {

namespace fs = std::filesystem;

/// Everything below a folder: names, kinds, contents, modes.
std::map<std::string, std::string> snapshot(const std::string &root) {
  std::map<std::string, std::string> all;
  for (const auto &entry : fs::recursive_directory_iterator(root)) {
    const auto status = entry.symlink_status();
    std::string what = std::to_string(static_cast<unsigned>(status.permissions()));
    if (entry.is_symlink())
      what += "->" + fs::read_symlink(entry.path()).string();
    else if (entry.is_regular_file()) {
      std::ifstream file(entry.path(), std::ios::binary);
      what += std::string(std::istreambuf_iterator<char>(file), {});
    }
    all[entry.path().string().substr(root.size())] = what;
  }
  return all;
}

std::string read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class DoctorFix : public testing::Test {
protected:
  DoctorFix() : tree(folder.path()) {
    fs::create_directories(folder.path() + "/etc/default");
    fs::create_directories(folder.path() + "/etc/modprobe.d");
    std::ofstream(folder.path() + "/etc/default/grub")
        << "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash\"\nGRUB_X=\xff\n";
    fs::permissions(folder.path() + "/etc/default/grub", fs::perms(0640));
    findings = {finding("memory", {{Fix::Kind::modprobe, "noretry=0"},
                                   {Fix::Kind::kernel, "amdgpu.noretry=0"}}),
                finding("iommu", {{Fix::Kind::kernel, "iommu=pt"}}),
                finding("variables",
                        {{Fix::Kind::environment, "A=1"}, {Fix::Kind::environment, "B=x 'y'"}}),
                finding("hopeless", {})};
  }
  static Finding finding(const std::string &rule, std::vector<Fix> fixes) {
    Finding result;
    result.rule = rule;
    result.remedies = {{"by hand", "", "", {}}, {"by file", "", "", std::move(fixes)}};
    return result;
  }
  FixPlan plan(std::vector<std::string> chosen = {}) {
    auto result = planFixes(tree, findings, chosen);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message());
    return result.ok() ? *result : FixPlan{};
  }
  std::string at(const std::string &path) const { return folder.path() + path; }

  const test::Folder folder;
  const Tree tree;
  std::vector<Finding> findings;
};

TEST_F(DoctorFix, WritesEachFileAndRevertsToTheByte) {
  const auto before = snapshot(folder.path());
  ASSERT_TRUE(writeFixes(tree, plan()).ok());
  EXPECT_NE(read(at("/etc/modprobe.d/fade-doctor.conf")).find("\noptions amdgpu noretry=0\n"),
            std::string::npos);
  // The parameter is in modprobe.d: it does not need to be on the command line, too.
  EXPECT_EQ(read(at("/etc/default/grub")),
            "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash iommu=pt\"\nGRUB_X=\xff\n");
  EXPECT_EQ(fs::status(at("/etc/default/grub")).permissions(), fs::perms(0640));
  EXPECT_NE(
      read(at("/etc/profile.d/fade-doctor.sh")).find("\nexport A=1\nexport B='x '\\''y'\\'''\n"),
      std::string::npos);
  const auto reverted = revertFixes(tree);
  ASSERT_TRUE(reverted.ok()) << reverted.error().message();
  EXPECT_EQ(reverted->size(), 3u);
  EXPECT_EQ(snapshot(folder.path()), before);
}

TEST_F(DoctorFix, PlanningWritesNothing) {
  const auto before = snapshot(folder.path());
  const std::string text = asText(plan());
  EXPECT_NE(text.find("  - GRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash\"\n"), std::string::npos);
  EXPECT_NE(text.find("  + GRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash iommu=pt\"\n"),
            std::string::npos);
  EXPECT_EQ(snapshot(folder.path()), before);
}

TEST_F(DoctorFix, RefusesToRevertAFileThatWasChangedSince) {
  ASSERT_TRUE(writeFixes(tree, plan()).ok());
  std::ofstream(at("/etc/default/grub"), std::ios::app) << "GRUB_MINE=1\n";
  const auto written = snapshot(folder.path());
  const auto reverted = revertFixes(tree);
  ASSERT_FALSE(reverted.ok());
  EXPECT_NE(reverted.error().message().find("/etc/default/grub was changed"), std::string::npos);
  EXPECT_EQ(snapshot(folder.path()), written); // not even the others
}

TEST_F(DoctorFix, RefusesToWriteTwice) {
  ASSERT_TRUE(writeFixes(tree, plan()).ok());
  const auto written = snapshot(folder.path());
  EXPECT_FALSE(writeFixes(tree, plan()).ok());
  EXPECT_EQ(snapshot(folder.path()), written);
}

TEST_F(DoctorFix, RevertsWhatWasInterrupted) {
  const auto before = snapshot(folder.path());
  ASSERT_TRUE(writeFixes(tree, plan()).ok());
  // As if the machine had stopped before the second and third file.
  std::ofstream(at("/etc/default/grub"), std::ios::trunc)
      << "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash\"\nGRUB_X=\xff\n";
  fs::remove(at("/etc/profile.d/fade-doctor.sh"));
  ASSERT_TRUE(revertFixes(tree).ok());
  EXPECT_EQ(snapshot(folder.path()), before);
}

TEST_F(DoctorFix, AllFilesOrNone) {
  fs::remove_all(at("/etc/modprobe.d"));
  fs::create_directories(at("/etc/modprobe.d/fade-doctor.conf")); // in the way
  const auto before = snapshot(folder.path());
  auto all = planFixes(tree, findings, {});
  EXPECT_FALSE(all.ok() && writeFixes(tree, *all).ok());
  EXPECT_EQ(snapshot(folder.path()), before);
}

TEST_F(DoctorFix, NeverWritesOutsideOfTheTree) {
  const test::Folder outside;
  fs::remove_all(at("/etc/modprobe.d"));
  fs::create_symlink(outside.path(), at("/etc/modprobe.d"));
  auto all = planFixes(tree, findings, std::vector<std::string>{"memory"});
  EXPECT_FALSE(all.ok() && writeFixes(tree, *all).ok());
  EXPECT_TRUE(fs::is_empty(outside.path()));
}

TEST_F(DoctorFix, RevertTouchesOnlyFilesThatAreEverWritten) {
  fs::create_directories(at("/var/lib/fade"));
  std::ofstream(at("/etc/passwd")) << "x";
  std::ofstream(at("/var/lib/fade/doctor-fixes.json"))
      << R"({"version":1,"folders":[],"files":[{"path":"/etc/passwd","was_there":false,"before":"","after":"78"}]})";
  EXPECT_FALSE(revertFixes(tree).ok());
  EXPECT_EQ(read(at("/etc/passwd")), "x");
}

TEST_F(DoctorFix, RemediesCanBeChosen) {
  EXPECT_EQ(plan({"iommu:2"}).changes.size(), 1u);
  EXPECT_EQ(plan({"iommu"}).changes.front().path, "/etc/default/grub");
  EXPECT_FALSE(planFixes(tree, findings, std::vector<std::string>{"iommu:1"}).ok());
  EXPECT_FALSE(planFixes(tree, findings, std::vector<std::string>{"iommu:9"}).ok());
  EXPECT_FALSE(planFixes(tree, findings, std::vector<std::string>{"hopeless"}).ok());
  EXPECT_FALSE(planFixes(tree, findings, std::vector<std::string>{"nothing"}).ok());
}

TEST_F(DoctorFix, WithoutAGrubLineItSaysWhatToDo) {
  fs::remove(at("/etc/default/grub"));
  const auto all = planFixes(tree, findings, std::vector<std::string>{"iommu"});
  ASSERT_FALSE(all.ok());
  EXPECT_NE(all.error().message().find("iommu=pt"), std::string::npos);
}

TEST_F(DoctorFix, WithSystemdBootTheWordsGoIntoTheKernelsCommandLineAndComeOutAgain) {
  fs::create_directories(at("/etc/kernel"));
  std::ofstream(at("/etc/kernel/cmdline")) << "root=UUID=1 rw quiet\n";
  // GRUB's settings are there, GRUB is not: as Fedora and Debian leave them.
  EXPECT_EQ(plan({"iommu"}).changes.front().path, "/etc/kernel/cmdline");
  const auto before = snapshot(folder.path());
  ASSERT_TRUE(writeFixes(tree, plan({"iommu"})).ok());
  EXPECT_EQ(read(at("/etc/kernel/cmdline")), "root=UUID=1 rw quiet iommu=pt\n");
  ASSERT_TRUE(plan({"iommu"}).changes.empty()) << "it is there already";
  ASSERT_TRUE(revertFixes(tree).ok());
  EXPECT_EQ(snapshot(folder.path()), before);
  fs::create_directories(at("/boot/grub2"));
  EXPECT_EQ(plan({"iommu"}).changes.front().path, "/etc/default/grub");
}

TEST_F(DoctorFix, CommentsInTheKernelsCommandLineStayComments) {
  fs::remove(at("/etc/default/grub"));
  fs::create_directories(at("/etc/kernel"));
  std::ofstream(at("/etc/kernel/cmdline")) << "root=UUID=1\n# iommu=pt did not help";
  EXPECT_EQ(plan({"iommu"}).changes.front().after,
            "root=UUID=1\n# iommu=pt did not help\niommu=pt\n");
}

TEST_F(DoctorFix, RevertingRefusesAChangedCommandLineWithOneLineAndTouchesNothing) {
  fs::remove(at("/etc/default/grub"));
  fs::create_directories(at("/etc/kernel"));
  std::ofstream(at("/etc/kernel/cmdline")) << "rw";
  ASSERT_TRUE(writeFixes(tree, plan()).ok());
  EXPECT_EQ(read(at("/etc/kernel/cmdline")), "rw iommu=pt");
  std::ofstream(at("/etc/kernel/cmdline")) << "rw iommu=pt mine";
  const auto before = snapshot(folder.path());
  const auto reverted = revertFixes(tree);
  ASSERT_FALSE(reverted.ok());
  EXPECT_NE(reverted.error().message().find("/etc/kernel/cmdline was changed"), std::string::npos);
  EXPECT_EQ(reverted.error().message().find('\n'), std::string::npos);
  EXPECT_EQ(snapshot(folder.path()), before);
}

/// What becomes of a line of /etc/default/grub.
class DoctorGrub : public DoctorFix {
protected:
  std::string changed(const std::string &contents) {
    std::ofstream(at("/etc/default/grub"), std::ios::trunc | std::ios::binary) << contents;
    const auto before = snapshot(folder.path());
    const auto planned = planFixes(tree, findings, std::vector<std::string>{"iommu"});
    if (!planned.ok()) return planned.error().message();
    if (planned->changes.empty()) return "nothing";
    EXPECT_TRUE(writeFixes(tree, *planned).ok());
    const std::string after = read(at("/etc/default/grub"));
    EXPECT_TRUE(revertFixes(tree).ok());
    EXPECT_EQ(snapshot(folder.path()), before);
    return after;
  }
};

TEST_F(DoctorGrub, AWordIsAddedHoweverTheLineIsWritten) {
  const std::string name = "GRUB_CMDLINE_LINUX_DEFAULT=";
  EXPECT_EQ(changed(name + "quiet"), name + "\"quiet iommu=pt\"");
  EXPECT_EQ(changed(name + "\"\"\n"), name + "\"iommu=pt\"\n");
  EXPECT_EQ(changed(name + "'a b' # mine\n"), name + "'a b iommu=pt' # mine\n");
  EXPECT_EQ(changed(name + "\"a=\\\"x\\\" b\"\r\n"), name + "\"a=\\\"x\\\" b iommu=pt\"\r\n");
  EXPECT_EQ(changed(" export " + name + "quiet # why\n"),
            " export " + name + "\"quiet iommu=pt\" # why\n");
  EXPECT_EQ(changed(name + "\"x iommu=pt\""), "nothing");
  // The last one counts; a comment does not.
  EXPECT_EQ(changed(name + "\"a\"\n" + name + "\"b\"\n#" + name + "\"c\"\n"),
            name + "\"a\"\n" + name + "\"b iommu=pt\"\n#" + name + "\"c\"\n");
  // As Fedora has it.
  EXPECT_EQ(changed("GRUB_CMDLINE_LINUX=\"rhgb quiet\"\n"),
            "GRUB_CMDLINE_LINUX=\"rhgb quiet iommu=pt\"\n");
}

TEST_F(DoctorGrub, ALineThatCannotBeChangedSafelyIsLeftAndNamed) {
  const std::string name = "GRUB_CMDLINE_LINUX_DEFAULT=";
  for (const char *value : {"\"a\nb\"", "\"a\"b", "a\"b", "$(cat x)", "\"a\"#b", "\"a\\"})
    EXPECT_NE(changed(name + value + "\n").find("is not a plain string"), std::string::npos)
        << value;
  EXPECT_NE(changed("GRUB_TIMEOUT=1\n").find("has no line"), std::string::npos);
  fs::create_directories(at("/etc/default/grub.d"));
  std::ofstream(at("/etc/default/grub.d/50-cloud.cfg")) << name << "\"$" << name << " more\"\n";
  EXPECT_EQ(changed(name + "a\n"), name + "\"a iommu=pt\"\n") << "it only adds to it";
  std::ofstream(at("/etc/default/grub.d/50-cloud.cfg")) << name << "\"console=tty1\"\n";
  EXPECT_NE(changed(name + "a\n").find("/etc/default/grub.d/50-cloud.cfg overrides"),
            std::string::npos);
}

TEST_F(DoctorFix, UnifiedKernelImagesGetACommandLineOfTheirOwnAndLoseItAgain) {
  fs::remove(at("/etc/default/grub"));
  fs::create_directories(at("/efi/EFI/Linux"));
  fs::create_directories(at("/proc"));
  std::ofstream(at("/efi/EFI/Linux/arch-linux.efi")) << "MZ";
  std::ofstream(at("/proc/cmdline")) << "initrd=\\x.img root=UUID=1 rw BOOT_IMAGE=/vmlinuz quiet\n";
  const auto before = snapshot(folder.path());
  const FixPlan first = plan({"iommu"});
  EXPECT_EQ(first.changes.front().path, "/etc/kernel/cmdline");
  ASSERT_TRUE(writeFixes(tree, first).ok());
  EXPECT_EQ(read(at("/etc/kernel/cmdline")), "root=UUID=1 rw quiet iommu=pt\n");
  ASSERT_TRUE(revertFixes(tree).ok());
  EXPECT_EQ(snapshot(folder.path()), before);
  // What the distribution gives comes before what runs now.
  fs::create_directories(at("/usr/lib/kernel"));
  std::ofstream(at("/usr/lib/kernel/cmdline")) << "root=UUID=2 ro\n";
  EXPECT_EQ(plan({"iommu"}).changes.front().after, "root=UUID=2 ro iommu=pt\n");
  // mkinitcpio has parts, if there are any.
  fs::create_directories(at("/etc/cmdline.d"));
  std::ofstream(at("/etc/cmdline.d/root.conf")) << "root=UUID=3\n";
  std::ofstream(at("/etc/mkinitcpio.conf")) << "HOOKS=()\n";
  const FixPlan parts = plan({"iommu"});
  EXPECT_EQ(parts.changes.front().path, "/etc/cmdline.d/fade-doctor.conf");
  EXPECT_EQ(parts.changes.front().after, "iommu=pt\n");
  EXPECT_EQ(parts.commands.front(), "mkinitcpio -P, then reboot");
  const auto with_parts = snapshot(folder.path());
  ASSERT_TRUE(writeFixes(tree, parts).ok());
  ASSERT_TRUE(revertFixes(tree).ok());
  EXPECT_EQ(snapshot(folder.path()), with_parts);
}

TEST_F(DoctorFix, WhatStartedTheRunningKernelDecidesBetweenGrubAndTheOthers) {
  fs::create_directories(at("/etc/kernel"));
  fs::create_directories(at("/boot/grub"));
  fs::create_directories(at("/proc"));
  std::ofstream(at("/etc/kernel/cmdline")) << "rw\n";
  std::ofstream(at("/proc/cmdline")) << "root=UUID=1 rw\n";
  EXPECT_EQ(plan({"iommu"}).changes.front().path, "/etc/kernel/cmdline");
  std::ofstream(at("/proc/cmdline")) << "BOOT_IMAGE=/vmlinuz root=UUID=1 rw\n";
  EXPECT_EQ(plan({"iommu"}).changes.front().path, "/etc/default/grub");
}

TEST_F(DoctorFix, SystemsWithAWayOfTheirOwnAreNamedAndLeftAlone) {
  for (const auto &[path, text] : std::map<std::string, std::string>{
           {"/run/ostree-booted", "rpm-ostree kargs --append-if-missing=iommu=pt"},
           {"/etc/NIXOS", "boot.kernelParams"},
           {"/etc/kernelstub/configuration", "kernelstub --add-options 'iommu=pt'"}}) {
    fs::create_directories(fs::path(at(path)).parent_path());
    std::ofstream(at(path)) << "x";
    const auto planned = planFixes(tree, findings, std::vector<std::string>{"iommu"});
    ASSERT_FALSE(planned.ok()) << path;
    EXPECT_NE(planned.error().message().find(text), std::string::npos);
    fs::remove(at(path));
  }
}

} // namespace
} // namespace fade::doctor
