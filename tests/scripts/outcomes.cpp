// A test of each outcome, for the test that scripts/test counts them right.
#include <gtest/gtest.h>

TEST(Outcomes, GoodOne) {}
TEST(Outcomes, GoodTwo) {}
TEST(Outcomes, GoodThree) {}
TEST(Outcomes, LeftOut) { GTEST_SKIP() << "as intended"; }
TEST(Outcomes, BadOne) { FAIL() << "as intended"; }
TEST(Outcomes, BadTwo) { FAIL() << "as intended"; }
TEST(Outcomes, Crash) { __builtin_trap(); }
