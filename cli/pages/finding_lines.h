// Findings as JSON lines (docs/formats.md), for other programs.
#pragma once

#include "analysis/findings.h"

#include <string>

namespace fade::report {

/// A line for each finding, the largest gain first, then one for what each kernel costs.
std::string findingLines(const RunLog &log, const Findings &findings);

/// What the model needs of the kernels' code, for whoever reads the run's lines when the program is
/// another one: counts of instructions that follow from blocks, and registers.
std::string codeLines(const RunLog &log);

} // namespace fade::report
