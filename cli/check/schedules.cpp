#include "check/schedules.h"

#include "capture/reader.h"
#include "codeobj/demangle.h"
#include "report/child.h"

#include <cstdlib>
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

/// The fewest switches of a seed that still give another result: found by halving.
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

TriedOrders tryOrders(const std::string &capture, uint64_t count, uint64_t seed, double timeout) {
  TriedOrders tried;
  for (uint64_t i = 0; i < count; ++i, ++tried.tried) {
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

} // namespace fade::cli
