// A run whose kernels counted their own blocks: what their instructions did follows from the code.
#pragma once

#include "analysis/run_log.h"

#include <string>
#include <vector>

namespace fade::profile {

/// Adds counts of instructions for the kernels of which there are counts of blocks (BlockCounts),
/// as if the software GPU had watched them. `files`: programs and libraries that may have their
/// code. Returns a line for each kernel that could not be counted, and why.
std::vector<std::string> countByBlocks(report::RunLog &log, const std::vector<std::string> &files);

/// Twins execute many times the instructions of their kernels. Sets those of each such dispatch to
/// what the kernel itself would have executed, on average, going by the blocks that were counted;
/// to nothing where that is not known.
void useOwnInstructions(report::RunLog &log, const std::vector<std::string> &files);

} // namespace fade::profile
