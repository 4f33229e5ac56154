// What `fadeprobe check` found, for the page.
#pragma once

#include "analysis/run_log.h"
#include "kernels/listing.h"

namespace fade::report {

/// Null if nothing was checked.
Json errorList(const RunLog &log, SourceFiles &sources);
/// Where the documentation is, beside this program (../share/fade/docs), as an address for links;
/// empty if it is not installed.
std::string docsAddress();

} // namespace fade::report
