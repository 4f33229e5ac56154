// What `fadeprobe check` found, for the page.
#pragma once

#include "report/listing.h"
#include "report/run_log.h"

namespace fade::report {

/// Null if nothing was checked.
Json errorList(const RunLog &log, SourceFiles &sources);

} // namespace fade::report
