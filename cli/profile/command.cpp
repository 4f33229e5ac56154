#include "profile/command.h"

#include "profile/dag_summary.h"
#include "trace/recorded_run.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

/// False, after a line that says why, if something could not be written.
bool writeProfile(const host_trace::HostEvents &events, const ProfileOptions &options) {
  const profile::ProgramDag program = profile::programDagOf(events);
  const profile::DagSummary summary = profile::summarize(program);
  std::fputs(profile::textOf(program, summary, options.rows).c_str(), stdout);
  std::fflush(stdout);
  const Status written = profile::writeDag(program, summary, options.directory + "/dag.json");
  if (!written) complain(written.error().message());
  return written.ok();
}

} // namespace

CLI::App *addProfileCommand(CLI::App &app, ProfileOptions &options) {
  CLI::App *command =
      app.add_subcommand("profile", "find what decides how long an application takes");
  command
      ->add_option("-o,--output", options.directory,
                   "folder for dag.json, the graph of calls, kernels and copies (default: profile)")
      ->type_name("DIR");
  command
      ->add_option("--events", options.events,
                   "host events that were recorded before, instead of an application")
      ->type_name("FILE");
  command->add_option("--rows", options.rows, "lines of the table (default: 15)")->type_name("N");
  addTraceVariables(*command, options.run);
  return command;
}

int runProfile(ProfileOptions options, const std::vector<std::string> &application) {
  if (application.empty() == options.events.empty()) {
    complain("profile: give -- and an application, or --events FILE");
    return kUsageError;
  }
  options.directory = fs::absolute(options.directory);
  std::error_code error;
  fs::create_directories(options.directory, error);
  if (error) {
    complain(fmt::format("cannot make {}: {}", options.directory, error.message()));
    return 1;
  }
  if (!options.events.empty()) {
    const auto events = host_trace::HostEvents::read(options.events);
    if (!events) {
      complain(events.error().message());
      return 1;
    }
    return writeProfile(*events, options) ? 0 : 1;
  }
  const std::string recorded = fmt::format("{}/{}.events", options.directory, getpid());
  const auto run = recordRun(options.run, application, recorded);
  if (!run.was_started) return run.exit_code;
  if (run.events) {
    if (writeProfile(*run.events, options))
      fs::remove(recorded, error);
    else
      complain(fmt::format("what was recorded is in {}", recorded));
  }
  endLike(run.end);
}

} // namespace fade::cli
