// The GPUs as the HSA runtime and the driver describe them.
#pragma once

#include "hip/properties.h"

#include <vector>

namespace fade {

/// Not inside of OnLoad.
std::vector<hip::DeviceFacts> askDevices();

} // namespace fade
