// fadeprobe peaks: what this GPU can do at most, measured once and kept for fadeprobe profile.
#pragma once

#include "analysis/gpu_model.h"
#include "base/result.h"
#include "run.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fade::profile {

/// Where they are kept unless somebody says otherwise: below XDG_CACHE_HOME or ~/.cache.
std::string usualPeaksFile();
/// JSON lines (docs/formats.md), one for each GPU.
Result<std::vector<MeasuredPeaks>> readPeaks(const std::string &path);
std::string lineOf(const MeasuredPeaks &peaks);
/// From the lines of the program that measures. What is no such line is left out.
std::vector<MeasuredPeaks> parsePeaks(const std::string &output);

} // namespace fade::profile

namespace fade::cli {

struct PeaksOptions {
  std::string gpu = "auto";
  std::string output; ///< empty: the usual file
};
CLI::App *addPeaksCommand(CLI::App &app, PeaksOptions &options);
/// 0; 1 if it cannot be measured or written; 2 for a mistake in the options.
int runPeaks(const PeaksOptions &options);

} // namespace fade::cli
