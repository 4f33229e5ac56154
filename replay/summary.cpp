#include "replay/summary.h"

#include "fade/json_writer.h"
#include "replay/timing.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::replay {
namespace {

std::string milliseconds(double seconds) { return fmt::format("{:.3f} ms", seconds * 1e3); }
double mib(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }
uint64_t nanoseconds(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }

} // namespace

std::string replayProgress(uint64_t bytes_read, uint64_t runs, double seconds) {
  return fmt::format("replay: {} MiB read, {} run{}, {:.0f} s", bytes_read >> 20, runs,
                     runs == 1 ? "" : "s", seconds);
}

std::string summaryText(const Summary &summary, const capture::Reader &reader) {
  const Times times = timesOf(summary.seconds);
  const capture::Description &d = reader.description();
  std::string text = fmt::format(
      "replayed {} (dispatch {}) on {}", d.kernel, d.dispatch,
      summary.on == "executor" ? fmt::format("the executor for {}", d.gpu) : summary.on);
  if (summary.seconds.size() == 1)
    text += fmt::format(": {}", milliseconds(times.median));
  else
    text += fmt::format(": {} times, median {}, spread {}, total {}", summary.seconds.size(),
                        milliseconds(times.median), milliseconds(times.spread),
                        milliseconds(times.total));
  if (summary.instructions != 0) text += fmt::format(", {} instructions", summary.instructions);
  text += fmt::format("; {:.1f} MiB of memory, {:.1f} MiB on disk, loaded in {}\n",
                      mib(reader.sizes().memory), mib(reader.sizes().on_disk),
                      milliseconds(summary.load_seconds));
  if (!summary.asked.empty()) text += "  host services used: " + summary.asked + "\n";
  return text;
}

std::string summaryJson(const Summary &summary, const capture::Reader &reader) {
  const Times times = timesOf(summary.seconds);
  JsonWriter json;
  json.object([&] {
    json.field("type", "replay");
    json.field("version", 1);
    json.field("capture", reader.folder());
    json.field("kernel", reader.description().kernel);
    if (!reader.description().module.empty()) json.field("module", reader.description().module);
    json.field("gpu", reader.description().gpu);
    json.field("on", summary.on);
    json.field("iterations", summary.seconds.size());
    json.field("median_ns", nanoseconds(times.median));
    json.field("spread_ns", nanoseconds(times.spread));
    json.field("total_ns", nanoseconds(times.total));
    json.field("average_ns", nanoseconds(times.total / static_cast<double>(std::max<std::size_t>(
                                                           summary.seconds.size(), 1))));
    json.field("min_ns", nanoseconds(times.least));
    json.field("max_ns", nanoseconds(times.most));
    json.field("load_ns", nanoseconds(summary.load_seconds));
    if (summary.instructions != 0) json.field("instructions", summary.instructions);
    json.field("memory", reader.sizes().memory);
    json.field("on_disk", reader.sizes().on_disk);
  });
  return json.take();
}

std::string versionsText(const Versions &versions) {
  const Times before = timesOf(versions.captured_seconds), after = timesOf(versions.seconds);
  std::string text = fmt::format("compared with the captured code: ");
  if (versions.instructions != 0 && versions.captured_instructions != 0)
    text += fmt::format("{} instructions instead of {} ({:.3g} times as many)",
                        versions.instructions, versions.captured_instructions,
                        static_cast<double>(versions.instructions) /
                            static_cast<double>(versions.captured_instructions));
  const bool has_both = !versions.captured_seconds.empty() && before.median > 0;
  // Times of one run on the executor say nothing that the number of instructions does not.
  if (has_both && (versions.instructions == 0 || versions.seconds.size() > 1)) {
    const Speedup speedup = speedupOf(versions.captured_seconds, versions.seconds);
    text += fmt::format("{}median {} instead of {}, {:.3g} times as fast",
                        versions.instructions != 0 ? "; " : "", milliseconds(after.median),
                        milliseconds(before.median), speedup.ratio);
    if (speedup.high > 0)
      text +=
          fmt::format(" (95 % confidence: {:.3g} to {:.3g}; {} runs of each, in turn; spread {} "
                      "and {})",
                      speedup.low, speedup.high, versions.seconds.size(),
                      milliseconds(after.spread), milliseconds(before.spread));
    else
      text += fmt::format(" (too few runs to be sure: --iterations {} or more)", kFewestRuns);
  }
  return text + "\n";
}

std::string versionsJson(const Versions &versions) {
  const Times before = timesOf(versions.captured_seconds), after = timesOf(versions.seconds);
  const Speedup speedup = speedupOf(versions.captured_seconds, versions.seconds);
  JsonWriter json;
  json.object([&] {
    json.field("type", "versions");
    json.field("version", 1);
    json.field("code", versions.code);
    json.field("iterations", versions.seconds.size());
    json.field("captured_median_ns", nanoseconds(before.median));
    json.field("captured_spread_ns", nanoseconds(before.spread));
    json.field("median_ns", nanoseconds(after.median));
    json.field("spread_ns", nanoseconds(after.spread));
    json.field("speedup", speedup.ratio);
    if (speedup.high > 0) {
      json.field("speedup_low", speedup.low);
      json.field("speedup_high", speedup.high);
    }
    if (versions.instructions != 0) {
      json.field("captured_instructions", versions.captured_instructions);
      json.field("instructions", versions.instructions);
    }
  });
  return json.take();
}

} // namespace fade::replay
