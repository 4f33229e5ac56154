// The picture of address x time: accesses by row of memory and column of time, from the `heatmap`
// lines of a run.
//
// Time is the time of kernels, one dispatch behind the other in order of their start, without the
// gaps between them. Within a dispatch it goes by the stream of records (`times`, from
// Heatmap:steps=N); without that a dispatch is one step. Columns are as fine as kMostColumns allow.
#pragma once

#include "analysis/run_log.h"

namespace fade::report {

/// Adds to `log.problems` what cannot be read.
Json heatMapOf(RunLog &log);

} // namespace fade::report
