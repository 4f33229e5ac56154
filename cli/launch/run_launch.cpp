#include "launch/run_launch.h"

#include "base/run_folder.h"
#include "host_trace/run.h"
#include "launch/run.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace fade::cli {

namespace fs = std::filesystem;

std::optional<RunLaunch> RunLaunch::begin(const std::string &path) {
  RunLaunch launch;
  launch.path_ = fs::absolute(path).string();
  if (!launch.path_.ends_with('/')) launch.path_ += '/';
  std::error_code error;
  fs::create_directories(launch.path_, error);
  if (!error && access(launch.path_.c_str(), W_OK | X_OK) != 0)
    error = {errno, std::generic_category()};
  if (error) {
    complain(fmt::format("{}: {}", launch.path_, error.message()));
    return std::nullopt;
  }
  launch.id_ = fmt::format("{}-{}-{:x}", ownHost(), getpid(), readClocks(-1).realtime_ns);
  return launch;
}

void RunLaunch::announce() const {
  setenv("FADE_LAUNCH", id_.c_str(), 1); // is no setting, but goes into process.json
}

std::vector<std::string> RunLaunch::folders() const {
  return host_trace::launchedFolders(path_, isBehindLauncher() ? ownPartition() : "", id_);
}

bool RunLaunch::isBehindLauncher() { return ownRank().has_value(); }

} // namespace fade::cli
