// FADE_GPU_FAIL: what fails, and when.
#include "base/failures.h"

#include <gtest/gtest.h>

namespace fade::sim {
namespace {

Failure dispatch(Failures &failures, const char *name) {
  return failures.at_dispatch([&] { return std::string(name); });
}

TEST(Failures, NothingFailsUnlessItIsAskedFor) {
  Failures none("");
  EXPECT_EQ(dispatch(none, "k"), Failure::none);
  EXPECT_FALSE(none.refuses(Failure::allocation, 1));
  EXPECT_EQ(none.at_copy(), Failure::none);
}

TEST(Failures, TheNthDispatchFails) {
  Failures third("hang:3");
  EXPECT_EQ(dispatch(third, "k"), Failure::none);
  EXPECT_EQ(dispatch(third, "k"), Failure::none);
  EXPECT_EQ(dispatch(third, "k"), Failure::hang);
  EXPECT_EQ(dispatch(third, "k"), Failure::none);
}

TEST(Failures, OnlyKernelsOfTheNameCount) {
  Failures second("fault:2:copy");
  EXPECT_EQ(dispatch(second, "copy_a"), Failure::none);
  EXPECT_EQ(dispatch(second, "other"), Failure::none);
  EXPECT_EQ(dispatch(second, "b_copy"), Failure::fault);
}

TEST(Failures, OnlyLargeAllocationsCount) {
  Failures large("allocation:*:1000");
  EXPECT_FALSE(large.refuses(Failure::allocation, 999));
  EXPECT_TRUE(large.refuses(Failure::allocation, 1000));
  EXPECT_TRUE(large.refuses(Failure::allocation, 5000));
  EXPECT_FALSE(large.refuses(Failure::queue));
}

TEST(Failures, SeveralAreIndependent) {
  Failures both("skip:1,copy:2,queue");
  EXPECT_TRUE(both.refuses(Failure::queue));
  EXPECT_EQ(both.at_copy(), Failure::none);
  EXPECT_EQ(dispatch(both, "k"), Failure::skip);
  EXPECT_EQ(both.at_copy(), Failure::copy);
}

TEST(Failures, WhatIsNotUnderstoodIsSaidAndIgnored) {
  testing::internal::CaptureStderr();
  Failures wrong("explode,hang:x,hang:0,copy:1:text,allocation:1:big,fault:1");
  const std::string text = testing::internal::GetCapturedStderr();
  for (const char *word :
       {"'explode'", "'hang:x'", "'hang:0'", "'copy:1:text'", "'allocation:1:big'"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
  EXPECT_EQ(dispatch(wrong, "k"), Failure::fault);
}

} // namespace
} // namespace fade::sim
