// What a run measured, as numbers that can be compared with those of another run or with a limit:
// of each kernel, and of each access in its source.
#pragma once

#include "analysis/findings.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fade::compare {

enum class Metric : uint8_t {
  efficiency,
  lines,
  waste,
  conflicts,
  waiting,
  lane_share,
  executions,
  instructions,
  time,
  model_time,
  dispatches,
  gain
};
constexpr std::size_t kMetrics = 12;

struct MetricInfo {
  Metric metric;
  const char *name;      ///< as conditions and JSON have it
  const char *of_access; ///< what it counts there; null: accesses do not have it
  const char *of_kernel; ///< the same
  bool is_share;         ///< between 0 and 1, shown in percent
  int better;            ///< 1: more is better; -1: less is; 0: neither
  bool follows;          ///< from another one: lines that are needed are the program's affair
};
const std::array<MetricInfo, kMetrics> &metrics();
const MetricInfo &infoOf(Metric metric);

/// A kernel, or an access in its source; or one of its findings.
struct Subject {
  std::string kernel;
  std::string module; ///< of the kernel; empty: not known
  bool is_kernel = false, is_lds = false;
  std::string cause; ///< only of a finding
  std::string file;  ///< from here on only of an access; of a finding or kernel the first place
  uint32_t line = 0, column = 0;
  std::string op, source;
  uint64_t bytes = 0;
  uint32_t index = 0;        ///< of the kernel in the log
  uint64_t weight = 0;       ///< executions of an access, dispatches of a kernel
  std::vector<double> times; ///< of the kernel's dispatches, ns
  std::array<std::optional<double>, kMetrics> values{};

  std::optional<double> operator[](Metric metric) const {
    return values[static_cast<std::size_t>(metric)];
  }
  /// "transpose.hip:17 store", or the name of the kernel.
  std::string place() const;
};

/// A kernel's name for people: short enough to be read, and still different from others.
std::string shortName(const std::string &kernel);

/// Kernels in the order of the run, each before its accesses.
std::vector<Subject> measuresOf(const report::RunLog &log);

/// What there is to gain: kernels whose cost is known, each before its findings. The gains of a
/// kernel's findings add up, because each supposes that those before it are mended.
std::vector<Subject> gainsOf(const report::RunLog &log, const report::Findings &findings);

/// With its unit: "60 %", "32", "1.5 us".
std::string valueText(Metric metric, double value);

} // namespace fade::compare
