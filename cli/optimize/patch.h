// A file as it was and as it is, as a patch.
#pragma once

#include <string>

namespace fade::cli {

/// A unified diff with one hunk, for `patch` and `git apply`; empty if they are the same.
std::string patchOf(const std::string &file, const std::string &before, const std::string &after);

} // namespace fade::cli
