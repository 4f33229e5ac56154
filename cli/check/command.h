// fadeprobe check -- application: runs it on the software GPU and says what its kernels do wrong.
// fadeprobe check DIR does the same with a capture.
#pragma once

#include "launch/run.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fade::cli {

struct CheckOptions {
  std::string capture;    ///< folder; empty: an application is run
  std::string code;       ///< another version of the captured kernel; empty: none
  double timeout = 0;     ///< of a kernel, in seconds; 0: none
  uint64_t schedules = 0; ///< orders in which a captured dispatch is run besides the usual one
  std::string checks;
  std::string json;         ///< file; empty: none
  std::string output;       ///< folder of a run; empty: none
  std::string report;       ///< HTML file; empty: none
  std::string suppress;     ///< file; empty: none
  std::string baseline;     ///< JSON lines of an earlier run; empty: none
  std::string sarif, junit; ///< files; empty: none
  int error_exitcode = 0;
  bool has_error_exitcode = false;
  std::size_t most = 100;
  RunOptions run; ///< -k, -d, --workgroups, --gpu
};

CLI::App *addCheckCommand(CLI::App &app, CheckOptions &options);
/// Does not return if the application was run: ends as it did, unless there are findings and
/// --error-exitcode was given.
int runCheck(CheckOptions options, std::vector<std::string> application);

} // namespace fade::cli
