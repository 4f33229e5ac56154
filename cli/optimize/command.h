// fadeprobe optimize: lets a proposer change the source of a kernel, and accepts what is shown to
// be right and better. The source itself is not touched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fade::cli {

struct OptimizeOptions {
  std::string kernel; ///< a regular expression
  std::string source;
  std::string proposer = "rules";
  std::string captures = "captures";
  std::string output = "optimize";
  std::string tolerance;
  uint32_t attempts = 10;
  uint32_t worse = 10; ///< percent of the sum by which a single count may grow
  uint32_t seconds = 120;
  bool apply = false;
  bool launch_bounds = false; ///< no workgroup is larger than those of the captures
  bool unchecked = false;     ///< kernels without captures may change
};

CLI::App *addOptimizeCommand(CLI::App &app, OptimizeOptions &options);
/// 0: something better was found; 1: not; 2: it could not be tried.
int runOptimize(const OptimizeOptions &options, const std::vector<std::string> &build);

} // namespace fade::cli
