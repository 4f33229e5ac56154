// Instructions of the vector ALU that a kernel executed, how many of their lanes took part, and how
// much scratch memory they used, where nobody counted them: from its machine code, and from how
// often the blocks of its twin ran.
#pragma once

#include "analysis/run_log.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace fade::report {

struct Alu {
  double executions = 0, lanes = 0;
  double by_one_lane = 0; ///< of the executions: with one lane of the wave
  /// That all lanes together load and store; nothing if no instruction is known to do that.
  std::optional<double> scratch_bytes;
};

/// All 0 if the code or the blocks are not known.
///
/// The blocks are those of the compiler's intermediate code, which tell their lines; code
/// generation has shared them out anew. So each stretch of machine code is taken for a part of the
/// block whose lines are most like its own, inside of a loop or not like itself. Where several
/// blocks are alike, as on a line that holds a whole loop, stretches and blocks are paired in their
/// order.
Alu estimatedAlu(const RunLog &log, uint32_t kernel);

/// Which nodes of a graph can be reached from themselves.
std::vector<bool> inCycles(const std::vector<std::vector<std::size_t>> &next);

} // namespace fade::report
