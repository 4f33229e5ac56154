// In which order findings are worth their work: what the model says of the kernel with each of them
// gone, one after the other.
#pragma once

#include "analysis/changes.h"
#include "analysis/findings.h"

#include <vector>

namespace fade::report {

/// A finding, and what has to be changed for it to be gone.
struct Candidate {
  Finding finding;
  std::vector<profile::Change> changes;
};

KernelCost costOf(const profile::ModeledKernel &kernel);

/// The findings of a kernel that are worth a word, the one that saves most first, each by what it
/// saves when those before it are gone.
std::vector<Finding> ranked(const profile::ModeledKernel &kernel,
                            std::vector<Candidate *> candidates);

/// Sorts the findings of all kernels by what they save of the run; those of a kernel stay in their
/// order.
void orderByRun(Findings &findings);

} // namespace fade::report
