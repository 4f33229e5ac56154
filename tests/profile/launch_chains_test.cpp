// Which launches follow each other, and what is said of short kernels that do.
#include "profiles/launch_chains.h"

#include <gtest/gtest.h>

namespace fade::profile {
namespace {

/// Kernels and copies of one stream, in order, each launched by a call of its own.
class Stream {
public:
  enum class Launch { at_once, after_waiting };

  uint32_t add(NodeKind kind, const char *name, Launch launch = Launch::at_once) {
    const uint32_t call = node(NodeKind::call, "call");
    if (call_ != UINT32_MAX) edges_.push_back({call_, call, EdgeKind::thread});
    if (launch == Launch::after_waiting) edges_.push_back({last_, call, EdgeKind::sync});
    const uint32_t added = node(kind, name);
    edges_.push_back({call, added, EdgeKind::launch});
    if (last_ != UINT32_MAX) edges_.push_back({last_, added, EdgeKind::stream});
    call_ = call;
    last_ = added;
    return added;
  }
  void order(uint32_t from, uint32_t to) { edges_.push_back({from, to, EdgeKind::event}); }
  ProgramDag program() {
    program_.dag = Dag(std::vector<Weight>(program_.nodes.size()), edges_);
    return program_;
  }

private:
  uint32_t node(NodeKind kind, const char *name) {
    ProgramNode one;
    one.kind = kind;
    one.name = static_cast<uint32_t>(program_.names.size());
    program_.names.emplace_back(name);
    program_.modules.emplace_back();
    program_.nodes.push_back(one);
    return static_cast<uint32_t>(program_.nodes.size() - 1);
  }
  ProgramDag program_;
  std::vector<Edge> edges_;
  uint32_t call_ = UINT32_MAX, last_ = UINT32_MAX;
};

TEST(LaunchChains, KernelsAfterKernelsFollowThem) {
  Stream stream;
  stream.add(NodeKind::copy, "copy host_to_device");
  stream.add(NodeKind::kernel, "scale");
  stream.add(NodeKind::kernel, "add");
  stream.add(NodeKind::kernel, "add");
  const auto found = followersIn(stream.program());
  ASSERT_EQ(found.size(), 1u); // scale comes after a copy
  EXPECT_EQ(found.at({"add", ""}).dispatches, 2u);
  EXPECT_EQ(found.at({"add", ""}).after, (std::vector<std::string>{"add", "scale"}));
}

TEST(LaunchChains, WhatTheHostHasWaitedForIsNotFollowed) {
  Stream stream;
  stream.add(NodeKind::kernel, "count");
  stream.add(NodeKind::kernel, "fill", Stream::Launch::after_waiting);
  EXPECT_TRUE(followersIn(stream.program()).empty());
}

TEST(LaunchChains, WhatTheHostHasWaitedForByWhatComesAfterItIsNotFollowed) {
  // The host waits for the copy, and so for what it comes after.
  Stream stream;
  const uint32_t first = stream.add(NodeKind::kernel, "count");
  stream.add(NodeKind::copy, "copy device_to_host");
  stream.order(first, stream.add(NodeKind::kernel, "fill", Stream::Launch::after_waiting));
  EXPECT_TRUE(followersIn(stream.program()).empty());
}

TEST(LaunchChains, CopiesThatTheHostHasWaitedForAreNotInBetween) {
  Stream stream;
  const uint32_t copy = stream.add(NodeKind::copy, "copy device_to_host");
  stream.add(NodeKind::kernel, "scale", Stream::Launch::after_waiting);
  stream.order(copy, stream.add(NodeKind::kernel, "add"));
  EXPECT_EQ(followersIn(stream.program()).at({"add", ""}).dispatches, 1u);
}

TEST(LaunchChains, KernelsThatAlsoWaitForCopiesFollowNobody) {
  Stream stream;
  const uint32_t copy = stream.add(NodeKind::copy, "copy host_to_device");
  stream.add(NodeKind::kernel, "scale");
  stream.order(copy, stream.add(NodeKind::kernel, "add"));
  EXPECT_TRUE(followersIn(stream.program()).empty());
}

TEST(LaunchChains, CopiesOfTheRuntimeAreNoKernels) {
  Stream stream;
  stream.add(NodeKind::kernel, "__amd_rocclr_copyBuffer");
  stream.add(NodeKind::kernel, "scale");
  EXPECT_TRUE(followersIn(stream.program()).empty());
}

/// 5 dispatches of 2 us to begin and end, and some work.
ProfiledKernel shortKernel(const char *name, uint32_t index, double busy_ns) {
  ProfiledKernel one;
  one.index = index;
  one.counts.name = name;
  one.counts.is_counted = true;
  one.counts.dispatches = 5;
  one.time.launch_ns = 2000;
  one.time.ns[static_cast<std::size_t>(Limit::latency)] = busy_ns;
  one.verdict.kind = KernelClass::launch_overhead;
  return one;
}

TEST(LaunchChains, ASharedLaunchSavesBeginningAndEndOfThoseThatFollow) {
  Stream stream;
  for (int i = 0; i < 5; ++i) {
    stream.add(NodeKind::copy, "copy host_to_device");
    stream.add(NodeKind::kernel, "scale");
    stream.add(NodeKind::kernel, "add");
  }
  Profile profile;
  profile.kernels = {shortKernel("scale", 0, 500), shortKernel("add", 1, 500)};
  profile.findings.kernels.resize(2);
  for (auto &cost : profile.findings.kernels) cost.all_ns = 5 * 2500;
  // Something else that is worth less, of the same kernel.
  report::Finding other;
  other.cause = report::Finding::Cause::launch;
  other.kernel = 1;
  other.gain = 0.1;
  other.before_ns = 2500;
  other.after_ns = 2250;
  profile.kernels[1].findings = {other};
  profile.findings.list = {other};

  addLaunchOverhead(stream.program(), profile);
  EXPECT_TRUE(profile.kernels[0].findings.empty());
  ASSERT_EQ(profile.findings.list.size(), 2u);
  ASSERT_EQ(profile.kernels[1].findings.size(), 2u);
  const report::Finding &first = profile.kernels[1].findings[0];
  EXPECT_EQ(first.cause, report::Finding::Cause::overhead);
  EXPECT_DOUBLE_EQ(first.gain, 0.8);
  EXPECT_DOUBLE_EQ(first.run_gain, 0.4);
  EXPECT_DOUBLE_EQ(first.before_ns, 2500);
  EXPECT_DOUBLE_EQ(first.after_ns, 500);
  EXPECT_NE(first.advice.find("(scale)"), std::string::npos) << first.advice;
  EXPECT_DOUBLE_EQ(profile.kernels[1].findings[1].before_ns, 500);
  EXPECT_DOUBLE_EQ(profile.kernels[1].findings[1].after_ns, 250);
}

TEST(LaunchChains, KernelsThatHaveEnoughToDoKeepTheirLaunch) {
  Stream stream;
  stream.add(NodeKind::kernel, "scale");
  stream.add(NodeKind::kernel, "add");
  Profile profile;
  profile.kernels = {shortKernel("add", 0, 50'000)};
  profile.kernels[0].verdict.kind = KernelClass::memory_bandwidth;
  profile.findings.kernels.resize(1);
  addLaunchOverhead(stream.program(), profile);
  EXPECT_TRUE(profile.findings.list.empty());
}

} // namespace
} // namespace fade::profile
