// fadeprobe trace and fadeprobe log: what the application asks of HIP, and what becomes of it.
#pragma once

#include "comparison/guard.h"
#include "host_trace/run.h"
#include "launch/run.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fade::cli {

struct TraceOptions {
  RunOptions run;
  std::string output, format, api_log;
  bool append = false;
};

struct LogOptions {
  std::string file;           ///< or the folder of a run
  std::string ranks;          ///< of a run; empty: all
  std::string output, format; ///< to make something else of it
  bool append = false;
  bool graphs = false, operators = false, call_paths = false;
  std::string picture; ///< chain or data
  std::size_t rows = 15;
  GuardOptions guard; ///< of a run
};

CLI::App *addTraceCommand(CLI::App &app, TraceOptions &options);
/// Runs the application as a child and writes what was asked for. Ends this process as the
/// application ended, or returns an exit code if it was not started.
int runTrace(TraceOptions options, const std::vector<std::string> &application);

struct ControlOptions {
  std::string what; ///< start, stop, flush or status
  uint32_t pid = 0;
};

CLI::App *addControlCommand(CLI::App &app, ControlOptions &options);
/// 0; 1 if the process cannot be controlled; 2 for a mistake in the options.
int runControl(const ControlOptions &options);

CLI::App *addLogCommand(CLI::App &app, LogOptions &options);
/// 0; 1 if a file cannot be read or written; 2 for a mistake in the options.
int runLog(const LogOptions &options);

} // namespace fade::cli
