// What the code object says of a kernel, for its page: registers, occupancy, instructions by unit,
// who compiled it, and what the processor could do at most.
#pragma once

#include "analysis/json_fields.h"
#include "codeobj/code_object.h"
#include "codeobj/kernel_code.h"
#include "codeobj/occupancy.h"

#include <string_view>

namespace fade::report {

/// Occupancy is that of workgroups as they were launched.
Json kernelFacts(const codeobj::CodeObject &object, const codeobj::Kernel &kernel,
                 const codeobj::KernelCode &code, const codeobj::Launch &launch);

/// Operations and bytes per second of a product with that processor; null if the table of GPUs has
/// none.
Json peaksOf(std::string_view target);

} // namespace fade::report
