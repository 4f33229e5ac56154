// Findings as text for people and as JSON lines for programs.
#pragma once

#include "check/finding_reader.h"

#include <string>

namespace fade::cli {

/// What the second place of a finding is: "other at", "used at".
const char *secondPlaceName(const FoundFinding &finding);
/// Several lines, the first of which is the message.
std::string findingText(const FoundFinding &finding);
/// One line, with its end.
std::string findingJson(const FoundFinding &finding);

} // namespace fade::cli
