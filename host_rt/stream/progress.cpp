#include "stream/progress.h"

#include "stream/collector.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade {

ProgressLine::Text describeProgress(const Analysis &analysis, const Collector *collector) {
  return [&analysis, collector, last_seconds = 0.0, last_records = 0.0](double seconds) mutable {
    const Analysis::Traffic now = analysis.traffic();
    const auto records = static_cast<double>(now.records);
    std::string text = fmt::format("fade: {:.0f} s, {} dispatches", seconds,
                                   shortNumber(static_cast<double>(now.dispatches)));
    if (collector && collector->inFlight() != 0)
      text +=
          fmt::format(" (+{} running)", shortNumber(static_cast<double>(collector->inFlight())));
    if (now.records != 0) {
      const double rate = (records - last_records) / std::max(seconds - last_seconds, 1e-3);
      text += fmt::format(", {} records, {}/s", shortNumber(records), shortNumber(rate));
      if (collector) text += fmt::format(", ring {:.0f} %", collector->ringFill() * 100);
    }
    // Of those that were submitted: nobody knows what the application will launch next.
    if (collector && collector->inFlight() != 0 && now.dispatches != 0)
      text += fmt::format(", about {:.0f} s left for those running",
                          seconds / static_cast<double>(now.dispatches) *
                              static_cast<double>(collector->inFlight()));
    last_seconds = seconds;
    last_records = records;
    return text;
  };
}

} // namespace fade
