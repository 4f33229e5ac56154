// Libraries of ROCm, wherever it is installed.
#pragma once

#include <initializer_list>

namespace fade::probe {

/// The first of the names that the dynamic loader finds; else the first that is in $ROCM_PATH/lib,
/// /opt/rocm/lib or /opt/rocm/core*/lib, which the loader need not know. Throws Skipped.
void *openLibrary(std::initializer_list<const char *> names);

} // namespace fade::probe
