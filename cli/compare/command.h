// fadeprobe diff: two runs side by side.
#pragma once

#include "comparison/guard.h"
#include "launch/run.h"

namespace fade::cli {

struct DiffOptions {
  std::vector<std::string> files; ///< two, or none with two commands
  std::string json, html, kernels, gpu;
  double least = 1; ///< percent
  bool all = false;
  bool exact = false; ///< all workgroups of all dispatches, of two commands
  GuardOptions guard; ///< on the second run
};

CLI::App *addDiffCommand(CLI::App &app, DiffOptions &options);
/// `commands`: what stands behind "--"; a second "--" separates the two. 0; 1 if something cannot
/// be read, run or written; 2 for a mistake in the options; kConditionFailed.
int runDiff(const DiffOptions &options, const std::vector<std::string> &commands);

} // namespace fade::cli
