// How long the kernels of two runs take by the one model (analysis/time_model.h), and what that
// says about the second run: better, worse or equal, by how much, and because of what.
#pragma once

#include "analysis/measured_kernels.h"
#include "comparison/difference.h"

namespace fade::compare {

/// Kernels as in the log of their run.
using Models = std::vector<profile::ModeledKernel>;

/// Both runs are modeled from what both have recorded: a model that knows more of one of them would
/// compare what is known, not the kernels.
struct ModeledRuns {
  Models before, after;
  bool is_counted = false; ///< instructions of kernels are counted, not estimated from accesses
};
ModeledRuns modelBoth(report::RunLog before, report::RunLog after);

/// Sets Metric::model_time of the kernels.
void addModel(std::vector<Subject> &subjects, const Models &models);

/// What the cost of a kernel or a run is told in.
enum class CostKind : uint8_t { none, measured, modeled, instructions };

/// What a kernel or a run costs in both runs.
struct Cost {
  CostKind kind = CostKind::none;
  double before = 0, after = 0; ///< ns, or instructions
  Verdict verdict = Verdict::unclear;

  /// "17.2 us instead of 785.5 us by the model".
  std::string text() const;
};

/// Of a kernel that both runs have: the time of a dispatch, by the model without its beginning and
/// end, which kernels of small inputs consist of.
Cost costOf(const Pair &kernel, const ModeledRuns &runs, double least);

/// Of all kernels that `concerns` lets through, in all their dispatches.
struct RunCost {
  Cost cost;
  std::size_t left_out = 0; ///< kernels whose cost is not known
  std::string because;      ///< the kernel with the most of the difference, and what changed there
};
RunCost runCostOf(const Difference &difference, const ModeledRuns &runs, double least,
                  const std::function<bool(const Subject &)> &concerns = {});

/// What changed most of what a kernel's time depends on: "LDS 79.7 us -> 4.1 us, bank conflicts
/// 126976 -> 0"; empty if nothing did.
std::string reasonOf(const Pair &kernel, const ModeledRuns &runs);

/// "better: ...", one line without its end.
std::string verdictLine(const RunCost &run, const ModeledRuns &runs);

} // namespace fade::compare
