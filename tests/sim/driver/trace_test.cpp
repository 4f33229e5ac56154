#include "base/trace.h"

#include <cerrno>
#include <gtest/gtest.h>

namespace fade::sim {
namespace {

TEST(TraceTest, WordsSwitchOnWhatTheyName) {
  EXPECT_FALSE(parse_trace(nullptr).packets);
  auto one = parse_trace("ioctls");
  EXPECT_TRUE(one.ioctls);
  EXPECT_FALSE(one.packets || one.instructions);
  auto all = parse_trace("packets,ioctls,instructions,allocations");
  EXPECT_TRUE(all.packets && all.ioctls && all.instructions && all.allocations);
}

TEST(TraceTest, UnknownWordIsNamed) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(parse_trace("packet,ioctls").ioctls);
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("'packet'"), text.npos);
  EXPECT_NE(text.find("packets, ioctls, instructions"), text.npos);
}

TEST(TraceTest, MessageIsOneLineAndKeepsErrno) {
  testing::internal::CaptureStderr();
  errno = EXDEV;
  say("number %d %s", 7, std::string(5000, 'x').c_str());
  EXPECT_EQ(errno, EXDEV);
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.substr(0, 18), "fadegpu: number 7 ");
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

} // namespace
} // namespace fade::sim
