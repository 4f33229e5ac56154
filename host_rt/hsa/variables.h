// The variables of loaded code: __device__ and __constant__ ones that have a symbol.
#pragma once

#include "hsa/agents.h"
#include "hsa/allocations.h"

namespace fade {

/// Notes a symbol of a frozen executable on an agent, if it is a variable.
void noteVariable(AllocationTable &to, hsa_executable_t executable, const Agent &agent,
                  hsa_executable_symbol_t symbol);
/// The same for all symbols.
void noteVariables(AllocationTable &to, hsa_executable_t executable, const Agent &agent);

std::string symbolName(hsa_executable_symbol_t symbol);

} // namespace fade
