// Files that fadeprobe itself writes.
#pragma once

#include <string>

namespace fade::cli {

/// Stdout, wherever fadeprobe itself writes text when all else is done.
inline bool isStdout(const std::string &path) { return path == "-"; }

/// False, after a line that says why, if the file cannot be written.
bool writeFile(const std::string &path, const std::string &contents);

} // namespace fade::cli
