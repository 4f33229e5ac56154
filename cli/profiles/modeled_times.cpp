#include "profiles/modeled_times.h"

#include "analysis/host_events/operation_view.h"

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

/// The model knows the average dispatch of a kernel. One that executes half the instructions, or
/// has half the workgroups where these are not known, is supposed to be busy for half the time.
class DispatchTimes {
public:
  DispatchTimes(const ProgramDag &program, const HostEvents &events, const Profile &profile,
                const std::vector<std::optional<uint64_t>> &instructions)
      : program_(program), events_(events), instructions_(instructions) {
    for (const ProfiledKernel &kernel : profile.kernels)
      if (kernel.counts.is_counted)
        kernels_[{kernel.counts.name, kernel.counts.module}].model = &kernel;
    for (const ProgramNode &node : program.nodes) {
      if (node.kind != NodeKind::kernel) continue;
      const auto known = kernels_.find({program.names[node.name], program.modules[node.name]});
      if (known == kernels_.end()) continue;
      const auto &executed = instructions[node.operation];
      known->second.are_known = known->second.are_known && executed;
      known->second.instructions += executed.value_or(0);
      ++known->second.dispatches;
    }
  }

  /// Nothing if the kernel was not counted.
  std::optional<uint64_t> of(const ProgramNode &node) const {
    const auto known = kernels_.find({program_.names[node.name], program_.modules[node.name]});
    if (known == kernels_.end()) return std::nullopt;
    const OfKernel &all = known->second;
    const KernelProfile &counts = all.model->counts;
    const bool by_instructions = all.are_known && all.instructions != 0;
    const auto amount =
        static_cast<double>(by_instructions ? *instructions_[node.operation]
                                            : workgroupsOf(events_.operations[node.operation]));
    const auto of_all = static_cast<double>(
        by_instructions ? all.instructions : std::max<uint64_t>(counts.workgroups, 1));
    const auto dispatches = static_cast<double>(
        by_instructions ? all.dispatches : std::max<uint64_t>(counts.dispatches, 1));
    const double busy = all.model->time.busy() * amount * dispatches / of_all;
    return static_cast<uint64_t>(std::llround(busy + all.model->time.launch_ns));
  }

private:
  struct OfKernel {
    const ProfiledKernel *model = nullptr;
    bool are_known = true; ///< the instructions of all its dispatches
    uint64_t instructions = 0, dispatches = 0;
  };
  const ProgramDag &program_;
  const HostEvents &events_;
  const std::vector<std::optional<uint64_t>> &instructions_;
  std::map<std::pair<std::string_view, std::string_view>, OfKernel> kernels_; ///< name, module
};

/// What HIP calls take on the host, as far as they do not wait: assumed, not measured.
constexpr uint64_t kCallNs = 2'000, kQuickCallNs = 100;
/// Bytes per second between host and GPU: PCIe 4.0 with 16 lanes, as copies reach it.
constexpr double kHostLink = 25e9;
/// Shorter times between calls are recording and, while the software GPU has the cores, mostly
/// waiting for one: a thread waits for some slices of the scheduler.
constexpr uint64_t kShortestWork = 200'000, kShortestBesideKernels = 20'000'000;

/// Calls that only look something up.
bool isQuick(std::string_view name) {
  return name.starts_with("__hip") || name.starts_with("hipGet") || name.starts_with("hipPeek");
}

/// A node of the host of a run on the software GPU, or a copy of it, as a card's run has it.
class HostModel {
public:
  HostModel(const ProgramDag &measured, const HostEvents &events, const Profile &profile)
      : measured_(measured), events_(events),
        memory_(profile.gpus.empty() ? 0 : profile.gpus.begin()->second.memory_bytes_per_s),
        start_ns_(profile.gpus.empty() ? 0 : profile.gpus.begin()->second.launch_ns) {
    for (const ProgramNode &node : measured.nodes)
      if (node.kind == NodeKind::kernel) kernels_.emplace_back(node.start_ns, node.end_ns);
    std::ranges::sort(kernels_);
    for (std::size_t i = 1; i < kernels_.size(); ++i) // the latest end of all up to here
      kernels_[i].second = std::max(kernels_[i].second, kernels_[i - 1].second);
  }

  uint64_t workOf(uint32_t number) const {
    const ProgramNode &node = measured_.nodes[number];
    const uint64_t took = measured_.dag.weight(number).work_ns;
    if (node.isOnGpu()) return copyNs(node).value_or(took);
    if (node.kind == NodeKind::call)
      return isQuick(measured_.names[node.name]) ? kQuickCallNs : kCallNs;
    const uint64_t shortest = isBesideKernels(node) ? kShortestBesideKernels : kShortestWork;
    return took < shortest ? 0 : took;
  }

private:
  std::optional<uint64_t> copyNs(const ProgramNode &node) const {
    const auto view = host_trace::viewOf(events_, events_.operations[node.operation]);
    if (!view.bytes || memory_ <= 0) return std::nullopt;
    using events::Direction;
    const bool is_local =
        node.kind == NodeKind::fill || (view.direction != Direction::host_to_device &&
                                        view.direction != Direction::device_to_host);
    const double bytes = static_cast<double>(*view.bytes) * (node.kind == NodeKind::copy ? 2 : 1);
    const double ns =
        is_local ? bytes / memory_ * 1e9 : static_cast<double>(*view.bytes) / kHostLink * 1e9;
    return static_cast<uint64_t>(std::llround(start_ns_ + ns));
  }

  bool isBesideKernels(const ProgramNode &node) const {
    const auto after =
        std::ranges::lower_bound(kernels_, node.end_ns, {}, &std::pair<uint64_t, uint64_t>::first);
    return after != kernels_.begin() && std::prev(after)->second > node.start_ns;
  }

  const ProgramDag &measured_;
  const HostEvents &events_;
  double memory_, start_ns_;
  std::vector<std::pair<uint64_t, uint64_t>> kernels_; ///< by start
};

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
                            const Profile &profile,
                            const std::vector<std::optional<uint64_t>> &instructions) {
  ProgramDag program = measured;
  const DispatchTimes kernels(measured, events, profile, instructions);
  const bool is_in_software = events.isInSoftware();
  const HostModel host(measured, events, profile);
  std::vector<Weight> weights;
  std::size_t unknown = 0;
  for (uint32_t i = 0; i < program.nodes.size(); ++i) {
    const ProgramNode &node = program.nodes[i];
    Weight weight = measured.dag.weight(i);
    // The software GPU's way to begin is no card's; that of the model is in its time.
    if (node.isOnGpu()) weight.delay_ns = 0;
    if (node.kind == NodeKind::kernel) {
      const auto ns = kernels.of(node);
      unknown += ns ? 0 : 1;
      weight.work_ns = ns.value_or(weight.work_ns);
    } else if (is_in_software) {
      weight = {host.workOf(i), 0};
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
  program.times = is_in_software ? host_trace::kModeledRunTimes : host_trace::kModeledTimes;
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
