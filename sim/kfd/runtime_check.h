// What the ROCm runtime that is loaded into this process can be shown.
#pragma once

#include "kfd/cards.h"

#include <string>
#include <vector>

namespace fade::sim::kfd {

// Takes away the cards that the loaded ROCr has never heard of: it would skip them, and HIP 5
// crashes when none is left. Returns what to tell the user, one line, empty when all stay. Without
// a ROCr in the process all stay. HIP has a list of its own: cards that it lacks stay, for those
// who use ROCr, but are told.
std::string hide_unknown_to_runtime(std::vector<Card> &cards);

// The same for files that are known.
std::string hide_unknown_to(const std::string &runtime, std::vector<Card> &cards);
std::string unknown_to_hip(const std::string &hip, const std::vector<Card> &cards);

} // namespace fade::sim::kfd
