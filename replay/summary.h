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

std::string summaryText(const Summary &summary, const capture::Reader &reader);
/// One object.
std::string summaryJson(const Summary &summary, const capture::Reader &reader);

} // namespace fade::replay
