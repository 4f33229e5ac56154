// Thread traces of rocprofv3, as its decoder leaves them for viewers: a folder with code.json,
// filenames.json, occupancy.json and a file for each wave that was looked at.
//
// What was measured takes the place of the model: cycles that each instruction took and stalled,
// what it waited for, and how many waves there were at each moment. Everything in the files is
// checked; what makes no sense is an error that names the file, or is left out.
#pragma once

#include "base/result.h"
#include "profiles/profile.h"

#include <string>
#include <vector>

namespace fade::profile {

struct ThreadTrace {
  std::vector<ProfiledKernel> kernels;
  std::size_t wave_files = 0;
  std::vector<std::string> problems; ///< a line each: what was left out
};

/// A folder, or one that has such folders in it, of which the first by name is taken; or the table
/// of instructions that is written beside a folder, stats_....csv.
Result<ThreadTrace> readThreadTrace(const std::string &place);

} // namespace fade::profile
