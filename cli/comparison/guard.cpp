#include "comparison/guard.h"

#include "base/write_file.h"
#include "comparison/run_source.h"
#include "kernels/block_counted_run.h"
#include "pages/finding_lines.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>

namespace fade::cli {

namespace {

void addOutcomeFiles(CLI::App &app, GuardOptions &options) {
  app.add_option("--junit", options.junit, "the outcome of --fail-if as JUnit XML")
      ->type_name("FILE");
  app.add_option("--sarif", options.sarif, "the outcome of --fail-if as SARIF")->type_name("FILE");
}

} // namespace

void addRunGuardOptions(CLI::App &app, GuardOptions &options) {
  app.add_option("--fail-if", options.conditions,
                 "of a run: exit with code 3 if the condition holds, for example 'imbalance>1.5', "
                 "'busy<50%' or 'regress>5%:before/'; may be repeated")
      ->type_name("CONDITION")
      ->allow_extra_args(false);
  addOutcomeFiles(app, options);
}

void addGuardOptions(CLI::App &app, GuardOptions &options) {
  app.add_option(
         "--fail-if", options.conditions,
         "exit with code 3 if the condition holds, for example 'efficiency<60%', "
         "'conflicts>0@kernel=transpose.*' or 'regress>5%:baseline.jsonl' (kernels and the run; "
         "lines.regress: each access), or of the folder of a run 'imbalance>1.5'; may be repeated")
      ->type_name("CONDITION")
      ->allow_extra_args(false);
  addOutcomeFiles(app, options);
  app.add_option("--findings", options.findings,
                 "write advice on what to change, largest gain first, as JSON lines")
      ->type_name("FILE");
}

std::optional<Guard> Guard::of(const GuardOptions &options) {
  Guard guard;
  guard.options_ = options;
  for (const auto &[file, name] :
       {std::pair(&options.junit, "--junit"), {&options.sarif, "--sarif"}})
    if (!file->empty() && options.conditions.empty()) {
      complain(fmt::format("{} needs --fail-if CONDITION", name));
      return std::nullopt;
    }
  for (const std::string &text : options.conditions) {
    auto condition = compare::Condition::parse(text);
    if (!condition) {
      complain(condition.error().message());
      return std::nullopt;
    }
    guard.baselines_.emplace_back();
    if (condition->isRegress()) {
      auto baseline = readRun(condition->baseline);
      if (!baseline) {
        complain(baseline.error().message());
        return std::nullopt;
      }
      for (const std::string &problem : baseline->problems)
        complain(fmt::format("{}: {}; the rest is used", condition->baseline, problem));
      profile::useOwnInstructions(*baseline, {}); // as far as its lines have them
      guard.baselines_.back() = *std::move(baseline);
    }
    guard.conditions_.push_back(*std::move(condition));
  }
  return guard;
}

bool Guard::wantsFindings() const {
  return !options_.findings.empty() ||
         std::ranges::any_of(conditions_, &compare::Condition::needsModel);
}

int Guard::judge(const report::RunLog &run, const report::Findings &findings) const {
  std::vector<compare::Subject> subjects = compare::measuresOf(run);
  for (compare::Subject &subject : subjects)
    if (subject.is_kernel && subject.index < findings.kernels.size() &&
        findings.kernels[subject.index].dispatch_ns > 0)
      subject.values[static_cast<std::size_t>(compare::Metric::model_time)] =
          findings.kernels[subject.index].dispatch_ns;
  std::vector<compare::Subject> gains;
  bool is_written = true;
  if (wantsFindings()) {
    gains = compare::gainsOf(run, findings);
    if (!options_.findings.empty())
      is_written &= writeFile(options_.findings, report::findingLines(run, findings));
  }
  std::vector<compare::Outcome> outcomes;
  bool is_fine = true;
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    const compare::Condition &condition = conditions_[i];
    outcomes.push_back(
        condition.isRegress()
            ? compare::judge(condition, subjects, compare::measuresOf(baselines_[i]),
                             compare::modelBoth(baselines_[i], run))
            : compare::judge(condition, condition.isOfFindings() ? gains : subjects));
    if (outcomes.back().looked_at == 0)
      outcomes.back().nothing = compare::whyNothing(condition, subjects, run);
    is_fine &= outcomes.back().isFine();
  }
  if (hasConditions()) fmt::print(stderr, "{}", compare::outcomeText(outcomes));
  if (!options_.junit.empty())
    is_written &= writeFile(options_.junit, compare::junitText(outcomes));
  if (!options_.sarif.empty())
    is_written &= writeFile(options_.sarif, compare::sarifText(outcomes, FADE_VERSION));
  return !is_fine ? kConditionFailed : is_written ? 0 : 1;
}

} // namespace fade::cli
