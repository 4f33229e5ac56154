// What `fadeprobe check` found, for the page.
#pragma once

#include "analysis/run_log.h"
#include "kernels/listing.h"

namespace fade::report {

/// Null if nothing was checked.
Json errorList(const RunLog &log, SourceFiles &sources);

} // namespace fade::report
