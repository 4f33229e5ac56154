#include "comparison/run_source.h"

#include "base/child.h"
#include "base/recording.h"
#include "base/temporary.h"
#include "kernels/block_counted_run.h"
#include "kernels/listing.h"
#include "launch/observed_kernels.h"
#include "launch/preflight.h"

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

std::string ownPath() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

/// This program once more, with JSON lines to a file that is read then. `what` is named if it
/// fails.
Result<report::RunLog> linesOf(std::vector<std::string> words,
                               const std::vector<std::string> &application,
                               const std::string &what) {
  const TemporaryFile lines;
  if (lines.error() != 0)
    return Error::of(
        fmt::format("cannot write {}: {}", lines.path(), std::strerror(lines.error())));
  words.insert(words.begin(), ownPath());
  for (const std::string &word :
       {std::string("-t"), std::string("json"), std::string("-l"), lines.path()})
    words.push_back(word);
  if (!application.empty()) words.emplace_back("--");
  words.insert(words.end(), application.begin(), application.end());
  const ChildEnd end = runChild(words);
  if (end.error != 0)
    return Error::of(fmt::format("cannot run {}: {}", words[0], std::strerror(end.error)));
  if (end.signal != 0) return Error::of(fmt::format("{} was ended by signal {}", what, end.signal));
  // What a recording has up to where it was cut off is used.
  const bool is_recording = application.empty(), is_cut = is_recording && end.exit_code == 1;
  if (end.exit_code != 0 && !is_cut)
    return Error::of(is_recording ? what + " cannot be used"
                                  : fmt::format("{} ended with exit code {}", what, end.exit_code));
  auto log = report::readRunLog(lines.path());
  if (!log)
    return Error::of(what + (is_recording ? " holds no dispatch"
                                          : " did not use the GPU: there is nothing to compare"));
  if (is_cut) log->problems.push_back("the recording was cut off, or is damaged");
  return log;
}

} // namespace

bool isRecording(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  uint64_t magic = 0;
  return in.read(reinterpret_cast<char *>(&magic), sizeof magic) && magic == trace::kMagic;
}

Result<report::RunLog> readRun(const std::string &path, const std::vector<std::string> &selection) {
  if (!isRecording(path)) return report::readRunLog(path);
  std::vector<std::string> words = {"analyze",          path,          "-a",
                                    "MemoryAnalysis",   "BlockCounts", "AccessPatterns",
                                    "Heatmap:steps=64", "BlockFlow",   "CacheModel",
                                    "--no-progress"};
  words.insert(words.end(), selection.begin(), selection.end());
  return linesOf(std::move(words), {}, path);
}

Result<report::RunLog> measureRun(const std::vector<std::string> &command, const std::string &gpu,
                                  const std::vector<std::string> &options) {
  const std::string program = programOf(command.front());
  std::vector<std::string> words = {"--gpu",          gpu,           "-i",        "-a",
                                    "MemoryAnalysis", "BlockCounts", "BlockFlow", "CacheModel"};
  if (willObserve(gpu, "", "", program)) words.emplace_back("Hotspots");
  words.emplace_back("--no-progress");
  words.insert(words.end(), options.begin(), options.end());
  auto log = linesOf(std::move(words), command, command.front());
  if (!log) return log;
  if (program.empty()) return log;
  profile::useOwnInstructions(*log, {program});
  report::readCode(*log, {program});
  return log;
}

} // namespace fade::cli
