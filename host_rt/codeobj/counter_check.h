// Checks the scalar registers in which an instrumented kernel counts (passes/RegisterCounters.cpp).
// The compiler is told not to have them, and does not always listen: machine code shows whether it
// did. A kernel in which another instruction writes such a register would count anything.
#pragma once

#include "codeobj/code_object.h"
#include "codeobj/disassembler.h"
#include "fade/site_table.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fade::codeobj {

/// The first instruction that writes a register from s`first` to before s`end` and is none of those
/// with which FADE counts there.
std::optional<std::string> otherUseOfCounters(const std::vector<Instruction> &code, uint32_t first,
                                              uint32_t end);

/// Why kernels of the table must not run, by their symbol. Kernels that are very large are not
/// looked at.
std::map<std::string, std::string> kernelsThatMiscount(const SiteTable &table,
                                                       const CodeObject &object);

} // namespace fade::codeobj
