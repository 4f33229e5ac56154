// Files that fadeprobe itself writes.
#pragma once

#include <string>

namespace fade::cli {

/// Stdout, wherever fadeprobe itself writes text when all else is done.
inline bool isStdout(const std::string &path) { return path == "-"; }

/// False, after a line that says why, if the file cannot be written.
bool writeFile(const std::string &path, const std::string &contents);

/// A folder of this process for files that it and the application use for a while, in the temporary
/// one: nobody else can put something there. The same each time; empty, after a line that says why,
/// if there can be none.
const std::string &privateFolder();
/// When this process ends, also if by a signal: unless something is left in it.
void removePrivateFolder();
/// What an earlier run has left by this name. False, after a line that says why, if it is somebody
/// else's, who could read along.
bool removeLeftover(const std::string &path);

} // namespace fade::cli
