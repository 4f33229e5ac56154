// What follows from calls, operations and processor time together.
#include "host_trace/findings.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

namespace fade::host_trace {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint32_t kPid = 7;

class Findings : public testing::Test {
protected:
  Findings() {
    events_.processes[kPid].hip_library = "libamdhip64.so.6";
    events_.processes[kPid].start_ns = kSecond;
  }

  Call &call(const char *name, uint64_t time, uint64_t result = 0) {
    Call &call = events_.calls.emplace_back();
    call.function = std::ranges::find_if(hip::kFunctions, [&](const hip::FunctionInfo &function) {
      return std::string_view(function.name) == name;
    });
    call.position = time;
    call.thread = {kPid, 1};
    call.flags = events::kCallReturned;
    call.start_ns = time;
    call.end_ns = time + 1;
    call.result = result;
    static const std::vector<uint64_t> none(64);
    call.words = std::span(none).first(call.function->words);
    return call;
  }
  Operation &kernel(uint64_t start, uint64_t end, uint64_t call = 1) {
    Operation &operation = events_.operations.emplace_back();
    operation.event.kind = events::OperationKind::kernel;
    operation.event.call = call;
    operation.pid = kPid;
    operation.has_ended = operation.has_times = true;
    operation.start_ns = start;
    operation.end_ns = end;
    return operation;
  }
  std::vector<std::string> of(const std::string &kind) const {
    std::vector<std::string> texts;
    for (const FoundFact &fact : findFacts(events_))
      if (fact.kind == kind) texts.push_back(fact.text);
    return texts;
  }

  HostEvents events_;
};

TEST_F(Findings, ProcessorTimeWithoutTheGpuIsNamed) {
  events_.usages = {{kPid, false, 2 * kSecond, kSecond}, {kPid, true, 12 * kSecond, 10 * kSecond}};
  kernel(kSecond, 2 * kSecond);
  EXPECT_EQ(of("fallback"), (std::vector<std::string>{
                                "9.0 s of processor time in 10.0 s without work for the GPU"}));
  events_.operations.clear();
  EXPECT_EQ(of("fallback").at(0),
            "9.0 s of processor time in 10.0 s without work for the GPU, and no kernel at all");
}

TEST_F(Findings, WaitingAndComputingBesideABusyGpuIsNoFallback) {
  events_.usages = {{kPid, false, 2 * kSecond, kSecond}, {kPid, true, 82 * kSecond, 8 * kSecond}};
  EXPECT_TRUE(of("fallback").empty()); // it waits nearly all of the time
  events_.usages.back().cpu_ns = 20 * kSecond;
  EXPECT_FALSE(of("fallback").empty());
  kernel(3 * kSecond, 81 * kSecond);
  EXPECT_TRUE(of("fallback").empty());
  events_.operations.clear();
  events_.processes[kPid].hip_library.clear(); // a process that never had a GPU
  EXPECT_TRUE(of("fallback").empty());
}

TEST_F(Findings, LaunchesWithoutAPacketAreNamedUnlessNobodyCanKnow) {
  const uint64_t launched = call("hipModuleLaunchKernel", 10).position;
  call("hipModuleLaunchKernel", 20);
  call("hipModuleLaunchKernel", 30, 1); // it failed
  kernel(11, 12, launched);
  EXPECT_EQ(of("no_effect"), (std::vector<std::string>{"hipModuleLaunchKernel"}));
  kernel(13, 14, 0); // a thread of HIP's makes the packets
  EXPECT_TRUE(of("no_effect").empty());
}

TEST_F(Findings, WhatIsCapturedHasItsEffectLater) {
  call("hipStreamBeginCapture", 10);
  call("hipModuleLaunchKernel", 20);
  call("hipStreamEndCapture", 30);
  EXPECT_TRUE(of("no_effect").empty());
  call("hipModuleLaunchKernel", 40);
  EXPECT_EQ(of("no_effect").size(), 1u);
}

TEST_F(Findings, CallsThroughALayerAreCountedApartFromOthersOfTheSameFunction) {
  Process &process = events_.processes[kPid];
  process.texts = {{1, "cudaMalloc\nlayer.py\n1"},
                   {2, "main\napp.py\n9"},
                   {3, "cudaMallocManaged\nlayer.py\n5"}};
  constexpr uint64_t text = events::kInterpretedFrame;
  const std::vector<uint64_t> by_layer = {text | 1, text | 2}, by_another = {text | 3, text | 2},
                              directly = {text | 2};
  events_.stacks = {{11, by_layer}, {12, by_another}, {13, directly}};
  const auto from = [&](uint64_t address, uint64_t stack, unsigned times) {
    for (unsigned i = 0; i < times; ++i) {
      Call &made = call("hipMalloc", 10 * (events_.calls.size() + 1));
      made.caller = address;
    }
    events_.callers.push_back({kPid, events_.calls.back().function, address, stack});
  };
  from(0x100, 11, 5);
  from(0x200, 12, 2);
  from(0x300, 13, 3);
  from(0x400, 11, 4); // another place in the same function of the layer
  call("hipMalloc", 1000).caller = 0x100;
  events_.calls.back().parent = events_.calls.front().position; // made by HIP itself
  std::map<std::string, uint64_t> counts;
  for (const FoundFact &fact : findFacts(events_))
    if (fact.kind == "redirect") counts[fact.text] = fact.count;
  EXPECT_EQ(counts,
            (std::map<std::string, uint64_t>{{"app.py ->  cudaMalloc -> hipMalloc", 9},
                                             {"app.py ->  cudaMallocManaged -> hipMalloc", 2}}));
}

TEST_F(Findings, AnErrorThatIsAskedAboutWasSeen) {
  call("hipMalloc", 10, 2);
  call("hipGetLastError", 20, 2);
  call("hipFree", 30, 1);
  call("hipDeviceSynchronize", 40);
  call("hipMalloc", 50, 2); // the last call: its caller may have ended for it
  EXPECT_EQ(of("unseen_error"), (std::vector<std::string>{"hipFree: hipErrorInvalidValue"}));
}

} // namespace
} // namespace fade::host_trace
