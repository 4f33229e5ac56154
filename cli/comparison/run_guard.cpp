#include "comparison/run_guard.h"

#include "base/kernel_expression.h"
#include "base/write_file.h"
#include "host_trace/log_text.h"
#include "host_trace/run_view.h"
#include "launch/run.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace fade::compare {
namespace {

using host_trace::Spread;
using host_trace::Unit;

struct RunMetricInfo {
  const char *name;
  RunMetric metric;
  bool is_share; ///< shown in percent
};
constexpr std::array kRunMetrics = {
    RunMetricInfo{"imbalance", RunMetric::imbalance, false},
    RunMetricInfo{"kernel.imbalance", RunMetric::kernel_imbalance, false},
    RunMetricInfo{"busy", RunMetric::busy, true},
    RunMetricInfo{"waiting", RunMetric::waiting, true},
    RunMetricInfo{"stragglers", RunMetric::stragglers, false},
    RunMetricInfo{"failed_calls", RunMetric::failed_calls, false},
    RunMetricInfo{"lost", RunMetric::lost, false},
    RunMetricInfo{"killed", RunMetric::killed, false},
    RunMetricInfo{"regress", RunMetric::regress, true},
    RunMetricInfo{"kernel.regress", RunMetric::regress, true},
    RunMetricInfo{"run.regress", RunMetric::regress, true}};

struct RunSign {
  const char *text;
  Comparison comparison;
  const char *words;
};
constexpr std::array kRunSigns = {
    RunSign{"<=", Comparison::at_most, "at most"}, RunSign{">=", Comparison::at_least, "at least"},
    RunSign{"==", Comparison::equal, "equal to"},  RunSign{"!=", Comparison::unequal, "other than"},
    RunSign{"<", Comparison::less, "below"},       RunSign{">", Comparison::more, "above"}};

Error runMistake(const std::string &text, const std::string &what) {
  return Error::of(fmt::format("--fail-if '{}': {}", text, what));
}

const RunMetricInfo *runMetricOf(std::string_view name) {
  const auto at =
      std::ranges::find_if(kRunMetrics, [&](const auto &info) { return name == info.name; });
  return at == kRunMetrics.end() ? nullptr : at;
}

Status parseRunLimit(RunCondition &to, const RunMetricInfo &info, std::string_view rest) {
  double number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  const bool is_percent = rest.starts_with('%');
  if (is_percent) rest.remove_prefix(1);
  const bool is_regress = info.metric == RunMetric::regress;
  if (error != std::errc() || !std::isfinite(number) || number < 0 ||
      (is_regress && (!is_percent || !rest.starts_with(':') || rest.size() == 1 ||
                      to.base.comparison != Comparison::more)))
    return runMistake(to.base.text, is_regress ? "expected regress>5%:FOLDER"
                                               : "expected a number to compare with");
  if (is_regress) {
    to.base.baseline = rest.substr(1);
  } else if (!rest.empty() || (is_percent && !info.is_share)) {
    return runMistake(to.base.text, fmt::format("'{}' is not a unit of {}",
                                                is_percent ? "%" : std::string(rest), info.name));
  }
  to.base.limit = is_percent ? number / 100 : number;
  if (info.is_share && !is_regress && to.base.limit > 1)
    return runMistake(to.base.text,
                      fmt::format("{} is a share, at most 100 %: write {:g}%", info.name, number));
  return Done{};
}

std::string valueTextOf(const RunMetricInfo &info, double value) {
  return info.is_share ? fmt::format("{:.3g} %", 100 * value) : fmt::format("{:.4g}", value);
}

/// What a condition looks at, one number after the other.
class RunJudge {
public:
  RunJudge(const RunCondition &condition, Outcome &outcome)
      : condition_(condition), outcome_(outcome) {}

  void look(const std::string &subject, const char *metric, double value,
            const std::string &more = "") {
    ++outcome_.looked_at;
    if (!condition_.base.isMetBy(value)) return;
    const RunMetricInfo &info = *runMetricOf(metric);
    const auto sign = std::ranges::find_if(kRunSigns, [&](const RunSign &one) {
      return one.comparison == condition_.base.comparison;
    });
    add(subject, fmt::format("{} is {}, {} {}{}", metric, valueTextOf(info, value), sign->words,
                             valueTextOf(info, condition_.base.limit), more));
  }

  /// Whether it takes longer now.
  void compare(const std::string &subject, const char *what, uint64_t before, uint64_t after) {
    if (before == 0) return;
    ++outcome_.looked_at;
    const double change = static_cast<double>(after) / static_cast<double>(before) - 1;
    if (!condition_.base.isMetBy(change)) return;
    add(subject,
        fmt::format("{} went from {} to {} (+{:.3g} %)", what, host_trace::durationText(before),
                    host_trace::durationText(after), 100 * change));
  }

  bool concerns(const std::string &kernel) const {
    return !condition_.base.kernel || condition_.base.kernel->isIn(kernel);
  }

private:
  void add(const std::string &name, std::string message) {
    Subject subject;
    subject.kernel = name;
    subject.is_kernel = true;
    outcome_.violations.push_back({std::move(subject), std::move(message)});
  }

  const RunCondition &condition_;
  Outcome &outcome_;
};

/// Most / median; nothing if the median rank has no such time.
std::optional<double> overMedian(const Spread &spread) {
  if (spread.median == 0) return std::nullopt;
  return static_cast<double>(spread.most) / static_cast<double>(spread.median);
}

/// All kernels, by name: with the time of each rank.
std::map<std::string, Spread> kernelSpreads(const std::vector<Unit> &units) {
  host_trace::RunTotals all;
  for (const Unit &unit : units) all.merge(unit.totals);
  std::map<std::string, Spread> spreads;
  for (const auto &[name, distribution] : all.kernels)
    spreads[name] = host_trace::spreadOf(
        units, [&](const Unit &unit) { return sumOf(unit.totals.kernels, name); });
  return spreads;
}

uint64_t totalOf(const std::vector<Unit> &units, const std::string &kernel) {
  uint64_t sum = 0;
  for (const Unit &unit : units) sum += sumOf(unit.totals.kernels, kernel);
  return sum;
}

void judgeImbalance(RunJudge &judge, const std::vector<Unit> &units) {
  if (units.size() < 2) return;
  const Spread spread = host_trace::spreadOf(units, [](const Unit &unit) { return unit.busy; });
  if (const auto value = overMedian(spread))
    judge.look(units[spread.of_most].name, "imbalance", *value, " (GPU time, most / median)");
}

void judgeKernelImbalance(RunJudge &judge, const std::vector<Unit> &units) {
  if (units.size() < 2) return;
  for (const auto &[kernel, spread] : kernelSpreads(units))
    if (const auto value = judge.concerns(kernel) ? overMedian(spread) : std::nullopt)
      judge.look(kernel, "kernel.imbalance", *value, " by " + units[spread.of_most].name);
}

void judgeRegress(RunJudge &judge, const RunCondition &condition, const std::vector<Unit> &units,
                  const std::vector<Unit> &before) {
  const Regress what = condition.base.regress;
  const auto slowest = [](const std::vector<Unit> &all) {
    return host_trace::spreadOf(all, [](const Unit &unit) { return unit.span; }).most;
  };
  if (what != Regress::kernel && !condition.base.kernel)
    judge.compare("run", "the time of the slowest rank", slowest(before), slowest(units));
  if (what == Regress::run) return;
  const auto earlier = kernelSpreads(before);
  for (const auto &[kernel, spread] : kernelSpreads(units)) {
    const auto at = earlier.find(kernel);
    if (at == earlier.end() || !judge.concerns(kernel)) continue;
    judge.compare(kernel, "GPU time of all ranks", totalOf(before, kernel), totalOf(units, kernel));
    if (units.size() > 1)
      judge.compare(kernel, "GPU time of the rank with most", at->second.most, spread.most);
  }
}

void judgeRanks(RunJudge &judge, RunMetric metric, const std::vector<Unit> &units) {
  for (const Unit &unit : units) {
    const auto share = [&](uint64_t part) {
      return static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(unit.span, 1));
    };
    if (metric == RunMetric::busy) judge.look(unit.name, "busy", share(unit.busy));
    if (metric == RunMetric::waiting)
      judge.look(unit.name, "waiting", share(unit.idle_in_messages));
    if (metric == RunMetric::failed_calls)
      judge.look(unit.name, "failed_calls", static_cast<double>(unit.totals.failed_calls));
    if (metric == RunMetric::lost)
      judge.look(unit.name, "lost", static_cast<double>(unit.totals.lost));
  }
}

void judgeStragglers(RunJudge &judge, const std::vector<Unit> &units) {
  constexpr std::size_t named = 3;
  const auto found = host_trace::stragglersOf(units, named);
  std::string names;
  for (const auto &straggler : found)
    if (!straggler.text.empty()) names += fmt::format("\n  {}", straggler.text);
  judge.look("run", "stragglers", static_cast<double>(found.size()), names);
}

} // namespace

Result<RunCondition> RunCondition::parse(const std::string &text) {
  RunCondition condition;
  condition.base.text = text;
  const std::size_t at = text.find_first_of("<>=!");
  if (at == std::string::npos) return runMistake(text, "no comparison: expected METRIC>NUMBER");
  const auto sign = std::ranges::find_if(kRunSigns, [&](const RunSign &one) {
    return std::string_view(text).substr(at).starts_with(one.text);
  });
  if (sign == kRunSigns.end()) return runMistake(text, "expected one of < <= > >= == !=");
  condition.base.comparison = sign->comparison;
  std::string name = text.substr(0, at);
  std::erase(name, ' ');
  const RunMetricInfo *info = runMetricOf(name);
  if (!info) {
    std::string names;
    for (const RunMetricInfo &one : kRunMetrics)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    return runMistake(
        text, fmt::format("'{}' is not a metric of a run of many processes: {}", name, names));
  }
  condition.metric = info->metric;
  if (condition.metric == RunMetric::regress)
    condition.base.regress = name == "kernel.regress" ? Regress::kernel
                             : name == "run.regress"  ? Regress::run
                                                      : Regress::any;
  constexpr std::string_view filter = "@kernel=";
  const std::size_t begin = at + std::string_view(sign->text).size();
  const std::size_t end = std::min(text.find(filter, begin), text.size());
  std::string value = text.substr(begin, end - begin);
  value.erase(0, value.find_first_not_of(' '));
  value.erase(value.find_last_not_of(' ') + 1);
  if (Status parsed = parseRunLimit(condition, *info, value); !parsed)
    return std::move(parsed).error();
  if (end == text.size()) return condition;
  if (info->metric != RunMetric::kernel_imbalance &&
      (info->metric != RunMetric::regress || condition.base.regress == Regress::run))
    return runMistake(text, fmt::format("{} cannot be filtered by kernel", info->name));
  auto read = readExpression(text.substr(end + filter.size()));
  if (!read) return runMistake(text, read.error().what);
  condition.base.kernel = *std::move(read);
  return condition;
}

Outcome judge(const RunCondition &condition, const host_trace::Run &run,
              const host_trace::Run *baseline) {
  Outcome outcome{&condition.base, 0, {}, {}};
  RunJudge judge(condition, outcome);
  const std::vector<Unit> units = unitsOf(run);
  switch (condition.metric) {
  case RunMetric::imbalance: judgeImbalance(judge, units); break;
  case RunMetric::kernel_imbalance: judgeKernelImbalance(judge, units); break;
  case RunMetric::stragglers: judgeStragglers(judge, units); break;
  case RunMetric::killed: {
    const auto count = std::ranges::count_if(run.members, [](const host_trace::RunMember &member) {
      return !member.summary.has_exited && !member.is_running && !member.wasCutOff();
    });
    judge.look("run", "killed", static_cast<double>(count));
    break;
  }
  case RunMetric::regress:
    if (baseline) judgeRegress(judge, condition, units, unitsOf(*baseline));
    break;
  default: judgeRanks(judge, condition.metric, units);
  }
  if (outcome.looked_at == 0)
    outcome.nothing = units.size() < 2 && !condition.base.isRegress()
                          ? "no measurement matches: the run has one rank only"
                          : "no measurement matches: no kernel with such a name, or none in common";
  return outcome;
}

} // namespace fade::compare

namespace fade::cli {

std::optional<RunGuard> RunGuard::of(const GuardOptions &options) {
  const auto failed = [](const std::string &what) {
    complain(what);
    return std::nullopt;
  };
  RunGuard guard;
  guard.options_ = options;
  if (!options.findings.empty())
    return failed("--findings needs one process: name the report.jsonl of its folder");
  for (const auto &[file, name] :
       {std::pair(&options.junit, "--junit"), {&options.sarif, "--sarif"}})
    if (!file->empty() && options.conditions.empty())
      return failed(fmt::format("{} needs --fail-if CONDITION", name));
  for (const std::string &text : options.conditions) {
    auto condition = compare::RunCondition::parse(text);
    if (!condition) return failed(condition.error().message());
    guard.baselines_.emplace_back();
    if (condition->metric == compare::RunMetric::regress) {
      auto baseline = host_trace::Run::read(condition->base.baseline, "");
      if (!baseline) return failed(baseline.error().message());
      guard.baselines_.back() = *std::move(baseline);
    }
    guard.conditions_.push_back(*std::move(condition));
  }
  return guard;
}

int RunGuard::judge(const host_trace::Run &run) const {
  if (conditions_.empty()) return 0;
  std::vector<compare::Outcome> outcomes;
  bool is_fine = true, is_written = true;
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    outcomes.push_back(
        compare::judge(conditions_[i], run, baselines_[i] ? &*baselines_[i] : nullptr));
    is_fine = outcomes.back().isFine() && is_fine;
  }
  fmt::print(stderr, "{}", compare::outcomeText(outcomes));
  if (!options_.junit.empty())
    is_written = writeFile(options_.junit, compare::junitText(outcomes)) && is_written;
  if (!options_.sarif.empty())
    is_written =
        writeFile(options_.sarif, compare::sarifText(outcomes, FADE_VERSION)) && is_written;
  return !is_fine ? kConditionFailed : is_written ? 0 : 1;
}

} // namespace fade::cli
