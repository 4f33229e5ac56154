// Tries what the GPU can do, stage by stage, each in a process of its own that may hang, crash or
// be ended by a fault without harm to this one.
#pragma once

#include "base/result.h"

#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fade::cli {
struct SupervisedEnd;
}

namespace fade::doctor {

struct ProbeResult {
  enum class Outcome { passed, limited, skipped, failed } outcome = Outcome::skipped;
  std::string stage;
  std::string text;
  double seconds = 0;
};
const char *nameOf(ProbeResult::Outcome outcome);

struct ProbeOptions {
  std::string program; ///< fade-doctor-probe
  std::vector<std::pair<std::string, std::string>> variables;
  std::chrono::milliseconds timeout{60000}; ///< of each stage
};

/// What the end of a stage's process means.
ProbeResult resultOf(const std::string &stage, const ProbeOptions &options,
                     const cli::SupervisedEnd &end);

/// The stages that the program has.
Result<std::vector<std::string>> stagesOf(const ProbeOptions &options);
/// "all" or "copy,kernel" as a list; an error names what is no stage.
Result<std::vector<std::string>> chosenStages(std::span<const std::string> known,
                                              const std::string &choice);
/// "because kernel failed": why what needs it was not tried.
std::string becauseOf(const ProbeResult &result);
/// When what everything needs does not work, the rest is skipped.
std::vector<ProbeResult> runProbes(const ProbeOptions &options,
                                   std::span<const std::string> stages);

/// 0: all is well, 1: with limits, 2: what every program needs does not work.
int verdictOf(std::span<const ProbeResult> results);

} // namespace fade::doctor
