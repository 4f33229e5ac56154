// Tries what the GPU can do, stage by stage, each in a process of its own that may hang, crash or
// be ended by a fault without harm to this one.
#pragma once

#include <string>
#include <vector>

namespace fade::doctor {

struct ProbeResult {
  enum class Outcome { passed, limited, skipped, failed } outcome = Outcome::skipped;
  std::string stage;
  std::string text;
  double seconds = 0;
};
const char *nameOf(ProbeResult::Outcome outcome);

} // namespace fade::doctor
