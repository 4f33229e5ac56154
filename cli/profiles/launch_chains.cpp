#include "profiles/launch_chains.h"

#include "analysis/ranking.h"
#include "base/hip_helpers.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace fade::profile {
namespace {

using report::Finding;

constexpr std::size_t kMostNames = 3; ///< of kernels, in an advice

bool isOrder(const Edge &edge) {
  return edge.kind == EdgeKind::stream || edge.kind == EdgeKind::event ||
         edge.kind == EdgeKind::graph;
}

/// The first node of the host before which each node has ended for sure, because it or what comes
/// after it was waited for; UINT32_MAX: there is none.
std::vector<uint32_t> firstWaits(const Dag &dag) {
  std::vector<uint32_t> first(dag.size(), UINT32_MAX);
  for (uint32_t node = static_cast<uint32_t>(dag.size()); node-- > 0;)
    for (const Edge &edge : dag.edgesInto(node)) {
      if (edge.kind == EdgeKind::sync) first[edge.from] = std::min(first[edge.from], node);
      if (isOrder(edge)) first[edge.from] = std::min(first[edge.from], first[node]);
    }
  return first;
}

Finding findingOf(const ProfiledKernel &kernel, const Followers &followers) {
  const auto dispatches = static_cast<double>(std::max<uint64_t>(kernel.counts.dispatches, 1));
  const double share = std::min(static_cast<double>(followers.dispatches) / dispatches, 1.0);
  const double saved = share * kernel.time.launch_ns;
  Finding finding;
  finding.cause = Finding::Cause::overhead;
  finding.kernel = kernel.index;
  finding.unit = kernel.time.longest();
  finding.gain = saved / kernel.time.total();
  finding.before_ns = kernel.time.total();
  finding.after_ns = kernel.time.total() - saved;
  finding.counts = fmt::format(
      "{} of {} dispatches begin right after another kernel; to begin and to end takes {:.2f} us "
      "of {:.2f}",
      followers.dispatches, kernel.counts.dispatches, kernel.time.launch_ns / 1e3,
      kernel.time.total() / 1e3);
  std::string names;
  for (std::size_t i = 0; i < std::min(followers.after.size(), kMostNames); ++i)
    names += (i == 0 ? "" : ", ") + followers.after[i];
  if (followers.after.size() > kMostNames) names += ", ...";
  finding.advice =
      fmt::format("Do it in the launch of the kernel before it ({}), which is possible where a "
                  "workgroup needs only what it has computed itself.",
                  names);
  return finding;
}

/// Before those that save less. What these expect is then of a dispatch without its launch.
void insert(std::vector<Finding> &findings, const Finding &finding) {
  const auto at =
      std::ranges::find_if(findings, [&](const Finding &f) { return f.gain < finding.gain; });
  const double saved = finding.before_ns - finding.after_ns;
  Finding placed = finding;
  for (auto other = findings.begin(); other != findings.end(); ++other) {
    if (other < at) {
      placed.before_ns = other->after_ns;
      placed.after_ns = other->after_ns - saved;
    } else {
      other->before_ns -= saved;
      other->after_ns -= saved;
    }
  }
  findings.insert(at, placed);
}

} // namespace

FollowersByKernel followersIn(const ProgramDag &program) {
  const std::vector<uint32_t> waited = firstWaits(program.dag);
  const auto name = [&](uint32_t node) -> const std::string & {
    return program.names[program.nodes[node].name];
  };
  const auto identity = [&](uint32_t node) {
    return std::pair(name(node), program.modules[program.nodes[node].name]);
  };
  FollowersByKernel all;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> before;
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    if (program.nodes[node].kind != NodeKind::kernel || isHipHelper(name(node))) continue;
    const auto edges = program.dag.edgesInto(node);
    const auto call =
        std::ranges::find_if(edges, [](const Edge &e) { return e.kind == EdgeKind::launch; });
    const uint32_t launch = call == edges.end() ? 0 : call->from;
    std::set<uint32_t> kernels;
    bool is_after_others = false;
    for (const Edge &edge : edges) {
      // What had ended when it was launched is not what it comes right after.
      if (!isOrder(edge) || waited[edge.from] <= launch) continue;
      if (program.nodes[edge.from].kind == NodeKind::kernel && !isHipHelper(name(edge.from)))
        kernels.insert(edge.from);
      else
        is_after_others = true;
    }
    if (kernels.empty() || is_after_others) continue;
    ++all[identity(node)].dispatches;
    for (const uint32_t each : kernels) before[identity(node)].insert(name(each));
  }
  for (auto &[kernel, names] : before) all[kernel].after.assign(names.begin(), names.end());
  return all;
}

void addLaunchOverhead(const FollowersByKernel &followers, Profile &profile) {
  std::vector<Finding> &all = profile.findings.list;
  all.clear();
  for (ProfiledKernel &kernel : profile.kernels) {
    const auto at = followers.find({kernel.counts.name, kernel.counts.module});
    if (kernel.verdict.kind == KernelClass::launch_overhead && at != followers.end())
      insert(kernel.findings, findingOf(kernel, at->second));
    all.insert(all.end(), kernel.findings.begin(), kernel.findings.end());
    kernel.findings.clear();
  }
  report::orderByRun(profile.findings);
  for (ProfiledKernel &kernel : profile.kernels)
    for (const Finding &finding : all)
      if (finding.kernel == kernel.index) kernel.findings.push_back(finding);
}

} // namespace fade::profile
