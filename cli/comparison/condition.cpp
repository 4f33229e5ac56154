#include "comparison/condition.h"

#include "analysis/findings.h"
#include "base/kernel_expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace fade::compare {
namespace {

struct Sign {
  const char *text;
  Comparison comparison;
  const char *words; ///< what a value is that meets it
};
// The longer ones first.
constexpr std::array kSigns = {
    Sign{"<=", Comparison::at_most, "at most"}, Sign{">=", Comparison::at_least, "at least"},
    Sign{"==", Comparison::equal, "equal to"},  Sign{"!=", Comparison::unequal, "other than"},
    Sign{"<", Comparison::less, "below"},       Sign{">", Comparison::more, "above"}};

Error mistake(const std::string &text, const std::string &what) {
  return Error::of(fmt::format("--fail-if '{}': {}", text, what));
}

std::string knownMetrics() {
  std::string names;
  for (const MetricInfo &info : metrics())
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", info.of_access ? "" : "kernel.",
                         info.name);
  return names;
}

/// "60", "60%", "5.5 us": a number, and what is behind it.
std::optional<double> takeNumber(std::string_view &text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Nothing is below "nan".
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// How much of the metric's unit the text behind a number stands for.
std::optional<double> factorOf(Metric metric, std::string_view unit) {
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit == "%") return infoOf(metric).is_share ? std::optional(0.01) : std::nullopt;
  if (unit.empty()) return 1;
  if (metric != Metric::time && metric != Metric::model_time) return std::nullopt;
  for (const auto &[name, factor] :
       {std::pair("ns", 1.0), std::pair("us", 1e3), std::pair("ms", 1e6), std::pair("s", 1e9)})
    if (unit == name) return factor;
  return std::nullopt;
}

Result<Expression> expression(const std::string &all, const std::string &text) {
  auto read = readExpression(text);
  if (!read) return mistake(all, read.error().what);
  return read;
}

Status addFilter(Condition &to, const std::string &filter) {
  const std::size_t equals = filter.find('=');
  const std::string name = filter.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : filter.substr(equals + 1);
  if (value.empty()) return mistake(to.text, fmt::format("'{}' is not NAME=VALUE", filter));
  if (name == "cause" && !to.isOfFindings())
    return mistake(to.text, "only gain can be filtered by cause");
  if (name == "kernel" || name == "file" || name == "cause") {
    auto read = expression(to.text, value);
    if (!read) return std::move(read).error();
    if (name == "cause" && std::ranges::none_of(report::causeNames(), [&](const char *cause) {
          return read->isIn(cause);
        }))
      return mistake(
          to.text, fmt::format("'{}' is none of {}", value, fmt::join(report::causeNames(), ", ")));
    (name == "kernel" ? to.kernel : name == "file" ? to.file : to.cause) = *std::move(read);
  } else if (name == "line") {
    uint32_t number = 0;
    const auto end = value.data() + value.size();
    const auto [at, error] = std::from_chars(value.data(), end, number);
    if (at != end || error != std::errc() || number == 0)
      return mistake(to.text, fmt::format("'{}' is not a line number", value));
    to.line = number;
  } else if (name == "op") {
    if (value != "load" && value != "store" && value != "atomic")
      return mistake(to.text, fmt::format("'{}' is not load, store or atomic", value));
    to.op = value;
  } else {
    return mistake(to.text, fmt::format("'{}' is not kernel, file, line, op or cause", name));
  }
  if (to.of_kernel && name != "kernel")
    return mistake(to.text, fmt::format("a condition on whole kernels cannot be filtered by {}{}",
                                        name, to.isRegress() ? "; use lines.regress" : ""));
  return Done{};
}

/// Commas separate filters; within a regular expression they do so only in front of a filter's
/// name.
Status addFilters(Condition &to, std::string_view text) {
  if (text.empty()) return mistake(to.text, "expected a filter after @");
  while (!text.empty()) {
    std::size_t end = text.size();
    for (const std::string_view next : {",kernel=", ",file=", ",line=", ",op=", ",cause="})
      end = std::min(end, text.find(next));
    if (Status added = addFilter(to, std::string(text.substr(0, end))); !added) return added;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return Done{};
}

Status parseRegress(Condition &to, std::string_view rest) {
  std::optional<double> number = takeNumber(rest);
  if (!number || *number < 0 || !rest.starts_with("%:") || rest.size() == 2 ||
      to.comparison != Comparison::more)
    return mistake(to.text, "expected regress>5%:BASELINE");
  to.of_kernel = to.regress != Regress::lines;
  to.limit = *number / 100;
  to.baseline = rest.substr(2);
  return Done{};
}

Status parseLimit(Condition &to, std::string_view rest) {
  const std::optional<double> number = takeNumber(rest);
  const std::optional<double> factor = number ? factorOf(to.metric, rest) : std::nullopt;
  if (!factor)
    return mistake(to.text,
                   fmt::format("no limit for {}: expected a number{}", infoOf(to.metric).name,
                               infoOf(to.metric).is_share ? ", or percent"
                               : to.metric == Metric::time || to.metric == Metric::model_time
                                   ? " of ns, us, ms or s"
                                   : ""));
  to.limit = *number * *factor;
  if (infoOf(to.metric).is_share && std::abs(to.limit) > 1)
    return mistake(to.text, fmt::format("{} is a share, at most 100 %: write {:g}% or {:g}",
                                        infoOf(to.metric).name, std::min(100.0, std::abs(*number)),
                                        std::min(100.0, std::abs(*number)) / 100));
  return Done{};
}

/// "efficiency" or "kernel.efficiency".
Status parseMetric(Condition &to, std::string name) {
  constexpr std::string_view prefix = "kernel.";
  to.of_kernel = name.starts_with(prefix);
  if (to.of_kernel) name.erase(0, prefix.size());
  for (const MetricInfo &info : metrics())
    if (name == info.name) {
      to.metric = info.metric;
      to.of_kernel |= info.of_access == nullptr;
      return Done{};
    }
  return mistake(to.text, fmt::format("'{}' is none of {}", name, knownMetrics()));
}

std::string wordsOf(Comparison comparison) {
  for (const Sign &sign : kSigns)
    if (sign.comparison == comparison) return sign.words;
  return "";
}

/// Without the blanks around it.
std::string trimmed(std::string_view text) {
  const std::size_t from = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(from);
  return std::string(text.substr(0, text.find_last_not_of(' ') + 1));
}

Regress regressOf(std::string_view name) {
  for (const auto &[text, regress] :
       {std::pair("regress", Regress::any), std::pair("kernel.regress", Regress::kernel),
        std::pair("run.regress", Regress::run), std::pair("lines.regress", Regress::lines)})
    if (name == text) return regress;
  return Regress::none;
}

/// Where the @ of the filters is. A baseline's path may have one, too.
std::size_t filtersOf(const std::string &text, std::size_t from, bool is_regress) {
  if (!is_regress) return std::min(text.find('@', from), text.size());
  std::size_t at = text.size();
  for (const std::string_view name : {"@kernel=", "@file=", "@line=", "@op=", "@cause="})
    at = std::min(at, text.find(name, from));
  return at;
}

} // namespace

Result<Condition> Condition::parse(const std::string &text) {
  Condition condition;
  condition.text = text;
  const std::size_t at = text.find_first_of("<>=!");
  if (at == std::string::npos) return mistake(text, "no comparison: expected METRIC<NUMBER");
  const Sign *found = nullptr;
  for (const Sign &sign : kSigns)
    if (!found && text.compare(at, std::strlen(sign.text), sign.text) == 0) found = &sign;
  if (!found) return mistake(text, "expected one of < <= > >= == !=");
  condition.comparison = found->comparison;
  const std::size_t begin = at + std::strlen(found->text);
  const std::string name = trimmed(text.substr(0, at));
  condition.regress = regressOf(name);
  const std::size_t filters = filtersOf(text, begin, condition.isRegress());
  const std::string value = trimmed(std::string_view(text).substr(begin, filters - begin));
  const std::string_view rest = value;
  if (condition.isRegress()) {
    if (Status parsed = parseRegress(condition, rest); !parsed) return std::move(parsed).error();
  } else {
    if (Status parsed = parseMetric(condition, name); !parsed) return std::move(parsed).error();
    if (Status parsed = parseLimit(condition, rest); !parsed) return std::move(parsed).error();
  }
  if (filters < text.size())
    if (Status added = addFilters(condition, std::string_view(text).substr(filters + 1)); !added)
      return std::move(added).error();
  return condition;
}

bool Condition::concerns(const Subject &subject) const {
  if (!isOfFindings() && subject.is_kernel != of_kernel) return false;
  if (kernel && !kernel->isIn(subject.kernel)) return false;
  const bool has_place = file || line || !op.empty();
  // A kernel without such a finding is one that has nothing to gain there.
  if (subject.is_kernel) return !has_place || isOfFindings();
  if (cause && !cause->isIn(subject.cause)) return false;
  if (file && !file->isIn(subject.file)) return false;
  if (line && subject.line != *line) return false;
  return op.empty() || subject.op == op;
}

bool Condition::isMetBy(double value) const {
  switch (comparison) {
  case Comparison::less: return value < limit;
  case Comparison::at_most: return value <= limit;
  case Comparison::more: return value > limit;
  case Comparison::at_least: return value >= limit;
  case Comparison::equal: return value == limit;
  case Comparison::unequal: return value != limit;
  }
  return false;
}

std::string whyNothing(const Condition &condition, const std::vector<Subject> &run,
                       const report::RunLog &log) {
  const std::string nothing = "no measurement matches";
  if (log.dispatches.empty() && run.empty()) return nothing + ": no kernel ran";
  std::string names;
  std::size_t count = 0;
  for (const Subject &subject : run)
    if (subject.is_kernel && count++ < 3)
      names += (names.empty() ? "" : ", ") + shortName(subject.kernel);
  const bool has_kernel = std::ranges::any_of(run, [&](const Subject &subject) {
    return !condition.kernel || condition.kernel->isIn(subject.kernel);
  });
  if (!has_kernel)
    return fmt::format("{}: no kernel has such a name; the run has {}{}", nothing, names,
                       count > 3 ? fmt::format(" and {} more", count - 3) : "");
  const bool has_twins = std::ranges::any_of(
      log.dispatches, [](const report::Dispatch &d) { return !d.ranAsCompiled(); });
  if (condition.metric == Metric::time)
    return nothing + (log.inSoftware() ? ": times of kernels need a GPU; on the software GPU, "
                                         "use kernel.model_time"
                      : has_twins      ? ": kernels ran instrumented, which takes longer: add "
                                         "--no-instrumented"
                                       : ": no dispatch has times");
  if (condition.metric == Metric::instructions)
    return nothing + (!log.inSoftware() ? ": instructions are counted on the software GPU"
                                        : ": kernels ran instrumented, and blocks were not "
                                          "counted: add --no-instrumented or --observe gpu");
  const auto has = [&](Metric metric) {
    return std::ranges::any_of(run, [&](const Subject &s) { return s[metric].has_value(); });
  };
  if (condition.isRegress())
    return nothing + (condition.regress == Regress::lines
                          ? ": the two runs have no access in common"
                          : ": the two runs have no kernel in common whose cost is known; make the "
                            "baseline with --report or --fail-if");
  if (!has(Metric::lines) && !has(Metric::conflicts))
    return nothing + ": no access was recorded; kernels need twins (fadeprobe cc) or --observe gpu";
  if (has(condition.metric)) return nothing;
  return fmt::format("{}: no kernel has {}", nothing,
                     condition.metric == Metric::conflicts ? "accesses to LDS"
                     : condition.metric == Metric::waiting
                         ? "atomic operations"
                         : fmt::format("'{}'", infoOf(condition.metric).name));
}

Outcome judge(const Condition &condition, const std::vector<Subject> &run) {
  Outcome outcome{&condition, 0, {}, {}};
  for (const Subject &subject : run) {
    const std::optional<double> value = subject[condition.metric];
    if (!value || !condition.concerns(subject)) continue;
    ++outcome.looked_at;
    if (subject.is_kernel != condition.of_kernel || !condition.isMetBy(*value)) continue;
    outcome.violations.push_back(
        {subject,
         fmt::format("{}{} is {}, {} {}", subject.cause.empty() ? "" : subject.cause + ": ",
                     infoOf(condition.metric).name, valueText(condition.metric, *value),
                     wordsOf(condition.comparison), valueText(condition.metric, condition.limit))});
  }
  return outcome;
}

namespace {

/// Each number of each access, and nothing else: which of them matter, nobody says.
void judgeLines(const Condition &condition, const Difference &difference, Outcome &outcome) {
  for (const Pair &pair : difference.pairs) {
    if (!pair.before || !pair.after || !condition.concerns(*pair.after)) continue;
    ++outcome.looked_at;
    for (const Change &change : pair.changes)
      if (change.verdict == Verdict::worse && !infoOf(change.metric).follows)
        outcome.violations.push_back(
            {*pair.after, fmt::format("{} went from {} to {}", infoOf(change.metric).name,
                                      valueText(change.metric, change.before),
                                      valueText(change.metric, change.after))});
  }
}

void judgeKernels(const Condition &condition, const Difference &difference,
                  const ModeledRuns &models, Outcome &outcome) {
  for (const Pair &pair : difference.pairs) {
    if (!pair.before || !pair.after || !condition.concerns(*pair.after)) continue;
    const Cost cost = costOf(pair, models, condition.limit);
    if (cost.kind == CostKind::none) continue;
    ++outcome.looked_at;
    if (cost.verdict != Verdict::worse) continue;
    const std::string reason = reasonOf(pair, models);
    outcome.violations.push_back(
        {*pair.after, fmt::format("a dispatch takes {}{}{}", cost.text(),
                                  cost.kind == CostKind::modeled ? ", without its launch" : "",
                                  reason.empty() ? "" : ", because of " + reason)});
  }
}

void judgeRun(const Condition &condition, const Difference &difference, const ModeledRuns &models,
              Outcome &outcome) {
  const RunCost run = runCostOf(difference, models, condition.limit, [&](const Subject &subject) {
    return condition.concerns(subject);
  });
  if (run.cost.kind == CostKind::none) return;
  ++outcome.looked_at;
  if (run.cost.verdict != Verdict::worse) return;
  Subject all;
  all.kernel = "all kernels";
  all.is_kernel = true;
  outcome.violations.push_back(
      {all, fmt::format("they take {}{}", run.cost.text(),
                        run.because.empty() ? "" : ", because of " + run.because)});
}

} // namespace

Outcome judge(const Condition &condition, const std::vector<Subject> &run,
              const std::vector<Subject> &baseline, const ModeledRuns &models) {
  Outcome outcome{&condition, 0, {}, {}};
  const Difference difference = differenceOf(baseline, run, condition.limit);
  if (condition.regress == Regress::lines) judgeLines(condition, difference, outcome);
  if (condition.regress == Regress::kernel || condition.regress == Regress::any)
    judgeKernels(condition, difference, models, outcome);
  if (condition.regress == Regress::run || condition.regress == Regress::any)
    judgeRun(condition, difference, models, outcome);
  return outcome;
}

std::string Violation::text() const {
  const std::string kernel = shortName(subject.kernel), place = subject.place();
  // Files have names as they like; no terminal shall obey them.
  return place == subject.kernel ? fmt::format("{}: {}", kernel, message)
                                 : fmt::format("{}: {} (in {})", shortName(place), message, kernel);
}

std::string outcomeText(const std::vector<Outcome> &outcomes) {
  constexpr std::size_t kMostLines = 20; // of a condition; the files have them all
  std::string text;
  std::size_t fine = 0;
  for (const Outcome &outcome : outcomes) {
    fine += outcome.isFine() ? 1 : 0;
    if (outcome.looked_at == 0)
      text += fmt::format("failed: {}: {}\n", outcome.condition->text, outcome.nothing);
    const std::size_t count = outcome.violations.size();
    for (std::size_t i = 0; i < count && i < kMostLines; ++i)
      text += fmt::format("failed: {}\n", outcome.violations[i].text());
    if (count > kMostLines)
      text += fmt::format("failed: {}: {} more, which --junit and --sarif list\n",
                          outcome.condition->text, count - kMostLines);
  }
  return text + fmt::format("{} of {} conditions passed\n", fine, outcomes.size());
}

} // namespace fade::compare
