// A few lines for the terminal at the end of a run with --report: what ran, and what to look at
// first.
#pragma once

#include "analysis/findings.h"

#include <string>

namespace fade::report {

struct Terminal {
  unsigned columns = 80;
  bool has_color = false;

  /// Where a file descriptor leads: color only to a terminal that wants it.
  static Terminal of(int fd);
};

/// Whole lines, none longer than the terminal is wide.
std::string terminalSummary(const RunLog &log, const Findings &findings, const Terminal &terminal);

} // namespace fade::report
