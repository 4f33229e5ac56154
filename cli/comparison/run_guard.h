// --fail-if on the folder of a run of many processes: conditions on its ranks and kernels, from
// their summaries.
#pragma once

#include "comparison/condition.h"
#include "comparison/guard.h"
#include "host_trace/run.h"

#include <optional>
#include <string>
#include <vector>

namespace fade::compare {

enum class RunMetric : uint8_t {
  imbalance,        ///< GPU time of ranks: most / median
  kernel_imbalance, ///< the same of each kernel
  busy,             ///< of each rank: the part of its time in which its GPU is busy
  waiting,          ///< of each rank: the part in calls of MPI and RCCL with an idle GPU
  stragglers,       ///< ranks whose GPU is busy longer than the spread explains
  failed_calls,     ///< of each rank: HIP calls that returned an error
  lost,             ///< of each rank: events that there was no room for
  killed,           ///< processes that did not end by themselves
  regress           ///< time and kernels, compared with another run
};

/// METRIC>NUMBER[%][@kernel=REGEX], or regress>NUMBER%:FOLDER[@kernel=REGEX], kernel.regress and
/// run.regress.
struct RunCondition {
  Condition base; ///< text, comparison, limit, kernel, baseline and regress
  RunMetric metric = RunMetric::imbalance;

  static Result<RunCondition> parse(const std::string &text);
};

/// `baseline`: of regress.
Outcome judge(const RunCondition &condition, const host_trace::Run &run,
              const host_trace::Run *baseline);

} // namespace fade::compare

namespace fade::cli {

class RunGuard {
public:
  /// Nothing after a line on stderr that names a mistake.
  static std::optional<RunGuard> of(const GuardOptions &options);

  /// As Guard::judge.
  int judge(const host_trace::Run &run) const;

private:
  GuardOptions options_;
  std::vector<compare::RunCondition> conditions_;
  std::vector<std::optional<host_trace::Run>> baselines_; ///< of each condition
};

} // namespace fade::cli
