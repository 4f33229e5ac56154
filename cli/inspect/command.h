// fadeprobe inspect: shows what FADE knows about the GPU code in files, directories and processes.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fade::cli {

struct InspectOptions {
  std::vector<std::string> paths;
  int process = 0;     ///< also look into this process; 0 for none
  std::string kernels; ///< extended regular expression; empty for all
  std::string counts;  ///< JSON lines of Hotspots; empty for none
  std::string target;  ///< "gfx90a" or "gfx90a:xnack-"; empty for all
  bool isa = false;
  bool source = false;
  bool json = false;
};

CLI::App *addInspectCommand(CLI::App &app, InspectOptions &options);

/// The exit code: 0 if anything was shown, 1 if not or if something could not be read, 2 for a bad
/// option.
int runInspect(const InspectOptions &options, std::FILE *out, std::FILE *err);

} // namespace fade::cli
