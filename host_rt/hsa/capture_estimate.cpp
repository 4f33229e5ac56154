#include "hsa/capture_estimate.h"

#include <fmt/format.h>

namespace fade {

std::string sizeText(uint64_t bytes) {
  constexpr uint64_t gib = uint64_t{1} << 30, mib = uint64_t{1} << 20;
  return bytes >= gib ? fmt::format("{:.1f} GiB", static_cast<double>(bytes) / gib)
                      : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / mib);
}

std::string CaptureEstimate::text() const {
  if (memory < kWorthALine) return "";
  std::string line = fmt::format("{}{} of memory are read before the dispatch and again after it, "
                                 "and all queues wait meanwhile",
                                 only_reachable ? "up to " : "", sizeText(memory));
  if (memory > free) line += fmt::format("; the disk has {} left", sizeText(free));
  if (memory > kMuch && !only_reachable) line += "; --reachable reads only what pointers lead to";
  return line;
}

std::string CaptureEstimate::refusal() const {
  if (memory <= most || only_reachable) return "";
  return fmt::format("its {} of memory are more than {} (--max-size); --reachable reads only what "
                     "pointers lead to",
                     sizeText(memory), sizeText(most));
}

} // namespace fade
