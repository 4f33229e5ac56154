// What the GPU did for which operator: markers as PyTorch's autograd writes them, and any others.
#pragma once

#include "host_trace/nesting.h"

#include <string>
#include <vector>

namespace fade::host_trace {

struct OperatorUse {
  std::string name;   ///< "aten::add"; empty: within no marker
  std::string kernel; ///< or copy, or fill
  std::string sizes;  ///< of the operator's inputs; empty: not recorded
  uint64_t calls = 0, ns = 0;
};

/// By name, kernel and sizes; the longest first. An operation belongs to the innermost operator
/// around the call that asked for it, or if there is none, to the innermost marker.
std::vector<OperatorUse> operatorsOf(const TraceLog &log, const Nesting &nesting);
std::string operatorText(const TraceLog &log, const std::vector<OperatorUse> &uses,
                         std::size_t rows);

} // namespace fade::host_trace
