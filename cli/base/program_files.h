// Programs that a user names, and FADE's own files.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fade::cli {

/// The file that a shell would run; empty if there is none.
std::string programOf(const std::string &word);

/// Whether LD_PRELOAD and HSA_TOOLS_LIB can hold a path: what separates theirs is not in it.
bool fitsInLists(const std::string &path);

/// Where FADE's libraries may be, as seen from this program. If FADE's folder does not fit in
/// lists, they are named by a link to it.
std::vector<std::string> ownLibraryFolders();

/// A library of FADE beside this program: path, or nothing.
std::optional<std::string> ownLibrary(const std::string &file);

} // namespace fade::cli
