// Files that fadeprobe itself writes.
#pragma once

#include <string>

namespace fade::cli {

/// False, after a line that says why, if the file cannot be written.
bool writeFile(const std::string &path, const std::string &contents);

} // namespace fade::cli
