// fadeprobe profile: how long an application takes, and why.
#pragma once

#include "launch/run.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fade::cli {

struct ProfileOptions {
  RunOptions run;
  std::string directory = "profile";
  std::string run_folder;   ///< of many processes that were profiled; shown instead of running one
  std::string events;       ///< of an application that has run already
  std::string thread_trace; ///< folder of rocprofv3
  std::string peaks;        ///< file; empty: the usual one, if it is there
  std::size_t rows = 15;
  bool counts = true;           ///< what kernels do is counted, too
  std::string observe = "auto"; ///< who counts: the software GPU, or the kernels' twins
  std::string times;            ///< of kernels: model or device; empty: model without a card
  std::string timeline;         ///< file for Perfetto
};

CLI::App *addProfileCommand(CLI::App &app, ProfileOptions &options);
/// Runs the application as a child, once or, where its kernels' twins count, twice, says what is on
/// the critical path and what keeps its kernels from being faster, and writes dag.json,
/// roofline.json, analysis.json and profile.json. Ends this process as the application ended, or
/// returns an exit code if it was not started.
int runProfile(ProfileOptions options, const std::vector<std::string> &application);

} // namespace fade::cli
