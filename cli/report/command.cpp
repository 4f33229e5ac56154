#include "report/command.h"

#include "base/child.h"
#include "base/write_file.h"
#include "comparison/run_source.h"
#include "host_trace/perfetto_timeline.h"
#include "kernels/block_counted_run.h"
#include "kernels/listing.h"
#include "launch/observed_kernels.h"
#include "launch/preflight.h"
#include "launch/recorded_run.h"
#include "pages/finding_lines.h"
#include "pages/host_side.h"
#include "pages/page.h"
#include "pages/terminal_summary.h"
#include "profiles/profile.h"
#include "report/run_report.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

/// A place for the lines of a run that wants none: they are needed all the same, and removed.
constexpr std::string_view kNowhere = "/dev/null";

/// What the timeline says of kernels beyond what the host side knows.
host_trace::OperationFacts factsOf(const report::RunLog &log, const host_trace::TraceLog &host) {
  return [&log, dispatches = report::dispatchesOf(host, log)](JsonWriter &json, std::size_t i) {
    if (!dispatches[i]) return;
    const report::Dispatch &d = log.dispatches[*dispatches[i]];
    json.field("dispatch_id", d.id);
    json.field("variant", log.variants[d.variant]);
    json.field("instrumented", d.instrumented);
    json.field("records", d.records);
    json.field("bytes_recorded", d.bytes);
    if (d.dropped != 0) json.field("dropped", d.dropped);
    if (!d.has_memory) return;
    if (d.lines_used != 0)
      json.field("efficiency", std::min(1.0, static_cast<double>(d.lines_needed) /
                                                 static_cast<double>(d.lines_used)));
    json.field("lds_conflicts", d.conflicts);
  };
}

/// The host side as it was recorded, and as the page shows it.
struct Host {
  std::optional<host_trace::HostEvents> events;
  std::optional<host_trace::TraceLog> log;
};

/// Makes what the options ask for, and what is known of the run in `profile`. 0 or 1.
int makeOutcome(const ReportOptions &options, report::RunLog &log, const Host &host,
                std::optional<profile::Profile> &profile, bool with_summary = false) {
  for (const std::string &problem : log.problems)
    complain(fmt::format("{}: {}; the rest is used", options.log, problem));
  // Before the summary, which uses what it finds in the code objects.
  report::Json page;
  const std::string title = options.title.empty() ? options.log : options.title;
  if (!options.html.empty())
    page = report::pageData(
        log, {title, options.code, host.log ? &*host.log : nullptr, options.end,
              [&](const report::RunLog &read) {
                profile =
                    profile::profileOf(read, host.events ? &*host.events : nullptr, false, {});
                return report::Assessment{profile::pageOf(*profile), profile->findings};
              },
              options.sources});
  if (const auto withheld = page.find("withheld"); withheld != page.end())
    complain(
        fmt::format("{}: the report has no text of {} source file{}, because of {}: name their "
                    "folder with --sources if it may be in it",
                    options.log, withheld->size(), withheld->size() == 1 ? "" : "s",
                    withheld->front().get<std::string>()));
  if (with_summary && profile)
    fmt::print(stderr, "{}",
               terminalSummary(log, profile->findings, report::Terminal::of(STDERR_FILENO)));
  bool is_written = true;
  if (!options.timeline.empty() && host.events) {
    const Status status = writeTimeline(*host.events, options.timeline, factsOf(log, *host.log));
    if (!status) complain(status.error().message());
    is_written = static_cast<bool>(status);
  }
  if (!options.html.empty())
    is_written = writeFile(options.html, report::htmlPage(page)) && is_written;
  return is_written ? 0 : 1;
}

/// The outcome of the conditions, once all is known that they may be about.
int judged(const Guard &guard, const ReportOptions &options, report::RunLog &log,
           std::optional<profile::Profile> &profile) {
  if (guard.wantsFindings() && options.html.empty()) {
    const std::size_t known = log.problems.size();
    report::readCode(log, options.code);
    for (std::size_t i = known; i < log.problems.size(); ++i)
      complain(fmt::format("{}; the rest is used", log.problems[i]));
  }
  if (!profile) profile = profile::profileOf(log, nullptr, false, {});
  return guard.judge(log, profile->findings);
}

/// Files that may have the code of the kernels: those that were named, or else the program.
std::vector<std::string> codeOf(const ReportOptions &options, const report::RunLog &log) {
  if (!options.code.empty() || log.runs.empty()) return options.code;
  const std::string &command = log.runs.front().command;
  const std::string program = programOf(command.substr(0, command.find(' ')));
  return program.empty() ? std::vector<std::string>() : std::vector{program};
}

/// What a run has recorded; nothing, after a line that says why, if it cannot be read.
Host hostOf(const std::string &recorded) {
  Host host;
  std::error_code ignored;
  if (!fs::exists(recorded, ignored)) return host;
  auto events = host_trace::HostEvents::read(recorded);
  if (!events) {
    complain(events.error().message());
    return host;
  }
  host.events = *std::move(events);
  host.log = host_trace::TraceLog::of(*host.events);
  return host;
}

/// The variable as the options give it.
std::string valueOf(const RunOptions &run, std::string_view variable) {
  for (auto at = run.values.rbegin(); at != run.values.rend(); ++at)
    if (at->first == variable) return at->second;
  return "";
}

void addAnalyzer(RunOptions &run, const std::string &name, const std::string &how) {
  const auto is_same = [&](const std::string &given) {
    return given == name || given.starts_with(name + ":");
  };
  if (std::ranges::none_of(run.analyzers, is_same)) run.analyzers.push_back(how);
}

/// What the report needs from the run, besides what the user asks for.
void addNeeds(RunOptions &run, const ReportOptions &outcome, const Guard &guard,
              const std::string &program) {
  if (!outcome.html.empty()) {
    addAnalyzer(run, "Heatmap", "Heatmap:steps=64");
    addAnalyzer(run, "AccessPatterns", "AccessPatterns");
    addAnalyzer(run, "Placement", "Placement");
    addAnalyzer(run, "UserRecords", "UserRecords");
  }
  if (!outcome.html.empty() || guard.wantsFindings()) {
    addAnalyzer(run, "BlockCounts", "BlockCounts");
    addAnalyzer(run, "BlockFlow", "BlockFlow");
    addAnalyzer(run, "CacheModel", "CacheModel");
    if (willObserve(run.gpu, valueOf(run, "FADE_OBSERVE"), valueOf(run, "FADE_KERNEL_CACHE"),
                    program))
      addAnalyzer(run, "Hotspots", "Hotspots");
  }
  if ((!outcome.html.empty() || guard.isWanted()) && !run.instrumented) run.instrumented = true;
  if (run.instrumented.value_or(false)) {
    addAnalyzer(run, "MemoryAnalysis", "MemoryAnalysis");
    if (!outcome.guard.conditions.empty()) addAnalyzer(run, "BlockCounts", "BlockCounts");
  }
}

/// Where the JSON lines go. Empty, after a line that says why, if the options contradict.
std::string placeOfLog(const RunOptions &run, const ReportOptions &outcome) {
  const char *option = !outcome.html.empty()              ? "--report"
                       : !outcome.timeline.empty()        ? "--timeline"
                       : outcome.guard.conditions.empty() ? "--findings"
                                                          : "--fail-if";
  if (const std::string format = valueOf(run, "FADE_LOG_FORMAT");
      !format.empty() && format != "json") {
    complain(fmt::format("{} is made from JSON lines: it cannot be combined with --log-format {}",
                         option, format));
    return "";
  }
  const std::string wanted = valueOf(run, "FADE_LOG_LOCATION");
  if (wanted == "console" || wanted.find('%') != std::string::npos) {
    complain(
        fmt::format("{} needs JSON lines in one file: it cannot be combined with --log-location {}",
                    option, wanted));
    return "";
  }
  if (!wanted.empty() && wanted != kNowhere) return fs::absolute(wanted);
  if (!outcome.html.empty()) return fs::absolute(outcome.html).replace_extension(".jsonl");
  if (!outcome.timeline.empty())
    return fs::absolute(outcome.timeline).string() + fmt::format(".{}.jsonl", getpid());
  const std::string folder = privateFolder();
  return folder.empty() ? "" : folder + "/run.jsonl";
}

/// How the application ended, if not well.
std::string endText(const ChildEnd &end) {
  if (end.signal != 0)
    return fmt::format("it was ended by {} ({})",
                       sigabbrev_np(end.signal) ? fmt::format("SIG{}", sigabbrev_np(end.signal))
                                                : std::to_string(end.signal),
                       strsignal(end.signal));
  return end.exit_code != 0 ? fmt::format("its exit code was {}", end.exit_code) : "";
}

/// The file that says what killed the run: the user's, or one that goes away.
class RunDeaths {
public:
  RunDeaths(RunOptions &run, const std::string &log) {
    const char *inherited = std::getenv("FADE_DEATHS");
    path_ = valueOf(run, "FADE_DEATHS");
    if (path_.empty() && inherited) path_ = inherited;
    is_own_ = path_.empty();
    if (is_own_) {
      path_ = fmt::format("{}.{}.deaths", log, getpid());
      run.values.emplace_back("FADE_DEATHS", path_);
    }
    std::error_code error;
    const auto size = fs::file_size(path_, error);
    if (!error) offset_ = size; // of earlier runs
  }
  ~RunDeaths() {
    std::error_code ignored;
    if (is_own_) fs::remove(path_, ignored);
  }
  RunDeaths(const RunDeaths &) = delete;
  RunDeaths &operator=(const RunDeaths &) = delete;
  void read(report::RunLog &log) const { report::readDeaths(path_, offset_, log); }

private:
  std::string path_;
  uint64_t offset_ = 0;
  bool is_own_ = false;
};

/// The lines are a baseline later on, when the program is another one.
void appendCode(report::RunLog &log, const ReportOptions &outcome) {
  if (log.code.empty()) report::readCode(log, outcome.code);
  const std::string lines = report::codeLines(log);
  std::ofstream out(outcome.log, std::ios::binary | std::ios::app);
  if (!lines.empty() && !(out << lines).flush())
    complain(fmt::format("cannot write {}: {}", outcome.log, std::strerror(errno)));
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

} // namespace

CLI::App *addReportCommand(CLI::App &app, ReportOptions &options) {
  CLI::App *command = app.add_subcommand(
      "report", "make an HTML report from a run's JSON lines or recording, or a trace");
  command
      ->add_option(
          "log", options.log,
          "JSON lines written with --log-format json, a recording made with --record, or a file "
          "of fadeprobe trace; or the folder of a run of many processes")
      ->type_name("FILE|DIR");
  command->add_option("-o,--output", options.html, "HTML report to write")->type_name("FILE");
  command
      ->add_option("--ranks", options.ranks,
                   "with the folder of a run: also make pages of these ranks")
      ->type_name("N,N-N,...");
  command
      ->add_option(
          "--host", options.host,
          "a trace of the same run (fadeprobe trace): adds calls and markers to the timeline")
      ->type_name("FILE");
  command
      ->add_option("--code", options.code,
                   "the application, or other files with the kernels' code, to show instructions")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--sources", options.sources,
                   "folder whose source files the report may show (default: the current one)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command->add_option("--title", options.title, "title of the report")->type_name("TEXT");
  addGuardOptions(*command, options.guard);
  return command;
}

int runReport(const ReportOptions &options) {
  const auto usage = [](const char *what) {
    complain(fmt::format("{}: fadeprobe report run.jsonl -o out.html", what));
    return kUsageError;
  };
  if (options.log.empty()) return usage("report: expected a file of JSON lines");
  std::error_code ignored;
  if (fs::is_directory(options.log, ignored)) return reportRun(options);
  if (!options.ranks.empty()) {
    complain(fmt::format("--ranks needs the folder of a run, which {} is not", options.log));
    return kUsageError;
  }
  const auto guard = Guard::of(options.guard);
  if (!guard) return kUsageError;
  if (options.html.empty() && !guard->isWanted()) return usage("report: expected -o FILE");
  const bool is_host = report::isHostTrace(options.log);
  report::RunLog log;
  log.has_summary = true;
  if (!is_host) {
    auto read = readRun(options.log, options.selection);
    if (!read) {
      complain(read.error().message());
      return 1;
    }
    log = *std::move(read);
    profile::useOwnInstructions(log, codeOf(options, log));
  }
  Host host;
  if (const std::string &path = is_host ? options.log : options.host; !path.empty()) {
    auto read = host_trace::TraceLog::read(path);
    if (!read) {
      complain(read.error().message());
      return 1;
    }
    host.log = *std::move(read);
  }
  // Whoever made the run may have been somebody else, and may have named any file.
  ReportOptions foreign = options;
  foreign.sources.push_back(fs::current_path());
  std::optional<profile::Profile> profile;
  const int made = makeOutcome(foreign, log, host, profile);
  return made == 0 && guard->isWanted() ? judged(*guard, options, log, profile) : made;
}

bool writeProcessPage(const std::string &folder, const ReportOptions &given) {
  ReportOptions options = given;
  options.log = folder + "/report.jsonl";
  options.html = folder + "/report.html";
  const Host host = hostOf(folder + "/events");
  report::RunLog log;
  log.has_summary = true;
  std::error_code ignored;
  const bool has_lines = fs::exists(options.log, ignored);
  if (!has_lines && !host.log) return false;
  if (options.code.empty() && host.events)
    for (const auto &[pid, process] : host.events->processes)
      if (fs::is_regular_file(process.program, ignored)) options.code.push_back(process.program);
  if (has_lines) {
    auto read = report::readRunLog(options.log);
    if (!read) {
      complain(read.error().message());
      return false;
    }
    log = *std::move(read);
    profile::useOwnInstructions(log, options.code);
  }
  std::optional<profile::Profile> profile;
  if (makeOutcome(options, log, host, profile) != 0) return false;
  return !has_lines || !profile ||
         writeFile(folder + "/advice.jsonl", report::findingLines(log, profile->findings));
}

void addOutcomeOptions(CLI::App &app, ReportOptions &options) {
  app.add_option(
         "--report", options.html,
         "write an HTML report, one file (implies -i and the analyzers it needs); a name that "
         "ends in / is the folder of a run of many processes")
      ->type_name("FILE|DIR/");
  app.add_option("--timeline", options.timeline,
                 "a timeline for Perfetto and chrome://tracing: calls, kernels, copies, markers")
      ->type_name("FILE");
  addGuardOptions(app, options.guard);
}

bool wantsOutcome(const ReportOptions &options) {
  const GuardOptions &guard = options.guard;
  return !options.html.empty() || !options.timeline.empty() || !guard.conditions.empty() ||
         !guard.junit.empty() || !guard.sarif.empty() || !guard.findings.empty();
}

int runWithOutcome(RunOptions run, ReportOptions outcome,
                   const std::vector<std::string> &application) {
  const std::string own_log = valueOf(run, "FADE_LOG_LOCATION");
  const bool has_own_log = !own_log.empty() && own_log != kNowhere;
  if (outcome.html.ends_with('/')) {
    // Conditions are on the run as a whole, which nothing more is recorded for.
    ReportOptions needs = outcome;
    needs.guard = {};
    addNeeds(run, needs, *Guard::of(needs.guard), hipProgramIn(application));
    sampleUnlessToldOtherwise(run);
    return runIntoFolder(std::move(run), outcome, application);
  }
  const auto guard = Guard::of(outcome.guard);
  if (!guard) return kUsageError;
  outcome.log = placeOfLog(run, outcome);
  if (outcome.log.empty()) return kUsageError;
  addNeeds(run, outcome, *guard, application.empty() ? "" : programOf(application[0]));
  // A condition is about all that happens.
  if (!outcome.html.empty() && !guard->hasConditions()) sampleUnlessToldOtherwise(run);
  run.values.emplace_back("FADE_LOG_LOCATION", outcome.log);
  run.values.emplace_back("FADE_LOG_FORMAT", "json");
  // The application may go to another directory, but this program stays.
  for (const std::string *path :
       {&outcome.html, &outcome.guard.junit, &outcome.guard.sarif, &outcome.guard.findings})
    if (!path->empty() && !canWriteText("", *path)) return 1;
  for (const auto &[name, path] :
       {std::pair("--timeline: ", &outcome.timeline), {"", &outcome.log}})
    if (!path->empty() && !canWrite(name, *path)) return 1;
  // One who records on his own shares what is recorded.
  const char *recorded_anyway = std::getenv("FADE_TRACE");
  const bool keeps_events = recorded_anyway && *recorded_anyway != '\0';
  const std::string recorded =
      keeps_events ? recorded_anyway : fmt::format("{}.{}.events", outcome.log, getpid());
  if (!keeps_events && !removeLeftover(recorded)) return 1;
  const bool shows_host = !outcome.html.empty() || !outcome.timeline.empty();
  if (shows_host) addRecording(run, keeps_events ? "" : recorded);
  std::optional<RunDeaths> deaths(std::in_place, run, outcome.log);
  const auto [failure, end] = runAndWait(run, application);
  if (failure) return *failure;
  const bool keeps_log = (!outcome.html.empty() && own_log != kNowhere) || has_own_log;
  std::error_code ignored;
  if (!fs::exists(outcome.log, ignored) || fs::is_empty(outcome.log, ignored)) {
    complain("the application did not use the GPU: there is nothing to report");
    fs::remove(outcome.log, ignored);
    deaths.reset();
    if (!keeps_events) fs::remove(recorded, ignored);
    if (guard->hasConditions() && end.signal == 0 && end.exit_code == 0) return kConditionFailed;
    endLike(end);
  }
  if (outcome.code.empty())
    if (const std::string program = programOf(application[0]); !program.empty())
      outcome.code.push_back(program);
  outcome.title = joined(application);
  outcome.end = endText(end);
  auto log = report::readRunLog(outcome.log);
  if (!log) complain(log.error().message());
  if (log) {
    deaths->read(*log);
    profile::useOwnInstructions(*log, outcome.code);
  }
  deaths.reset(); // this process ends like the application
  const Host host = hostOf(recorded);
  std::optional<profile::Profile> profile;
  if (log && makeOutcome(outcome, *log, host, profile, !outcome.html.empty()) == 0)
    for (const std::string &made : {outcome.html, outcome.timeline})
      if (!made.empty()) complain(fmt::format("see {}", made));
  const int verdict = guard->isWanted() ? (log ? judged(*guard, outcome, *log, profile) : 1) : 0;
  if (!keeps_log) fs::remove(outcome.log, ignored);
  if (keeps_log && log) appendCode(*log, outcome);
  if (!keeps_events) fs::remove(recorded, ignored);
  if (verdict != 0 && end.signal == 0 && end.exit_code == 0) return verdict;
  endLike(end);
}

} // namespace fade::cli
