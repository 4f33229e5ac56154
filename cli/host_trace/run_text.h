// A run of many processes in words and tables: which rank is slowest and why, and how evenly work
// is spread.
#pragma once

#include "host_trace/run.h"

#include <cstddef>
#include <string>

namespace fade::host_trace {

/// `rows`: of each table.
std::string describeRun(const Run &run, std::size_t rows);

/// What changed from one run to another: ranks, kernels, copies and calls, the largest changes of
/// total time first. What changed by less than `least` (0.05: 5%) is left out.
std::string compareRuns(const Run &before, const Run &after, double least, std::size_t rows);

} // namespace fade::host_trace
