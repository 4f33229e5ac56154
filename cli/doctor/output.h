// What the doctor says: a table for people, or JSON lines.
#pragma once

#include "doctor/probe.h"
#include "doctor/rules.h"

namespace fade::doctor {

/// How an application ended that the doctor ran.
struct ProgramEnd {
  std::string program;
  int exit_code = 0;
  std::string signal; ///< "SIGABRT"; empty: it ended by itself
  bool timed_out = false;
};

struct Diagnosis {
  std::string root; ///< empty: this machine
  Facts facts;
  std::vector<Finding> findings; ///< the worst first
  std::vector<ProbeResult> probes;
  std::vector<std::string> unreadable;
  std::string deaths; ///< of the application, as libfade wrote them
  std::optional<ProgramEnd> end;
  int verdict = 0; ///< 0: usable, 1: usable with limits, 2: not usable
};

/// "usable", "usable with limits", "not usable".
const char *nameOfVerdict(int verdict);
/// At most 80 columns wide, but for words that are longer, nothing in it that a terminal would
/// obey.
std::string asTable(const Diagnosis &diagnosis);
/// One object per line; docs/formats.md describes them.
std::string asJson(const Diagnosis &diagnosis);

} // namespace fade::doctor
