// One sentence for each finding: what the numbers mean and what helps.
#pragma once

#include "memory_stats.h"

#include <string>

namespace fade::handlers {

/// Empty if there is nothing to say.
std::string adviceFor(const Place &place, const GlobalStats &stats, const MemoryModel &model);
std::string adviceFor(const Place &place, const LdsStats &stats, const MemoryModel &model);

} // namespace fade::handlers
