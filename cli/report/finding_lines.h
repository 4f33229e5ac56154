// Findings as JSON lines (docs/formats.md), for other programs.
#pragma once

#include "analysis/findings.h"

#include <string>

namespace fade::report {

/// A line for each finding, the most rewarding first, then one for what each kernel costs.
std::string findingLines(const RunLog &log, const Findings &findings);

} // namespace fade::report
