// How often machine blocks were executed of which no counter says so: the compiler adds some, to
// bring lanes together again behind branches and loops.
#pragma once

#include "codeobj/kernel_code.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace fade::profile {

/// For each block another one that control goes through exactly as often, as far as the graph
/// shows it, and that is known; or one that it goes through at least as often. Nothing for blocks
/// that are known, that cannot be reached, or whose loop has none that is known.
std::vector<std::optional<std::size_t>> blocksInStep(const std::vector<codeobj::BasicBlock> &blocks,
                                                     const std::vector<bool> &is_known);

} // namespace fade::profile
