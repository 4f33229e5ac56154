// Parts of the page of a difference, for one kernel that both runs have: what its time consists of,
// both rooflines, and its source with what changed at its lines.
#pragma once

#include "comparison/run_cost.h"

#include <string>

namespace fade::compare {

/// All of these are empty where what they need is not known.
std::string unitTable(const Pair &kernel, const ModeledRuns &runs);
std::string rooflines(const Pair &kernel, const ModeledRuns &runs);
/// Of the second run, as the file is now. `kernel` is one of the difference's pairs.
std::string sourceOf(const Difference &difference, const Pair &kernel);

} // namespace fade::compare
