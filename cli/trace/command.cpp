#include "trace/command.h"

#include "analysis/host_events/event_reader.h"
#include "base/diagnostics.h"
#include "base/run_folder.h"
#include "base/write_file.h"
#include "comparison/run_guard.h"
#include "fade/options.h"
#include "host_trace/call_log.h"
#include "host_trace/call_paths.h"
#include "host_trace/column_tables.h"
#include "host_trace/control.h"
#include "host_trace/dot_picture.h"
#include "host_trace/graphs.h"
#include "host_trace/live_file.h"
#include "host_trace/live_tables.h"
#include "host_trace/operators.h"
#include "host_trace/perfetto_timeline.h"
#include "host_trace/rocpd_file.h"
#include "host_trace/run.h"
#include "host_trace/run_clocks.h"
#include "host_trace/run_tables.h"
#include "host_trace/run_text.h"
#include "host_trace/summary.h"
#include "host_trace/trace_formats.h"
#include "host_trace/writer.h"
#include "launch/preflight.h"
#include "launch/recorded_run.h"
#include "launch/run_launch.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <string_view>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

/// What is wrong with --format and --append, in one line; empty: nothing.
std::string mistakeIn(const std::string &output, const std::string &format, bool append) {
  if (output == "-") return "-o: a trace cannot be written to stdout (-); name a file";
  if (!format.empty() && output.empty()) return "--format needs -o FILE";
  if (append && output.empty()) return "--append needs -o FILE";
  if (append && format.empty() && host_trace::formFor(format, output) != "rpd")
    return "--append needs an RPD file";
  if (format.empty()) return "";
  if (!host_trace::isForm(format))
    return fmt::format(
        "--format: '{}' is none of rpd, rpd2, rocpd, json, perfetto, pftrace and parquet{}", format,
        suggestion(format, host_trace::formNames()));
  if (append && !format.starts_with("rpd")) return "--append needs an RPD file";
  return "";
}

Status writeForm(const host_trace::HostEvents &events, const std::string &path,
                 const std::string &format, bool append) {
  return host_trace::FormWriter(path, format, append).write(events);
}

/// Writes what was asked for. False, after a line that says why, if something could not be written.
bool writeViews(const host_trace::HostEvents &events, const TraceOptions &options,
                const std::string &recorded) {
  bool all = true;
  const auto check = [&](const Status &status) {
    if (status) return;
    complain(status.error().message());
    all = false;
  };
  if (!options.api_log.empty())
    check(writeLog(host_trace::EventSource(events), options.api_log, host_trace::LogScope::calls));
  if (host_trace::isFolderForm(options.format))
    check(host_trace::writeColumnTables(recorded, options.output, ownPartition()));
  else if (!options.output.empty())
    check(writeForm(events, options.output, options.format, options.append));
  return all;
}

void addFormOptions(CLI::App &command, std::string &format, bool &append) {
  command
      .add_option(
          "--format", format,
          "rpd: database for RPD's tools (default); rpd2: the same for older versions of RPD; "
          "rocpd: database like rocprofv3's; json: JSON lines; perfetto: timeline for "
          "Perfetto and chrome://tracing; pftrace: timeline in Perfetto's own format "
          "(default for names in .pftrace and .perfetto-trace); parquet: folder of tables "
          "for DuckDB, Spark and others")
      ->type_name("rpd|rpd2|rocpd|json|perfetto|pftrace|parquet");
  command.add_flag("--append", append, "add a session to the RPD file instead of replacing it");
}

} // namespace

CLI::App *addTraceCommand(CLI::App &app, TraceOptions &options) {
  CLI::App *command =
      app.add_subcommand("trace", "record an application's HIP calls, its kernels and copies");
  command
      ->add_option("-o,--output", options.output,
                   "file to write, or folder for --format parquet; if the name ends in /, each "
                   "process has a subfolder in it")
      ->type_name("FILE");
  addFormOptions(*command, options.format, options.append);
  command
      ->add_option("--api-log", options.api_log, "write the HIP calls as JSON lines, one per call")
      ->type_name("FILE");
  addVariable(*command, options.run, "--ranks", "FADE_RANKS", "N,N-N,...");
  command->add_flag_callback(
      "--no-messages", [&options] { options.run.messages = false; },
      "with the folder of a run: do not record calls of MPI and RCCL");
  addTraceVariables(*command, options.run);
  return command;
}

namespace {

bool isNoFile(const std::string &path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_regular_file(path, error);
}

/// The output is there: the events are not needed any more, unless the application has left
/// something running, which goes on with them.
void removeUnlessRecorded(const std::vector<uint32_t> &still, const TraceOptions &options,
                          const std::string &recorded) {
  if (!still.empty())
    return complain(fmt::format("process {} is still running and being recorded; when it has "
                                "ended, run: fadeprobe log {} -o {}{}",
                                still[0], recorded,
                                options.output.empty() ? "FILE" : options.output,
                                options.append ? " --append" : ""));
  std::error_code ignored;
  fs::remove(recorded, ignored);
}

/// What the application has left running goes on with the events, which then stay.
void writeAndRemove(const host_trace::HostEvents &events, const TraceOptions &options,
                    const std::string &recorded) {
  const auto still = host_trace::recordersOf(recorded);
  // A session is not added twice.
  if ((still.empty() || !options.append) && !writeViews(events, options, recorded))
    return complain(fmt::format("the recorded events are in {}", recorded));
  removeUnlessRecorded(still, options, recorded);
}

/// Whether the file is begun while the application runs, if much is recorded. One that others add
/// to would be locked all the time; two are made when it has ended.
bool isMadeLive(const TraceOptions &options) {
  const std::string &path = options.output.empty() ? options.api_log : options.output;
  return (options.output.empty() || options.api_log.empty()) && !options.append && !isNoFile(path);
}

/// What is left to do does not depend on how long the application has run.
int traceFile(TraceOptions &options, const std::vector<std::string> &application,
              const std::string &recorded) {
  const bool is_api_log = options.output.empty();
  host_trace::LiveFile file(recorded, is_api_log ? options.api_log : options.output,
                            is_api_log ? std::string(host_trace::kCallsForm) : options.format);
  RecordedRun run = runRecorded(options.run, application, recorded);
  if (!run.was_started) return run.exit_code;
  if (const auto made = file.finish(); !made) {
    readRecorded(run, recorded);
    if (run.events) writeAndRemove(*run.events, options, recorded);
  } else if (!*made) {
    complain(made->error().message());
    complain(fmt::format("the recorded events are in {}", recorded));
  } else {
    sayWhatIsMissing(**made, recorded);
    removeUnlessRecorded(host_trace::recordersOf(recorded), options, recorded);
  }
  endLike(run.end);
}

/// Tables are made while the application runs, so that nothing depends on how long it does.
int traceTables(TraceOptions &options, const std::vector<std::string> &application,
                const std::string &recorded) {
  host_trace::LiveTables tables(recorded, options.output, ownPartition());
  const RecordedRun run = runRecorded(options.run, application, recorded);
  if (!run.was_started) return run.exit_code;
  if (!run.has_events) endLike(run.end);
  const auto events = tables.finish();
  std::error_code ignored;
  if (!events) {
    complain(events.error().message());
    complain(fmt::format("the recorded events are in {}", recorded));
  } else if (!*events) {
    complain(kNotUsed);
    fs::remove(recorded, ignored);
  } else if (hasProcesses(**events, recorded)) {
    sayWhatIsMissing(**events, recorded);
    if (const auto still = host_trace::recordersOf(recorded); still.empty())
      fs::remove(recorded, ignored);
    else
      complain(fmt::format("process {} is still running and being recorded; when it has ended, "
                           "run: fadeprobe log {} --format parquet -o {}",
                           still[0], recorded, options.output));
  }
  endLike(run.end);
}

/// What is wrong with the file that an RPD database shall be or be added to, in one line; empty:
/// nothing.
std::string mistakeInDatabase(const TraceOptions &options) {
  if (options.output.empty() ||
      !host_trace::formFor(options.format, options.output).starts_with("rpd"))
    return "";
  if (isNoFile(options.output))
    return fmt::format("{} is not a file: a database needs one (--format json and perfetto do not)",
                       options.output);
  std::array<char, 16> first{};
  std::ifstream file(options.output, std::ios::binary);
  if (!options.append || !file.read(first.data(), 1)) return ""; // none, or an empty one
  file.read(first.data() + 1, first.size() - 1);
  if (std::string_view(first.data(), 15) == "SQLite format 3") return "";
  return fmt::format("--append: {} is not an RPD file", options.output);
}

/// Whether a file or, for some formats, a folder can be made there. False, after a line that says
/// why, if not.
bool canMake(const std::string &path, const TraceOptions &options) {
  if (&path != &options.output || !host_trace::isFolderForm(options.format))
    return canWrite("", path);
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && access(path.c_str(), W_OK) != 0) error = {errno, std::generic_category()};
  if (!error) return true;
  complain(
      fmt::format("{}: {}; --format parquet needs a folder to write to", path, error.message()));
  return false;
}

/// Where events are kept until the output is made: beside it, unless it is a pipe or a device.
std::string placeOfEvents(const TraceOptions &options) {
  if (host_trace::isFolderForm(options.format))
    return fmt::format("{}/{}.{}.events", options.output, expandPath("%h"), getpid());
  for (const std::string &path : {options.output, options.api_log})
    if (!path.empty() && !isNoFile(path)) return fmt::format("{}.{}.events", path, getpid());
  const std::string folder = privateFolder();
  return folder.empty() ? "" : folder + "/trace.events";
}

/// Whether each process of the application is to have a folder of its own.
bool isForRun(const TraceOptions &options) {
  return options.format.empty() && !options.output.empty() && isRunFolder(options.output);
}

/// Every process that uses the GPU records into its own folder and has a trace writer of its own:
/// nothing is left to do when the application has ended.
int traceRun(TraceOptions &options, const std::vector<std::string> &application) {
  if (!options.api_log.empty() || options.append) {
    complain(fmt::format("{} cannot be combined with a run folder (-o {})",
                         options.append ? "--append" : "--api-log", options.output));
    return kUsageError;
  }
  std::optional<RunLaunch> launch;
  if (!options.run.env_dump && !(launch = RunLaunch::begin(options.output))) return 1;
  addRecordingInto(options.run, fs::absolute(options.output));
  const auto [failure, end] = runAndWait(options.run, application, launch ? &*launch : nullptr);
  if (failure) return *failure;
  const std::string ranks = cli::valueOf(options.run.values, "FADE_RANKS");
  if (isRankChosen(options.run.values) && launch->folders().empty())
    complain(ranks.empty() ? std::string(kNotUsed)
                           : fmt::format("nothing was recorded: no process with a rank in --ranks "
                                         "{} used the GPU",
                                         ranks));
  endLike(end);
}

} // namespace

int runTrace(TraceOptions options, const std::vector<std::string> &application) {
  std::string mistake = mistakeIn(options.output, options.format, options.append);
  if (options.output.empty() && options.api_log.empty())
    mistake = "trace: expected -o FILE or --api-log FILE";
  if (!mistake.empty()) {
    complain(mistake);
    return kUsageError;
  }
  if (isForRun(options)) return traceRun(options, application);
  for (std::string *path : {&options.output, &options.api_log})
    if (!path->empty()) *path = fs::absolute(*path);
  for (const std::string *path : {&options.output, &options.api_log})
    if (!options.run.env_dump && !path->empty() && !canMake(*path, options)) return 1;
  if (mistake = mistakeInDatabase(options); !mistake.empty()) {
    complain(mistake);
    return 1;
  }
  const std::string recorded = placeOfEvents(options);
  if (recorded.empty() || !removeLeftover(recorded)) return 1;
  if (!options.run.env_dump && !canWrite("", recorded)) return 1;
  if (host_trace::isFolderForm(options.format) && options.api_log.empty())
    return traceTables(options, application, recorded);
  if (isMadeLive(options)) return traceFile(options, application, recorded);
  const RecordedRun run = recordRun(options.run, application, recorded);
  if (!run.was_started) return run.exit_code;
  if (run.events) writeAndRemove(*run.events, options, recorded);
  endLike(run.end);
}

CLI::App *addLogCommand(CLI::App &app, LogOptions &options) {
  CLI::App *command = app.add_subcommand("log", "summarize or convert a trace");
  command
      ->add_option("file", options.file,
                   "an RPD file, JSON lines, host events or the folder of a run")
      ->type_name("FILE|DIR")
      ->required();
  command
      ->add_option("-o,--output", options.output,
                   "convert host events or a run to this file instead")
      ->type_name("FILE");
  command->add_option("--ranks", options.ranks, "with the folder of a run: only these ranks")
      ->type_name("N,N-N,...");
  addFormOptions(*command, options.format, options.append);
  command->add_flag("--graphs", options.graphs,
                    "for each HIP graph: captures, kernels in order, launches with their times");
  command->add_flag("--operators", options.operators,
                    "GPU time by PyTorch operator (markers of autograd)");
  command->add_flag("--callstack", options.call_paths,
                    "time on CPU and GPU by call path: markers, stack frames, calls");
  command
      ->add_option("--dot", options.picture,
                   "a graph for Graphviz: chain (application, HIP, queues, kernels), or data "
                   "(copies between allocations)")
      ->type_name("chain|data");
  command->add_option("--rows", options.rows, "rows per table (default: 15)")->type_name("N");
  addRunGuardOptions(*command, options.guard);
  return command;
}

CLI::App *addControlCommand(CLI::App &app, ControlOptions &options) {
  CLI::App *command =
      app.add_subcommand("control", "start and stop recording in a running process");
  command
      ->add_option("what", options.what,
                   "start, stop, flush or status; stop and flush write the events recorded so far, "
                   "to the file or, under fadeprobe trace -o OUTPUT, to OUTPUT.PID.events")
      ->type_name("start|stop|flush|status");
  command->add_option("pid", options.pid, "a process that was started with fadeprobe trace")
      ->type_name("PID");
  return command;
}

int runControl(const ControlOptions &options) {
  constexpr std::array<std::string_view, 4> words = {"start", "stop", "flush", "status"};
  if (options.what.empty() || options.pid == 0) {
    complain("usage: fadeprobe control start|stop|flush|status PID");
    return kUsageError;
  }
  if (std::ranges::find(words, options.what) == words.end()) {
    complain(fmt::format("control: '{}' is none of start, stop, flush and status{}", options.what,
                         suggestion(options.what, words)));
    return kUsageError;
  }
  auto process = host_trace::RecordingProcess::find(options.pid);
  if (!process) {
    complain(process.error().message());
    return 1;
  }
  if (options.what == "start") process->setOn(true);
  if (options.what == "stop") process->setOn(false);
  const bool brings_up_to_date = options.what == "stop" || options.what == "flush";
  if (process->hasBegun() && brings_up_to_date && !process->flush()) {
    complain(
        fmt::format("process {}: its trace writer has exited; events recorded so far are in {}",
                    options.pid, process->file()));
    return 1;
  }
  if (!process->hasBegun())
    std::fputs(
        fmt::format("process {} has not used the GPU yet; recording will be {} when it does\n",
                    options.pid, process->isOn() ? "on" : "off")
            .c_str(),
        stdout);
  else if (options.what == "status")
    std::fputs(fmt::format("process {}: recording is {}, {:.1f} MB in {}, {} events lost\n",
                           options.pid, process->isOn() ? "on" : "off",
                           static_cast<double>(process->blocks()) * events::kBlockBytes / 1e6,
                           process->file(), process->lost())
                   .c_str(),
               stdout);
  return 0;
}

namespace {

/// What the options ask for; the summary if they ask for nothing.
std::string textOf(const host_trace::TraceLog &log, const LogOptions &options) {
  if (options.picture == "chain") return host_trace::chainPicture(log, options.rows);
  if (options.picture == "data") return host_trace::dataPicture(log, options.rows);
  std::vector<std::string> parts;
  if (options.graphs) parts.push_back(graphText(log, graphsOf(log), options.rows));
  if (options.operators || options.call_paths) {
    const host_trace::Nesting nesting(log);
    if (options.operators)
      parts.push_back(operatorText(log, operatorsOf(log, nesting), options.rows));
    if (options.call_paths)
      parts.push_back(callPathText(log, callPathsOf(log, nesting), options.rows));
  }
  if (parts.empty()) return summarize(log, {options.rows});
  std::string text;
  if (log.in_software) text = fmt::format("{}\n", host_trace::kSoftwareTimes);
  for (const std::string &part : parts) text += (text.empty() ? "" : "\n") + part;
  return text;
}

/// What a run is made into.
Status writeRun(const host_trace::Run &run, const LogOptions &options) {
  using host_trace::TimelineForm;
  const std::string format = host_trace::formFor(options.format, options.output);
  if (format == "perfetto") return writeRunTimeline(run, options.output, TimelineForm::json);
  if (format == "pftrace") return writeRunTimeline(run, options.output, TimelineForm::packets);
  if (format == "json")
    return Error{run.path, "", 0,
                 "JSON lines are of one process: name its file (host=.../rank=.../pid=.../events)"};
  if (host_trace::isFolderForm(format)) return writeRunTables(run, options.output);
  const host_trace::CommonClock clock = commonClock(run);
  std::error_code ignored;
  if (!options.append) fs::remove(options.output, ignored);
  for (std::size_t i = 0; i < run.members.size(); ++i) {
    const host_trace::RunMember &member = run.members[i];
    const host_trace::RunProcess &process = member.summary.process;
    const host_trace::EventSource events(member.events(), clock.offsets_ns[i]);
    if (format == "rocpd") { // all in one
      if (Status status = host_trace::writeRocpd(events, options.output, process.host); !status)
        return status;
      continue;
    }
    // A session for each, in one file.
    if (Status status = host_trace::FormWriter(options.output, format, true).write(events); !status)
      return status;
  }
  return Done{};
}

int logRun(const LogOptions &options) {
  const auto failed = [](const Error &error) {
    complain(error.message());
    return 1;
  };
  if (options.graphs || options.operators || options.call_paths || !options.picture.empty()) {
    complain("--graphs, --operators, --callstack and --dot need one process of a run: name its "
             "file (host=.../rank=.../pid=.../events)");
    return kUsageError;
  }
  if (const auto mistake = mistakeInRanks(options.ranks); !options.ranks.empty() && mistake) {
    complain("--ranks: " + *mistake);
    return kUsageError;
  }
  const auto guard = RunGuard::of(options.guard);
  if (!guard) return kUsageError;
  const auto run = host_trace::Run::read(options.file, options.ranks);
  if (!run) return failed(run.error());
  if (!options.output.empty()) {
    for (const std::string &problem : run->problems) complain("skipped: " + problem);
    const Status status = writeRun(*run, options);
    return status ? guard->judge(*run) : failed(status.error());
  }
  std::fputs(describeRun(*run, options.rows).c_str(), stdout);
  if (std::fflush(stdout) != 0) return 1;
  return guard->judge(*run);
}

} // namespace

int runLog(const LogOptions &options) {
  const auto failed = [](const Error &error) {
    complain(error.message());
    return 1;
  };
  if (const std::string mistake = mistakeIn(options.output, options.format, options.append);
      !mistake.empty()) {
    complain(mistake);
    return kUsageError;
  }
  std::error_code ignored;
  if (fs::is_directory(options.file, ignored)) return logRun(options);
  if (!options.ranks.empty()) {
    complain(fmt::format("--ranks needs the folder of a run, which {} is not", options.file));
    return kUsageError;
  }
  if (!options.guard.conditions.empty() || !options.guard.junit.empty() ||
      !options.guard.sarif.empty()) {
    complain(fmt::format("log --fail-if needs the folder of a run, which {} is not", options.file));
    return kUsageError;
  }
  if (host_trace::isFolderForm(options.format)) {
    const Status status =
        host_trace::writeColumnTables(options.file, options.output, ownPartition());
    return status ? 0 : failed(status.error());
  }
  if (!options.output.empty()) {
    const host_trace::EventSource events(options.file);
    if (events.isWhole()) {
      const auto read = host_trace::HostEvents::read(options.file);
      if (!read) return failed(read.error());
      sayWhatIsMissing(*read, options.file);
      const Status status = writeForm(*read, options.output, options.format, options.append);
      return status ? 0 : failed(status.error());
    }
    const Status status =
        host_trace::FormWriter(options.output, options.format, options.append).write(events);
    return status ? 0 : failed(status.error());
  }
  if (!options.picture.empty() && options.picture != "chain" && options.picture != "data") {
    constexpr std::array<std::string_view, 2> pictures = {"chain", "data"};
    complain(fmt::format("--dot: '{}' is neither chain nor data{}", options.picture,
                         suggestion(options.picture, pictures)));
    return kUsageError;
  }
  const auto log = host_trace::TraceLog::read(options.file);
  if (!log) return failed(log.error());
  std::fputs(textOf(*log, options).c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

} // namespace fade::cli
