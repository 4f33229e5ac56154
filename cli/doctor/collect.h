// A copy of what the doctor looks at, to be sent to somebody: `--root` on it finds the same.
#pragma once

#include "base/result.h"
#include "doctor/look.h"

namespace fade::doctor {

struct Collected {
  std::size_t files = 0;
  uint64_t bytes = 0;               ///< that are in them; the large ones have holes
  std::vector<std::string> missing; ///< what could not be copied, and why
};

/// Into a folder, which is made. Of libraries and programs only what is looked at is copied, of
/// files with settings only the lines about ROCm, of the environment only such variables.
Result<Collected> collect(const Tree &tree, const LookOptions &options, const std::string &folder);

} // namespace fade::doctor
