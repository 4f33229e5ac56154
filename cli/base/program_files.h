// Programs that a user names, and FADE's own files.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fade::cli {

/// The file that a shell would run; empty if there is none.
std::string programOf(const std::string &word);

/// Where FADE's libraries may be, as seen from this program.
std::vector<std::string> ownLibraryFolders();

/// A library of FADE beside this program: path, or nothing.
std::optional<std::string> ownLibrary(const std::string &file);

} // namespace fade::cli
