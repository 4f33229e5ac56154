#include "profile/command.h"

#include "gpu_choice.h"
#include "profile/peaks.h"
#include "profile/profile.h"
#include "profile/thread_trace.h"
#include "report/page.h"
#include "trace/recorded_run.h"
#include "write_file.h"

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
  std::string file; ///< JSON lines
  std::vector<std::string> application;
  std::optional<report::RunLog> log;
  std::optional<profile::Profile> profile;
};

/// The page of all that was counted and recorded.
bool writePage(Counted &counted, const host_trace::HostEvents &events, const std::string &path) {
  const auto host = host_trace::TraceLog::of(events);
  report::PageOptions page;
  for (const std::string &word : counted.application)
    page.title += (page.title.empty() ? "" : " ") + word;
  if (!counted.application.empty())
    if (const std::string program = programOf(counted.application[0]); !program.empty())
      page.code.push_back(program);
  page.host = &host;
  page.profile = profile::pageOf(*counted.profile);
  return writeFile(path, report::htmlPage(report::pageData(*counted.log, page)));
}

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
    if (written && !writePage(counted, events, options.directory + "/report.html")) return false;
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
void readCounts(Counted &counted, const host_trace::HostEvents &events,
                const std::vector<profile::MeasuredPeaks> &peaks) {
  std::error_code error;
  if (counted.file.empty() || !fs::exists(counted.file, error)) return;
  auto log = report::readRunLog(counted.file);
  if (!log) {
    complain(log.error().message());
    return;
  }
  for (const std::string &problem : log->problems)
    complain(fmt::format("{}: {}; the rest is used", counted.file, problem));
  counted.profile = profile::profileOf(*log, &events, peaks);
  counted.log = *std::move(log);
}

/// What the user names must be there. What is kept was measured on this machine's card: it says
/// nothing about the software GPU.
Result<std::vector<profile::MeasuredPeaks>> peaksFor(const ProfileOptions &options) {
  if (!options.peaks.empty()) return profile::readPeaks(options.peaks);
  const std::string usual = profile::usualPeaksFile();
  std::error_code error;
  if (usual.empty() || meansSoftwareGpu(options.run.gpu) || !fs::exists(usual, error))
    return std::vector<profile::MeasuredPeaks>();
  return profile::readPeaks(usual);
}

/// A thread trace in the same files and on the same page.
int importTrace(const ProfileOptions &options) {
  auto trace = profile::readThreadTrace(options.thread_trace);
  if (!trace) {
    complain(trace.error().message());
    return 1;
  }
  for (const std::string &problem : trace->problems) complain(problem);
  profile::Profile all;
  all.command = options.thread_trace;
  all.gpus[""] = profile::GpuModel::of("");
  all.kernels = std::move(trace->kernels);
  std::fputs(profile::tracedText(all, options.rows).c_str(), stdout);
  std::fflush(stdout);
  if (const Status written = profile::writeFiles(all, options.directory); !written) {
    complain(written.error().message());
    return 1;
  }
  report::RunLog log;
  log.has_summary = true;
  report::PageOptions page;
  page.title = options.thread_trace;
  page.profile = profile::pageOf(all);
  return writeFile(options.directory + "/report.html",
                   report::htmlPage(report::pageData(log, page)))
             ? 0
             : 1;
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
  command
      ->add_option("--thread-trace", options.thread_trace,
                   "a decoded thread trace of rocprofv3 --att, instead of an application")
      ->type_name("DIR");
  command
      ->add_option("--peaks", options.peaks,
                   "rates that fadeprobe peaks has measured (default: those it has kept)")
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
  const int sources = (application.empty() ? 0 : 1) + (options.events.empty() ? 0 : 1) +
                      (options.thread_trace.empty() ? 0 : 1);
  if (sources != 1) {
    complain("profile: give -- and an application, or --events FILE, or --thread-trace DIR");
    return kUsageError;
  }
  const auto peaks = peaksFor(options);
  if (!peaks) {
    complain(peaks.error().message());
    return kUsageError;
  }
  options.directory = fs::absolute(options.directory);
  std::error_code error;
  fs::create_directories(options.directory, error);
  if (error) {
    complain(fmt::format("cannot make {}: {}", options.directory, error.message()));
    return 1;
  }
  if (!options.thread_trace.empty()) return importTrace(options);
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
    counted.file = fmt::format("{}/{}.jsonl", options.directory, getpid());
    counted.application = application;
    addCounting(options.run, counted.file);
  }
  const auto run = recordRun(options.run, application, recorded);
  if (!run.was_started) return run.exit_code;
  if (run.events) {
    readCounts(counted, *run.events, *peaks);
    const std::string lines = counted.file;
    if (writeProfile(*run.events, options, std::move(counted))) {
      fs::remove(recorded, error);
      if (!lines.empty()) fs::remove(lines, error);
    } else {
      complain(fmt::format("what was recorded is in {}", recorded));
    }
  }
  endLike(run.end);
}

} // namespace fade::cli
