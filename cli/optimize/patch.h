// A file as it was and as it is, as a patch.
#pragma once

#include <optional>
#include <string>

namespace fade::cli {

/// A unified diff, for `patch` and `git apply`; empty if they are the same.
std::string patchOf(const std::string &file, const std::string &before, const std::string &after);

/// `other` with what makes `before` into `after`; none if both change the same lines, or lines next
/// to each other.
std::optional<std::string> merged(const std::string &before, const std::string &after,
                                  const std::string &other);

} // namespace fade::cli
