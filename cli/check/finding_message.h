// What is wrong, in one line, and the words of which such lines are made.
#pragma once

#include "check/finding_reader.h"

#include <string>

namespace fade::cli {

/// One line: what is wrong.
std::string messageOf(const FoundFinding &finding);
/// "kernel.hip:12:5", "kernel+0x1c4" or an address.
std::string placeText(const FoundPlace &place, const std::string &kernel);
/// "kernel.hip:12".
std::string shortPlace(const FoundFrame &frame);
/// One line: what of this run a card need not compute alike, bit for bit. `inexact`: bits of
/// Inexact.
std::string exactnessText(uint32_t inexact);

/// "load", "store", "atomic".
const char *kindOf(const checks::Place &place);
/// "byte 4 of allocation 2, 16 bytes, hipMalloc at main.hip:20".
std::string memoryText(const FoundFinding &finding);
/// "v3", "a3", "s3", "vcc_lo".
std::string registerName(const checks::Finding &finding);
/// The wait that would have been enough: s_waitcnt's counter, or an instruction of gfx12.
std::string missingWait(const checks::Finding &finding);
/// Hazards: what would have been enough between the two.
std::string missingStates(const FoundFinding &finding);
/// A call of the host's, not an instruction of a kernel.
bool isOfHost(const FoundFinding &finding);

} // namespace fade::cli
