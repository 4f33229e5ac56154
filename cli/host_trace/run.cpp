#include "host_trace/run.h"

#include "host_trace/control.h"
#include "host_trace/process_totals.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <tuple>

namespace fade::host_trace {
namespace {

namespace fs = std::filesystem;

/// Folders within a folder that are named "KEY=...".
std::vector<fs::path> partsOf(const fs::path &folder, std::string_view key) {
  std::vector<fs::path> parts;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (const std::string name = at->path().filename(); name.starts_with(key))
      parts.push_back(at->path());
  std::ranges::sort(parts);
  return parts;
}

/// The summary that the trace writer has made, unless the process has gone on since.
Result<RunMember> readMember(const std::string &folder, RunProcess process) {
  RunMember member;
  member.folder = folder;
  member.is_running = process.boot_id == bootId() && !recordersOf(member.events()).empty();
  const std::string path = folder + "/summary.jsonl";
  std::ifstream file(path);
  member.has_summary = static_cast<bool>(file);
  if (file && !member.is_running) {
    auto summaries = readSummaries(file, path);
    if (!summaries) return std::move(summaries).error();
    if (summaries->size() != 1) return Error{path, "", 0, "is not the summary of one process"};
    member.summary = std::move(summaries->front());
    return member;
  }
  auto summary = summaryOfEvents(folder, std::move(process));
  if (!summary) return std::move(summary).error();
  member.summary = *std::move(summary);
  return member;
}

} // namespace

std::vector<std::string> processFolders(const std::string &run) {
  std::vector<std::string> folders;
  for (const fs::path &host : partsOf(run, "host="))
    for (const fs::path &rank : partsOf(host, "rank="))
      for (const fs::path &process : partsOf(rank, "pid=")) folders.push_back(process);
  return folders;
}

bool isRun(const std::string &path) { return !processFolders(path).empty(); }

Result<Run> Run::read(const std::string &path, std::string_view ranks) {
  Run run;
  run.path = path;
  for (const std::string &folder : processFolders(path)) {
    std::error_code ignored;
    if (!fs::exists(folder + "/events", ignored)) continue; // it has only a report
    auto process = readRunProcess(folder);
    if (!process) {
      run.problems.push_back(process.error().message());
      continue;
    }
    const auto &rank = process->rank;
    if (!namesRank(ranks, rank ? std::optional(std::to_string(*rank)) : std::nullopt)) continue;
    auto member = readMember(folder, *std::move(process));
    if (member)
      run.members.push_back(*std::move(member));
    else
      run.problems.push_back(member.error().message());
  }
  if (run.members.empty())
    return Error{path, "", 0,
                 !run.problems.empty() ? run.problems[0]
                 : ranks.empty()       ? "holds no recorded processes"
                                       : "holds no process with such a rank"};
  std::ranges::sort(run.members, {}, [](const RunMember &member) {
    const RunProcess &process = member.summary.process;
    return std::tuple(process.rank.value_or(UINT64_MAX), process.host, process.pid);
  });
  return run;
}

std::vector<std::string> launchedFolders(const std::string &run, const std::string &partition,
                                         const std::string &launch) {
  std::vector<std::string> folders;
  if (partition.empty())
    folders = processFolders(run);
  else
    for (const fs::path &folder : partsOf(fs::path(run) / partition, "pid="))
      folders.push_back(folder);
  std::erase_if(folders, [&](const std::string &folder) {
    const auto process = readRunProcess(folder);
    return !process || process->launch != launch;
  });
  return folders;
}

} // namespace fade::host_trace
