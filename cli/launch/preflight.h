// What can be known to go wrong before the application runs, perhaps for hours. Each check says
// what is wrong in a line on stderr.
#pragma once

#include "launch/run.h"

namespace fade {
struct Settings;
}

namespace fade::cli {

/// Whether a file can be written. Leaves existing files alone, and makes none.
bool canWrite(const std::string &what, const std::string &path);
/// The same of what may go to stdout.
bool canWriteText(const std::string &what, const std::string &path);

/// Whether the files and directories that are read are there.
bool checkFiles(const Settings &settings);

/// Whether the analyzers can be loaded and accept their options: libfade makes them in a process
/// that ends after that, with the variables that the application will have. Nothing is tried if no
/// analyzer is chosen.
bool checkAnalyzers(const std::string &libfade, const Variables &variables);

} // namespace fade::cli
