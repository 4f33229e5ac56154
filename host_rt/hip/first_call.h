// The call of HIP that is running while FADE is loaded.
#pragma once

#include "hip/hip_library.h"

#include <cstdint>
#include <optional>

namespace fade::hip {

/// The number of the function, from the stack of this thread; nothing if it is none of HIP's.
/// `table`: HIP's own functions, or nothing if it has no table.
std::optional<uint16_t> findFirstCall(const LoadedLibrary &library, const FunctionTable &table);

} // namespace fade::hip
