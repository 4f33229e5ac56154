// What fadeprobe log shows of a trace: nesting, graphs, operators, call paths, pictures.
#include "host_trace/call_paths.h"
#include "host_trace/dot_picture.h"
#include "host_trace/graphs.h"
#include "host_trace/log_text.h"
#include "host_trace/nesting.h"
#include "host_trace/operators.h"
#include "host_trace/summary.h"

#include <gtest/gtest.h>
#include <utility>

namespace fade::host_trace {
namespace {

/// A trace that a test writes down.
struct Script {
  TraceLog log;

  LoggedCall &call(std::string_view function, uint64_t start, uint64_t end, uint32_t tid = 1) {
    LoggedCall &made = log.calls.emplace_back();
    made.function = function;
    made.error = "hipSuccess";
    made.pid = 1;
    made.tid = tid;
    made.start_ns = start;
    made.end_ns = end;
    return made;
  }
  void range(std::string_view text, uint64_t start, uint64_t end, bool is_nested = true) {
    log.ranges.push_back({text, 1, 1, start, end, is_nested});
  }
  /// Of the last call.
  void ran(std::string_view kernel, uint64_t start, uint64_t end) {
    LoggedOperation &made = log.operations.emplace_back();
    made.kernel = kernel;
    made.start_ns = start;
    made.end_ns = end;
    made.call = log.calls.size() - 1;
    log.calls.back().has_operations = true;
  }
};

using Lines = std::vector<std::string>;

/// "depth name", in order.
Lines nested(const TraceLog &log) {
  const Nesting nesting(log);
  Lines lines;
  for (const Nesting::Item &item : nesting.items())
    lines.push_back(
        std::to_string(item.depth) + " " +
        std::string(item.is_call ? log.calls[item.index].function : log.ranges[item.index].text));
  return lines;
}

TEST(Nesting, CallsAndMarkersOfAThreadLieWithinEachOther) {
  Script script;
  script.call("outer", 20, 60);
  script.call("inner", 30, 40);
  script.call("after", 60, 70); // begins when the other ends
  script.call("elsewhere", 25, 90, 2);
  script.range("step", 10, 100);
  script.range("same times as outer", 20, 60);
  EXPECT_EQ(nested(script.log), (Lines{"0 step", "1 same times as outer", "2 outer", "3 inner",
                                       "1 after", "0 elsewhere"}));
}

// hipExtLaunchKernel calls hipLaunchKernel in some versions of HIP.
TEST(Summary, CallsThatHipMakesItselfAreToldApartAndAddNothingToTheirGroup) {
  Script script;
  for (uint64_t i = 0; i < 3; ++i) {
    script.call("hipExtLaunchKernel", 100 * i, 100 * i + 50);
    script.call("hipLaunchKernel", 100 * i + 10, 100 * i + 40).parent = 2 * i;
  }
  script.call("hipLaunchKernel", 1000, 1030);
  script.call("hipMalloc", 2000, 2500);
  const std::string text = summarize(script.log, {});
  const auto row = [&](const std::string &begin) { // blanks are one
    std::string line = text.substr(text.find("\n" + begin + " ") + 1);
    line = line.substr(0, line.find('\n'));
    std::erase_if(line, [last = ' '](char now) mutable {
      return std::exchange(last, now) == ' ' && now == ' ';
    });
    return line;
  };
  EXPECT_EQ(row("hipLaunchKernel").substr(0, 17), "hipLaunchKernel 4");
  EXPECT_EQ(row("launch").substr(0, 15), "launch 4 180 ns") << text;
  EXPECT_NE(text.find("\n       3  hipLaunchKernel in hipExtLaunchKernel\n"), text.npos) << text;
  EXPECT_EQ(text.find("hipMalloc in"), text.npos);
}

TEST(Nesting, WhatOverlapsIsCutAndFreeRangesStandAlone) {
  Script script;
  script.range("a", 10, 50);
  script.range("reaches out", 40, 80);
  script.range("free 1", 5, 60, false);
  script.range("free 2", 20, 90, false);
  script.call("in a", 20, 30);
  EXPECT_EQ(nested(script.log), (Lines{"0 a", "1 in a", "1 reaches out", "0 free 1", "0 free 2"}));
  const Nesting nesting(script.log);
  EXPECT_EQ(nesting.items()[2].end_ns, 50u);
}

TEST(Nesting, ACallThatDidNotReturnLastsToTheEnd) {
  Script script;
  script.call("waits", 10, 0).has_returned = false;
  script.range("within", 20, 30);
  EXPECT_EQ(nested(script.log), (Lines{"0 waits", "1 within"}));
}

TEST(Operators, MarkersOfAutogradAreTakenApart) {
  const Operator all =
      operatorIn("aten::add, seq = 7, op_id = 2, sizes = [[4, 2], []], input_op_ids = [1]");
  EXPECT_EQ(all.name, "aten::add");
  EXPECT_EQ(all.sizes, "[[4, 2], []]");
  EXPECT_TRUE(all.is_operator);
  EXPECT_EQ(operatorIn("aten::t, op_id = 2").name, "aten::t");
  EXPECT_EQ(operatorIn("x, sizes = [[1]]").sizes, "[[1]]");
  const Operator other = operatorIn("step 1, of many");
  EXPECT_EQ(other.name, "step 1, of many");
  EXPECT_FALSE(other.is_operator);
  EXPECT_EQ(operatorIn(", seq = 1").name, ", seq = 1");
}

TEST(Operators, AnOperationBelongsToTheInnermostOperatorElseToTheInnermostMarker) {
  Script script;
  script.range("step", 0, 100);
  script.range("aten::mul, op_id = 1, sizes = [[8]], input_op_ids = []", 10, 50);
  script.range("my own range", 20, 40);
  script.call("hipLaunchKernel", 25, 30);
  script.ran("scale", 1000, 1010);
  script.call("hipLaunchKernel", 60, 65);
  script.ran("scale", 1020, 1050);
  script.call("hipLaunchKernel", 200, 205);
  script.ran("scale", 1060, 1061);
  const auto uses = operatorsOf(script.log, Nesting(script.log));
  Lines found;
  for (const OperatorUse &use : uses)
    found.push_back(use.name + "|" + use.kernel + "|" + use.sizes + "|" +
                    std::to_string(use.calls) + "|" + std::to_string(use.ns));
  EXPECT_EQ(found, (Lines{"step|scale||1|30", "aten::mul|scale|[[8]]|1|10", "|scale||1|1"}));
  EXPECT_NE(operatorText(script.log, uses, 2).find("... and 1 more"), std::string::npos);
}

LoggedCall &graphCall(Script &script, std::string_view function, uint64_t start, uint64_t stream,
                      uint64_t graph, uint64_t exec) {
  LoggedCall &call = script.call(function, start, start + 5);
  call.stream = stream;
  call.graph = graph;
  call.graph_exec = exec;
  return call;
}

void launch(Script &script, std::string_view kernel, uint64_t start, uint64_t stream) {
  LoggedCall &call = script.call("hipLaunchKernel", start, start + 1);
  call.kernel = kernel;
  call.stream = stream;
}

TEST(Graphs, HaveTheirCaptureKernelsInOrderAndLaunches) {
  Script script;
  graphCall(script, "hipStreamBeginCapture", 100, 0xa, 0, 0);
  launch(script, "first", 110, 0xa);
  launch(script, "forked", 120, 0xb); // a stream that has joined the capture
  launch(script, "runs now", 130, 0xc);
  script.ran("runs now", 500, 510); // not captured
  launch(script, "last", 140, 0xa);
  graphCall(script, "hipStreamEndCapture", 150, 0xa, 0x1, 0);
  graphCall(script, "hipGraphInstantiate", 160, 0, 0x1, 0x2);
  graphCall(script, "hipGraphLaunch", 200, 0xa, 0, 0x2);
  script.ran("first", 1000, 1100);
  script.ran("forked", 1050, 1200); // at the same time
  script.ran("last", 1300, 1310);
  graphCall(script, "hipGraphLaunch", 300, 0xa, 0, 0x2);
  const auto graphs = graphsOf(script.log);
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(graphs[0].kernels, (Lines{"first", "forked", "last"}));
  ASSERT_EQ(graphs[0].captures.size(), 1u);
  EXPECT_EQ(graphs[0].captures[0].end_ns - graphs[0].captures[0].start_ns, 55u);
  ASSERT_EQ(graphs[0].launches.size(), 2u);
  EXPECT_EQ(graphs[0].launches[0].span_ns, 310u);
  EXPECT_EQ(graphs[0].launches[0].busy_ns, 210u);
  EXPECT_EQ(graphs[0].launches[0].operations, 3u);
  EXPECT_EQ(graphs[0].launches[1].operations, 0u);
  const std::string text = graphText(script.log, graphs, 1);
  EXPECT_NE(text.find("... and 1 more"), std::string::npos) << text;
}

TEST(Graphs, AHandleMeansWhatItWasLastGivenTo) {
  Script script;
  graphCall(script, "hipGraphLaunch", 10, 0xa, 0, 0x2); // made before the recording
  graphCall(script, "hipGraphInstantiate", 20, 0, 0x1, 0x2);
  graphCall(script, "hipGraphLaunch", 30, 0xa, 0, 0x2);
  script.ran("by hand", 100, 110);
  graphCall(script, "hipGraphInstantiate", 40, 0, 0x9, 0x2).error = "hipErrorInvalidValue";
  graphCall(script, "hipGraphLaunch", 50, 0xa, 0, 0x2);
  const auto graphs = graphsOf(script.log);
  ASSERT_EQ(graphs.size(), 2u);
  EXPECT_EQ(graphs[0].launches.size(), 1u);
  EXPECT_FALSE(graphs[0].instantiate_ns);
  EXPECT_EQ(graphs[1].launches.size(), 2u);
  EXPECT_EQ(graphs[1].kernels, Lines{"by hand"});
  EXPECT_FALSE(graphs[1].is_captured_order);
}

void capture(Script &script, uint64_t start, std::string_view kernel, uint64_t graph) {
  graphCall(script, "hipStreamBeginCapture", start, 0xa, 0, 0);
  launch(script, kernel, start + 6, 0xa);
  graphCall(script, "hipStreamEndCapture", start + 8, 0xa, graph, 0);
}

TEST(Graphs, AnAddressThatIsUsedAgainIsAnotherGraph) {
  for (const char *gone : {"hipGraphDestroy", "hipGraphCreate"}) {
    Script script;
    capture(script, 10, "captured", 0x1);
    graphCall(script, "hipGraphClone", 30, 0, 0x3, 0).from = 0x1;
    graphCall(script, gone, 40, 0, 0x1, 0);
    graphCall(script, "hipGraphInstantiate", 50, 0, 0x1, 0x2);
    graphCall(script, "hipGraphInstantiate", 60, 0, 0x3, 0x4);
    const auto graphs = graphsOf(script.log);
    ASSERT_EQ(graphs.size(), 2u);
    EXPECT_TRUE(graphs[0].captures.empty()) << gone;
    EXPECT_EQ(graphs[0].kernels, Lines{});
    EXPECT_EQ(graphs[1].kernels, Lines{"captured"}) << "a clone stays";
  }
}

TEST(Graphs, ACaptureThatFailedLeavesNothing) {
  Script script;
  graphCall(script, "hipStreamBeginCapture", 10, 0xa, 0, 0);
  launch(script, "in vain", 20, 0xa);
  graphCall(script, "hipStreamEndCapture", 30, 0xa, 0, 0).error =
      "hipErrorStreamCaptureInvalidated";
  graphCall(script, "hipStreamBeginCapture", 40, 0xb, 0, 0);
  launch(script, "kept", 50, 0xa); // of the same thread: the stream has joined the other capture
  graphCall(script, "hipStreamEndCapture", 60, 0xb, 0x1, 0);
  graphCall(script, "hipGraphInstantiate", 70, 0, 0x1, 0x2);
  const auto graphs = graphsOf(script.log);
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(graphs[0].kernels, Lines{"kept"});
}

/// "path count cpu own gpu own", parents before what is within them.
void list(const CallPath &path, const std::string &before, Lines &lines) {
  for (const auto &inner : path.within) {
    const std::string name = before + "/" + std::string(inner->name);
    lines.push_back(name + " " + std::to_string(inner->count) + " " +
                    std::to_string(inner->cpu_ns) + " " + std::to_string(inner->cpu_own_ns) + " " +
                    std::to_string(inner->gpu_ns) + " " + std::to_string(inner->gpu_own_ns));
    list(*inner, name, lines);
  }
}

TEST(CallPaths, TimesAreWithAndWithoutWhatIsWithin) {
  Script script;
  script.range("aten::mul, op_id = 1", 0, 100);
  script.range("aten::mul, op_id = 2", 200, 300);
  script.call("hipLaunchKernel", 10, 40);
  script.ran("k", 1000, 1500);
  script.call("hipModuleLaunchKernel", 20, 30); // made by the one before
  script.call("hipLaunchKernel", 210, 220);
  script.ran("k", 2000, 2001);
  script.call("hipFree", 400, 404);
  Lines lines;
  const CallPath root = callPathsOf(script.log, Nesting(script.log));
  list(root, "", lines);
  EXPECT_EQ(lines,
            (Lines{"/aten::mul 2 200 160 501 0", "/aten::mul/hipLaunchKernel 2 40 30 501 501",
                   "/aten::mul/hipLaunchKernel/hipModuleLaunchKernel 1 10 10 0 0",
                   "/hipFree 1 4 4 0 0"}));
  EXPECT_EQ(root.cpu_ns, 204u);
}

TEST(CallPaths, StackFramesAreBetweenMarkersAndCalls) {
  Script script;
  script.log.stacks.push_back({"#2 0x00000000002055ae in main at a.cpp:1",
                               "#1 (inlined) in train() at a.cpp:7",
                               "#0 0x0001 in hipMalloc() at libamdhip64.so"});
  script.log.stacks.push_back({"#2 0x00000000002055aa in main at a.cpp:1"});
  script.range("step", 0, 100);
  script.call("hipMalloc", 10, 20).stack = 1;
  script.call("hipFree", 30, 35).stack = 2;
  Lines lines;
  list(callPathsOf(script.log, Nesting(script.log)), "", lines);
  EXPECT_EQ(lines, (Lines{"/step 1 100 85 0 0", "/step/main at a.cpp:1 2 15 0 0 0",
                          "/step/main at a.cpp:1/train() at a.cpp:7 1 10 0 0 0",
                          "/step/main at a.cpp:1/train() at a.cpp:7/hipMalloc 1 10 10 0 0",
                          "/step/main at a.cpp:1/hipFree 1 5 5 0 0"}));
}

TEST(CallPaths, AVeryDeepNestIsNoProblem) {
  Script script;
  constexpr uint64_t depth = 100'000;
  for (uint64_t i = 0; i < depth; ++i) script.range("x", i, 3 * depth - i);
  const CallPath root = callPathsOf(script.log, Nesting(script.log));
  EXPECT_GT(callPathText(script.log, root, 15).size(), depth);
}

TEST(Pictures, NamesAreQuotedAndWhatIsSmallIsPutTogether) {
  Script script;
  for (int i = 0; i < 9; ++i) {
    script.call("hipLaunchKernel", 10 * i + 1, 10 * i + 5);
    script.ran(i < 5    ? "evil \"name\" \\ \n"
               : i == 5 ? "b"
               : i == 6 ? "c"
                        : "d",
               100 * i, 100 * i + 10);
  }
  const std::string text = chainPicture(script.log, 1);
  EXPECT_NE(
      text.find(R"("runs evil \"name\" \\ ?" [label="evil \"name\" \\ ?\n5 x, in all 50 ns")"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("runs others" [label="others\n4 x, in all 40 ns")"), std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("function hipLaunchKernel" -> "place GPU 0, queue 0" [label="9 x"])"),
            std::string::npos)
      << text;
}

TEST(Pictures, FunctionsThatAskTheGpuForSomethingAreShownFirst) {
  Script script;
  for (const char *name : {"hipA", "hipB", "hipC", "hipD"}) script.call(name, 1, 900);
  script.call("hipLaunchKernel", 1000, 1001);
  script.ran("k", 1000, 1010);
  script.call("hipMalloc", 2000, 2001).error = "hipErrorOutOfMemory";
  const std::string text = chainPicture(script.log, 3);
  EXPECT_NE(text.find(R"("function hipLaunchKernel" [label="hipLaunchKernel\n1 ns")"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("function hipMalloc" [label="hipMalloc\n1 ns\n1 failed")"),
            std::string::npos)
      << text;
  // One of the others, and the rest together.
  EXPECT_NE(text.find(R"("function other functions" [label="other functions\n2697 ns")"),
            std::string::npos)
      << text;
}

TEST(Pictures, CopiesGoBetweenAllocationsAsTheyWereThen) {
  Script script;
  const auto allocate = [&](uint64_t at, uint64_t bytes) {
    LoggedCall &call = script.call("hipMalloc", script.log.calls.size(), 0);
    call.to = at;
    call.bytes = bytes;
  };
  const auto copy = [&](uint64_t to, uint64_t from) {
    LoggedCall &call = script.call("hipMemcpy", script.log.calls.size(), 0);
    call.to = to;
    call.from = from;
    call.bytes = 256;
  };
  allocate(0x1000, 4096);
  copy(0x1800, 0x90);
  LoggedCall &release = script.call("hipFree", script.log.calls.size(), 0);
  release.to = 0x1000;
  allocate(0x1000, 512);
  copy(0x1000, 0x90);
  copy(0x1200, 0x90); // beyond what is there now
  const std::string text = dataPicture(script.log, 15);
  EXPECT_NE(text.find(R"("memory" -> "hipMalloc of 4 KiB at 0x1000" [label="1 x, 256 B"])"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("memory" -> "hipMalloc of 512 B at 0x1000" [label="1 x, 256 B"])"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("memory" -> "memory" [label="1 x, 256 B"])"), std::string::npos) << text;
}

} // namespace
} // namespace fade::host_trace
