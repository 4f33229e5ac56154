// fadeprobe trace: what the application asks of HIP, and what becomes of it.
#pragma once

#include "run.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fade::cli {

struct TraceOptions {
  RunOptions run;
  std::string output, format, api_log;
};

CLI::App *addTraceCommand(CLI::App &app, TraceOptions &options);
/// Runs the application as a child and writes what was asked for. Ends this process as the
/// application ended, or returns an exit code if it was not started.
int runTrace(TraceOptions options, const std::vector<std::string> &application);

} // namespace fade::cli
