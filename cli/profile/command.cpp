#include "profile/command.h"

#include "base/child.h"
#include "base/progress_line.h"
#include "base/run_folder.h"
#include "base/write_file.h"
#include "host_trace/event_slices.h"
#include "host_trace/event_stream.h"
#include "host_trace/perfetto_timeline.h"
#include "host_trace/run.h"
#include "host_trace/run_text.h"
#include "host_trace/writer.h"
#include "kernels/block_counted_run.h"
#include "launch/gpu_choice.h"
#include "launch/preflight.h"
#include "launch/recorded_run.h"
#include "launch/run_launch.h"
#include "pages/finding_lines.h"
#include "pages/host_side.h"
#include "pages/page.h"
#include "pages/run_page.h"
#include "profiles/dag_parts.h"
#include "profiles/launch_chains.h"
#include "profiles/modeled_times.h"
#include "profiles/peaks_file.h"
#include "profiles/profile.h"
#include "profiles/thread_trace.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

/// What is left to be said of kernels beyond the graph; nothing if they were not counted.
struct Counted {
  std::string file; ///< JSON lines
  bool by_blocks = false;
  std::vector<std::string> application;
  std::optional<report::RunLog> log;
  std::optional<profile::Profile> profile;
};

/// What decides how long the whole takes, for the page.
report::Json pageOf(const profile::ProgramDag &program, const profile::DagSummary &summary) {
  constexpr std::size_t most_work = 200, most_steps = 5000;
  report::Json parts = report::Json::object();
  for (std::size_t i = 0; i < summary.critical_ns.size(); ++i)
    parts[std::string(nameOf(static_cast<profile::NodeKind>(i)))] = summary.critical_ns[i];
  parts["delay"] = summary.critical_delay_ns;
  report::Json work = report::Json::array(), steps = report::Json::array();
  for (std::size_t i = 0; i < std::min(summary.work.size(), most_work); ++i) {
    const profile::WorkSummary &one = summary.work[i];
    work.push_back({{"kind", nameOf(one.kind)},
                    {"name", program.names[one.name]},
                    {"count", one.count},
                    {"total_ns", one.total_ns},
                    {"critical_ns", one.critical_ns},
                    {"gain_ns", one.gain_ns ? report::Json(*one.gain_ns) : report::Json()}});
  }
  for (std::size_t i = 0; i < std::min(summary.path.nodes.size(), most_steps); ++i) {
    const profile::ProgramNode &node = program.nodes[summary.path.nodes[i]];
    steps.push_back({node.start_ns - std::min(node.start_ns, program.begin_ns),
                     node.end_ns - std::min(node.end_ns, program.begin_ns),
                     node.isOnGpu() ? 1 : 0});
  }
  return {{"begin_ns", std::to_string(program.begin_ns)},
          {"times", program.times},
          {"modeled", program.is_modeled},
          {"work", work},
          {"path", steps},
          {"span_ns", summary.path.span_ns},
          {"critical_ns", parts},
          {"steps", summary.numbers.critical_nodes -
                        std::min(summary.numbers.critical_nodes, summary.parts)},
          {"guesses", summary.critical_guesses},
          {"overlap_possible_ns", summary.overlap_ns}};
}

/// What the events were made into: times of kernels may be a model's, and all others with them.
struct Timed {
  host_trace::HostEvents events;
  profile::ProgramDag program;
};

/// As the user wants them; those of the software GPU say nothing about a card, so without a card
/// the model's are taken if there are any. `finder`: null if nothing was counted. `begin_ns`: when
/// dispatches of this part begin by the model; 0: as the events say.
Timed timesFor(const ProfileOptions &options, const host_trace::HostEvents &events,
               Counted &counted, report::DispatchFinder *finder, uint64_t begin_ns) {
  profile::ProgramDag measured = profile::programDagOf(events);
  const bool wants_model = counted.profile && (options.times.empty() ? counted.profile->in_software
                                                                     : options.times == "model");
  if (!wants_model) return {events, std::move(measured)};
  const auto found = finder->find(events);
  std::vector<std::optional<uint64_t>> instructions(events.operations.size());
  for (std::size_t i = 0; i < std::min(found.size(), instructions.size()); ++i)
    if (found[i] && counted.log->dispatches[*found[i]].countsKernel())
      instructions[i] = counted.log->dispatches[*found[i]].wave_instructions.optional();
  auto modeled = profile::withModeledTimes(measured, events, *counted.profile, instructions);
  auto shifted = profile::withTimesOf(modeled, measured, events);
  const uint64_t later = begin_ns == 0 ? 0 : begin_ns - modeled.begin_ns;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i]) {
      counted.log->dispatches[*found[i]].start_ns = shifted.operations[i].start_ns + later;
      counted.log->dispatches[*found[i]].end_ns = shifted.operations[i].end_ns + later;
    }
  return {std::move(shifted), std::move(modeled)};
}

/// The page of all that was counted and recorded.
bool writePage(Counted &counted, const host_trace::TraceLog &host, const profile::ProgramDag &graph,
               const profile::DagSummary &summary, const std::string &path) {
  report::PageOptions page;
  for (const std::string &word : counted.application)
    page.title += (page.title.empty() ? "" : " ") + word;
  if (!counted.application.empty())
    if (const std::string program = programOf(counted.application[0]); !program.empty())
      page.code.push_back(program);
  page.host = &host;
  page.assess = [&](const report::RunLog &) {
    report::Assessment all{profile::pageOf(*counted.profile), counted.profile->findings};
    if (all.profile.is_object()) all.profile["critical_path"] = pageOf(graph, summary);
    return all;
  };
  return writeFile(path, report::htmlPage(report::pageData(*counted.log, page)));
}

/// False, after a line that says why, if something could not be written. What is shorter than a
/// part is one.
bool writeProfile(const host_trace::EventSource &events, const ProfileOptions &options,
                  Counted counted, bool is_shown = true) {
  std::optional<report::DispatchFinder> finder;
  if (counted.log) finder.emplace(*counted.log);
  profile::DagParts parts;
  host_trace::TraceLog host; // of the first part
  Status timeline = Done{};
  const Status read = events.forEach([&](const host_trace::HostEvents &part, uint64_t) {
    auto [timed, program] =
        timesFor(options, part, counted, finder ? &*finder : nullptr, parts.end());
    if (parts.count() == 0 && counted.profile) host = host_trace::TraceLog::of(timed);
    if (!options.timeline.empty()) timeline = host_trace::writeTimeline(timed, options.timeline);
    parts.add(std::move(program));
  });
  if (!read) {
    complain(read.error().message());
    return false;
  }
  finder.reset();
  const profile::ProgramDag &program = parts.program();
  const profile::DagSummary summary = parts.takeSummary();
  if (is_shown) std::fputs(profile::textOf(program, summary, options.rows).c_str(), stdout);
  Status written = profile::writeDag(program, summary, options.directory + "/dag.json");
  if (counted.profile) {
    profile::addCriticality(program, summary, *counted.profile);
    profile::addLaunchOverhead(parts.followers(), *counted.profile);
    if (is_shown)
      std::fputs(fmt::format("\n{}", profile::textOf(*counted.profile, options.rows)).c_str(),
                 stdout);
    if (is_shown && counted.log->is_sampled)
      for (const std::string &note : counted.log->notes)
        if (note.starts_with("Sampled: ")) std::fputs(fmt::format("{}\n", note).c_str(), stdout);
    if (written) written = profile::writeFiles(*counted.profile, options.directory);
    if (written && parts.count() > 1)
      counted.log->notes.push_back(
          fmt::format("A long run, in {} parts: the HIP calls shown are those of the first part",
                      parts.count()));
    if (written && !writePage(counted, host, program, summary, options.directory + "/report.html"))
      return false;
  }
  if (written) written = std::move(timeline);
  std::fflush(stdout);
  if (!written) complain(written.error().message());
  return written.ok();
}

/// Nothing is made of the events themselves.
class NoSink final : public host_trace::EventSink {
  void onCall(const host_trace::Call &) override {}
  void onReturn(const host_trace::Call &) override {}
  void onOperation(const host_trace::Operation &) override {}
  void onEnd(const host_trace::Operation &) override {}
  void onMarker(const host_trace::Marker &) override {}
  void onUsage(const host_trace::Usage &) override {}
  void onSwitch(const host_trace::Switch &) override {}
  Status onProgress(uint64_t, uint64_t) override { return Done{}; }
};

/// What was recorded: as a whole, or, if it is much, to be read in parts.
class RecordedEvents {
public:
  /// `is_whole`: whatever size it has.
  static Result<RecordedEvents> open(const std::string &path, bool is_whole) {
    RecordedEvents events;
    std::error_code error;
    if (!is_whole && fs::file_size(path, error) > kLongRun && !error) {
      auto stream = host_trace::EventStream::open(path);
      if (!stream) return std::move(stream).error();
      (*stream)->keepContext();
      NoSink none;
      if (Status read = (*stream)->read(none, true); !read) return std::move(read).error();
      events.stream_ = *std::move(stream);
      events.path_ = path;
      return events;
    }
    auto whole = host_trace::HostEvents::read(path);
    if (!whole) return std::move(whole).error();
    events.whole_ = *std::move(whole);
    return events;
  }

  /// Processes, their libraries and kernels; the events only if they are there as a whole.
  const host_trace::HostEvents &facts() const { return whole_ ? *whole_ : stream_->facts(); }
  host_trace::EventSource source() const {
    if (whole_) return host_trace::EventSource(*whole_);
    return {path_, 0, kPartEvents};
  }

private:
  static constexpr uint64_t kLongRun = uint64_t{16} << 20;
  static constexpr std::size_t kPartEvents = 100'000; ///< about 25,000 launches

  std::optional<host_trace::HostEvents> whole_;
  std::unique_ptr<host_trace::EventStream> stream_;
  std::string path_;
};

/// Has the run count what its kernels do: on the software GPU, which watches them as compiled, or
/// by their twins, which count blocks and record accesses.
void addCounting(RunOptions &run, const std::string &log, bool by_blocks) {
  run.instrumented = true;
  run.analyzers = {by_blocks ? "BlockCounts" : "Hotspots", "MemoryAnalysis", "CacheModel"};
  run.values.emplace_back("FADE_OBSERVE", by_blocks ? "pass" : "gpu");
  run.values.emplace_back("FADE_LOG_FORMAT", "json");
  run.values.emplace_back("FADE_LOG_LOCATION", log);
}

/// The files that may have the code of the kernels that ran.
std::vector<std::string> codeFiles(const Counted &counted, const host_trace::HostEvents &events) {
  std::vector<std::string> files;
  if (const std::string program = programOf(counted.application[0]); !program.empty())
    files.push_back(program);
  std::set<std::string> known(files.begin(), files.end());
  const auto add = [&](std::string_view path) {
    std::error_code error;
    const std::string whole = fs::canonical(std::string(path), error);
    if (!error && known.insert(whole).second) files.push_back(whole);
  };
  if (!files.empty()) known.insert(fs::weakly_canonical(files[0]));
  for (const auto &[pid, process] : events.processes) {
    add(process.program);
    for (const host_trace::Library &library : process.libraries) add(library.path);
  }
  return files;
}

/// Reads what was counted. Nothing, after a line that says why, if it cannot be read.
void readCounts(Counted &counted, const host_trace::HostEvents &events, bool measures,
                const std::vector<profile::MeasuredPeaks> &peaks) {
  std::error_code error;
  if (counted.file.empty() || !fs::exists(counted.file, error)) return;
  if (fs::file_size(counted.file, error) == 0 && !error) {
    complain("profile: no counts of kernels: the application ended before they were written "
             "(SIGKILL, _exit)");
    return;
  }
  auto log = report::readRunLog(counted.file);
  if (!log) {
    complain(log.error().message());
    return;
  }
  for (const std::string &problem : log->problems)
    complain(fmt::format("{}: {}; the rest is used", counted.file, problem));
  if (counted.by_blocks) {
    const auto problems = profile::countByBlocks(*log, codeFiles(counted, events));
    constexpr std::size_t most = 5;
    for (std::size_t i = 0; i < std::min(problems.size(), most); ++i)
      complain("not counted: " + problems[i]);
    if (problems.size() > most)
      complain(fmt::format("and {} more kernels were not counted", problems.size() - most));
    if (log->counts.empty() && problems.empty())
      complain("no kernel was counted: none has a twin that counts blocks (fadeprobe cc)");
  }
  counted.profile = profile::profileOf(*log, &events, measures, peaks);
  counted.log = *std::move(log);
}

/// What FADE itself had to say, among what the application wrote.
void repeatComplaints(const std::string &file) {
  std::ifstream in(file);
  std::size_t left = 5;
  for (std::string line; left != 0 && std::getline(in, line);)
    if (line.starts_with("fade: ")) {
      std::fputs((line + "\n").c_str(), stderr);
      --left;
    }
}

/// The same again, with kernels that count: their twins take longer, so times are those of the
/// first run. What it writes has been seen once. The signal that ended it from outside, or 0.
int runAgain(RunOptions run, const std::vector<std::string> &application, const ChildEnd &first,
             const std::string &output, const std::string &log) {
  for (const char *name : {"FADE_TRACE", "FADE_TRACE_FORMAT"}) unsetenv(name);
  addCounting(run, log, true);
  complain(
      "profile: running the application a second time, to count what its kernels do; kernel times "
      "are those of the first run, because counting slows kernels down");
  if (prepareRun(run, application, true)) return 0;
  std::optional<ProgressLine> progress;
  if (ProgressLine::isPossible())
    progress.emplace([](double seconds) {
      return fmt::format("counting in a second run, {:.0f} s (Ctrl-C: use what was counted so far)",
                         seconds);
    });
  const ChildEnd end = runChild(application, 0, output);
  progress.reset();
  repeatComplaints(output);
  std::error_code error;
  if (end.told != 0) {
    complain("profile: interrupted in the second run: using what was counted so far");
    fs::remove(output, error);
  } else if (end.error == 0 && end.exit_code == first.exit_code && end.signal == first.signal) {
    fs::remove(output, error);
  } else {
    complain(fmt::format("profile: the second run exited differently ({}); its output is in {}",
                         end.signal != 0 ? fmt::format("signal {}", end.signal)
                                         : fmt::format("exit code {}", end.exit_code),
                         output));
  }
  return end.told;
}

/// What the user names must be there. What is kept was measured on this machine's card: it says
/// nothing about the software GPU.
Result<std::vector<profile::MeasuredPeaks>> peaksFor(const ProfileOptions &options) {
  if (!options.peaks.empty()) return profile::readPeaks(options.peaks);
  const std::string usual = profile::usualPeaksFile();
  std::error_code error;
  if (usual.empty() || meansSoftwareGpu(options.run.gpu) || !fs::exists(usual, error))
    return std::vector<profile::MeasuredPeaks>();
  auto kept = profile::readPeaks(usual);
  if (kept) return kept;
  complain(kept.error().message() + "; using the rates of FADE's table");
  return std::vector<profile::MeasuredPeaks>();
}

/// What one process of a run has left in its folder. False, after a line that says why, if it
/// cannot be read or written.
bool profileProcess(const std::string &folder, ProfileOptions options, bool is_only,
                    const std::vector<profile::MeasuredPeaks> &peaks) {
  const auto events = RecordedEvents::open(folder + "/events", !options.timeline.empty());
  if (!events) {
    complain(events.error().message());
    return false;
  }
  Counted counted;
  if (options.counts) counted.file = folder + "/report.jsonl";
  for (const auto &[pid, process] : events->facts().processes)
    if (counted.application.empty()) counted.application = {process.program};
  readCounts(counted, events->facts(), false, peaks);
  if (counted.profile)
    (void)writeFile(folder + "/advice.jsonl",
                    report::findingLines(*counted.log, counted.profile->findings));
  if (!is_only) options.directory = folder;
  return writeProfile(events->source(), options, std::move(counted), is_only);
}

/// All processes that have recorded into the folder: where they differ, and what they could gain.
int showRun(const std::string &folder, std::size_t rows) {
  const auto run = host_trace::Run::read(folder, "");
  if (!run) {
    complain(run.error().message());
    return 1;
  }
  std::fputs((host_trace::describeRun(*run, rows) + report::adviceText(*run)).c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

/// profile -o run/: each process has its profile in its folder. One that is alone has it in the
/// folder itself.
int profileRun(ProfileOptions options, const std::vector<std::string> &application,
               const std::vector<profile::MeasuredPeaks> &peaks) {
  const auto launch = RunLaunch::begin(options.directory);
  if (!launch) return 1;
  if (options.counts && !meansSoftwareGpu(options.run.gpu)) {
    complain("profile -o DIR/: kernels are counted on the software GPU only; on a card only times "
             "are measured");
    options.counts = false;
  }
  if (options.counts) {
    sampleUnlessToldOtherwise(options.run);
    addCounting(options.run, launch->path(), false);
  }
  addRecordingInto(options.run, launch->path());
  const auto [failure, end] = runAndWait(options.run, application, &*launch);
  if (failure) return *failure;
  const std::vector<std::string> folders = launch->folders();
  const bool is_only = folders.size() == 1 && !RunLaunch::isBehindLauncher() &&
                       !host_trace::readRunProcess(folders[0])->rank;
  for (const std::string &folder : folders) (void)profileProcess(folder, options, is_only, peaks);
  if (folders.empty() && isRankChosen(options.run.values))
    complain("the application did not use the GPU: there is nothing to profile");
  if (!folders.empty() && !is_only && !RunLaunch::isBehindLauncher())
    (void)showRun(launch->path(), options.rows);
  endLike(end);
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
  page.assess = [&](const report::RunLog &) {
    return report::Assessment{profile::pageOf(all), {}};
  };
  return writeFile(options.directory + "/report.html",
                   report::htmlPage(report::pageData(log, page)))
             ? 0
             : 1;
}

} // namespace

CLI::App *addProfileCommand(CLI::App &app, ProfileOptions &options) {
  CLI::App *command = app.add_subcommand("profile", "find what limits the speed of an application");
  command
      ->add_option("-o,--output", options.directory,
                   "output folder for profile.json, roofline.json, analysis.json and dag.json "
                   "(default: profile); if the name ends in /, each process has a subfolder in it")
      ->type_name("DIR");
  command->add_option("run", options.run_folder, "folder of a run of many processes to summarize")
      ->type_name("DIR");
  addVariable(*command, options.run, "--ranks", "FADE_RANKS", "N,N-N,...");
  command
      ->add_option("--events", options.events,
                   "profile recorded host events instead of running an application")
      ->type_name("FILE");
  command
      ->add_option(
          "--thread-trace", options.thread_trace,
          "profile a decoded thread trace of rocprofv3 --att instead of running an application")
      ->type_name("DIR|FILE.csv");
  command
      ->add_option("--peaks", options.peaks,
                   "peak rates measured by fadeprobe peaks (default: the last ones it saved)")
      ->type_name("FILE");
  command->add_option("--rows", options.rows, "rows per table (default: 15)")->type_name("N");
  command->add_flag("--counts,!--no-counts", options.counts,
                    "count what kernels execute (default: on); --no-counts writes only dag.json");
  command
      ->add_option(
          "--observe", options.observe,
          "source of the counts: gpu, the software GPU, which observes kernels as compiled; pass, "
          "instrumented kernels (fadeprobe cc), in a second run; auto, gpu on the software GPU, "
          "pass on a card")
      ->type_name("auto|pass|gpu")
      ->check(CLI::IsMember({"auto", "pass", "gpu"}));
  command
      ->add_option("--times", options.times,
                   "kernel times: model, estimated for the card; device, measured on the GPU "
                   "(default: model on the software GPU, device on a card)")
      ->type_name("model|device")
      ->check(CLI::IsMember({"model", "device"}));
  command
      ->add_option("--timeline", options.timeline,
                   "also write a timeline for Perfetto, with the same times")
      ->type_name("FILE");
  addVariable(*command, options.run, "-k,--kernels", "FADE_KERNELS", "REGEX");
  addVariable(*command, options.run, "-d,--dispatches", "FADE_DISPATCHES", "all|random|1|N|A-B");
  addSampleOptions(*command, options.run);
  addTraceVariables(*command, options.run);
  return command;
}

int runProfile(ProfileOptions options, const std::vector<std::string> &application) {
  const int sources = (application.empty() ? 0 : 1) + (options.events.empty() ? 0 : 1) +
                      (options.thread_trace.empty() ? 0 : 1) + (options.run_folder.empty() ? 0 : 1);
  if (sources != 1) {
    complain("profile: expected an application after --, or --events FILE, --thread-trace DIR or "
             "the folder of a run");
    return kUsageError;
  }
  if (!options.run_folder.empty()) return showRun(options.run_folder, options.rows);
  if (options.times == "model" && (!options.counts || application.empty())) {
    complain("--times model needs an application and its counts: remove --no-counts");
    return kUsageError;
  }
  const auto peaks = peaksFor(options);
  if (!peaks) {
    complain(peaks.error().message());
    return kUsageError;
  }
  if (!application.empty() && options.directory.ends_with('/') && options.timeline.empty())
    return profileRun(std::move(options), application, *peaks);
  options.directory = fs::absolute(options.directory);
  if (!options.timeline.empty()) {
    options.timeline = fs::absolute(options.timeline);
    if (!canWrite("--timeline: ", options.timeline)) return 1;
  }
  std::error_code error;
  fs::create_directories(options.directory, error);
  if (error) {
    complain(fmt::format("cannot create {}: {}", options.directory, error.message()));
    return 1;
  }
  if (!options.thread_trace.empty()) return importTrace(options);
  if (!options.events.empty()) {
    const auto events = RecordedEvents::open(options.events, !options.timeline.empty());
    if (!events) {
      complain(events.error().message());
      return 1;
    }
    return writeProfile(events->source(), options, {}) ? 0 : 1;
  }
  const std::string recorded = fmt::format("{}/{}.events", options.directory, getpid());
  Counted counted;
  const bool in_software = meansSoftwareGpu(options.run.gpu);
  if (const char *set = std::getenv("FADE_OBSERVE"); set && options.observe == "auto")
    options.observe = set; // the run itself says what is wrong with it
  counted.by_blocks = options.observe == "pass" || (options.observe == "auto" && !in_software);
  counted.application = application;
  if (options.counts) sampleUnlessToldOtherwise(options.run);
  const RunOptions again = options.run;
  if (options.counts) {
    counted.file = fmt::format("{}/{}.jsonl", options.directory, getpid());
    if (!counted.by_blocks) addCounting(options.run, counted.file, false);
  }
  const auto run = runRecorded(options.run, application, recorded);
  if (!run.was_started) return run.exit_code;
  if (!run.has_events) endLike(run.end);
  // Of kernels with twins all times are needed before the rest.
  const auto events =
      RecordedEvents::open(recorded, !options.timeline.empty() || counted.by_blocks);
  int stopped_by = 0;
  if (!events) {
    complain(events.error().message());
  } else if (hasProcesses(events->facts(), recorded)) {
    sayWhatIsMissing(events->facts(), recorded);
    // Whoever has ended it does not want it once more.
    if (options.counts && counted.by_blocks && run.end.signal == 0 && run.end.told == 0)
      stopped_by = runAgain(again, application, run.end,
                            fmt::format("{}/{}.output", options.directory, getpid()), counted.file);
    readCounts(counted, events->facts(), counted.by_blocks && !in_software, *peaks);
    const std::string lines = counted.file;
    if (writeProfile(events->source(), options, std::move(counted))) {
      fs::remove(recorded, error);
      if (!lines.empty()) fs::remove(lines, error);
    } else {
      complain(fmt::format("the recorded events are in {}", recorded));
    }
  }
  endLike(stopped_by != 0 ? ChildEnd{128 + stopped_by, stopped_by, 0, false, 0} : run.end);
}

} // namespace fade::cli
