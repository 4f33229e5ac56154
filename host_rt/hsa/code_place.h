// Where in the application's kernels an address of code is.
#pragma once

#include "hsa/death.h"

#include <optional>

namespace fade {

/// The function and, with debug information, the line; what is not known is empty.
DeathPlace placeOfCode(uint64_t pc);

/// Where the program counter was when the GPU stopped last. Only the software GPU says it.
std::optional<DeathPlace> lastPlace();

} // namespace fade
