// The tables and views of RPD files (rocmProfileData), schema versions 2 and 3.
#pragma once

#include <string>

namespace fade::host_trace {

enum class RpdVersion { v2 = 2, v3 = 3 };

/// Statements that make an empty file into one that RPD's tools read.
std::string rpdSchema(RpdVersion version);

} // namespace fade::host_trace
