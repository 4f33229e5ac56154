#include "profile/command.h"

#include "gpu_choice.h"
#include "profile/profile.h"
#include "trace/recorded_run.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

/// What is left to be said of kernels beyond the graph; nothing if they were not counted.
struct Counted {
  std::string log; ///< JSON lines
  std::optional<profile::Profile> profile;
};

/// False, after a line that says why, if something could not be written.
bool writeProfile(const host_trace::HostEvents &events, const ProfileOptions &options,
                  Counted counted) {
  const profile::ProgramDag program = profile::programDagOf(events);
  const profile::DagSummary summary = profile::summarize(program);
  std::fputs(profile::textOf(program, summary, options.rows).c_str(), stdout);
  Status written = profile::writeDag(program, summary, options.directory + "/dag.json");
  if (counted.profile) {
    profile::addCriticality(program, summary, *counted.profile);
    std::fputs(fmt::format("\n{}", profile::textOf(*counted.profile, options.rows)).c_str(),
               stdout);
    if (written) written = profile::writeFiles(*counted.profile, options.directory);
  }
  std::fflush(stdout);
  if (!written) complain(written.error().message());
  return written.ok();
}

/// Has the run count what its kernels do: on the software GPU, which watches them as compiled.
void addCounting(RunOptions &run, const std::string &log) {
  run.instrumented = true;
  run.analyzers = {"Hotspots", "MemoryAnalysis", "CacheModel"};
  run.values.emplace_back("FADE_OBSERVE", "gpu");
  run.values.emplace_back("FADE_LOG_FORMAT", "json");
  run.values.emplace_back("FADE_LOG_LOCATION", log);
}

/// Reads what was counted. Nothing, after a line that says why, if it cannot be read.
void readCounts(Counted &counted, const host_trace::HostEvents &events) {
  std::error_code error;
  if (counted.log.empty() || !fs::exists(counted.log, error)) return;
  const auto log = report::readRunLog(counted.log);
  if (!log) {
    complain(log.error().message());
    return;
  }
  for (const std::string &problem : log->problems)
    complain(fmt::format("{}: {}; the rest is used", counted.log, problem));
  counted.profile = profile::profileOf(*log, &events, {});
}

} // namespace

CLI::App *addProfileCommand(CLI::App &app, ProfileOptions &options) {
  CLI::App *command =
      app.add_subcommand("profile", "find what decides how long an application takes");
  command
      ->add_option(
          "-o,--output", options.directory,
          "folder for what is written: profile.json, roofline.json, analysis.json, dag.json "
          "(default: profile)")
      ->type_name("DIR");
  command
      ->add_option("--events", options.events,
                   "host events that were recorded before, instead of an application")
      ->type_name("FILE");
  command->add_option("--rows", options.rows, "lines of the tables (default: 15)")->type_name("N");
  command->add_flag("--counts,!--no-counts", options.counts,
                    "count what kernels do (default: on); without it only dag.json is made");
  addVariable(*command, options.run, "-k,--kernels", "FADE_KERNELS", "REGEX");
  addVariable(*command, options.run, "-d,--dispatches", "FADE_DISPATCHES", "all|random|1|N|A-B");
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
    return writeProfile(*events, options, {}) ? 0 : 1;
  }
  const std::string recorded = fmt::format("{}/{}.events", options.directory, getpid());
  Counted counted;
  if (options.counts && meansSoftwareGpu(options.run.gpu)) {
    counted.log = fmt::format("{}/{}.jsonl", options.directory, getpid());
    addCounting(options.run, counted.log);
  }
  const auto run = recordRun(options.run, application, recorded);
  if (!run.was_started) return run.exit_code;
  if (run.events) {
    readCounts(counted, *run.events);
    if (writeProfile(*run.events, options, counted)) {
      fs::remove(recorded, error);
      if (!counted.log.empty()) fs::remove(counted.log, error);
    } else {
      complain(fmt::format("what was recorded is in {}", recorded));
    }
  }
  endLike(run.end);
}

} // namespace fade::cli
