// Findings as text for people and as JSON lines for programs.
#pragma once

#include "check/finding_reader.h"

#include <string>

namespace fade::cli {

/// One line: what is wrong.
std::string messageOf(const FoundFinding &finding);
/// "kernel.hip:12:5", "kernel+0x1c4" or an address.
std::string placeText(const FoundPlace &place, const std::string &kernel);
/// One line: what of this run a card need not compute alike, bit for bit. `inexact`: bits of
/// Inexact.
std::string exactnessText(uint32_t inexact);
/// What the second place of a finding is: "other at", "used at".
const char *secondPlaceName(const FoundFinding &finding);
/// Several lines, the first of which is the message.
std::string findingText(const FoundFinding &finding);
/// One line, with its end.
std::string findingJson(const FoundFinding &finding);

} // namespace fade::cli
