// Files in a folder that somebody else may change while they are opened.
#include "capture/folder_file.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace fade::capture {
namespace {

namespace fs = std::filesystem;

std::function<void()> on_stat; ///< what happens in the next question what a file is

class Folder : public testing::Test {
protected:
  void SetUp() override {
    fs::remove_all(root);
    fs::create_directories(folder + "/code");
    fs::create_directories(root + "/outside");
    std::ofstream(folder + "/code/1.hsaco") << "inside";
    std::ofstream(root + "/outside/1.hsaco") << "a secret";
  }
  void TearDown() override {
    on_stat = nullptr;
    fs::remove_all(root);
  }

  const std::string root = testing::TempDir() + "folder-file-" + std::to_string(getpid());
  const std::string folder = root + "/capture";
};

TEST_F(Folder, AFileInAFolderOfItIsRead) {
  const auto text = FolderFile::readAll(folder, "code/1.hsaco", 100);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(*text, "inside");
}

TEST_F(Folder, LinksAreRefusedWhereverTheyAre) {
  fs::create_symlink(root + "/outside", folder + "/link");
  fs::create_symlink(root + "/outside/1.hsaco", folder + "/file");
  fs::create_symlink(root + "/outside", folder + "/code/inner");
  for (const char *name : {"link/1.hsaco", "file", "code/inner/1.hsaco"}) {
    const auto text = FolderFile::readAll(folder, name, 100);
    ASSERT_FALSE(text) << name;
    EXPECT_NE(text.error().message().find("it is a symbolic link"), std::string::npos) << name;
  }
}

TEST_F(Folder, AFolderThatBecomesALinkAfterItWasLookedAtLeadsNowhereElse) {
  on_stat = [&] {
    fs::rename(folder + "/code", folder + "/was");
    fs::create_symlink(root + "/outside", folder + "/code");
  };
  const auto text = FolderFile::readAll(folder, "code/1.hsaco", 100);
  EXPECT_FALSE(on_stat) << "it was not looked at";
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(*text, "inside");
}

int answered(int result) {
  if (const auto act = std::exchange(on_stat, nullptr)) act();
  return result;
}

} // namespace
} // namespace fade::capture

// By which it is asked what a file is.
extern "C" int fstat(int file, struct stat *status) noexcept {
  return fade::capture::answered(
      static_cast<int>(syscall(SYS_newfstatat, file, "", status, AT_EMPTY_PATH)));
}
extern "C" int lstat(const char *path, struct stat *status) noexcept {
  return fade::capture::answered(
      static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW)));
}
