// --fail-if, --junit, --sarif and --findings: what scripts want of a run, to keep a kernel good.
#pragma once

#include "comparison/condition.h"

namespace CLI {
class App;
}

namespace fade::cli {

struct GuardOptions {
  std::vector<std::string> conditions;
  std::string junit, sarif, findings;
};

/// The exit code of a run that meets a condition of --fail-if.
inline constexpr int kConditionFailed = 3;

void addGuardOptions(CLI::App &app, GuardOptions &options);
/// --fail-if, --junit and --sarif, for the folder of a run only.
void addRunGuardOptions(CLI::App &app, GuardOptions &options);

/// The conditions, and what they compare with. A mistake is named on stderr.
class Guard {
public:
  static std::optional<Guard> of(const GuardOptions &options);

  bool hasConditions() const { return !conditions_.empty(); }
  bool isWanted() const { return hasConditions() || !options_.findings.empty(); }
  /// Whether findings or times of the model are asked for, which need the code of the kernels.
  bool wantsFindings() const;
  /// Says what holds and what does not, and writes the files. 0, 1 if a file cannot be written, or
  /// kConditionFailed.
  int judge(const report::RunLog &run, const report::Findings &findings) const;

private:
  GuardOptions options_;
  std::vector<compare::Condition> conditions_;
  std::vector<report::RunLog> baselines_; ///< of each condition; empty: it has none
};

} // namespace fade::cli
