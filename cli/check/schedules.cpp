#include "check/schedules.h"

#include "base/child.h"
#include "base/temporary.h"
#include "capture/reader.h"
#include "captures/listing.h"
#include "codeobj/demangle.h"
#include "launch/run.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <vector>

namespace fade::cli {
namespace {

enum class Outcome : uint8_t { equal, different, failed };

/// `order`: of FADE_GPU_SCHEDULE.
Outcome runIn(const std::string &order, const std::string &capture, double timeout) {
  std::vector<std::string> command = {"/proc/self/exe", "replay",   capture,     "--check",
                                      "--on",           "software", "--workers", "1"};
  if (timeout > 0) command.insert(command.end(), {"--timeout", fmt::format("{}", timeout)});
  setenv("FADE_GPU_SCHEDULE", order.c_str(), 1);
  const ChildEnd end = runChild(command, 0, "/dev/null");
  if (end.error || end.signal || end.exit_code > 1) return Outcome::failed;
  return end.exit_code == 0 ? Outcome::equal : Outcome::different;
}

/// The fewest switches of a seed that still give a different result: found by halving.
uint64_t shrink(uint64_t seed, const std::string &capture, double timeout) {
  constexpr uint64_t most = uint64_t{1} << 40;
  const auto differs = [&](uint64_t switches) {
    return runIn(fmt::format("{}:{}", seed, switches), capture, timeout) == Outcome::different;
  };
  if (differs(0)) return 0;
  uint64_t equal = 0, different = 1;
  while (different < most && !differs(different)) equal = different, different *= 2;
  while (different - equal > 1) {
    const uint64_t middle = equal + (different - equal) / 2;
    (differs(middle) ? different : equal) = middle;
  }
  return different;
}

} // namespace

TriedOrders tryOrders(const std::string &capture, uint64_t count, uint64_t seed, double timeout,
                      std::chrono::steady_clock::time_point until) {
  TriedOrders tried;
  for (uint64_t i = 0; i < count; ++i, ++tried.tried) {
    if (std::chrono::steady_clock::now() >= until) break;
    const Outcome outcome = runIn(std::to_string(seed + i), capture, timeout);
    tried.failed += outcome == Outcome::failed;
    if (outcome != Outcome::different) continue;
    if (++tried.different > 1) continue;
    FoundFinding f;
    f.raw.check = static_cast<uint32_t>(checks::Check::schedules);
    f.raw.problem = static_cast<uint32_t>(checks::Problem::order);
    f.raw.address = seed + i;
    f.raw.limit = shrink(seed + i, capture, timeout);
    f.rule = capture;
    if (const auto reader = capture::Reader::open(capture)) {
      f.symbol = (*reader)->description().symbol;
      f.kernel = codeobj::demangle(f.symbol);
      f.gpu = (*reader)->description().gpu;
    }
    tried.finding = f;
  }
  if (tried.finding)
    tried.finding->raw.count = tried.different,
    tried.finding->raw.waves = static_cast<uint32_t>(tried.tried);
  return tried;
}

namespace {

namespace fs = std::filesystem;

uint64_t bytesIn(const std::string &folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto &entry : fs::recursive_directory_iterator(folder, error))
    if (entry.is_regular_file(error)) bytes += entry.file_size(error);
  return bytes;
}

/// One worker, whose order is the usual one: others are compared with that.
void captureInto(const std::string &folder, const OrdersOfApplication &wanted) {
  std::vector<std::string> command = {
      "/proc/self/exe", "capture", "--gpu", wanted.gpu, "--limit", "16",
      "--max-size",     "1G",      "-o",    folder};
  if (!wanted.kernels.empty()) command.insert(command.end(), {"-k", wanted.kernels});
  if (!wanted.dispatches.empty()) command.insert(command.end(), {"-d", wanted.dispatches});
  command.emplace_back("--");
  command.insert(command.end(), wanted.application.begin(), wanted.application.end());
  const char *workers = std::getenv("FADE_GPU_WORKERS");
  const std::string before = workers ? workers : "";
  setenv("FADE_GPU_WORKERS", "1", 1);
  runChild(command, 0, "/dev/null");
  if (workers)
    setenv("FADE_GPU_WORKERS", before.c_str(), 1);
  else
    unsetenv("FADE_GPU_WORKERS");
}

} // namespace

std::vector<FoundFinding> tryOrdersOf(const OrdersOfApplication &wanted) {
  constexpr auto longest = std::chrono::minutes(10);
  std::vector<FoundFinding> findings;
  std::error_code error;
  TemporaryFolder folder("fade-schedules");
  if (!folder.isThere()) {
    complain("check: --schedules: cannot create a folder for captures");
    return findings;
  }
  captureInto(folder.path(), wanted);
  const std::vector<std::string> captures = capturesIn(folder.path());
  const double megabytes = static_cast<double>(bytesIn(folder.path())) / 1e6;
  const auto until = std::chrono::steady_clock::now() + longest;
  uint64_t tried = 0, different = 0, failed = 0;
  for (const std::string &capture : captures) {
    const TriedOrders orders = tryOrders(capture, wanted.count, wanted.seed, wanted.timeout, until);
    tried += orders.tried, different += orders.different, failed += orders.failed;
    if (orders.finding)
      findings.push_back(*orders.finding);
    else
      fs::remove_all(capture, error);
  }
  std::string said =
      fmt::format("check: {} dispatch{} captured in a second run ({:.1f} MB), {} orders tried, {} "
                  "give a different "
                  "result",
                  captures.size(), captures.size() == 1 ? "" : "es", megabytes, tried, different);
  if (failed) said += fmt::format(", {} failed", failed);
  if (tried < wanted.count * captures.size())
    said += fmt::format("; {} were skipped after the limit of ten minutes",
                        wanted.count * captures.size() - tried);
  if (!findings.empty()) {
    folder.keep();
    said += fmt::format("; captures of these are kept in {}", folder.path());
  }
  complain(said);
  return findings;
}

} // namespace fade::cli
