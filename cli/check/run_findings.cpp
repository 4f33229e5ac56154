#include "check/run_findings.h"

#include "base/json_text.h"
#include "base/run_folder.h"
#include "base/write_file.h"
#include "check/baseline.h"
#include "check/causes.h"
#include "check/finding_message.h"
#include "check/finding_text.h"
#include "host_trace/run.h"
#include "pages/page.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char *kCheckFile = "/check.json", *kFindingsFile = "/findings.jsonl";

std::string lineOf(const Json &json) { return jsonText(json) + '\n'; }

void writeFindings(const std::string &folder, FoundRun run) {
  groupByCause(run.findings);
  setIds(run.findings);
  std::string lines;
  for (const FoundFinding &f : run.findings) {
    Json line = parsedJson(findingJson(f));
    line["text"] = findingText(f);
    lines += lineOf(line);
  }
  const Json about = {{"type", "check"},
                      {"version", 1},
                      {"dispatches", run.dispatches},
                      {"left_out", run.left_out},
                      {"lost", run.lost},
                      {"inexact", run.inexact},
                      {"findings", run.findings.size()}};
  // The second file says that the first is complete.
  if (writeFile(folder + kFindingsFile, lines)) (void)writeFile(folder + kCheckFile, lineOf(about));
}

/// What libfadecheck has left: findings as it keeps them, and code objects.
void removeRaw(const std::string &folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (name.ends_with(".findings") || name.find(".code-") != name.npos)
      files.push_back(at->path());
  }
  for (const fs::path &file : files) fs::remove(file, error);
}

/// A finding of several processes.
struct Merged {
  Json json;
  std::string text;
  uint64_t count = 0;
  std::set<uint64_t> ranks;
  std::set<std::string> processes; ///< folders
};

struct MergedRun {
  std::map<std::string, Merged> findings; ///< by id
  uint64_t dispatches = 0, lost = 0;
  uint32_t inexact = 0;
  std::set<uint64_t> ranks;
  std::size_t processes = 0;
  std::vector<std::string> problems;
};

template <typename T> T numberIn(const Json &json, const char *name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_number_unsigned() ? at->get<T>() : T{};
}

std::string textIn(const Json &json, const char *name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

void readProcess(const std::string &folder, const std::optional<uint64_t> &rank, MergedRun &run) {
  std::ifstream about(folder + kCheckFile), file(folder + kFindingsFile);
  if (!about) return;
  const Json checked = parsedJson(std::string(std::istreambuf_iterator<char>(about), {}));
  if (!checked.is_object() || !file) {
    run.problems.push_back(folder + ": check.json or findings.jsonl cannot be read");
    return;
  }
  ++run.processes;
  run.dispatches += numberIn<uint64_t>(checked, "dispatches");
  run.lost += numberIn<uint64_t>(checked, "lost");
  run.inexact |= numberIn<uint32_t>(checked, "inexact");
  if (rank) run.ranks.insert(*rank);
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    Json json = parsedJson(line);
    const std::string id = json.is_object() ? textIn(json, "id") : "";
    if (id.empty()) {
      run.problems.push_back(
          fmt::format("{}{}:{}: is not a finding", folder, kFindingsFile, number));
      continue;
    }
    Merged &merged = run.findings[id];
    merged.count += numberIn<uint64_t>(json, "count");
    if (rank) merged.ranks.insert(*rank);
    merged.processes.insert(folder);
    if (!merged.json.is_null()) continue;
    merged.text = textIn(json, "text");
    json.erase("text");
    merged.json = std::move(json);
  }
}

/// Where it was seen, behind what one process says of it.
std::string withPlaces(const Merged &merged, std::size_t processes) {
  std::string text;
  for (std::string_view rest = merged.text; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size() - 1);
    if (const auto line = rest.substr(0, end + 1); !line.starts_with("  ranks ")) text += line;
    rest.remove_prefix(end + 1);
  }
  if (!merged.ranks.empty()) text += fmt::format("  {:<10} {}\n", "ranks", rankList(merged.ranks));
  text +=
      fmt::format("  {:<10} {} of {} processes, {} time{}\n", "seen in", merged.processes.size(),
                  processes, merged.count, merged.count == 1 ? "" : "s");
  return text;
}

/// Those that most ranks have first: what all have is the program's, what one has its data's.
std::vector<const Merged *> inOrder(const MergedRun &run) {
  std::vector<const Merged *> order;
  for (const auto &entry : run.findings) order.push_back(&entry.second);
  std::ranges::sort(order, [](const Merged *a, const Merged *b) {
    return std::pair(b->processes.size(), textIn(a->json, "id")) <
           std::pair(a->processes.size(), textIn(b->json, "id"));
  });
  return order;
}

std::string jsonLines(const std::vector<const Merged *> &findings, std::size_t most) {
  std::string lines;
  for (std::size_t i = 0; i < std::min(most, findings.size()); ++i) {
    Json json = findings[i]->json;
    json["count"] = findings[i]->count;
    json["processes"] = findings[i]->processes.size();
    if (!findings[i]->ranks.empty()) json["ranks"] = findings[i]->ranks;
    lines += lineOf(json);
  }
  return lines;
}

bool writePage(const CheckOptions &options, const MergedRun &run, const std::string &lines) {
  report::RunLog log;
  log.has_summary = log.was_checked = true;
  log.checked_dispatches = run.dispatches;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    log.errors.push_back(parsedJson(std::string_view(lines).substr(at, end - at)));
    at = end + 1;
  }
  return writeFile(options.report,
                   report::htmlPage(report::pageData(log, {options.capture, {}, nullptr})));
}

} // namespace

FoundRun collectFindings(const std::vector<std::string> &folders, bool with_leaks,
                         const std::function<void(FoundRun &)> &suppress) {
  FoundRun all;
  for (const std::string &folder : folders) {
    FoundRun one = readFindings(folder, with_leaks);
    if (one.processes == 0) {
      all.unreadable += one.unreadable;
      continue;
    }
    mergeFindings(all, one);
    suppress(one);
    writeFindings(folder, std::move(one));
    removeRaw(folder);
  }
  return all;
}

bool isCheckedRun(const std::string &path) {
  std::error_code ignored;
  return std::ranges::any_of(host_trace::processFolders(path), [&](const std::string &folder) {
    return fs::exists(folder + kCheckFile, ignored);
  });
}

int showRunFindings(const CheckOptions &options) {
  if (!options.sarif.empty() || !options.junit.empty() || !options.suppress.empty() ||
      !options.code.empty() || options.schedules) {
    complain("check of the folder of a run: only --max, --json, --report, --baseline and "
             "--error-exitcode apply; use the others when checking the application");
    return kUsageError;
  }
  const std::optional<Baseline> baseline = Baseline::of(options.baseline);
  if (!baseline) return kUsageError;
  MergedRun run;
  for (const std::string &folder : host_trace::processFolders(options.capture)) {
    const auto process = host_trace::readRunProcess(folder);
    if (process)
      readProcess(folder, process->rank, run);
    else
      run.problems.push_back(process.error().message());
  }
  for (const std::string &problem : run.problems) complain("skipped: " + problem);
  const std::vector<const Merged *> all = inOrder(run);
  std::vector<const Merged *> order; // what is new
  for (const Merged *merged : all)
    if (!baseline->knows(textIn(merged->json, "id"))) order.push_back(merged);
  const std::size_t known = all.size() - order.size();
  for (std::size_t i = 0; i < std::min(options.most, order.size()); ++i)
    fmt::print(stderr, "{}\n", withPlaces(*order[i], run.processes));
  if (order.size() > options.most)
    complain(fmt::format("{} more are not shown (--max)", order.size() - options.most));
  complain("check: " + exactnessText(run.inexact));
  std::string text = fmt::format(
      "check: {} {}finding{} in {} dispatch{} of {} process{}{}{}",
      order.empty() ? "no" : std::to_string(order.size()), options.baseline.empty() ? "" : "new ",
      order.size() == 1 ? "" : "s", run.dispatches, run.dispatches == 1 ? "" : "es", run.processes,
      run.processes == 1 ? "" : "es", run.ranks.empty() ? "" : ", ranks ", rankList(run.ranks));
  if (known != 0) text += fmt::format("; {} in the baseline", known);
  if (baseline->size() > known)
    text += fmt::format("; {} of the baseline no longer found", baseline->size() - known);
  complain(text);
  const std::string lines = jsonLines(all, options.most); // the next baseline
  bool is_written = options.json.empty() || writeFile(options.json, lines);
  if (!options.report.empty()) is_written = writePage(options, run, lines) && is_written;
  if (!order.empty() && options.has_error_exitcode) return options.error_exitcode;
  return is_written ? 0 : 1;
}

} // namespace fade::cli
