// Two runs side by side: which kernels and accesses are the same ones, and what changed.
#pragma once

#include "comparison/measures.h"

namespace fade::compare {

enum class Verdict : uint8_t { same, better, worse, changed, unclear };
const char *verdictName(Verdict verdict);

/// A number of a kernel or access that both runs have.
struct Change {
  Metric metric = Metric::time;
  double before = 0, after = 0;
  Verdict verdict = Verdict::same;
  std::optional<double> chance; ///< times: how likely such a difference is without a cause

  double ratio() const { return before == 0 ? 0 : after / before - 1; }
};

struct Pair {
  const Subject *before = nullptr, *after = nullptr; ///< one of them may be missing
  std::vector<Change> changes;

  const Subject &any() const { return after ? *after : *before; }
  /// Its name, or both if it was renamed; whole, or as shortName() has it.
  std::string kernel(bool is_whole) const;
  /// What has changed, or `all`; not what follows from another change.
  std::vector<const Change *> worthALine(bool all) const;
};

struct Difference {
  std::vector<Pair> pairs; ///< kernels in the order of the second run, each before its accesses
  std::size_t better = 0, worse = 0, same = 0; ///< places, kernels included

  bool isEmpty() const { return pairs.empty(); }
};

/// `least`: the smallest relative change that counts. The subjects must outlive the result.
Difference differenceOf(const std::vector<Subject> &before, const std::vector<Subject> &after,
                        double least);

/// The chance of a difference as large as this between two samples of the same distribution (the
/// rank-sum test of Mann and Whitney). Nothing: too few values to tell.
std::optional<double> chanceOfDifference(const std::vector<double> &a,
                                         const std::vector<double> &b);

} // namespace fade::compare
