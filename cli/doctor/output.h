// What the doctor says: a table for people, or JSON lines.
#pragma once

#include "doctor/probe.h"
#include "doctor/rules.h"

namespace fade::doctor {

struct Diagnosis {
  std::string root; ///< empty: this machine
  Facts facts;
  std::vector<Finding> findings; ///< the worst first
  std::vector<ProbeResult> probes;
  std::vector<std::string> unreadable;
  int verdict = 0; ///< 0: usable, 1: usable with limits, 2: not usable
};

/// "usable", "usable with limits", "not usable".
const char *nameOfVerdict(int verdict);
/// At most 100 columns wide, nothing in it that a terminal would obey.
std::string asTable(const Diagnosis &diagnosis);
/// One object per line; docs/formats.md describes them.
std::string asJson(const Diagnosis &diagnosis);

} // namespace fade::doctor
