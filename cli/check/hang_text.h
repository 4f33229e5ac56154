// A hang as text: where waves are, what they wait for, and who could end it.
#pragma once

#include "check/finding_reader.h"

#include <string>

namespace fade::cli {

/// One kind of wait at one place: "63 waves poll byte 0 of allocation 3, which is 1".
std::string waitText(const FoundFinding &wait, const std::string &memory);
/// Who could end it, and where that one is: "written by ..., which waits at lock.hip:20"; may be
/// empty.
std::string wakerText(const FoundFinding &wait);
std::string hangAdvice(const FoundFinding &hang);

} // namespace fade::cli
