// The regular expression of --kernels.
#pragma once

#include <regex>
#include <string>

namespace fade {

/// Throws std::regex_error.
std::regex kernelExpression(const std::string &text);

} // namespace fade
