// What killed the run (docs/formats.md, deaths), for the first page.
#pragma once

#include "analysis/run_log.h"
#include "kernels/listing.h"

namespace fade::report {

/// [{what, where, file, line, lines: […]}]: a sentence, the place in the source if it is known, and
/// what else is known.
Json deathList(const RunLog &log, SourceFiles &sources);

} // namespace fade::report
