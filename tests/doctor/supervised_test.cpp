// Programs that are started and watched.
#include "base/supervised.h"

#include <csignal>
#include <gtest/gtest.h>

namespace fade::doctor {
namespace {

TEST(Supervised, AnEndIsSeenThoughThisProcessIgnoresSigchld) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const cli::SupervisedEnd end = cli::runSupervised({"true"}, {}, std::chrono::seconds(30));
  (void)std::signal(SIGCHLD, before);
  EXPECT_TRUE(end.started);
  EXPECT_FALSE(end.timed_out);
}

} // namespace
} // namespace fade::doctor
