#include "compare/command.h"

#include "base/kernel_expression.h"
#include "base/write_file.h"
#include "compare/difference_text.h"
#include "comparison/run_guard.h"
#include "comparison/run_source.h"
#include "host_trace/run.h"
#include "host_trace/run_text.h"
#include "kernels/block_counted_run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace fade::cli {
namespace {

using compare::Subject;

std::string commandText(const std::vector<std::string> &words) {
  return fmt::format("{}", fmt::join(words, " "));
}

/// The two runs, read or made. A line on stderr says why there are none.
struct Runs {
  report::RunLog before, after;
  compare::Names names;
};

std::optional<Runs> takeRuns(Result<report::RunLog> before, Result<report::RunLog> after,
                             compare::Names names) {
  for (const auto *run : {&before, &after})
    if (!*run) {
      complain(run->error().message());
      return std::nullopt;
    }
  return Runs{*std::move(before), *std::move(after), std::move(names)};
}

std::optional<Runs> runBoth(const DiffOptions &options, const std::vector<std::string> &words) {
  const auto middle = std::ranges::find(words, "--");
  const std::vector<std::string> first(words.begin(), middle), second(middle + 1, words.end());
  const std::string gpu = options.gpu.empty() ? "auto" : options.gpu;
  std::vector<std::string> more;
  // A condition is about all that happens.
  if (!options.exact && options.guard.conditions.empty() && !std::getenv("FADE_SAMPLE"))
    more.insert(more.end(), {"--sample", "auto"});
  auto before = measureRun(first, gpu, more);
  if (!before) return takeRuns(std::move(before), report::RunLog(), {});
  return takeRuns(std::move(before), measureRun(second, gpu, more),
                  {commandText(first), commandText(second)});
}

/// Without the kernels that -k does not choose.
void choose(std::vector<Subject> &subjects, const std::optional<Expression> &kernels) {
  if (!kernels) return;
  std::erase_if(subjects, [&](const Subject &s) { return !kernels->isIn(s.kernel); });
}

/// Two runs of many processes: the exit code. Nothing if they are no folders.
std::optional<int> diffFolders(const DiffOptions &options) {
  const auto isFolder = [](const std::string &path) {
    std::error_code ignored;
    return std::filesystem::is_directory(path, ignored);
  };
  if (!isFolder(options.files[0]) || !isFolder(options.files[1])) return std::nullopt;
  if (!options.json.empty() || !options.html.empty() || !options.kernels.empty()) {
    complain("diff: folders of runs are compared as text: without --json, --report and -k");
    return kUsageError;
  }
  const auto guard = RunGuard::of(options.guard);
  if (!guard) return kUsageError;
  const auto before = host_trace::Run::read(options.files[0], "");
  const auto after = host_trace::Run::read(options.files[1], "");
  for (const auto *run : {&before, &after})
    if (!*run) {
      complain(run->error().message());
      return 1;
    }
  constexpr std::size_t rows = 15;
  constexpr double percent = 0.01;
  const double least = options.all ? -1 : options.least * percent;
  fmt::print("{}", compareRuns(*before, *after, least, options.all ? SIZE_MAX : rows));
  std::fflush(stdout); // before what stderr says of conditions
  return guard->judge(*after);
}

int diffUsage(const std::string &what) {
  complain(fmt::format("{}: fadeprobe diff A B, or fadeprobe diff -- command -- command", what));
  return kUsageError;
}

} // namespace

CLI::App *addDiffCommand(CLI::App &app, DiffOptions &options) {
  CLI::App *command = app.add_subcommand(
      "diff",
      "compare two runs: files with JSON lines or recordings, folders of many processes (trace -o "
      "run/), or -- command -- command");
  command->add_option("files", options.files, "the run before the change, and the run after it")
      ->type_name("FILE")
      ->expected(0, 2);
  command->add_option("--json", options.json, "write the difference as JSON lines; - is stdout")
      ->type_name("FILE");
  command->add_option("--report", options.html, "write an HTML page, one file")->type_name("FILE");
  command->add_option("-k,--kernels", options.kernels, "regular expression on demangled names")
      ->type_name("REGEX");
  command->add_option("--least", options.least, "smallest change to report, in percent")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command->add_flag("--all", options.all, "also show what is unchanged");
  command->add_option("--gpu", options.gpu, "for two commands: the GPU, as for a run")
      ->type_name("auto|real|gfx...");
  command->add_flag("--exact", options.exact,
                    "for two commands: record all workgroups of all dispatches (default: "
                    "--sample auto, unless there is a condition)");
  addGuardOptions(*command, options.guard);
  return command;
}

int runDiff(const DiffOptions &options, const std::vector<std::string> &commands) {
  const bool has_commands = !commands.empty();
  if (has_commands) {
    const auto middle = std::ranges::find(commands, "--");
    if (middle == commands.end() || middle == commands.begin() || middle + 1 == commands.end())
      return diffUsage("expected two commands");
    if (!options.files.empty()) return diffUsage("expected files or commands, not both");
  } else if (options.files.size() != 2) {
    return diffUsage("expected two runs");
  }
  std::optional<Expression> kernels;
  if (!options.kernels.empty()) {
    auto read = readExpression(options.kernels);
    if (!read) return diffUsage("-k " + read.error().what);
    kernels = *std::move(read);
  }
  if (!has_commands)
    if (const auto code = diffFolders(options)) return *code;
  const auto guard = Guard::of(options.guard);
  if (!guard) return kUsageError;
  auto runs = has_commands ? runBoth(options, commands)
                           : takeRuns(readRun(options.files[0]), readRun(options.files[1]),
                                      {options.files[0], options.files[1]});
  if (!runs) return 1;
  // Files may have what their kernels themselves executed; programs may be others by now.
  if (!has_commands)
    for (report::RunLog *log : {&runs->before, &runs->after}) profile::useOwnInstructions(*log, {});
  for (const auto &[log, name] :
       {std::pair(&runs->before, &runs->names.before), {&runs->after, &runs->names.after}})
    for (const std::string &problem : log->problems)
      complain(fmt::format("{}: {}; the rest is used", *name, problem));
  if (has_commands)
    for (const report::RunLog *log : {&runs->before, &runs->after})
      for (const std::string &note : log->notes)
        if (log->is_sampled && note.starts_with("Sampled: ")) complain(note);
  std::vector<Subject> before = compare::measuresOf(runs->before),
                       after = compare::measuresOf(runs->after);
  compare::Comparing both{{}, compare::modelBoth(runs->before, runs->after), {}, runs->names};
  compare::addModel(before, both.models.before);
  compare::addModel(after, both.models.after);
  choose(before, kernels);
  choose(after, kernels);
  constexpr double percent = 0.01;
  both.difference = compare::differenceOf(before, after, options.least * percent);
  both.cost = compare::runCostOf(both.difference, both.models, options.least * percent);
  bool is_written = true;
  if (!isStdout(options.json))
    fmt::print("{}", differenceText(both, report::Terminal::of(STDOUT_FILENO), options.all));
  if (!options.json.empty()) is_written &= writeFile(options.json, differenceJson(both));
  if (!options.html.empty()) is_written &= writeFile(options.html, differencePage(both));
  if (both.difference.isEmpty()) complain("neither run has a kernel to compare");
  const int verdict =
      guard->isWanted() ? guard->judge(runs->after, report::findingsOf(runs->after)) : 0;
  return verdict != 0 ? verdict : is_written ? 0 : 1;
}

} // namespace fade::cli
