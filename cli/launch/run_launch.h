// A run of many processes that this program starts (base/run_folder.h): its folder, and whom it has
// started.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fade::cli {

class RunLaunch {
public:
  /// Makes the folder. Nothing, after a line that says why, if it cannot be written to.
  static std::optional<RunLaunch> begin(const std::string &path);

  /// Absolute, and ends with '/'.
  const std::string &path() const { return path_; }
  /// Processes that start from here on say in their process.json who has launched them.
  void announce() const;
  /// Folders of the processes that were started, as far as they are this program's to look at:
  /// behind a launcher the others have programs like this one of their own.
  std::vector<std::string> folders() const;
  /// Whether this program was started by a launcher, once for each rank.
  static bool isBehindLauncher();

private:
  std::string path_, id_;
};

} // namespace fade::cli
