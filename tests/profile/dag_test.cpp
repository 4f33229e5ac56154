// Critical paths, slack and gains against what trying all paths gives.
#include "analysis/critical_path/program_dag.h"
#include "analysis/critical_path/queue_room.h"
#include "analysis/critical_path/stream_order.h"
#include "profiles/dag_parts.h"
#include "profiles/dag_summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <random>

namespace fade::profile {
namespace {

struct Case {
  std::vector<Weight> weights;
  std::vector<Edge> edges;
};

Case randomCase(std::mt19937 &random, uint32_t most) {
  const auto number = [&](uint32_t least, uint32_t largest) {
    return std::uniform_int_distribution<uint32_t>(least, largest)(random);
  };
  Case made;
  const uint32_t count = number(1, most);
  for (uint32_t i = 0; i < count; ++i) made.weights.push_back({number(0, 20), number(0, 5)});
  for (uint32_t to = 1; to < count; ++to)
    for (uint32_t from = 0; from < to; ++from)
      if (number(0, 9) < 4) made.edges.push_back({from, to, static_cast<EdgeKind>(number(0, 5))});
  std::ranges::shuffle(made.edges, random);
  return made;
}

/// Tries all paths that begin at a node.
template <typename F> void eachPath(const Case &all, std::vector<uint32_t> &path, const F &f) {
  f(path);
  for (const Edge &edge : all.edges)
    if (edge.from == path.back()) {
      path.push_back(edge.to);
      eachPath(all, path, f);
      path.pop_back();
    }
}

/// The longest path through each node, and the longest of all.
struct Longest {
  std::vector<uint64_t> through;
  uint64_t all = 0;
};
Longest tryAll(const Case &all) {
  Longest found{std::vector<uint64_t>(all.weights.size(), 0), 0};
  for (uint32_t start = 0; start < all.weights.size(); ++start) {
    std::vector<uint32_t> path = {start};
    eachPath(all, path, [&](const std::vector<uint32_t> &nodes) {
      uint64_t length = 0;
      for (const uint32_t node : nodes) length += all.weights[node].all();
      found.all = std::max(found.all, length);
      for (const uint32_t node : nodes) found.through[node] = std::max(found.through[node], length);
    });
  }
  return found;
}

TEST(Dag, SpanAndSlackAreThoseOfAllPaths) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const Case each = randomCase(random, 13);
    const Dag dag(each.weights, each.edges);
    const Longest truth = tryAll(each);
    const CriticalPath path = criticalPathOf(dag);
    ASSERT_EQ(path.span_ns, truth.all);
    for (uint32_t node = 0; node < each.weights.size(); ++node)
      ASSERT_EQ(path.slack_ns[node], truth.all - truth.through[node]) << "node " << node;
  }
}

TEST(Dag, ThePathIsOneAndAsLongAsTheWhole) {
  std::mt19937 random(8);
  for (int i = 0; i < 300; ++i) {
    const Case each = randomCase(random, 40);
    const Dag dag(each.weights, each.edges);
    const CriticalPath path = criticalPathOf(dag);
    uint64_t length = 0;
    for (std::size_t k = 0; k < path.nodes.size(); ++k) {
      length += dag.weight(path.nodes[k]).all();
      EXPECT_EQ(path.slack_ns[path.nodes[k]], 0u);
      if (k == 0) continue;
      const auto into = dag.edgesInto(path.nodes[k]);
      EXPECT_TRUE(std::ranges::any_of(
          into, [&](const Edge &edge) { return edge.from == path.nodes[k - 1]; }));
    }
    ASSERT_EQ(length, path.span_ns);
  }
}

TEST(Dag, GainsAreWhatTheChangedGraphTakesLess) {
  std::mt19937 random(9);
  for (int i = 0; i < 200; ++i) {
    Case each = randomCase(random, 10);
    const Dag dag(each.weights, each.edges);
    const uint64_t before = tryAll(each).all;
    std::vector<uint32_t> changed;
    for (uint32_t node = 0; node < each.weights.size(); node += 2) changed.push_back(node);
    for (const double left : {0.9, 0.5, 0.0}) {
      Case other = each;
      for (const uint32_t node : changed)
        other.weights[node].work_ns = static_cast<uint64_t>(
            std::llround(static_cast<double>(other.weights[node].work_ns) * left));
      ASSERT_EQ(gainOf(dag, changed, left), before - tryAll(other).all);
    }
  }
}

TEST(Dag, OverlapIsWhatQueuesAndDelaysOfTheGpuCost) {
  std::mt19937 random(10);
  for (int i = 0; i < 200; ++i) {
    const Case each = randomCase(random, 10);
    const Dag dag(each.weights, each.edges);
    std::vector<bool> is_on_gpu(each.weights.size());
    Case free = each;
    for (uint32_t node = 0; node < each.weights.size(); ++node)
      if (is_on_gpu[node] = node % 3 != 0; is_on_gpu[node]) free.weights[node].delay_ns = 0;
    std::erase_if(free.edges, [](const Edge &edge) { return edge.kind == EdgeKind::queue; });
    ASSERT_EQ(possibleOverlap(dag, is_on_gpu), tryAll(each).all - tryAll(free).all);
  }
}

// Two streams that meet: 0 launches 1 and 2, 3 waits for both.
TEST(Dag, OnlyTheLongerOfTwoBranchesIsCritical) {
  const Dag dag({{1, 0}, {10, 2}, {30, 2}, {1, 0}}, {{0, 1, EdgeKind::launch},
                                                     {0, 2, EdgeKind::launch},
                                                     {1, 3, EdgeKind::sync},
                                                     {2, 3, EdgeKind::sync}});
  const CriticalPath path = criticalPathOf(dag);
  EXPECT_EQ(path.span_ns, 34u);
  EXPECT_EQ(path.nodes, (std::vector<uint32_t>{0, 2, 3}));
  EXPECT_EQ(path.slack_ns, (std::vector<uint64_t>{0, 20, 0, 0}));
  const uint32_t longer[] = {2}, shorter[] = {1};
  EXPECT_EQ(gainOf(dag, longer, 0.5), 15u);
  EXPECT_EQ(gainOf(dag, longer, 0.0), 20u) << "then the other one is";
  EXPECT_EQ(gainOf(dag, shorter, 0.0), 0u);
}

/// A program whose GPU has done these, each after the one before it in its stream.
struct Done {
  const char *name;
  unsigned stream;
  uint64_t start_ns, end_ns;
};
ProgramDag programOf(const std::vector<Done> &all, std::vector<Edge> more) {
  ProgramDag program;
  std::vector<Weight> weights;
  std::map<unsigned, uint32_t> last;
  for (const Done &each : all) {
    const auto number = static_cast<uint32_t>(program.nodes.size());
    const auto known = std::ranges::find(program.names, each.name);
    ProgramNode node;
    node.kind = NodeKind::kernel;
    node.name = static_cast<uint32_t>(known - program.names.begin());
    if (known == program.names.end()) {
      program.names.emplace_back(each.name);
      program.modules.emplace_back();
    }
    node.start_ns = each.start_ns;
    node.end_ns = each.end_ns;
    uint64_t ready = 0;
    if (const auto at = last.find(each.stream); at != last.end())
      more.push_back({at->second, number, EdgeKind::stream});
    last[each.stream] = number;
    for (const Edge &edge : more)
      if (edge.to == number) ready = std::max(ready, program.nodes[edge.from].end_ns);
    weights.push_back({each.end_ns - each.start_ns, each.start_ns - ready});
    program.nodes.push_back(node);
  }
  program.dag = Dag(std::move(weights), std::move(more));
  return program;
}
std::string mostCritical(const ProgramDag &program) {
  return program.names[summarize(program).work.at(0).name];
}

TEST(Dag, OneAfterTheOtherAllAreCritical) {
  const ProgramDag program = programOf({{"A", 1, 0, 10}, {"B", 1, 10, 30}, {"C", 1, 30, 35}}, {});
  const DagSummary summary = summarize(program);
  EXPECT_EQ(summary.path.nodes, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(summary.path.span_ns, 35u);
  EXPECT_EQ(mostCritical(program), "B");
  EXPECT_EQ(summary.work[0].gain_ns, (Gains{2, 10, 20}));
}

TEST(Dag, SideBySideTheLongerOneIsCritical) {
  const ProgramDag program = programOf({{"A", 1, 0, 10}, {"B", 2, 0, 30}}, {});
  const DagSummary summary = summarize(program);
  EXPECT_EQ(summary.path.span_ns, 30u);
  EXPECT_EQ(summary.path.slack_ns, (std::vector<uint64_t>{20, 0}));
  EXPECT_EQ(mostCritical(program), "B");
  EXPECT_EQ(summary.work[0].gain_ns, (Gains{3, 15, 20})) << "then A is";
}

TEST(Dag, GainsAreTrueOrMissing) {
  std::vector<std::string> names;
  for (int i = 0; i < 30; ++i) names.push_back("k" + std::to_string(i));
  std::vector<Done> done;
  for (uint64_t i = 0; i < 30; ++i) done.push_back({names[i].c_str(), 1, 10 * i, 10 * i + 10});
  const ProgramDag program = programOf(done, {});
  for (const WorkSummary &work : summarize(program).work)
    EXPECT_EQ(work.gain_ns, (Gains{1, 5, 10}));
  // Where there is no time for all of them, nothing is said of the others.
  const DagSummary few = summarize(program, 0);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(few.work[i].gain_ns.has_value(), i < 20);
}

TEST(Dag, AnotherStreamIsCriticalIfItWaits) {
  const std::vector<Done> done = {{"A", 1, 0, 10}, {"B", 1, 10, 30}, {"C", 2, 31, 60}};
  const ProgramDag waits = programOf(done, {{1, 2, EdgeKind::event}});
  EXPECT_EQ(summarize(waits).path.nodes, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(mostCritical(waits), "C");
  EXPECT_EQ(summarize(waits).overlap_ns, 1u) << "the time from the event to C";
  // Nobody waited: that it came soon afterwards proves nothing.
  const ProgramDag alone = programOf(done, {});
  EXPECT_EQ(summarize(alone).path.nodes, (std::vector<uint32_t>{2}));
  EXPECT_EQ(summarize(alone).overlap_ns, 30u);
}

TEST(Dag, WorkOfOneNameCountsTogether) {
  const ProgramDag program = programOf({{"A", 1, 0, 10}, {"B", 1, 10, 30}, {"A", 1, 30, 45}}, {});
  EXPECT_EQ(mostCritical(program), "A");
  EXPECT_EQ(summarize(program).work[0].critical_ns, 25u);
  EXPECT_EQ(summarize(program).work[0].count, 2u);
}

TEST(Dag, PartsOfALongRunAddUp) {
  const ProgramDag first = programOf({{"A", 1, 0, 10}, {"B", 1, 10, 30}, {"C", 1, 30, 35}}, {});
  const ProgramDag second = programOf({{"C", 1, 0, 40}, {"A", 2, 0, 30}}, {});
  DagParts one;
  one.add(first);
  const DagSummary alone = one.takeSummary(), whole = summarize(first);
  EXPECT_EQ(textOf(one.program(), alone, 15), textOf(first, whole, 15));
  DagParts parts;
  parts.add(first);
  EXPECT_EQ(parts.end(), first.begin_ns + 35);
  parts.add(second);
  const DagSummary both = parts.takeSummary();
  EXPECT_EQ(both.path.span_ns, 75u);
  EXPECT_EQ(both.numbers.nodes, 5u);
  EXPECT_EQ(both.numbers.critical_nodes, 4u);
  EXPECT_EQ(parts.program().nodes.size(), 3u) << "those of the first";
  std::map<std::string, std::array<uint64_t, 4>> work;
  for (const WorkSummary &each : both.work)
    work[parts.program().names[each.name]] = {each.count, each.total_ns, each.critical_ns,
                                              each.gain_ns.value_or(Gains{})[2]};
  EXPECT_EQ(work["A"], (std::array<uint64_t, 4>{2, 40, 10, 10}));
  EXPECT_EQ(work["C"], (std::array<uint64_t, 4>{2, 45, 45, 15})) << "then the second A decides";
  EXPECT_EQ(parts.program().names[both.work[0].name], "C");
  EXPECT_NE(textOf(parts.program(), both, 15).find("the sum of 2 parts"), std::string::npos);
}

TEST(Dag, PartsOfAGraphAreToldByNameAndOrder) {
  // a, then b and another a side by side, then c.
  const CapturedGraph graph{{{"a", {}}, {"b", {0}}, {"a", {0}}, {"c", {1, 2}}}};
  EXPECT_EQ(partsOf(graph, {"a", "b", "a", "c"}), (Nodes{0, 1, 2, 3}));
  EXPECT_EQ(partsOf(graph, {"a", "a", "b", "c"}), (Nodes{0, 2, 1, 3}));
  EXPECT_EQ(partsOf(graph, {"a", "b", "c", "a"}), std::nullopt) << "c waits for both";
  EXPECT_EQ(partsOf(graph, {"a", "b", "a"}), std::nullopt);
  EXPECT_EQ(partsOf(graph, {"a", "b", "a", "d"}), std::nullopt);
  EXPECT_EQ(partsOf({}, {}), Nodes{});
}

TEST(Dag, WhatMakesNoSenseIsLeftOutAndCounted) {
  const Dag dag({{1, 0}, {2, 0}}, {{1, 0, EdgeKind::thread},
                                   {0, 0, EdgeKind::thread},
                                   {0, 9, EdgeKind::thread},
                                   {0, 1, EdgeKind::thread}});
  EXPECT_EQ(dag.refused(), 3u);
  EXPECT_EQ(criticalPathOf(dag).span_ns, 3u);
  EXPECT_EQ(criticalPathOf(Dag({}, {})).span_ns, 0u);
}

// Quadratic work would take hours.
TEST(Dag, AMillionNodesTakeSeconds) {
  constexpr uint32_t count = 1'000'000;
  std::vector<Weight> weights(count, {10, 1});
  std::vector<Edge> edges;
  for (uint32_t i = 1; i < count; ++i) {
    edges.push_back({i - 1, i, EdgeKind::thread});
    if (i >= 1000) edges.push_back({i - 1000, i, EdgeKind::stream});
  }
  const Dag dag(std::move(weights), std::move(edges));
  EXPECT_EQ(criticalPathOf(dag).span_ns, uint64_t{count} * 11);
  std::vector<uint32_t> all(count / 2);
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = 2 * i;
  EXPECT_EQ(gainOf(dag, all, 0.5), uint64_t{count} / 2 * 5);
}

/// Calls of threads of process 10: {thread, start, end} in us. Work of the critical path by thread.
/// `last`: the function that the last of them calls.
std::map<uint32_t, uint64_t> criticalWork(const std::vector<std::array<uint32_t, 3>> &calls,
                                          std::string_view last = "hipGetDeviceCount") {
  const auto function = [](std::string_view name) {
    return &*std::ranges::find(hip::kFunctions, name,
                               [](const auto &f) { return std::string_view(f.name); });
  };
  host_trace::HostEvents recorded;
  for (const auto &[thread, start, end] : calls) {
    host_trace::Call call;
    call.position = recorded.calls.size() + 1;
    call.function = function(call.position == calls.size() ? last : "hipGetDeviceCount");
    call.thread = {10, thread};
    call.flags = events::kCallReturned;
    call.start_ns = start * 1000, call.end_ns = end * 1000;
    recorded.calls.push_back(call);
  }
  const ProgramDag program = programDagOf(recorded);
  std::map<uint32_t, uint64_t> work;
  for (const uint32_t node : criticalPathOf(program.dag).nodes)
    work[program.nodes[node].thread] += program.dag.weight(node).work_ns / 1000;
  EXPECT_EQ(program.dag.refused(), 0u);
  return work;
}
using WorkOfThreads = std::map<uint32_t, uint64_t>;

TEST(ProgramDag, TheMainThreadHasStartedAndAwaitedTheOthers) {
  // 10 starts 11 and 12 at once and waits for both; 12 takes longer.
  EXPECT_EQ(
      criticalWork(
          {{10, 0, 10}, {11, 20, 30}, {12, 22, 40}, {11, 50, 60}, {12, 80, 90}, {10, 100, 110}}),
      (WorkOfThreads{{10, 10 + 12 + 10 + 10}, {12, 68}}));
  // One after the other, in the same gap.
  EXPECT_EQ(criticalWork({{10, 0, 10}, {11, 20, 40}, {12, 45, 90}, {10, 100, 110}}),
            (WorkOfThreads{{10, 10 + 10 + 5 + 10 + 10}, {11, 20}, {12, 45}}));
  // Before its first call, and after its last.
  EXPECT_EQ(criticalWork({{11, 0, 50}, {12, 2, 40}, {10, 60, 70}}),
            (WorkOfThreads{{10, 20}, {11, 50}}));
  EXPECT_EQ(criticalWork({{10, 0, 10}, {11, 20, 50}, {12, 22, 40}}),
            (WorkOfThreads{{10, 20}, {11, 30}}));
  // It is busy with calls of its own when the other one ends: then it has not waited.
  EXPECT_EQ(criticalWork({{10, 0, 10}, {11, 15, 50}, {10, 20, 100}}), (WorkOfThreads{{10, 100}}));
}

TEST(ProgramDag, OtherThreadsStartSomeOnlyIfTheyDoNothingElse) {
  // While 11 waits for 12, the main thread is in a call.
  EXPECT_EQ(criticalWork({{11, 0, 10}, {10, 5, 200}, {12, 20, 90}, {11, 100, 300}}),
            (WorkOfThreads{{11, 10 + 10 + 10 + 200}, {12, 70}}));
  // 11 goes on with its own work.
  EXPECT_EQ(criticalWork({{11, 0, 10}, {10, 5, 200}, {12, 20, 90}, {11, 30, 40}, {11, 100, 300}}),
            (WorkOfThreads{{11, 300}}));
}

TEST(ProgramDag, TheEndOfTheProcessIsNoWorkOfTheProgram) {
  EXPECT_EQ(criticalWork({{10, 0, 10}, {10, 20, 30}, {10, 1000, 1010}}, "__hipUnregisterFatBinary"),
            (WorkOfThreads{{10, 30}}));
}

TEST(QueueRoom, ALaunchWaitsWhereTheQueueIsFull) {
  // Submitted one after the other in 1 us each, each takes 100 us; from the 301st on there is room
  // only when one has ended.
  host_trace::HostEvents recorded;
  for (uint32_t i = 0; i < 400; ++i) {
    host_trace::Operation one;
    one.event.queue = 7;
    one.has_times = true;
    one.start_ns = 1'000'000 + i * 100'000, one.end_ns = one.start_ns + 100'000;
    one.event.submitted_ns = i < 300 ? i * 1000 : recorded.operations[i - 300].end_ns + 500;
    recorded.operations.push_back(one);
  }
  const QueueRoom room(recorded);
  const auto since = [&](uint32_t i) { return recorded.operations[i].event.submitted_ns; };
  EXPECT_EQ(room.awaited(299, since(298)), std::nullopt);
  EXPECT_EQ(room.awaited(300, since(299)), 0u);
  EXPECT_EQ(room.awaited(350, since(349)), 50u);
  EXPECT_EQ(room.awaited(350, since(350) - 5000), std::nullopt) << "it did not take long";
  EXPECT_EQ(room.awaited(100, since(100) - 50'000), std::nullopt) << "there was room";
  // Few at a time, or on another queue.
  host_trace::HostEvents few;
  few.operations.assign(recorded.operations.begin() + 200, recorded.operations.end());
  EXPECT_EQ(QueueRoom(few).awaited(100, since(299)), std::nullopt);
  recorded.operations[350].event.queue = 8;
  EXPECT_EQ(QueueRoom(recorded).awaited(350, since(349)), std::nullopt);
}

} // namespace
} // namespace fade::profile
