// Whether there is a card to use, on a tree that is written down.
#include "tree_file.h"

#include "base/card.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace fade::doctor {
namespace {

namespace fs = std::filesystem;

class Card : public testing::Test {
protected:
  void node(const std::string &name, const std::string &properties) {
    fs::create_directories(fs::path(topology_) / name);
    std::ofstream(fs::path(topology_) / name / "properties") << properties;
  }
  std::string why() const { return cli::whyNoCard(driver_, topology_); }

  test::Folder folder_;
  std::string driver_ = folder_.path() + "/kfd", topology_ = folder_.path() + "/nodes";
};

TEST_F(Card, IsThereWhereTheDriverListsAGpu) {
  std::ofstream(driver_).put(' ');
  node("0", "cpu_cores_count 8\ngfx_target_version 0\n");
  node("1", "simd_count 64\ngfx_target_version 90402\n");
  EXPECT_EQ(why(), "");
}

TEST_F(Card, IsMissingWithoutADriver) { EXPECT_EQ(why(), "no AMD GPU found (no " + driver_ + ")"); }

TEST_F(Card, ThatTheDriverDoesNotListIsSaid) {
  std::ofstream(driver_).put(' ');
  node("0", "cpu_cores_count 8\ngfx_target_version 0\n");
  EXPECT_EQ(why().find("the driver lists no AMD GPU that ROCm supports ("), 0u) << why();
}

TEST_F(Card, ThatMayNotBeOpenedIsSaidWithTheReason) {
  std::ofstream(driver_).put(' ');
  node("1", "gfx_target_version 110000\n");
  fs::permissions(driver_, fs::perms::none);
  fs::permissions(folder_.path(), fs::perms::all);
  if (geteuid() == 0) ASSERT_EQ(seteuid(65534), 0); // root may open everything
  const std::string said = why();
  if (getuid() == 0) ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(said, "this machine's AMD GPU cannot be used (" + driver_ +
                      ": Permission denied; 'fadeprobe doctor' says what helps)");
}

} // namespace
} // namespace fade::doctor
