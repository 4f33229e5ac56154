#include "comparison/measures.h"

#include "fade/kernel_name.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace fade::compare {
namespace {

double share(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 != 0) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Sums of a kernel's accesses, from which its own numbers come.
struct Sums {
  uint64_t dispatches = 0, measured = 0; ///< all, and those with records of accesses
  uint64_t needed = 0, used = 0, wasted = 0, conflicts = 0, waiting = 0, executions = 0;
  bool has_global = false, has_lds = false, has_atomics = false;
  std::vector<double> times;
  uint64_t counted = 0, instructions = 0; ///< dispatches as compiled whose instructions are known
};

void set(Subject &subject, Metric metric, double value) {
  subject.values[static_cast<std::size_t>(metric)] = value;
}

Subject ofAccess(const report::Access &access, const std::string &kernel, uint64_t dispatches) {
  Subject s;
  s.kernel = kernel;
  s.is_lds = access.is_lds;
  s.file = access.file;
  s.line = access.line;
  s.column = access.column;
  s.op = access.op;
  s.source = access.source;
  s.bytes = access.bytes;
  s.weight = access.executions;
  if (access.executions == 0) return s;
  set(s, Metric::executions, share(access.executions, std::max<uint64_t>(dispatches, 1)));
  if (access.is_lds) {
    set(s, Metric::conflicts, share(access.conflicts, access.executions));
  } else {
    if (access.used != 0)
      set(s, Metric::efficiency, std::min(1.0, share(access.needed, access.used)));
    set(s, Metric::lines, share(access.used, access.executions));
    set(s, Metric::waste, share(access.wasted, access.executions));
  }
  if (access.op == "atomic") set(s, Metric::waiting, share(access.same_address, access.executions));
  return s;
}

Subject ofKernel(const std::string &name, const Sums &sums, const report::Flow *flow) {
  Subject s;
  s.kernel = name;
  s.is_kernel = true;
  s.weight = sums.dispatches;
  s.times = sums.times;
  set(s, Metric::dispatches, static_cast<double>(sums.dispatches));
  if (!sums.times.empty()) set(s, Metric::time, median(sums.times));
  if (sums.counted != 0) set(s, Metric::instructions, share(sums.instructions, sums.counted));
  const uint64_t each = std::max<uint64_t>(sums.measured, 1);
  if (sums.has_global) {
    if (sums.used != 0) set(s, Metric::efficiency, std::min(1.0, share(sums.needed, sums.used)));
    set(s, Metric::lines, share(sums.used, each));
    set(s, Metric::waste, share(sums.wasted, each));
  }
  if (sums.has_lds) set(s, Metric::conflicts, share(sums.conflicts, each));
  if (sums.has_atomics) set(s, Metric::waiting, share(sums.waiting, each));
  if (flow) {
    uint64_t executions = 0, lanes = 0;
    for (const auto &[id, block] : flow->blocks) {
      executions += block.executions;
      lanes += block.lanes;
    }
    if (executions != 0) {
      set(s, Metric::executions, share(executions, each));
      set(s, Metric::lane_share, share(lanes, executions * flow->wave_size));
    }
  }
  return s;
}

} // namespace

const std::array<MetricInfo, kMetrics> &metrics() {
  static constexpr std::array<MetricInfo, kMetrics> all = {{
      {Metric::efficiency, "efficiency", "of the cache lines are needed",
       "of the cache lines are needed", true, 1, true},
      {Metric::lines, "lines", "cache lines per execution", "cache lines per dispatch", false, -1,
       false},
      {Metric::waste, "waste", "wasted cache lines per execution",
       "wasted cache lines per dispatch", false, -1, true},
      {Metric::conflicts, "conflicts", "bank conflicts per execution",
       "bank conflicts per dispatch", false, -1, false},
      {Metric::waiting, "waiting", "waiting lanes per execution", "waiting lanes per dispatch",
       false, -1, false},
      {Metric::lane_share, "lane_share", nullptr, "of the lanes are active", true, 1, false},
      {Metric::executions, "executions", "executions per dispatch", "block executions per dispatch",
       false, 0, false},
      {Metric::instructions, "instructions", nullptr, "wave instructions per dispatch", false, -1,
       false},
      {Metric::time, "time", nullptr, "median of a dispatch", false, -1, false},
      {Metric::model_time, "model_time", nullptr, "modeled time of a dispatch", false, -1, false},
      {Metric::dispatches, "dispatches", nullptr, "dispatches", false, 0, false},
      {Metric::gain, "gain", "to gain", "to gain", true, -1, false},
  }};
  return all;
}

const MetricInfo &infoOf(Metric metric) { return metrics()[static_cast<std::size_t>(metric)]; }

std::string Subject::place() const {
  if (is_kernel || (file.empty() && !cause.empty())) return kernel;
  const std::string name = file.empty() ? "unknown location" : file.substr(file.rfind('/') + 1);
  const std::string what = op.empty() ? "" : " " + op;
  return line == 0 ? name + what : fmt::format("{}:{}{}", name, line, what);
}

std::string shortName(const std::string &kernel) {
  constexpr std::size_t kWidest = 120;
  return shortKernelName(kernel, kWidest);
}

std::vector<Subject> measuresOf(const report::RunLog &log) {
  std::vector<Sums> sums(log.kernels.size());
  for (const report::Dispatch &d : log.dispatches) {
    Sums &own = sums[d.kernel];
    ++own.dispatches;
    own.measured += d.has_memory || d.records != 0 ? 1 : 0;
    if (d.wave_instructions && d.complete && d.countsKernel()) {
      ++own.counted;
      own.instructions += *d.wave_instructions;
    }
    // Records take most of a twin's time, and the software GPU's times are this machine's.
    if (d.hasTimes() && d.complete && !d.instrumented && !d.in_software)
      own.times.push_back(static_cast<double>(*d.end_ns - *d.start_ns));
  }
  std::vector<std::vector<Subject>> accesses(log.kernels.size());
  for (const report::Access &a : log.accesses) {
    Sums &own = sums[a.kernel];
    own.needed += a.needed;
    own.used += a.used;
    own.wasted += a.wasted;
    own.conflicts += a.conflicts;
    own.waiting += a.same_address;
    (a.is_lds ? own.has_lds : own.has_global) = true;
    own.has_atomics |= a.op == "atomic";
    accesses[a.kernel].push_back(ofAccess(a, log.kernels[a.kernel].name, own.measured));
    accesses[a.kernel].back().module = log.kernels[a.kernel].module;
  }
  std::vector<Subject> all;
  for (std::size_t i = 0; i < log.kernels.size(); ++i) {
    const auto flow = log.flows.find(static_cast<uint32_t>(i));
    all.push_back(
        ofKernel(log.kernels[i].name, sums[i], flow == log.flows.end() ? nullptr : &flow->second));
    all.back().index = static_cast<uint32_t>(i);
    all.back().module = log.kernels[i].module;
    std::ranges::sort(accesses[i], [](const Subject &a, const Subject &b) {
      return std::tie(a.file, a.line, a.column, a.op, a.bytes) <
             std::tie(b.file, b.line, b.column, b.op, b.bytes);
    });
    // Where a reader finds the kernel.
    for (const Subject &one : accesses[i])
      if (one.line != 0) {
        all.back().file = one.file;
        all.back().line = one.line;
        break;
      }
    std::ranges::move(accesses[i], std::back_inserter(all));
  }
  return all;
}

std::vector<Subject> gainsOf(const report::RunLog &log, const report::Findings &findings) {
  std::vector<Subject> all;
  for (uint32_t k = 0; k < findings.kernels.size(); ++k) {
    if (findings.kernels[k].most() <= 0) continue;
    Subject whole;
    whole.kernel = log.kernels[k].name;
    whole.module = log.kernels[k].module;
    whole.is_kernel = true;
    std::vector<Subject> own;
    double sum = 0;
    for (const report::Finding &finding : findings.list) {
      if (finding.kernel != k) continue;
      Subject &one = own.emplace_back();
      one.kernel = whole.kernel;
      one.module = whole.module;
      one.cause = nameOf(finding.cause);
      if (!finding.places.empty()) {
        const report::FindingPlace &place = finding.places.front();
        one.file = place.file;
        one.line = place.line;
        one.column = place.column;
        one.op = place.op;
      }
      set(one, Metric::gain, finding.gain);
      sum += finding.gain;
    }
    set(whole, Metric::gain, sum);
    if (!own.empty()) {
      whole.file = own.front().file;
      whole.line = own.front().line;
    }
    all.push_back(std::move(whole));
    std::ranges::move(own, std::back_inserter(all));
  }
  return all;
}

std::string valueText(Metric metric, double value) {
  if (infoOf(metric).is_share) return fmt::format("{:.3g} %", 100 * value);
  if (metric != Metric::time && metric != Metric::model_time) {
    const bool is_whole = value == std::floor(value) && value < 1e15;
    return is_whole ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
  }
  if (value < 1e4 && metric == Metric::time) return fmt::format("{:.0f} ns", value);
  if (value < 1e3) return fmt::format("{:.3g} ns", value);
  if (value < 1e4) return fmt::format("{:.3g} us", value / 1e3);
  if (value < 1e7) return fmt::format("{:.4g} us", value / 1e3);
  if (value < 1e10) return fmt::format("{:.4g} ms", value / 1e6);
  return fmt::format("{:.4g} s", value / 1e9);
}

} // namespace fade::compare
