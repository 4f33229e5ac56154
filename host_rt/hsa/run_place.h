// What this process runs on: GPUs, versions, command and date.
#pragma once

#include "hsa/agents.h"
#include "stream/run_facts.h"

#include <string>

namespace fade {

/// Of the HSA runtime; empty if it does not say.
std::string runtimeVersion();

RunFacts factsOfRun(const Agents &agents);

} // namespace fade
