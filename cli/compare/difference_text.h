// A difference for people, for programs, and as a page.
#pragma once

#include "comparison/run_cost.h"
#include "pages/terminal_summary.h"

namespace fade::compare {

/// What the two runs are called.
struct Names {
  std::string before, after;
};

/// Two runs that were compared.
struct Comparing {
  Difference difference;
  ModeledRuns models;
  RunCost cost;
  Names names;
};

/// "-93.8 %", "21.5 times"; empty where it would say nothing: shares, and what was 0.
std::string changeText(const Change &change);
/// Whole lines; the verdict first, the sum last. `all`: also what is the same.
std::string differenceText(const Comparing &runs, const report::Terminal &terminal, bool all);
/// JSON lines (docs/formats.md).
std::string differenceJson(const Comparing &runs);
/// One HTML file without references to others. It has the text of source files below the current
/// folder.
std::string differencePage(const Comparing &runs);

} // namespace fade::compare
