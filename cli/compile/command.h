// fadeprobe flags, fadeprobe cc: compiling with instrumented twins of the kernels.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fade::cli {

struct CompileOptions {
  std::string compiler = "clang++-19"; ///< of flags: whose flags
  std::string instrument;              ///< of cc: what FADE_INSTRUMENT is set to
  bool for_handler = false;            ///< of flags: those of a handler
};

CLI::App *addFlagsCommand(CLI::App &app, CompileOptions &options);
CLI::App *addCcCommand(CLI::App &app, CompileOptions &options);

/// Prints the flags that make a compiler instrument. The exit code.
int runFlags(const CompileOptions &options);

/// Becomes the compiler, with these flags; returns the exit code if it could not.
int runCc(const CompileOptions &options, const std::vector<std::string> &command);

} // namespace fade::cli
