// The checks: named cases, each a dispatch or several at once, run by either backend.
#pragma once

#include "backend.h"
#include "report.h"

#include <string>
#include <vector>

namespace fade::silicon {

// Names of the groups of cases.
std::vector<std::string> checkGroups();

// Runs the cases of a group, or all if it is empty. Returns how many failed.
unsigned runChecks(Backend &backend, Report &report, const std::string &group, bool quick);

// Damages streams and has the checker look at them: whatever it does not notice is a failure.
unsigned runSelfTest(Backend &backend, Report &report, bool quick);

} // namespace fade::silicon
