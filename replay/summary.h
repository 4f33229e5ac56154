// What fadeprobe replay says of the runs themselves.
#pragma once

#include "capture/reader.h"

#include <string>
#include <vector>

namespace fade::replay {

struct Summary {
  std::string on;              ///< "executor", or the GPU
  std::vector<double> seconds; ///< of each run
  double load_seconds = 0;
  uint64_t instructions = 0; ///< of the last run; 0: not known
  std::string asked;         ///< of the host; empty: nothing
};

/// Two versions of the kernel, run in turn.
struct Versions {
  std::string code; ///< file of the other one
  std::vector<double> captured_seconds, seconds;
  uint64_t captured_instructions = 0, instructions = 0; ///< 0: not known
};
std::string versionsText(const Versions &versions);
/// One object.
std::string versionsJson(const Versions &versions);

/// While it runs.
std::string replayProgress(uint64_t bytes_read, uint64_t runs, double seconds);

std::string summaryText(const Summary &summary, const capture::Reader &reader);
/// One object.
std::string summaryJson(const Summary &summary, const capture::Reader &reader);

} // namespace fade::replay
