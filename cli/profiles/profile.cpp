#include "profiles/profile.h"

#include "base/text_layout.h"
#include "host_trace/log_text.h"
#include "profiles/counted_run.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <tuple>

namespace fade::profile {
namespace {

/// The first of the kernel's findings; where the model rewards none, what its class suggests.
std::string tryFirst(const ProfiledKernel &kernel) {
  if (kernel.findings.empty())
    return "nothing to fix by the model; in general: " + kernel.verdict.advice;
  const report::Finding &first = kernel.findings.front();
  return fmt::format("try first: {}, {}: {} {}", report::nameOf(first.cause),
                     report::gainText(first, true), first.advice, report::expectationText(first));
}

std::string rateText(double per_second, const char *unit) {
  static constexpr std::array<const char *, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t i = 0;
  while (per_second >= 1000 && i + 1 < kPrefixes.size()) per_second /= 1000, ++i;
  return fmt::format("{:.3g} {}{}/s", per_second, kPrefixes[i], unit);
}

} // namespace

std::optional<double> ProfiledKernel::dispatchNs() const {
  if (counts.measured_ns) return counts.measured_ns;
  if (!counts.is_counted) return std::nullopt;
  return time.total();
}

double ProfiledKernel::allNs() const {
  const auto dispatches = std::max(counts.dispatches, counts.measured_dispatches);
  return dispatchNs().value_or(0) * static_cast<double>(dispatches);
}

double ProfiledKernel::perSecond(double amount) const {
  const double seconds = dispatchNs().value_or(0) * static_cast<double>(counts.dispatches) / 1e9;
  return seconds == 0 ? 0 : amount / seconds;
}

Profile profileOf(const report::RunLog &log, const host_trace::HostEvents *events, bool measures,
                  const std::vector<MeasuredPeaks> &peaks) {
  Profile profile;
  profile.in_software = !measures && log.inSoftware();
  if (!log.runs.empty()) profile.command = log.runs[0].command;
  std::vector<ModeledKernel> kernels = modelOf(kernelsOf(log, events, measures), peaks);
  profile.findings = report::findingsOf(log, kernels);
  for (uint32_t k = 0; k < kernels.size(); ++k) {
    ProfiledKernel one;
    one.index = k;
    profile.gpus.try_emplace(kernels[k].counts.target, kernels[k].gpu);
    one.verdict = classify(kernels[k].counts, kernels[k].gpu, kernels[k].time);
    if (kernels[k].counts.is_counted) one.time = std::move(kernels[k].time);
    one.counts = std::move(kernels[k].counts);
    if (one.counts.is_estimated) one.counts.instructions.clear(); // nobody has counted them
    for (const report::Finding &finding : profile.findings.list)
      if (finding.kernel == k) one.findings.push_back(finding);
    profile.kernels.push_back(std::move(one));
  }
  std::ranges::sort(profile.kernels, [](const ProfiledKernel &a, const ProfiledKernel &b) {
    return a.allNs() != b.allNs() ? a.allNs() > b.allNs()
                                  : std::tie(a.counts.name, a.counts.module) <
                                        std::tie(b.counts.name, b.counts.module);
  });
  return profile;
}

void addCriticality(const ProgramDag &program, const DagSummary &summary, Profile &profile) {
  for (const WorkSummary &work : summary.work) {
    if (work.kind != NodeKind::kernel) continue;
    // Those of the same name on several processors are one work.
    for (ProfiledKernel &kernel : profile.kernels)
      if (kernel.counts.name == program.names[work.name] &&
          kernel.counts.module == program.modules[work.name])
        kernel.criticality = {work.total_ns, work.critical_ns, work.gain_ns};
  }
}

std::string textOf(const Profile &profile, std::size_t rows) {
  if (profile.kernels.empty()) return "no kernel ran\n";
  std::string text;
  const bool has_several = profile.gpus.size() > 1;
  const auto name = [&](const KernelProfile &kernel, std::size_t room) {
    const std::string where = has_several ? " " + kernel.target : "";
    return cli::shortened(cli::printable(kernel.name), room - where.size()) + where;
  };
  for (const auto &[target, gpu] : profile.gpus)
    text += fmt::format(
        "{}: {}{}\n", target, profile.in_software ? "times are modeled for " : "rates of ",
        gpu.card + (gpu.is_stand_in ? " (the table has no card of this processor)" : ""));
  constexpr std::size_t width = 30;
  text += fmt::format("\n{:<{}}{:>10}{:>11}{:>8}  {:<18}{:>10}{:>14}\n", "kernel", width,
                      "dispatches", "time", "share", "class", "flop/byte", "rate");
  double all = 0;
  for (const ProfiledKernel &k : profile.kernels) all += k.allNs();
  std::size_t shown = 0;
  for (const ProfiledKernel &k : profile.kernels) {
    if (shown++ == rows) break;
    const KernelProfile &c = k.counts;
    const auto flops = static_cast<double>(c.flops.all()),
               bytes = static_cast<double>(c.bytes.dram);
    text += fmt::format("{:<{}}{:>10}{:>11}{:>6.1f} %  {:<18}{:>10}{:>14}\n", name(c, width - 1),
                        width, std::max(c.dispatches, c.measured_dispatches),
                        k.dispatchNs() ? host_trace::durationText(static_cast<uint64_t>(k.allNs()))
                                       : "-",
                        all == 0 ? 0 : 100 * k.allNs() / all, textOf(k.verdict.kind),
                        !c.is_counted || bytes == 0 ? "-" : fmt::format("{:.3g}", flops / bytes),
                        !c.is_counted ? "-"
                        : flops != 0  ? rateText(k.perSecond(flops), "FLOP")
                                      : rateText(k.perSecond(bytes), "B"));
    if (!c.is_counted) continue;
    text += fmt::format("    {}", k.verdict.reason);
    if (k.verdict.next != KernelClass::unknown)
      text += fmt::format("; next: {}, {:.0f} % of the way", textOf(k.verdict.next),
                          100 * k.verdict.nearness);
    text += fmt::format("\n    {}\n", tryFirst(k));
    if (!c.doubt.empty()) text += fmt::format("    counts may be wrong: {}\n", c.doubt);
  }
  if (profile.kernels.size() > rows)
    text += fmt::format("... and {} more\n", profile.kernels.size() - rows);
  return text;
}

std::string tracedText(const Profile &profile, std::size_t rows) {
  std::string text;
  for (const ProfiledKernel &k : profile.kernels) {
    const auto &code = k.counts.instructions;
    std::vector<std::pair<double, std::size_t>> order;
    double all = 0;
    for (std::size_t i = 0; i < code.size(); ++i) {
      const InstructionTime &t = k.time.instructions[i];
      const double cycles = static_cast<double>(code[i].executions) * (t.issue + t.waits);
      all += cycles;
      if (cycles > 0) order.emplace_back(cycles, i);
    }
    std::ranges::sort(order, std::greater<>());
    text += fmt::format("{}{}: {}\n  {:>7}{:>12}{:>10}  {:<40}{}\n", text.empty() ? "" : "\n",
                        cli::shortened(cli::printable(k.counts.name), 50), k.verdict.reason, "time",
                        "executions", "stalled", "instruction", "waits for");
    for (std::size_t i = 0; i < std::min(rows, order.size()); ++i) {
      const ProfiledInstruction &one = code[order[i].second];
      const InstructionTime &t = k.time.instructions[order[i].second];
      text += fmt::format("  {:>5.1f} %{:>12}{:>10.0f}  {:<40}{}\n", 100 * order[i].first / all,
                          one.executions, t.waits, cli::shortened(cli::printable(one.text), 39),
                          t.waits_for ? cli::shortened(cli::printable(code[*t.waits_for].text), 30)
                                      : "");
    }
  }
  return text;
}

} // namespace fade::profile
