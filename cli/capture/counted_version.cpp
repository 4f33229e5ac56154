#include "capture/counted_version.h"

#include "compare/run_cost.h"
#include "doctor/supervised.h"
#include "report/listing.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;
using doctor::SupervisedEnd;

/// A folder of its own that goes away.
class CountsFolder {
public:
  CountsFolder() {
    std::error_code error;
    const fs::path where = fs::temp_directory_path(error);
    path_ = (error ? fs::path("/tmp") : where) / "fadeprobe-XXXXXX";
    if (!mkdtemp(path_.data())) path_.clear();
  }
  ~CountsFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  CountsFolder(const CountsFolder &) = delete;
  CountsFolder &operator=(const CountsFolder &) = delete;
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

/// The last line that it wrote to stderr, or how it ended.
std::string reasonOf(const SupervisedEnd &end) {
  if (end.timed_out) return fmt::format("it did not end within {:.0f} s", end.seconds);
  std::string text = end.err;
  while (text.ends_with('\n')) text.pop_back();
  text = text.substr(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
  if (text.starts_with("fadeprobe: ")) text.erase(0, 11);
  if (!text.empty()) return text;
  return end.signal != 0 ? fmt::format("signal {}", end.signal)
                         : fmt::format("exit code {}", end.code);
}

} // namespace

Result<report::RunLog> countVersion(const CaptureLine &capture, const std::string &code,
                                    const std::string &file, std::chrono::seconds patience) {
  std::error_code error;
  fs::remove(file, error);
  std::vector<std::string> words = {
      "/proc/self/exe",        "replay",      capture.path,   "--on", "gpu", "--gpu",
      capture.description.gpu, "--no-recopy", "--iterations", "1",    "-i"};
  if (!code.empty()) words.insert(words.end(), {"-c", code});
  for (const char *analyzer : {"Hotspots", "MemoryAnalysis", "CacheModel"})
    words.insert(words.end(), {"-a", analyzer});
  words.insert(words.end(), {"-t", "json", "-l", file, "--no-progress"});
  const SupervisedEnd end = doctor::runSupervised(words, {}, patience);
  if (end.timed_out || end.signal != 0 || end.code != 0 || !fs::exists(file, error))
    return Error{capture.path, "", 0, reasonOf(end)};
  auto log = report::readRunLog(file);
  // Registers and scratch memory, which decide how many waves fit.
  if (log) report::readCode(*log, {code.empty() ? capture.path + "/code/0.hsaco" : code});
  return log;
}

Result<ModeledVersions> modelVersions(const CaptureLine &capture, const std::string &code) {
  constexpr std::chrono::hours patience(1);
  constexpr double least = 0.01; // less is equal
  const CountsFolder folder;
  if (folder.path().empty()) return Error::of("no temporary folder can be made");
  auto before = countVersion(capture, "", folder.path() + "/captured.jsonl", patience);
  if (!before) return std::move(before).error();
  auto after = countVersion(capture, code, folder.path() + "/other.jsonl", patience);
  if (!after) return std::move(after).error();
  std::vector<compare::Subject> first = compare::measuresOf(*before),
                                second = compare::measuresOf(*after);
  const compare::ModeledRuns runs = compare::modelBoth(*std::move(before), *std::move(after));
  compare::addModel(first, runs.before);
  compare::addModel(second, runs.after);
  const compare::Difference difference = compare::differenceOf(first, second, least);
  const compare::RunCost cost = compare::runCostOf(difference, runs, least);
  if (cost.cost.kind != compare::CostKind::modeled) return Error::of("nothing was counted");
  return ModeledVersions{compare::verdictLine(cost, runs), cost.cost.before, cost.cost.after};
}

} // namespace fade::cli
