// fadeprobe [options] -- application: sets up the environment that libfade reads, and becomes the
// application.
#pragma once

#include "base/messages.h"
#include "base/program_files.h"
#include "base/variables.h"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fade::cli {

struct RunOptions {
  std::optional<bool> instrumented;
  std::vector<std::string> analyzers;
  std::optional<bool> verbose, progress, lossy, stream, log_append, explain;
  std::optional<bool> messages;     ///< of runs of many processes: MPI and RCCL
  Variables values;                 ///< other variables, as given
  std::vector<std::string> preload; ///< libraries of FADE
  std::string gpu = "auto";
  std::string stacks; ///< as given; it is among the variables
  bool env_dump = false;
};

/// Adds the options to the program itself.
void addRunOptions(CLI::App &app, RunOptions &options);
/// Only those that make sense without an application: analyzers and where the report goes.
void addReportOptions(CLI::App &app, RunOptions &options);

/// For fadeprobe trace: what is recorded, and on which GPU.
void addTraceVariables(CLI::App &app, RunOptions &options);
/// For fadeprobe capture: what it says, and on which GPU.
void addCaptureVariables(CLI::App &app, RunOptions &options);
/// For fadeprobe replay: what tools see of it, and on which GPU.
void addReplayVariables(CLI::App &app, RunOptions &options);
/// --sample and --exact.
void addSampleOptions(CLI::App &app, RunOptions &options);
/// Where the user has not said what is recorded: as many workgroups as say what all do.
void sampleUnlessToldOtherwise(RunOptions &options);
/// An option that goes into a variable as it is.
void addVariable(CLI::App &app, RunOptions &options, const char *flags, const char *variable,
                 const char *placeholder);

/// Makes the HSA runtime of the application load a library of FADE.
void addTool(const std::string &library, Variables &pairs);

/// What is to be set. A mistake is named on stderr, and the result is nothing.
std::optional<Variables> environmentOf(const RunOptions &options);

/// Sets this process's environment up for the application. Nothing if all is well; else the exit
/// code of fadeprobe, which has nothing more to do. Who sees the end of the application can say
/// then whether it used the GPU.
std::optional<int> prepareRun(const RunOptions &options,
                              const std::vector<std::string> &application, bool sees_end);

/// Does not return when the application was started; else the exit code of fadeprobe.
int runApplication(const RunOptions &options, const std::vector<std::string> &application);

} // namespace fade::cli
