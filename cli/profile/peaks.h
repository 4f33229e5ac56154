// fadeprobe peaks: what this GPU can do at most, measured once and kept for fadeprobe profile.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace fade::cli {

struct PeaksOptions {
  std::string gpu = "auto";
  std::string output; ///< empty: the usual file
};
CLI::App *addPeaksCommand(CLI::App &app, PeaksOptions &options);
/// 0; 1 if it cannot be measured or written; 2 for a mistake in the options.
int runPeaks(const PeaksOptions &options);

} // namespace fade::cli
