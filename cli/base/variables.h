// Variables of the environment, for programs that are started.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fade::cli {

/// Names and values.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// What a program that gets these will find: of them, or inherited. Empty if there is none.
std::string valueOf(const Variables &variables, const char *name);

} // namespace fade::cli
