// Findings for other programs: SARIF 2.1.0 and JUnit's XML.
#pragma once

#include "check/finding_reader.h"
#include "checks/options.h"

#include <string>
#include <vector>

namespace fade::cli {

/// A result for each finding, with its id as fingerprint; known ones are "unchanged".
std::string findingsSarif(const std::vector<FoundFinding> &findings, const std::string &version,
                          bool has_baseline);
/// A test case for each check that was made; new findings are its failure.
std::string findingsJunit(const std::vector<FoundFinding> &findings, const checks::Options &made);

} // namespace fade::cli
