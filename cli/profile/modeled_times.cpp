#include "profile/modeled_times.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace fade::profile {
namespace {

using host_trace::HostEvents;

uint64_t workgroupsOf(const host_trace::Operation &operation) {
  uint64_t groups = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    const uint64_t size = std::max<uint32_t>(operation.event.workgroup[i], 1);
    groups *= std::max<uint64_t>((operation.event.grid[i] + size - 1) / size, 1);
  }
  return groups;
}

/// Of a dispatch with so many workgroups: the model knows the average one, and a dispatch of half
/// the size is supposed to be busy for half the time.
uint64_t modeledNs(const ProfiledKernel &kernel, uint64_t workgroups) {
  const auto all = static_cast<double>(std::max<uint64_t>(kernel.counts.workgroups, 1));
  const double average = all / static_cast<double>(std::max<uint64_t>(kernel.counts.dispatches, 1));
  const double busy = kernel.time.busy() * static_cast<double>(workgroups) / average;
  return static_cast<uint64_t>(std::llround(busy + kernel.time.launch_ns));
}

/// Where time goes on a thread of the host, before and after.
struct ShiftedSpan {
  uint64_t old_start, old_end, new_start, new_end;
};
using ThreadKey = std::pair<uint32_t, uint32_t>;

class ThreadClock {
public:
  ThreadClock(const ProgramDag &modeled, const ProgramDag &measured) {
    for (std::size_t i = 0; i < measured.nodes.size(); ++i) {
      const ProgramNode &before = measured.nodes[i], &after = modeled.nodes[i];
      if (!before.isOnGpu())
        threads_[{before.pid, before.thread}].push_back(
            {before.start_ns, before.end_ns, after.start_ns, after.end_ns});
    }
    for (auto &[thread, list] : threads_) std::ranges::sort(list, {}, &ShiftedSpan::old_start);
  }

  uint64_t operator()(const ThreadKey &thread, uint64_t ns) const {
    const auto of_thread = threads_.find(thread);
    if (of_thread == threads_.end() || ns == 0) return ns;
    const std::vector<ShiftedSpan> &list = of_thread->second;
    auto at = std::ranges::upper_bound(list, ns, {}, &ShiftedSpan::old_start);
    if (at == list.begin()) return ns - std::min(ns, at->old_start) + at->new_start; // before all
    const ShiftedSpan &one = *--at;
    if (ns >= one.old_end) return one.new_end + (ns - one.old_end);
    const double share =
        static_cast<double>(ns - one.old_start) / static_cast<double>(one.old_end - one.old_start);
    return one.new_start +
           static_cast<uint64_t>(share * static_cast<double>(one.new_end - one.new_start));
  }

private:
  std::map<ThreadKey, std::vector<ShiftedSpan>> threads_;
};

} // namespace

ProgramDag withModeledTimes(const ProgramDag &measured, const HostEvents &events,
                            const Profile &profile) {
  ProgramDag program = measured;
  std::map<std::string_view, const ProfiledKernel *> kernels;
  for (const ProfiledKernel &kernel : profile.kernels)
    if (kernel.counts.is_counted) kernels.emplace(kernel.counts.name, &kernel);
  std::vector<Weight> weights;
  std::size_t unknown = 0;
  for (uint32_t i = 0; i < program.nodes.size(); ++i) {
    const ProgramNode &node = program.nodes[i];
    Weight weight = measured.dag.weight(i);
    // The software GPU's way to begin is no card's; that of the model is in its time.
    if (node.isOnGpu()) weight.delay_ns = 0;
    if (node.kind == NodeKind::kernel) {
      const auto known = kernels.find(program.names[node.name]);
      if (known == kernels.end())
        ++unknown;
      else
        weight.work_ns = modeledNs(*known->second, workgroupsOf(events.operations[node.operation]));
    }
    weights.push_back(weight);
  }
  const auto edges = measured.dag.edges();
  program.dag = Dag(std::move(weights), {edges.begin(), edges.end()});
  const std::vector<uint64_t> ends = program.dag.ends();
  for (uint32_t i = 0; i < program.nodes.size(); ++i) {
    ProgramNode &node = program.nodes[i];
    node.end_ns = program.begin_ns + ends[i];
    node.start_ns = node.end_ns - program.dag.weight(i).work_ns;
    for (const Edge &edge : program.dag.edgesInto(i)) // waiting is a part of a call
      if (edge.kind == EdgeKind::thread && program.nodes[edge.from].thread == node.thread)
        node.start_ns = std::min(node.start_ns, program.nodes[edge.from].end_ns);
  }
  program.is_modeled = true;
  program.times = host_trace::kModeledTimes;
  if (unknown != 0)
    program.times += fmt::format("; so did {} kernel{} that {} not counted", unknown,
                                 unknown == 1 ? "" : "s", unknown == 1 ? "was" : "were");
  return program;
}

HostEvents withTimesOf(const ProgramDag &modeled, const ProgramDag &measured,
                       const HostEvents &events) {
  HostEvents result = events;
  const ThreadClock clock(modeled, measured);
  for (host_trace::Call &call : result.calls) {
    const ThreadKey thread(call.thread.pid, call.thread.tid);
    call.start_ns = clock(thread, call.start_ns);
    call.end_ns = clock(thread, call.end_ns);
  }
  for (host_trace::Marker &marker : result.markers)
    marker.time_ns = clock({marker.thread.pid, marker.thread.tid}, marker.time_ns);
  for (const ProgramNode &node : modeled.nodes)
    if (node.isOnGpu()) {
      result.operations[node.operation].start_ns = node.start_ns;
      result.operations[node.operation].end_ns = node.end_ns;
    }
  result.has_modeled_times = true;
  return result;
}

} // namespace fade::profile
