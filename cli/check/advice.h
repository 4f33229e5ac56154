// What to do about a finding, in one line, and the page that explains it.
#pragma once

#include "check/finding_reader.h"

#include <string>

namespace fade::cli {

std::string adviceOf(const FoundFinding &finding);
/// "docs/check.md#race".
std::string pageOf(const FoundFinding &finding);

} // namespace fade::cli
