#include "captures/counted_version.h"

#include "base/supervised.h"
#include "base/temporary.h"
#include "comparison/run_cost.h"
#include "kernels/listing.h"

#include <filesystem>

namespace fade::cli {

namespace fs = std::filesystem;

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
  const SupervisedEnd end = runSupervised(words, {}, patience);
  if (end.timed_out || end.signal != 0 || end.code != 0 || !fs::exists(file, error))
    return Error{capture.path, "", 0, lastWords(end)};
  auto log = report::readRunLog(file);
  // Registers and scratch memory, which decide how many waves fit.
  if (log) report::readCode(*log, {code.empty() ? capture.path + "/code/0.hsaco" : code});
  return log;
}

Result<ModeledVersions> modelVersions(const CaptureLine &capture, const std::string &code) {
  constexpr std::chrono::hours patience(1);
  constexpr double least = 0.01; // less is equal
  const TemporaryFolder folder;
  if (!folder.isThere()) return Error::of("cannot create a temporary folder");
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
