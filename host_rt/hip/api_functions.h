// The wrappers of all of HIP's functions.
#pragma once

#include "fade/hip_api.h"

#include <span>

namespace fade::hip {

struct ApiFunction {
  const FunctionInfo &info;
  Table table;
  uint16_t index; ///< in the table
  void *wrapper;
  void **next; ///< where the wrapper finds HIP's own function; null: it is not installed
};

/// In the order of kFunctions.
std::span<const ApiFunction> apiFunctions();
/// Once more, for those of hiprtc: HIP 6 has it in its own library and in that of hiprtc.
std::span<const ApiFunction> rtcFunctionsOfHip();

} // namespace fade::hip
