// Lines of dispatches that are read without a JSON document say the same as with one.
#include "analysis/dispatch_line.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace fade::report {
namespace {

const std::string kUsual =
    R"({"type":"dispatch","version":1,"kernel":"void add<int>","module":"8a70","dispatch_id":7,)"
    R"("agent":1,"queue":2,"start_ns":15036083468520,"end_ns":15036084144740,"grid":[4096,2,1],)"
    R"("workgroup":[64,2,1],"workgroups":64,"workgroups_recorded":3,"lds":512,"software":true,)"
    R"("wave_instructions":10,"lane_instructions":512,"arguments":[{"name":"p","argument_type":"int*",)"
    R"("offset":0,"bytes":8,"value":139639672274944,"allocation":5},{"offset":8,"bytes":4,"value":3}],)"
    R"("instrumented":true,"variant":"observed","complete":false,"host_bound":false,"records":2,)"
    R"("bytes":112,"dropped":4})";
const std::string kShort =
    R"({"type":"dispatch","version":1,"kernel":"k","dispatch_id":8,"start_ns":null,"end_ns":null})";

RunLog logOf(const std::string &lines) {
  const std::string path = testing::TempDir() + "/" + std::to_string(getpid()) + ".jsonl";
  std::ofstream(path) << lines;
  auto log = readRunLog(path);
  std::filesystem::remove(path);
  EXPECT_TRUE(log) << (log ? "" : log.error().message());
  return log ? *std::move(log) : RunLog();
}

/// With a key that FADE does not write, so that it is read as JSON.
std::string asJson(std::string line) { return line.insert(1, R"("other":1,)"); }

std::string replaced(std::string line, std::string_view what, std::string_view by) {
  const std::size_t at = line.find(what);
  EXPECT_NE(at, line.npos) << what;
  return line.replace(at, what.size(), by);
}

TEST(DispatchLine, SaysTheSameAsJson) {
  DispatchLine line;
  ASSERT_TRUE(readDispatchLine(kUsual, line));
  ASSERT_TRUE(readDispatchLine(kShort, line));
  ASSERT_FALSE(readDispatchLine(asJson(kUsual), line));
  const RunLog quick = logOf(kUsual + "\n" + kShort + "\n");
  const RunLog slow = logOf(asJson(kUsual) + "\n" + asJson(kShort) + "\n");
  ASSERT_EQ(quick.dispatches.size(), 2u);
  ASSERT_EQ(slow.dispatches.size(), 2u);
  EXPECT_EQ(quick.variants, (std::vector<std::string>{"observed", ""}));
  EXPECT_EQ(quick.variants, slow.variants);
  for (std::size_t i = 0; i < 2; ++i) {
    const Dispatch &a = quick.dispatches[i], &b = slow.dispatches[i];
    EXPECT_EQ(std::tie(a.id, a.agent, a.queue, a.grid, a.workgroup, a.lds, a.records, a.bytes),
              std::tie(b.id, b.agent, b.queue, b.grid, b.workgroup, b.lds, b.records, b.bytes));
    EXPECT_EQ(std::tie(a.dropped, a.workgroups, a.workgroups_recorded, a.kernel, a.variant),
              std::tie(b.dropped, b.workgroups, b.workgroups_recorded, b.kernel, b.variant));
    EXPECT_EQ(std::tie(a.instrumented, a.is_observed, a.complete, a.in_software),
              std::tie(b.instrumented, b.is_observed, b.complete, b.in_software));
    EXPECT_EQ(a.start_ns.optional(), b.start_ns.optional());
    EXPECT_EQ(a.end_ns.optional(), b.end_ns.optional());
    EXPECT_EQ(a.wave_instructions.optional(), b.wave_instructions.optional());
    EXPECT_EQ(a.lane_instructions.optional(), b.lane_instructions.optional());
  }
  EXPECT_EQ(*quick.dispatches[0].wave_instructions, 10u);
  EXPECT_FALSE(quick.dispatches[1].hasTimes());
  ASSERT_EQ(quick.kernels.size(), slow.kernels.size());
  for (std::size_t k = 0; k < quick.kernels.size(); ++k) {
    const Kernel &a = quick.kernels[k], &b = slow.kernels[k];
    EXPECT_EQ(std::tie(a.name, a.module), std::tie(b.name, b.module));
    ASSERT_EQ(a.arguments.size(), b.arguments.size());
    for (std::size_t i = 0; i < a.arguments.size(); ++i) {
      const Argument &one = a.arguments[i], &other = b.arguments[i];
      EXPECT_EQ(std::tie(one.name, one.type, one.offset, one.bytes, one.is_pointer, one.values),
                std::tie(other.name, other.type, other.offset, other.bytes, other.is_pointer,
                         other.values));
    }
  }
}

TEST(DispatchLine, WhatFadeDoesNotWriteIsLeftToJson) {
  DispatchLine line;
  for (const auto &[what, by] :
       {std::pair(R"("version":1)", R"("version":2)"),
        std::pair(R"("dispatch_id":7)", R"("dispatch_id":-7)"),
        std::pair(R"("dispatch_id":7)", R"("dispatch_id":7.5)"),
        std::pair(R"("dispatch_id":7)", R"("dispatch_id":07)"),
        std::pair(R"("dispatch_id":7)", R"("dispatch_id":"7")"),
        std::pair(R"("dispatch_id":7)", R"("agent":7)"),
        std::pair(R"("lds":512)", R"("lds":51200000000000000000)"),
        std::pair(R"("lds":512)", R"("lds":null)"), std::pair("[4096,2,1]", "[4294967296,2,1]"),
        std::pair("[4096,2,1]", "[1,2,3,4]"), std::pair("add<int>", R"(add\"int\")"),
        std::pair("add<int>", "\xc3\xa4"), std::pair("void add<int>", ""),
        std::pair(R"("complete":false)", R"("complete":0)"),
        std::pair(R"("value":3}])", R"("value":3,"x":1}])"),
        std::pair(R"("dropped":4})", R"("dropped":4)"),
        std::pair(R"("dropped":4})", R"("dropped":4}})"),
        std::pair(R"("dropped":4})", R"("dropped":4,})")})
    EXPECT_FALSE(readDispatchLine(replaced(kUsual, what, by), line)) << by;
  for (std::size_t size = 0; size < kUsual.size(); ++size)
    EXPECT_FALSE(readDispatchLine(std::string_view(kUsual).substr(0, size), line)) << size;
}

TEST(DispatchLine, SizesThatNoLaunchHasAreNamed) {
  const RunLog log =
      logOf(kShort + "\n" + replaced(kUsual, "[4096,2,1]", "[4294967296,2,1]") + "\n");
  ASSERT_EQ(log.problems.size(), 1u);
  EXPECT_EQ(log.problems[0], "line 2: 'grid' is larger than any launch");
}

} // namespace
} // namespace fade::report
