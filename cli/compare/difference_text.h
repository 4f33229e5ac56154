// A difference for people, for programs, and as a page.
#pragma once

#include "compare/difference.h"
#include "report/terminal_summary.h"

namespace fade::compare {

/// What the two runs are called.
struct Names {
  std::string before, after;
};

/// Whole lines; the sum last. `all`: also what is the same.
std::string differenceText(const Difference &difference, const Names &names,
                           const report::Terminal &terminal, bool all);
/// JSON lines (docs/formats.md).
std::string differenceJson(const Difference &difference, const Names &names);
/// One HTML file without references to others.
std::string differencePage(const Difference &difference, const Names &names);

} // namespace fade::compare
