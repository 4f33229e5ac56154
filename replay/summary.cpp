#include "replay/summary.h"

#include "fade/json_writer.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::replay {
namespace {

/// Of the middle: half are faster, half are slower; and how far the middle half spreads.
struct Times {
  double median = 0, spread = 0, total = 0;
};
Times timesOf(std::vector<double> seconds) {
  Times times;
  std::ranges::sort(seconds);
  const std::size_t n = seconds.size();
  if (n == 0) return times;
  times.median = n % 2 ? seconds[n / 2] : (seconds[n / 2 - 1] + seconds[n / 2]) / 2;
  times.spread = seconds[n - 1 - n / 4] - seconds[n / 4];
  for (const double s : seconds) times.total += s;
  return times;
}

std::string milliseconds(double seconds) { return fmt::format("{:.3f} ms", seconds * 1e3); }
double mib(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }
uint64_t nanoseconds(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }

} // namespace

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
  if (!summary.asked.empty()) text += "  asked of the host: " + summary.asked + "\n";
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
    json.field("gpu", reader.description().gpu);
    json.field("on", summary.on);
    json.field("iterations", summary.seconds.size());
    json.field("median_ns", nanoseconds(times.median));
    json.field("spread_ns", nanoseconds(times.spread));
    json.field("total_ns", nanoseconds(times.total));
    json.field("load_ns", nanoseconds(summary.load_seconds));
    if (summary.instructions != 0) json.field("instructions", summary.instructions);
    json.field("memory", reader.sizes().memory);
    json.field("on_disk", reader.sizes().on_disk);
  });
  return json.take();
}

} // namespace fade::replay
