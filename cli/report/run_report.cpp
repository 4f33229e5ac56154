#include "report/run_report.h"

#include "base/child.h"
#include "base/run_folder.h"
#include "base/write_file.h"
#include "comparison/run_guard.h"
#include "host_trace/run.h"
#include "host_trace/run_text.h"
#include "host_trace/run_view.h"
#include "host_trace/writer.h"
#include "launch/recorded_run.h"
#include "pages/run_page.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char *kPage = "report.html";

std::string titleOf(const host_trace::RunProcess &process) {
  return fmt::format("{}: {}", process.name(), process.command);
}

/// The rank that takes longest, and the one in the middle: what differs between them is what to
/// look for.
std::vector<const host_trace::RunMember *> notable(const host_trace::Run &run) {
  std::vector<const host_trace::RunMember *> order;
  for (const host_trace::RunMember &member : run.members) order.push_back(&member);
  std::ranges::sort(order, [](const auto *a, const auto *b) {
    return std::pair(b->summary.span(), a) < std::pair(a->summary.span(), b);
  });
  if (order.size() > 2) order = {order.front(), order[order.size() / 2]};
  return order;
}

bool writeRunPage(const host_trace::Run &run, const std::string &title, const std::string &path) {
  const std::string folder = fs::absolute(path).parent_path();
  return writeFile(path, report::runHtmlPage(report::runPageData(run, title, folder)));
}

} // namespace

int reportRun(const ReportOptions &options) {
  if (const auto mistake = mistakeInRanks(options.ranks); !options.ranks.empty() && mistake) {
    complain("--ranks: " + *mistake);
    return kUsageError;
  }
  if (!options.host.empty()) {
    complain("report of the folder of a run: --host needs one process (its report.jsonl)");
    return kUsageError;
  }
  const auto guard = RunGuard::of(options.guard);
  if (!guard) return kUsageError;
  const auto run = host_trace::Run::read(options.log, "");
  if (!run) {
    complain(run.error().message());
    return 1;
  }
  std::vector<const host_trace::RunMember *> wanted;
  for (const host_trace::RunMember &member : run->members) {
    const auto rank = member.summary.process.rank;
    if (!options.ranks.empty() &&
        namesRank(options.ranks, rank ? std::optional(std::to_string(*rank)) : std::nullopt))
      wanted.push_back(&member);
  }
  if (!options.ranks.empty() && wanted.empty()) {
    complain(fmt::format("{}: holds no process with such a rank", options.log));
    return 1;
  }
  if (options.ranks.empty()) wanted = notable(*run);
  // Whoever made the run may have been somebody else, and may have named any file.
  ReportOptions foreign = options;
  foreign.sources.push_back(fs::current_path());
  bool is_written = true;
  for (const host_trace::RunMember *member : wanted) {
    foreign.title = titleOf(member->summary.process);
    is_written = writeProcessPage(member->folder, foreign) && is_written;
  }
  const std::string html =
      options.html.empty() ? (fs::path(options.log) / kPage).string() : options.html;
  is_written =
      writeRunPage(*run, options.title.empty() ? options.log : options.title, html) && is_written;
  if (is_written && !isStdout(html)) complain("see " + html);
  const int verdict = guard->judge(*run);
  return verdict != 0 ? verdict : is_written ? 0 : 1;
}

int runIntoFolder(RunOptions run, const ReportOptions &outcome,
                  const std::vector<std::string> &application) {
  if (!outcome.timeline.empty()) {
    complain(fmt::format("--report {}: --timeline needs one process and cannot be combined with "
                         "the folder of a run",
                         outcome.html));
    return kUsageError;
  }
  const auto guard = RunGuard::of(outcome.guard);
  if (!guard) return kUsageError;
  if (!outcome.guard.conditions.empty() && RunLaunch::isBehindLauncher()) {
    complain("--fail-if judges all ranks: put fadeprobe in front of the launcher, or use "
             "fadeprobe report --fail-if on the folder afterwards");
    return kUsageError;
  }
  const auto launch = RunLaunch::begin(outcome.html);
  if (!launch) return 1;
  run.values.emplace_back("FADE_LOG_LOCATION", launch->path());
  run.values.emplace_back("FADE_LOG_FORMAT", "json");
  addRecordingInto(run, launch->path());
  const auto [failure, end] = runAndWait(run, application, &*launch);
  if (failure) return *failure;
  const std::vector<std::string> folders = launch->folders();
  if (folders.empty() && isRankChosen(run.values))
    complain("the application did not use the GPU: there is nothing to report");
  for (const std::string &folder : folders) {
    ReportOptions one = outcome;
    if (const auto process = host_trace::readRunProcess(folder)) one.title = titleOf(*process);
    (void)writeProcessPage(folder, one);
  }
  if (!folders.empty() && !RunLaunch::isBehindLauncher()) {
    const auto all = host_trace::Run::read(launch->path(), "");
    if (!all) complain(all.error().message());
    std::string title;
    for (const std::string &word : application) title += (title.empty() ? "" : " ") + word;
    if (all && writeRunPage(*all, title, launch->path() + kPage)) {
      constexpr std::size_t rows = 5;
      fmt::print(stderr, "{}{}", host_trace::describeRun(*all, rows), report::adviceText(*all));
      complain("see " + launch->path() + kPage);
    }
    const int verdict = all ? guard->judge(*all) : 1;
    if (verdict != 0 && end.signal == 0 && end.exit_code == 0) return verdict;
  }
  endLike(end);
}

} // namespace fade::cli
