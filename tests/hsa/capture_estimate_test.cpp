// What is said before memory is read for a capture.
#include "hsa/capture_estimate.h"

#include <gtest/gtest.h>

namespace fade {
namespace {

constexpr uint64_t kGib = uint64_t{1} << 30;

bool has(const std::string &text, const char *part) { return text.find(part) != text.npos; }

TEST(CaptureEstimate, LittleMemoryIsNotWorthALine) {
  EXPECT_EQ(CaptureEstimate{.memory = kGib - 1}.text(), "");
  EXPECT_EQ(CaptureEstimate{.memory = kGib - 1}.refusal(), "");
}

TEST(CaptureEstimate, MuchMemoryIsSaidAndReachableIsSuggestedFromEightGibibytesOn) {
  EXPECT_TRUE(has(CaptureEstimate{.memory = 3 * kGib / 2}.text(), "1.5 GiB of memory"));
  EXPECT_FALSE(has(CaptureEstimate{.memory = 8 * kGib}.text(), "--reachable"));
  EXPECT_TRUE(has(CaptureEstimate{.memory = 9 * kGib}.text(), "--reachable"));
  const CaptureEstimate reachable{.memory = 9 * kGib, .only_reachable = true};
  EXPECT_TRUE(reachable.text().starts_with("up to 9.0 GiB")) << reachable.text();
  EXPECT_FALSE(has(reachable.text(), "--reachable"));
}

TEST(CaptureEstimate, ADiskThatIsSmallerIsNamed) {
  EXPECT_TRUE(has(CaptureEstimate{.memory = 9 * kGib, .free = 2 * kGib}.text(),
                  "the disk has 2.0 GiB left"));
  EXPECT_FALSE(has(CaptureEstimate{.memory = 9 * kGib, .free = 10 * kGib}.text(), "disk"));
}

TEST(CaptureEstimate, MoreThanTheLimitIsRefusedWithTheTwoWaysOut) {
  const CaptureEstimate large{.memory = 150 * kGib, .most = 64 * kGib};
  for (const char *part : {"150.0 GiB", "64.0 GiB", "--max-size", "--reachable"})
    EXPECT_TRUE(has(large.refusal(), part)) << large.refusal();
  EXPECT_EQ((CaptureEstimate{.memory = 64 * kGib, .most = 64 * kGib}.refusal()), "");
  // How much that will be is not known before.
  EXPECT_EQ(
      (CaptureEstimate{.memory = 150 * kGib, .most = 64 * kGib, .only_reachable = true}.refusal()),
      "");
}

} // namespace
} // namespace fade
