#include "report/command.h"

#include "checks.h"
#include "report/child.h"
#include "report/page.h"
#include "report/perfetto_trace.h"
#include "report/terminal_summary.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

/// False, after a line that says why, if the file cannot be written.
bool writeFile(const std::string &path, const std::string &contents) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (out) out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  if (out) out.close();
  if (out) return true;
  complain(fmt::format("cannot write {}: {}", path, std::strerror(errno != 0 ? errno : EIO)));
  return false;
}

/// Makes what the options ask for. 0 or 1.
int makeOutcome(const ReportOptions &options, bool with_summary = false) {
  auto log = report::readRunLog(options.log);
  if (!log) {
    complain(log.error().message());
    return 1;
  }
  for (const std::string &problem : log->problems)
    complain(fmt::format("{}: {}; the rest is used", options.log, problem));
  if (with_summary)
    fmt::print(stderr, "{}", terminalSummary(*log, report::Terminal::of(STDERR_FILENO)));
  bool is_written = true;
  if (!options.trace.empty())
    is_written = writeFile(options.trace, report::perfettoTrace(*log)) && is_written;
  if (!options.html.empty()) {
    const std::string title = options.title.empty() ? options.log : options.title;
    const auto data = report::pageData(*log, {title, options.code});
    is_written = writeFile(options.html, report::htmlPage(data)) && is_written;
  }
  return is_written ? 0 : 1;
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
void addNeeds(RunOptions &run, const ReportOptions &outcome) {
  if (!outcome.html.empty()) {
    if (!run.instrumented) run.instrumented = true;
    addAnalyzer(run, "Heatmap", "Heatmap:steps=64");
    addAnalyzer(run, "BlockCounts", "BlockCounts");
    addAnalyzer(run, "AccessPatterns", "AccessPatterns");
    addAnalyzer(run, "BlockFlow", "BlockFlow");
  }
  if (run.instrumented.value_or(false)) addAnalyzer(run, "MemoryAnalysis", "MemoryAnalysis");
}

/// Where the JSON lines go. Empty, after a line that says why, if the options contradict.
std::string placeOfLog(const RunOptions &run, const ReportOptions &outcome) {
  const char *option = outcome.html.empty() ? "--trace" : "--report";
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
  if (!wanted.empty()) return fs::absolute(wanted);
  if (!outcome.html.empty()) return fs::absolute(outcome.html).replace_extension(".jsonl");
  return fs::absolute(outcome.trace).string() + fmt::format(".{}.jsonl", getpid());
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

} // namespace

CLI::App *addReportCommand(CLI::App &app, ReportOptions &options) {
  CLI::App *command =
      app.add_subcommand("report", "make an HTML report from the JSON lines of a run");
  command->add_option("log", options.log, "JSON lines written with --log-format json")
      ->type_name("FILE");
  command->add_option("-o,--output", options.html, "the HTML report to write")->type_name("FILE");
  command->add_option("--trace", options.trace, "a timeline for Perfetto and chrome://tracing")
      ->type_name("FILE");
  command
      ->add_option("--code", options.code,
                   "the application, or other files with the kernels' code: shows instructions")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->add_option("--title", options.title, "title of the report")->type_name("TEXT");
  return command;
}

int runReport(const ReportOptions &options) {
  const auto usage = [](const char *what) {
    complain(fmt::format("{}: fadeprobe report run.jsonl -o out.html", what));
    return kUsageError;
  };
  if (options.log.empty()) return usage("report: no file of JSON lines given");
  if (options.html.empty() && options.trace.empty()) return usage("report: give -o or --trace");
  return makeOutcome(options);
}

void addOutcomeOptions(CLI::App &app, ReportOptions &options) {
  app.add_option("--report", options.html,
                 "write an HTML report, one file (implies -i and the analyzers it needs)")
      ->type_name("FILE");
  app.add_option("--trace", options.trace, "a timeline for Perfetto and chrome://tracing")
      ->type_name("FILE");
}

bool wantsOutcome(const ReportOptions &options) {
  return !options.html.empty() || !options.trace.empty();
}

int runWithOutcome(RunOptions run, ReportOptions outcome,
                   const std::vector<std::string> &application) {
  const bool has_own_log = !valueOf(run, "FADE_LOG_LOCATION").empty();
  outcome.log = placeOfLog(run, outcome);
  if (outcome.log.empty()) return kUsageError;
  addNeeds(run, outcome);
  run.values.emplace_back("FADE_LOG_LOCATION", outcome.log);
  run.values.emplace_back("FADE_LOG_FORMAT", "json");
  // The application may go to another directory, but this program stays.
  for (const std::string *path : {&outcome.html, &outcome.trace, &outcome.log})
    if (!path->empty() && !canWrite("", *path)) return 1;
  if (const auto code = prepareRun(run, application, true)) return *code;
  const bool keeps_log = !outcome.html.empty() || has_own_log;
  std::error_code ignored;
  const ChildEnd end = runChild(application);
  if (end.error != 0) {
    complain(fmt::format("cannot run {}: {}", application[0], std::strerror(end.error)));
    return end.exit_code;
  }
  if (!fs::exists(outcome.log, ignored) || fs::is_empty(outcome.log, ignored)) {
    complain("the application did not use the GPU: there is nothing to report");
    fs::remove(outcome.log, ignored);
    endLike(end);
  }
  if (outcome.code.empty())
    if (const std::string program = programOf(application[0]); !program.empty())
      outcome.code.push_back(program);
  outcome.title = joined(application);
  if (makeOutcome(outcome, !outcome.html.empty()) == 0)
    for (const std::string &made : {outcome.html, outcome.trace})
      if (!made.empty()) complain(fmt::format("see {}", made));
  if (!keeps_log) fs::remove(outcome.log, ignored);
  endLike(end);
}

} // namespace fade::cli
