// How many instructions dispatches have executed. Only the software GPU counts them; it does so for
// every dispatch, and where it runs they stand in for times, which would be this machine's.
#pragma once

#include <cstdint>
#include <optional>

namespace fade {

/// Whether the GPUs of this process are software.
bool isSoftwareGpu();

struct Executed {
  uint64_t waves = 0, lanes = 0; ///< instructions, one for each wave; summed over active lanes
};

/// From here on it is known what dispatches execute, if the GPU tells.
void keepExecuted();
/// By the dispatch's completion signal, once.
std::optional<Executed> takeExecuted(uint64_t signal);

} // namespace fade
