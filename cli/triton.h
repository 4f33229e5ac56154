// fadeprobe triton -- python3 app.py: what Triton compiles is instrumented as it appears in its
// cache, and runs in place of its own.
#pragma once

#include "report/command.h"

#include <string>
#include <vector>

namespace fade::cli {

struct TritonOptions {
  RunOptions run;
  ReportOptions outcome;
  std::string cache;      ///< Triton's; empty: where it is by default
  std::string output;     ///< for instrumented code; empty: in the user's cache
  std::string instrument; ///< options of the pass
  std::string llvm;       ///< version; empty: the newest that is there
};

CLI::App *addTritonCommand(CLI::App &app, TritonOptions &options);

/// Does not return when the application was started; else the exit code of fadeprobe.
int runTriton(TritonOptions options, const std::vector<std::string> &application);

} // namespace fade::cli
