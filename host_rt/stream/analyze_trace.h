// A whole analysis of a recorded trace, from settings to report.
#pragma once

#include "base/settings.h"

#include <string>

namespace fade {

/// 0; 1 if the trace is not whole, 2 if it could not be read or a handler could not be used.
int analyzeTrace(const std::string &path, const Settings &settings);

} // namespace fade
