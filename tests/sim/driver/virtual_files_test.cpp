#include "kfd/virtual_files.h"

#include <gtest/gtest.h>

namespace fade::sim::kfd {
namespace {

class VirtualFilesTest : public testing::Test {
protected:
  VirtualFilesTest() {
    files.file("/sys/a/b/text", "hello\n");
    files.file("/sys/a/other", "x");
    files.device("/dev/thing", 42);
    files.link("/sys/short", "/sys/a/b");
    files.link("/sys/a/back", "../short");
    files.link("/sys/loop", "/sys/loop");
  }
  VirtualFiles files;
};

TEST_F(VirtualFilesTest, ParentsOfAFileAreFolders) {
  ASSERT_TRUE(files.find("/sys/a/b"));
  EXPECT_EQ(files.find("/sys/a/b")->type, VirtualNode::Type::directory);
  EXPECT_EQ(files.find("/sys/a/b/text")->text, "hello\n");
  EXPECT_EQ(files.find("/dev/thing")->device_number, 42u);
  EXPECT_FALSE(files.find("/sys/a/none"));
  EXPECT_FALSE(files.find("/sys/a/b/text/under"));
}

TEST_F(VirtualFilesTest, PathsAreNormalised) {
  for (const char *path :
       {"/sys//a/b/text", "/sys/a/./b/text", "/sys/a/b/../b/text", "/sys/a/b/text/"})
    EXPECT_EQ(files.resolve(path), "/sys/a/b/text") << path;
}

TEST_F(VirtualFilesTest, LinksAreFollowedInsideAPath) {
  EXPECT_EQ(files.resolve("/sys/short/text"), "/sys/a/b/text");
  EXPECT_EQ(files.resolve("/sys/a/back/text"), "/sys/a/b/text");
  EXPECT_EQ(files.resolve("/sys/short"), "/sys/a/b");
}

TEST_F(VirtualFilesTest, LastLinkIsKeptWhenAsked) {
  EXPECT_EQ(files.find("/sys/short", false)->type, VirtualNode::Type::link);
  EXPECT_EQ(files.find("/sys/short")->type, VirtualNode::Type::directory);
}

TEST_F(VirtualFilesTest, LoopOfLinksEnds) { EXPECT_FALSE(files.find("/sys/loop")); }

TEST_F(VirtualFilesTest, ListsOnlyDirectEntries) {
  EXPECT_EQ(files.list("/sys/a"), (std::vector<std::string>{"b", "back", "other"}));
  EXPECT_EQ(files.list("/sys/short"), (std::vector<std::string>{"text"}));
  EXPECT_EQ(files.list("/"), (std::vector<std::string>{"dev", "sys"}));
  EXPECT_TRUE(files.list("/none").empty());
}

} // namespace
} // namespace fade::sim::kfd
