// Captures of other tools become captures of FADE's.
#pragma once

#include "base/result.h"
#include "capture/capture.h"

#include <string>
#include <vector>

namespace fade::replay {

struct Imported {
  std::string path;
  capture::Description description;
  capture::Sizes sizes;
  std::vector<std::string> notes; ///< what is not as in captures of FADE's own, a line each
};

/// `folder`: of rocm-perf-lab's layout. `output`: the folder that it goes into.
Result<Imported> importPerfLab(const std::string &folder, const std::string &output);

} // namespace fade::replay
