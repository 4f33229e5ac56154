// Conditions that a run must not meet: --fail-if 'efficiency<60%@kernel=transpose.*'.
#pragma once

#include "base/result.h"
#include "comparison/run_cost.h"
#include "fade/expression.h"

namespace fade::compare {

enum class Comparison : uint8_t { less, at_most, more, at_least, equal, unequal };

/// What must not be worse than in a baseline: kernels and the run, or each access in the source.
enum class Regress : uint8_t { none, any, kernel, run, lines };

/// METRIC<NUMBER[%][@FILTER,...], where kernel.METRIC means a kernel as a whole and METRIC alone
/// each access in the source (of `gain`: each finding); or regress>NUMBER%:BASELINE[@FILTER,...],
/// and the same with kernel.regress, run.regress and lines.regress.
struct Condition {
  std::string text; ///< as it was written
  Regress regress = Regress::none;
  bool of_kernel = false;
  Metric metric = Metric::efficiency;
  Comparison comparison = Comparison::less;
  double limit = 0;
  std::string baseline; ///< of regress: a run's JSON lines or recording
  std::optional<Expression> kernel, file, cause;
  std::optional<uint32_t> line;
  std::string op; ///< empty: any

  static Result<Condition> parse(const std::string &text);
  /// Whether the filters let it through.
  bool concerns(const Subject &subject) const;
  bool isMetBy(double value) const;
  /// Whether it is about what compare::gainsOf() tells.
  bool isOfFindings() const { return !isRegress() && metric == Metric::gain; }
  bool isRegress() const { return regress != Regress::none; }
  /// Whether it needs all that the model of time can use.
  bool needsModel() const {
    return isOfFindings() || (isRegress() && regress != Regress::lines) ||
           metric == Metric::model_time;
  }
};

/// What was found to be so.
struct Violation {
  Subject subject;
  std::string message; ///< "efficiency is 3 %, below 60 %"

  /// With place and kernel, whose name is shortName().
  std::string text() const;
};

struct Outcome {
  const Condition *condition = nullptr;
  std::size_t looked_at = 0; ///< kernels or accesses that have the number; 0 is a failure, too
  std::vector<Violation> violations;
  std::string nothing; ///< why there is nothing that it is about, if that is so

  bool isFine() const { return looked_at != 0 && violations.empty(); }
};

Outcome judge(const Condition &condition, const std::vector<Subject> &run);
/// A condition on regressions: `baseline` is what it names.
Outcome judge(const Condition &condition, const std::vector<Subject> &run,
              const std::vector<Subject> &baseline, const ModeledRuns &models);

/// Why a run has nothing that a condition is about: what was not measured, and what to do.
std::string whyNothing(const Condition &condition, const std::vector<Subject> &run,
                       const report::RunLog &log);

/// One line for each violation, and one for each condition that had nothing to look at.
std::string outcomeText(const std::vector<Outcome> &outcomes);
/// A test case for each condition. Names that are shortened are whole once, at the end.
std::string junitText(const std::vector<Outcome> &outcomes);
/// A result for each violation. Whole names are once in the list of logical locations.
std::string sarifText(const std::vector<Outcome> &outcomes, const std::string &version);

} // namespace fade::compare
